"""Explanations: the order of their parts, scores on another scale, documents as reasons."""

from __future__ import annotations

import pytest

from xcwork.core.explanation import Explanation, Part


def test_parts_are_ordered_by_size_and_add_up() -> None:
    parts = [Part("a", "x", 0.1), Part("b", "x", -0.5), Part("c", "x", 0.3, {"weight": 2.0})]
    explanation = Explanation.from_parts(parts, exact=True)
    assert [part.document_term for part in explanation] == ["b", "c", "a"]
    assert explanation.score == pytest.approx(-0.1)
    assert explanation.to_frame().columns.tolist() == ["document_term", "label_term", "value", "family", "weight"]
    assert explanation.to_dict()["predicted"] == explanation.score


def test_an_explanation_without_parts_still_has_a_table() -> None:
    empty = Explanation.from_parts([], exact=True, label="<script>")
    assert empty.to_frame().columns.tolist() == ["document_term", "label_term", "value", "family"]
    assert "<script>" not in empty._repr_html_()


def test_a_shown_score_on_another_scale_is_told_apart() -> None:
    content = Explanation.from_parts([Part("a", "x", -1.5)], exact=True, predicted=0.18, link="sigmoid").to_dict()
    assert (content["score"], content["predicted"], content["link"]) == (-1.5, 0.18, "sigmoid")
    assert content["parts"] == [
        {"document_term": "a", "label_term": "x", "value": -1.5, "family": "memorised for this label"}
    ]


def test_training_documents_can_be_the_reasons() -> None:
    explanation = Explanation.from_documents([4, 7], [0.2, 0.5], exact=True)
    assert explanation.score == pytest.approx(0.7)
    assert explanation.parts[0].document_term == "training document 7"
