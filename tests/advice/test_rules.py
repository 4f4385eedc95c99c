"""Three methods at once: the rule of the design on traits, what cannot work, and the words about methods."""

from __future__ import annotations

from dataclasses import replace

import pytest

import xcwork
from xcwork.advice.guide import GROUPS, NOTES, get_note, list_groups
from xcwork.advice.recommendation import Recommendation
from xcwork.advice.rules import FOR_THE_BEST, TO_BEGIN, TO_UNDERSTAND, choose_by_rule, find_obstacle
from xcwork.advice.traits import DatasetTraits, read_traits
from xcwork.errors import DataError
from xcwork.methods.registry import METHODS, find_method_class

TEXTS = DatasetTraits(
    3065, 3416, 117_479, 364, 2.6, 207.0, has_texts=True, has_label_texts=True, has_group_labels=False
)
FEATURES = DatasetTraits(4880, 159, 1836, 0, 73.0, 68.0, has_texts=False, has_label_texts=False, has_group_labels=False)


def choose(traits: DatasetTraits, methods: object = METHODS) -> dict[str, str]:
    return {pick.role: pick.method for pick in choose_by_rule(traits, methods)}


@pytest.mark.parametrize(
    ("traits", "expected"),
    [
        (TEXTS, ("bm25", "zestxml", "siamesexml")),
        (replace(TEXTS, documents_per_label=39.0), ("bm25", "zestxml", "one_vs_all")),
        (replace(TEXTS, documents_per_label=39.0, n_labels=100_001), ("bm25", "zestxml", "label_tree")),
        (replace(TEXTS, has_group_labels=True), ("bm25", "eagle", "siamesexml")),
        (FEATURES, ("nearest_documents", "one_vs_all", "deep_miml")),
        (replace(FEATURES, n_labels=5000), ("nearest_documents", "label_tree", "one_vs_all")),
    ],
    ids=["few documents", "many documents", "very many labels", "groups", "few labels", "features"],
)
def test_the_rule_of_the_design(traits: DatasetTraits, expected: tuple[str, str, str]) -> None:
    assert choose(traits) == dict(zip((TO_BEGIN, TO_UNDERSTAND, FOR_THE_BEST), expected, strict=True))


def test_what_is_not_installed_is_not_recommended() -> None:
    assert "siamesexml" not in choose(TEXTS, ["zestxml", "one_vs_all", "tfidf", "nearest_documents"]).values()
    assert choose(TEXTS, []) == {}


def test_a_method_that_reads_label_texts_needs_them() -> None:
    blocked = {method for method in METHODS if find_obstacle(method, FEATURES)}
    assert blocked == {"sentence_match", "siamesexml", "zestxml", "tfidf", "bm25"}
    assert not any(find_obstacle(method, TEXTS) for method in METHODS)


def test_the_dataset_in_words() -> None:
    assert TEXTS.describe() == "short texts, about 3 documents per label, 364 unseen labels"
    assert FEATURES.describe() == "features without texts, about 73 documents per label, no label texts"
    one = replace(TEXTS, documents_per_label=1.2, n_unseen_labels=1, terms_per_document=900.0)
    assert one.describe() == "long texts, about 1 document per label, 1 unseen label"


def test_traits_are_those_of_the_dataset() -> None:
    texts = [f"{word} number {i}" for i in range(8) for word in ("apple", "pear")]
    labels = [[word] for _ in range(8) for word in ("fruit", "tree")]
    dataset = xcwork.from_lists(texts, labels)
    traits = read_traits(dataset)
    assert (traits.n_train, traits.n_labels) == (len(dataset.train), 2)
    assert traits.documents_per_label == pytest.approx(len(dataset.train) / 2)
    assert traits.has_texts
    assert not traits.has_group_labels


def test_every_method_is_described_once_and_as_it_declares_itself() -> None:
    listed = [method for group in GROUPS for method in group.methods]
    assert sorted(listed) == sorted(NOTES) == sorted(set(METHODS) - {"gated"})
    assert len(GROUPS) == 5
    for method, note in NOTES.items():
        cls = find_method_class(method)
        assert note.needs_label_text == cls.capabilities.needs_label_text, method
        assert set(note.main_settings) <= set(cls.parameters()), method
        assert len(note.main_settings) <= 3
        assert all(sentence.endswith(".") for sentence in (*note.how, note.when))


def test_a_method_that_nobody_described_is_listed_last() -> None:
    groups = list_groups(["new_one", "zestxml"])
    assert [group.methods for group in groups] == [("zestxml",), ("new_one",)]
    assert get_note("new_one").title == "new_one"


def test_the_rule_needs_no_training_and_gives_no_quality() -> None:
    dataset = xcwork.load_dataset("synthetic:n_documents=60,n_labels=12,n_topics=3,labels_per_document=1.5")
    found = xcwork.recommend(dataset)
    assert found.level == "rule"
    assert len(found.suggestions) == 3
    assert all(each.expected is None and each.seconds > 0 and each.memory_mb > 0 for each in found.suggestions)
    assert Recommendation.from_dict(found.to_dict()) == found


@pytest.mark.parametrize("content", [{}, {"recommended": [{}]}, {"recommended": 3, "tried": []}])
def test_a_damaged_recommendation_is_refused(content: dict[str, object]) -> None:
    with pytest.raises(DataError, match="not a recommendation"):
        Recommendation.from_dict(content)
