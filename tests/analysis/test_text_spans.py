"""Terms found again in the text they came from, as the vectoriser read it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xcwork.analysis.text_spans import Span, cut_segments, find_spans, sum_term_weights
from xcwork.core.explanation import Explanation, Part
from xcwork.core.features import Features
from xcwork.text.vectorizer import TextVectorizer

TEXTS = ["The state of the art", "running runners ran", "art\n\nstate", "İstanbul state_art naïve café", "Σίσυφος ΟΔΟΣ"]


def features(**options) -> Features:
    vectorizer = TextVectorizer(**options).fit(TEXTS)
    return Features(len(vectorizer.feature_names), vectorizer.feature_names, vectorizer)


def found(text: str, weights: dict[str, float], **options) -> list[tuple[str, str]]:
    return [(text[s.start : s.end], s.term) for s in find_spans(text, weights, features(**options))]


def test_pairs_reach_over_stop_words_but_not_over_paragraphs():
    weights = {"state": 1.0, "state art": 2.0, "art state": 3.0}
    assert found("The STATE of the Art", weights) == [("STATE of the Art", "state art"), ("STATE", "state")]
    assert found("art\n\nstate", weights) == [("state", "state")]
    assert found("art state", weights)[0] == ("art state", "art state")


def test_stems_mark_the_words_as_written():
    assert found("Running, runners!", {"run": 1.0, "runner": 1.0}, stem=True) == [
        ("Running", "run"),
        ("runners", "runner"),
    ]


def test_pieces_of_words():
    assert found("the state", {"sta": 1.0, "te ": 1.0}, tokens="subwords") == [("sta", "sta"), ("te", "te ")]


def test_ready_made_features_have_no_place_in_a_text():
    assert find_spans("state", {"state": 1.0}, Features(1, ["state"])) == []


@pytest.mark.parametrize(
    "options",
    [{}, {"stem": True}, {"split_underscores": True}, {"ngrams": 3}, {"stop_words": False}, {"tokens": "subwords"}],
)
@given(
    text=st.lists(st.sampled_from([*" ".join(TEXTS).split(), "the", "x", "\n\n", "unknown", "-"]), max_size=12).map(
        " ".join
    )
)
def test_exactly_the_terms_of_the_vectoriser_are_found(options, text):
    space = features(**options)
    row = space.vectorizer.transform([text])
    weights = dict.fromkeys(space.names, 1.0)
    spans = find_spans(text, weights, space)
    if "İ" not in text:  # its lower case is two characters, of which only one stands in the text
        assert {span.term for span in spans} == {space.names[i] for i in row.indices}
    assert all(0 <= span.start < span.end <= len(text) for span in spans)


@given(st.text(max_size=30), st.lists(st.tuples(st.integers(0, 29), st.integers(1, 8), st.floats(-2, 2)), max_size=6))
def test_segments_are_the_text_and_carry_the_weights_over_them(text, places):
    spans = [Span(a, min(a + n, len(text)), f"t{i}", w) for i, (a, n, w) in enumerate(places) if a < len(text)]
    pieces = cut_segments(text, spans)
    assert "".join(piece.text for piece in pieces) == text
    at = 0
    for piece in pieces:
        over = [span for span in spans if span.start <= at < span.end]
        assert piece.weight == pytest.approx(sum(span.weight for span in over))
        assert set(piece.terms) == {span.term for span in over}
        at += len(piece.text)


def test_a_term_counts_over_all_label_terms():
    explanation = Explanation.from_parts([Part("a", "x", 0.5), Part("a", "y", -0.2), Part("b", "x", 1.0)], exact=True)
    assert sum_term_weights(explanation) == pytest.approx({"a": 0.3, "b": 1.0})
