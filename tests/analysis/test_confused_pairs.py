"""Pairs of labels that are taken for each other, against counting by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.test_errors import dataset_of, ranked
from xcwork.analysis import confused_pairs
from xcwork.analysis.confused_pairs import find_confused_pairs, find_pair_documents
from xcwork.errors import ConfigError


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([1, 3, 500]))
def test_pairs_are_those_counted_by_hand(seed: int, block: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.random((12, 6)) < 0.4
    rows = [rng.permutation(6)[: rng.integers(0, 5)].tolist() for _ in range(12)]
    expected = Counter(
        (missed, wrong)
        for true, row in zip(truth, rows, strict=True)
        for missed in np.flatnonzero(true)
        if missed not in row[:3]
        for wrong in row[:3]
        if not true[wrong]
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(confused_pairs, "MISSES_PER_BLOCK", block)
        table = find_confused_pairs(ranked(rows, 4), dataset_of(np.ones((2, 6)), truth), k=3)
    found = {(row.missed_id, row.listed_id): row.documents for row in table.itertuples()}
    assert found == dict(expected)
    for (missed, listed), count in found.items():
        documents = find_pair_documents(ranked(rows, 4), dataset_of(np.ones((2, 6)), truth), missed, listed, k=3)
        assert len(documents) == count
    assert table["documents"].is_monotonic_decreasing
    assert (table["documents"] <= table["of"]).all()


def test_a_limit_must_leave_something() -> None:
    with pytest.raises(ConfigError):
        find_confused_pairs(ranked([[0]], 1), dataset_of(np.ones((2, 1)), np.ones((1, 1))), limit=0)
