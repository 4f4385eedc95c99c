"""The words behind features, and the sentence of an explanation."""

from __future__ import annotations

import pytest

from xcwork.analysis.explanation_words import (
    compare_words,
    make_term_splitter,
    read_words,
    write_sentence,
)
from xcwork.core.explanation import Explanation, Family, Part
from xcwork.core.features import Features
from xcwork.text.vectorizer import TextVectorizer


def make_features(texts: list[str], **settings: object) -> Features:
    vectorizer = TextVectorizer(**settings).fit(texts)
    return Features(len(vectorizer.feature_names), vectorizer.feature_names, vectorizer)


def say(parts: list[Part], frequency: int | None = None) -> str:
    phrases = write_sentence(Explanation.from_parts(parts, has_words=True).group(), frequency)
    return "".join(phrase.text for phrase in phrases)


@pytest.mark.parametrize(
    ("parts", "frequency", "sentence"),
    [
        (
            [Part("hermite", "x", 2.0), Part("hermpow", "x", 1.5), Part("the", "x", 0.1)],
            3,
            "hermite and hermpow support it; it is a rare label.",
        ),
        ([Part("hermite", "x", 2.0)], 20, "hermite supports it."),
        ([Part("a", "x", 2.0), Part("b", "x", -1.8)], 80, "a supports it, but b opposes it; it is a frequent label."),
        ([Part("b", "x", -1.8)], 0, "b opposes it; no training document has it."),
        ([Part("(any document)", "bias", -1.8)], None, "No word of this text has to do with it."),
        ([], None, "No word of this text has to do with it."),
        (
            [Part("training document 3", "has the label", 0.2, family=Family.neighbours)],
            None,
            "The nearest training document has it.",
        ),
    ],
)
def test_a_sentence_names_the_words_that_decide(parts: list[Part], frequency: int | None, sentence: str) -> None:
    assert say(parts, frequency) == sentence


def test_stems_are_shown_as_they_are_written() -> None:
    text = "Nodes of a graph: nodes, node and ordering"
    features = make_features([text], stem=True)
    forms = [(text[word.start : word.end], word.form) for word in read_words(text, features)]
    assert ("node", "nodes") in forms
    assert ("ordering", "ordering") in forms
    split = make_term_splitter(text, features)
    assert split is not None
    assert split("node order") == ["nodes", "ordering"]


def test_a_piece_counts_for_every_word_that_contains_it() -> None:
    text = "graph graphs digraph tree"
    split = make_term_splitter(text, make_features([text], tokens="subwords"))
    assert split is not None
    assert split("grap") == ["graph", "graphs", "digraph"]
    assert split("unknown") == ["unknown"]


def test_features_that_are_no_text_have_no_words() -> None:
    features = Features(size=3)
    assert read_words("a text", features) == []
    assert make_term_splitter("a text", features) is None


def test_words_that_add_more_or_less_sum_to_the_change_of_the_score() -> None:
    before = Explanation.from_parts([Part("a", "x", 1.0), Part("b", "x", 0.5), Part("(any document)", "bias", -1.0)])
    after = Explanation.from_parts([Part("a", "x", 1.0), Part("c", "x", -0.7), Part("(any document)", "bias", -0.8)])
    changes = compare_words(before.group(), after.group())
    assert [word for word, _ in changes] == ["c", "b", "(any document)"]
    assert sum(change for _, change in changes) == pytest.approx(after.score - before.score)
