"""Why a label won: the words add up to the difference of the scores."""

from __future__ import annotations

import pytest

from xcwork.analysis.winner import WinnerReasons, explain_winner
from xcwork.data.load import load_dataset
from xcwork.methods.registry import create


@pytest.mark.parametrize("name", ["bm25", "one_vs_all", "nearest_documents"])
def test_words_and_rest_add_up_to_the_difference(name: str, tmp_path) -> None:
    from tests.support.fruit import write_fruit

    dataset = load_dataset(write_fruit(tmp_path / "fruit.csv", ("rare", "rarer"), "some text"))
    method = create(name)
    method.fit(dataset.train)
    document = dataset.test.take([0])
    first = method.predict(document, 1).get_row(0)[0][0]
    second = (first + 1) % len(dataset.labels)
    reasons = explain_winner(method, document, first, second)
    scores = [method.explain(document, label).score for label in (first, second)]
    assert reasons.difference == pytest.approx(scores[0] - scores[1])
    assert sum(value for _, value in reasons.words) + reasons.rest == pytest.approx(reasons.difference)
    assert all(value > 0 for _, value in reasons.words)
    assert reasons.winner == dataset.labels.names[first]


def test_the_sentence_names_the_words() -> None:
    some = WinnerReasons("a", "b", 1.0, (("forest", 0.6), ("tree", 0.3)), 0.1, True)
    assert some.sentence == "“forest” and “tree” count more for it."
    assert "No single word" in WinnerReasons("a", "b", 1.0, (), 1.0, True).sentence
