"""Ranked labels: padding, filtering, names."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xcwork.core.topk import MISSING, TopK
from xcwork.data import LabelSpace

rows = st.lists(
    st.lists(st.tuples(st.integers(0, 9), st.floats(-5, 5, width=32)), max_size=6, unique_by=lambda pair: pair[0]),
    max_size=5,
)


def ranked(content: list[list[tuple[int, float]]], k: int = 6) -> TopK:
    topk = TopK.make_empty(len(content), k)
    for row, pairs in enumerate(content):
        for slot, (label, score) in enumerate(sorted(pairs, key=lambda pair: (-pair[1], pair[0]))):
            topk.ids[row, slot], topk.scores[row, slot] = label, score
    return topk


@given(content=rows, keep=st.sets(st.integers(0, 9)))
def test_choosing_labels_keeps_order_and_closes_the_gaps(content: list, keep: set[int]) -> None:
    topk = ranked(content)
    chosen = topk.keep_labels(np.array(sorted(keep), dtype=int))
    for row in range(len(topk)):
        assert chosen.get_row(row) == [(label, score) for label, score in topk.get_row(row) if label in keep]
        missing = chosen.ids[row] == MISSING
        assert not np.any(missing[:-1] & ~missing[1:])  # once missing, missing to the end


@given(content=rows, pairs=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), max_size=8))
def test_filter_pairs_vanish_and_nothing_else_does(content: list, pairs: list[tuple[int, int]]) -> None:
    topk = ranked(content)
    left = topk.drop_pairs(np.array(pairs, dtype=np.int64).reshape(-1, 2))
    for row in range(len(topk)):
        assert left.get_row(row) == [
            (label, score) for label, score in topk.get_row(row) if (row, label) not in set(pairs)
        ]


@given(content=rows, k=st.integers(0, 9))
def test_head_cuts_or_pads(content: list, k: int) -> None:
    topk = ranked(content)
    assert topk.head(k).ids.shape == (len(content), k)
    for row in range(len(topk)):
        assert topk.head(k).get_row(row) == topk.get_row(row)[:k]


@given(content=rows)
def test_the_sparse_form_holds_every_score_once(content: list) -> None:
    topk = ranked(content)
    matrix = topk.to_csr(10)
    assert matrix.nnz == sum(map(len, content))
    for row, pairs in enumerate(content):
        for label, score in pairs:
            assert matrix[row, label] == pytest.approx(score)


def test_rows_of_different_length_can_be_put_together() -> None:
    both = TopK.concatenate([ranked([[(1, 0.5)]], k=1), ranked([[(2, 0.5), (3, 0.25)]], k=3)])
    assert both.ids.tolist() == [[1, -1, -1], [2, 3, -1]]
    assert len(TopK.concatenate([])) == 0


def test_predictions_carry_names_into_tables() -> None:
    topk = TopK(np.array([[1, -1]], np.int32), np.array([[0.5, -np.inf]], np.float32), LabelSpace(["a", "<b>"]))
    assert topk.to_records() == [{"label": "<b>", "score": 0.5}]
    assert topk.to_frame().to_dict("records") == [
        {"document": 0, "rank": 1, "label_id": 1, "label": "<b>", "score": 0.5}
    ]
    assert "<b>" not in topk._repr_html_()
