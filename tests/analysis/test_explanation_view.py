"""Explanations as tables: rows that add up to the score, a remainder, and differences that add up, too."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xcwork.analysis.explanation_view import find_explanation_spans, make_view
from xcwork.core.explanation import Explanation, Part
from xcwork.errors import ConfigError
from xcwork.methods import registry

parts = st.lists(
    st.builds(Part, st.sampled_from("abc"), st.sampled_from(["x", "a", ""]), st.floats(-5, 5)), max_size=12
)


@given(parts, st.integers(1, 6), st.floats(-3, 3))
def test_the_rows_always_sum_to_the_score(some, limit, missing):
    for explanation in (
        Explanation.from_parts(some, exact=True),
        Explanation.from_parts(some, exact=False, score=sum(part.value for part in some) + missing),
    ):
        table = make_view(explanation, limit=limit).table
        assert table["value"].sum() == pytest.approx(explanation.score, abs=1e-6)
        assert len(table) <= limit + 2
        assert table["share"].sum() == pytest.approx(100 if table["value"].abs().max() > 0 else 0, abs=1e-6) or not some


def test_values_and_kinds_are_filled_in():
    table = make_view(
        Explanation.from_parts(
            [
                Part("a", "a", 0.5),
                Part(
                    "b",
                    "c",
                    0.4,
                    {
                        "document_value": 0.2,
                        "weight": 4.0,
                        "label_value": 0.5,
                        "kind": "learned pair",
                        "pairs": 10,
                        "relevant": 7,
                    },
                ),
                Part("c", "landmark", 0.3, {"term_weight": 2.0, "landmark_weight": 0.5}),
                Part("(any document)", "bias", -0.1),
            ],
            exact=True,
        )
    ).table.set_index("document_term")
    assert table["kind"].tolist() == ["direct match", "learned pair", "pair", "bias"]
    assert table.loc["b", ["document_value", "weight", "label_value", "pairs", "relevant"]].tolist() == [
        0.2,
        4,
        0.5,
        10,
        7,
    ]
    assert table.loc["c", ["document_value", "weight"]].tolist() == pytest.approx([0.3, 1.0])
    assert table.loc["a", ["weight", "document_value"]].isna().all()


def test_small_parts_are_put_together_and_counted():
    shown = make_view(
        Explanation.from_parts([Part(f"t{i}", "x", 10.0 - i) for i in range(6)], exact=True, label="L"), limit=2
    )
    assert shown.table["document_term"].tolist() == ["t0", "t1", "(4 smaller parts)"]
    assert shown.table["kind"].tolist()[-1] == "other"
    assert shown.n_parts == 6
    assert shown.sentence == "6 parts add up to the score 45.0000; the largest is t0 × x with +10.0000."
    with pytest.raises(ConfigError, match="at least 1 part"):
        make_view(Explanation.from_parts([], exact=True), limit=0)


def test_another_scale_is_said():
    explanation = Explanation.from_parts([Part("a", "x", -1.5)], exact=True, predicted=0.18, link="sigmoid")
    assert "shown as 0.1800 (sigmoid)" in make_view(explanation).sentence


def test_terms_of_a_real_model_are_found_in_the_text(checkerboard):
    model = registry.create("tfidf").fit(checkerboard.train)
    text = checkerboard.test.texts[0]
    explanation = model.explain(text, "L0")
    marked = find_explanation_spans(text, explanation, checkerboard.features)
    assert {text[span.start : span.end] for span in marked} == {"red", "square", "red square"}
    assert {span.term: span.weight for span in marked} == pytest.approx(
        {part.document_term: part.value for part in explanation}
    )
