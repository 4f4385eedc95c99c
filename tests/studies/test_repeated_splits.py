"""Splitting again: the same documents, in other places."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from xcwork.data.synthetic import make_synthetic
from xcwork.errors import DataError
from xcwork.studies.repeated_splits import draw_new_split


def test_all_documents_are_there_once_and_a_seed_decides_where() -> None:
    data = make_synthetic(n_documents=120, n_labels=20, n_topics=2, seed=1)
    again = draw_new_split(data, 1)
    assert (len(again.train), len(again.test)) == (len(data.train), len(data.test))
    before, after = (sorted([*each.train.texts, *each.test.texts]) for each in (data, again))
    assert before == after
    assert again.train.texts != data.train.texts
    assert again.train.texts == draw_new_split(data, 1).train.texts != draw_new_split(data, 2).train.texts
    assert again.train.Y.nnz + again.test.Y.nnz == data.train.Y.nnz + data.test.Y.nnz


def test_filtered_pairs_cannot_be_mixed() -> None:
    data = make_synthetic(n_documents=120, n_labels=20, n_topics=2, seed=1)
    filtered = replace(data, test=replace(data.test, filter_pairs=np.zeros((1, 2), np.int64)))
    with pytest.raises(DataError, match="filtered"):
        draw_new_split(filtered, 0)
