"""Ranked labels and explanations: padding, filtering, names, and the order of parts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xcwork.core.explanation import Explanation, Part
from xcwork.core.topk import MISSING, TopK
from xcwork.data import LabelSpace

rows = st.lists(
    st.lists(st.tuples(st.integers(0, 9), st.floats(-5, 5, width=32)), max_size=6, unique_by=lambda pair: pair[0]),
    max_size=5,
)


def ranked(content: list[list[tuple[int, float]]], k: int = 6) -> TopK:
    topk = TopK.empty(len(content), k)
    for row, pairs in enumerate(content):
        for slot, (label, score) in enumerate(sorted(pairs, key=lambda pair: (-pair[1], pair[0]))):
            topk.ids[row, slot], topk.scores[row, slot] = label, score
    return topk


@given(content=rows, keep=st.sets(st.integers(0, 9)))
def test_choosing_labels_keeps_order_and_closes_the_gaps(content: list, keep: set[int]) -> None:
    topk = ranked(content)
    chosen = topk.among(np.array(sorted(keep), dtype=int))
    for row in range(len(topk)):
        assert chosen.row(row) == [(label, score) for label, score in topk.row(row) if label in keep]
        missing = chosen.ids[row] == MISSING
        assert not np.any(missing[:-1] & ~missing[1:])  # once missing, missing to the end


@given(content=rows, pairs=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), max_size=8))
def test_filter_pairs_vanish_and_nothing_else_does(content: list, pairs: list[tuple[int, int]]) -> None:
    topk = ranked(content)
    left = topk.without(np.array(pairs, dtype=np.int64).reshape(-1, 2))
    for row in range(len(topk)):
        assert left.row(row) == [(label, score) for label, score in topk.row(row) if (row, label) not in set(pairs)]


@given(content=rows, k=st.integers(0, 9))
def test_head_cuts_or_pads(content: list, k: int) -> None:
    topk = ranked(content)
    assert topk.head(k).ids.shape == (len(content), k)
    for row in range(len(topk)):
        assert topk.head(k).row(row) == topk.row(row)[:k]


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
    assert topk.named() == [{"label": "<b>", "score": 0.5}]
    assert topk.to_frame().to_dict("records") == [
        {"document": 0, "rank": 1, "label_id": 1, "label": "<b>", "score": 0.5}
    ]
    assert "<b>" not in topk._repr_html_()


def test_parts_are_ordered_by_size_and_add_up() -> None:
    parts = [Part("a", "x", 0.1), Part("b", "x", -0.5), Part("c", "x", 0.3, {"weight": 2.0})]
    explanation = Explanation.from_parts(parts, exact=True)
    assert [part.document_term for part in explanation] == ["b", "c", "a"]
    assert explanation.score == pytest.approx(-0.1)
    assert explanation.to_frame().columns.tolist() == ["document_term", "label_term", "value", "weight"]
    assert explanation.to_dict()["predicted"] == explanation.score


def test_an_explanation_without_parts_still_has_a_table() -> None:
    empty = Explanation.from_parts([], exact=True, label="<script>")
    assert empty.to_frame().columns.tolist() == ["document_term", "label_term", "value"]
    assert "<script>" not in empty._repr_html_()


def test_a_shown_score_on_another_scale_is_told_apart() -> None:
    content = Explanation.from_parts([Part("a", "x", -1.5)], exact=True, predicted=0.18, link="sigmoid").to_dict()
    assert (content["score"], content["predicted"], content["link"]) == (-1.5, 0.18, "sigmoid")
    assert content["parts"] == [{"document_term": "a", "label_term": "x", "value": -1.5}]


def test_training_documents_can_be_the_reasons() -> None:
    explanation = Explanation.from_documents([4, 7], [0.2, 0.5], exact=True)
    assert explanation.score == pytest.approx(0.7)
    assert explanation.parts[0].document_term == "training document 7"
