"""Held-out documents: enough of them, the same every time, whole groups where it matters, and rows like new ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.decisions.held_out_documents import (
    MAX_REFIT_DOCUMENTS,
    count_held_out_documents,
    keeps_groups_whole,
    list_refit_sizes,
    plan_holding_out,
)
from xcwork.decisions.new_documents import imitate_new_documents, split_rows, split_rows_anew
from xcwork.errors import ConfigError, DataError
from xcwork.sparse import normalise_rows
from xcwork.text.vectorizer import TextVectorizer


def make_split(n: int, groups: list[str] | None = None, n_labels: int = 5) -> Split:
    rng = np.random.default_rng(0)
    X = normalise_rows(sparse.csr_array(sparse.random_array((n, 40), density=0.2, rng=rng, dtype=np.float32)))
    ones = np.ones(n, np.float32)
    Y = sparse.csr_array((ones, (np.arange(n), rng.integers(0, n_labels, n))), shape=(n, n_labels))
    return Split(X, Y, LabelSpace([f"l{i}" for i in range(n_labels)]), Features(40), groups=groups)


@pytest.mark.parametrize(("n", "sizes"), [(200, [66] * 3), (303, [60, *[30] * 8]), (20_000, [4_000, 2_000])])
def test_few_documents_are_held_out_from_one_refit_each_until_there_are_enough(n, sizes):
    train = make_split(n)
    plan = plan_holding_out("auto", train, refits=9)
    assert plan.way == "refit"
    assert [len(part) for part in plan.parts] == sizes
    assert len(np.unique(np.concatenate(plan.parts))) == sum(sizes)
    assert plan.take_training_split(train).n_documents == n


@pytest.mark.parametrize(("n", "held"), [(20_001, 2_000), (50_000, 2_500), (90_000, 4_500), (1_000_000, 5_000)])
def test_of_many_documents_few_are_held_out(n, held):
    assert count_held_out_documents(n) == held


@pytest.mark.parametrize(
    ("refits", "n", "count"), [(2, 600, 9), (2, 1_000, 6), (2, 3_065, 2), (4, 13_900, 4), (1, 600, 1)]
)
def test_the_fewer_documents_the_more_refits_unless_the_method_is_slow(refits, n, count):
    assert len(list_refit_sizes(n, refits)) == count


def test_many_documents_are_held_out():
    train = make_split(MAX_REFIT_DOCUMENTS + 1)
    plan = plan_holding_out("auto", train)
    assert plan.way == "held_out"
    assert plan.take_training_split(train).n_documents == len(train) - len(plan.parts[0])


def test_a_sparing_plan_trains_again_only_where_a_tenth_would_be_too_few():
    plan = plan_holding_out("sparing", make_split(2000))
    assert (plan.way, len(plan.parts), len(plan.parts[0])) == ("held_out", 1, 200)
    assert plan_holding_out("sparing", make_split(1990)).way == "refit"
    assert plan_holding_out("sparing", make_split(100)).way == "none"


def test_the_same_seed_holds_out_the_same_documents():
    train = make_split(1000)
    a, b, c = (plan_holding_out("held_out", train, seed=seed).parts[0] for seed in (1, 1, 2))
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)


def test_too_few_documents_are_not_calibrated_on():
    plan = plan_holding_out("auto", make_split(149))
    assert plan.way == "none"
    assert "149 training documents are too few" in plan.reason
    assert plan_holding_out("none", make_split(5000)).way == "none"


def test_an_unknown_way_is_rejected():
    with pytest.raises(ConfigError, match="one of auto, sparing, held_out, refit, none"):
        plan_holding_out("test", make_split(100))


def test_groups_stay_whole_where_test_documents_have_groups_of_their_own():
    groups = [f"g{i // 10}" for i in range(1000)]
    train, near = make_split(1000, groups), make_split(100, groups[:100])
    far = make_split(100, [f"other{i}" for i in range(100)])
    assert keeps_groups_whole(train, far)
    assert not keeps_groups_whole(train, near)
    for part in plan_holding_out("auto", train, far).parts:
        numbers = part // 10
        assert (np.bincount(numbers)[np.unique(numbers)] == 10).all()
    numbers = plan_holding_out("auto", train, near).parts[0] // 10
    assert (np.bincount(numbers)[np.unique(numbers)] < 10).any()


def test_groups_stay_whole_where_their_members_share_labels():
    groups = [f"g{i // 10}" for i in range(200)]
    train = make_split(200, groups)
    assert not keeps_groups_whole(train, None)
    ones = np.ones(200, np.float32)
    shared = sparse.csr_array((ones, (np.arange(200), np.arange(200) // 10 % 5)), shape=(200, 5))
    assert keeps_groups_whole(replace(train, Y=shared), None)
    assert not keeps_groups_whole(replace(train, groups=None), None)


def test_words_of_held_out_documents_alone_are_dropped_as_from_a_new_text():
    X = normalise_rows(sparse.csr_array(np.array([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]], np.float32)))
    Y = sparse.csr_array(np.eye(3, dtype=np.float32))
    train = Split(X, Y, LabelSpace(["a", "b", "c"]), Features(4))
    rest, held = split_rows(train, np.array([2]))
    assert rest.n_documents == 2
    np.testing.assert_allclose(held.X.toarray(), [[1.0, 0, 0, 0]], atol=1e-6)  # of unit length again
    # Rows that were not scaled are not scaled here either, and words of labels are known words.
    raw = Split(sparse.csr_array(3 * X.toarray()), Y, train.labels, Features(4))
    np.testing.assert_allclose(split_rows(raw, np.array([2]))[1].X.toarray()[0, 0], 3 / np.sqrt(2), rtol=1e-6)
    named = LabelSpace(["a", "b", "c"], Z=sparse.csr_array(np.eye(3, 4, 1, dtype=np.float32)))
    same = imitate_new_documents(replace(train, labels=named).take([2]), train.take([0, 1]))
    np.testing.assert_allclose(same.X.toarray(), X.toarray()[[2]], atol=1e-6)


def test_somebody_has_to_be_trained_on():
    with pytest.raises(DataError, match="no document is left"):
        split_rows(make_split(3), np.arange(3))


def read_texts(texts: list[str], **options: object) -> Split:
    """Return documents with texts, as a dataset has them."""
    vectorizer = TextVectorizer(stop_words=False, **options)
    X = vectorizer.fit_transform(texts, ["red", "green"])
    features = Features(X.shape[1], vectorizer.feature_names, vectorizer)
    labels = LabelSpace(
        ["red", "green"], texts=["red", "green"], Z=vectorizer.transform(["red", "green"]), features=features
    )
    Y = sparse.csr_array(np.eye(2, dtype=np.float32)[np.arange(len(texts)) % 2])
    return Split(X, Y, labels, features, texts=texts)


TEXTS = ["plum plum red", "pear pear green", "plum red fig", "fig lime green"]


def list_terms(split: Split, row: int) -> set[str]:
    return {split.features.get_name(column) for column in split.X[[row]].indices}


def test_a_held_out_text_is_read_with_the_vocabulary_of_the_others():
    """`fig` is among the most frequent words only because the held-out text has it, so a new text would lose it."""
    train = read_texts(TEXTS, ngrams=1, max_features=4)
    assert "fig" in train.features.names
    rest, held = split_rows_anew(train, np.array([2]))
    expected = TextVectorizer(**train.features.vectorizer.options)
    X = expected.fit_transform([TEXTS[0], TEXTS[1], TEXTS[3]], ["red", "green"])
    assert rest.features.names == held.labels.features.names == expected.feature_names
    np.testing.assert_array_equal(rest.X.toarray(), X.toarray())
    np.testing.assert_array_equal(held.X.toarray(), expected.transform([TEXTS[2]]).toarray())
    assert rest.labels.Z.shape[1] == held.X.shape[1]
    assert list_terms(held, 0) == {"plum", "red"}


def test_a_model_keeps_its_columns_and_terms_known_from_the_held_out_text_alone_are_dropped():
    texts = [*TEXTS, "kiwi red", "lime kiwi green"]
    train = read_texts(texts, ngrams=1, max_features=5)
    rest, held = split_rows(train, np.array([4]))
    known = TextVectorizer(**train.features.vectorizer.options)
    known.fit([text for row, text in enumerate(texts) if row != 4], ["red", "green"])
    assert "kiwi" in list_terms(train, 4)
    assert "kiwi" not in known.feature_names
    assert rest.X.shape[1] == held.X.shape[1] == train.X.shape[1]
    assert list_terms(held, 0) == {"red"}
    np.testing.assert_allclose(np.linalg.norm(held.X.toarray(), axis=1), 1.0, rtol=1e-6)


def test_texts_too_long_to_read_again_keep_their_columns(monkeypatch):
    monkeypatch.setattr("xcwork.decisions.new_documents.MAX_CHARACTERS", 10)
    train = read_texts(TEXTS, ngrams=1)
    rest, held = split_rows_anew(train, np.array([0]))
    assert rest.features is held.features is train.features
