"""Contributions of bands, which add up, and recall within a band."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from xcwork.core.bands import make_absolute_bands, make_decile_bands, make_share_bands, make_shot_bands
from xcwork.core.topk import TopK
from xcwork.metrics.by_band import tabulate_bands
from xcwork.metrics.ranking import place_labels


@given(st.integers(0, 2**32 - 1), st.integers(1, 7))
@settings(max_examples=50, deadline=None)
def test_contributions_add_up_to_precision(seed, k):
    rng = np.random.default_rng(seed)
    n_documents, n_labels = rng.integers(1, 20), rng.integers(1, 30)
    frequencies = rng.integers(0, 80, size=n_labels) * rng.integers(0, 2, size=n_labels)
    ids = np.argsort(rng.random((n_documents, n_labels)), axis=1).astype(np.int32)
    truth = sparse.csr_array((rng.random((n_documents, n_labels)) < 0.3).astype(np.float32))
    placement = place_labels(TopK(ids, np.zeros(ids.shape, np.float32)), truth)
    for make in (make_absolute_bands, make_share_bands, make_decile_bands, make_shot_bands):
        bands = make(frequencies)
        table = tabulate_bands(placement, bands, [k])
        assert sum(row[f"hits@{k}"] for row in table.values()) == placement.count_hits(k).sum()
        precision = 100 * placement.count_hits(k).sum() / (k * n_documents)
        assert sum(row[f"contribution@{k}"] for row in table.values()) == pytest.approx(precision, abs=1e-12)
        assert sum(row["test_positives"] for row in table.values()) == truth.nnz
        assert sum(row["labels"] for row in table.values()) == n_labels


def test_recall_of_a_band_is_counted_over_its_own_positives():
    # Label 0 is zero-shot and found in one of its two documents; label 1 is head and always found.
    truth = sparse.csr_array(np.array([[1, 1], [1, 0]], np.float32))
    topk = TopK(np.array([[1, 0], [1, 0]], np.int32), np.zeros((2, 2), np.float32))
    table = tabulate_bands(place_labels(topk, truth), make_absolute_bands(np.array([0, 99])), [1, 2])
    assert table["zero-shot"] == {
        "labels": 1,
        "test_positives": 2,
        "hits@1": 0,
        "contribution@1": 0.0,
        "recall@1": 0.0,
        "hits@2": 2,
        "contribution@2": 50.0,
        "recall@2": 100.0,
    }
    assert table["head"]["recall@1"] == 100.0
    assert table["head"]["contribution@1"] == 50.0
    assert table["torso"] == dict.fromkeys(table["head"], 0)
