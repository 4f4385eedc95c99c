"""The dataset card on data whose every oddity is known."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from xcwork.core.dataset import Dataset
from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.propensity import Propensity
from xcwork.core.split import Split
from xcwork.data import hashing
from xcwork.data.card import describe
from xcwork.data.hashing import hash_rows, hash_texts


def split(X, Y, labels, **more) -> Split:
    X, Y = (sparse.csr_array(np.array(rows, np.float32)) for rows in (X, Y))
    return Split(X, Y, labels, Features(X.shape[1]), **more)


def odd(**texts) -> Dataset:
    """Train: an empty document, a duplicate, one without labels. Test: one that occurs in training."""
    labels = LabelSpace(["a", "b", "b", "orphan <b>"], texts=["x", "", "y", " "])
    train = split(
        [[1, 2], [1, 2], [0, 0], [0, -3]],
        [[1, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]],
        labels,
        texts=texts.get("train"),
        filter_pairs=np.array([[0, 0], [0, 2]]),
    )
    test = split([[1, 2], [2, 1]], [[1, 0, 0, 0], [0, 0, 1, 0]], labels, texts=texts.get("test"))
    return Dataset("odd", train, test, Propensity(0.5, 0.4, "somewhere"), "made by hand")


def test_counts():
    card = describe(odd())
    assert (card.n_train, card.n_test, card.n_features, card.n_labels) == (4, 2, 2, 4)
    assert (card.n_seen_labels, card.n_unseen_labels) == (2, 2)
    assert card.labels_per_document == 1.0
    assert card.train_labels_per_document == {"mean": 1.0, "median": 1.0, "max": 2}
    assert card.train_documents_per_label == {"mean": 2.0, "median": 2.0, "max": 3}
    assert card.unseen_share_of_test == 50.0
    assert card.empty_documents == {"train": 1, "test": 0}
    assert card.unlabelled_documents == {"train": 1, "test": 0}
    assert card.duplicate_documents == {"train": 1, "test": 0}
    assert card.overlapping_documents == 1
    assert card.orphan_labels == 1
    assert card.duplicate_label_names == 1
    assert card.missing_label_texts == 2
    assert card.filter_pairs == {"train": 2, "test": 0}
    assert card.propensity == {"A": 0.5, "B": 0.4, "source": "somewhere"}


def test_every_oddity_is_a_sentence():
    problems = describe(odd()).problems
    for words in (
        "1 training document has no features",
        "1 training document has no labels",
        "1 training document repeats an earlier one",
        "1 test document occurs in the training split",
        "1 label occurs in no document",
        "1 label has the name of another",
        "2 labels have no text",
        "negative",
        "1 filter pair is a true label",
    ):
        assert any(words in problem for problem in problems), words
    assert len(problems) == 9


def test_a_clean_dataset_has_no_problems():
    labels = LabelSpace(["a", "b"])
    dataset = Dataset("fine", split([[1, 0], [0, 1]], [[1, 0], [0, 1]], labels), split([[2, 1]], [[1, 1]], labels))
    card = describe(dataset)
    assert card.problems == []
    assert card.missing_label_texts is None


def test_texts_decide_what_is_a_duplicate():
    card = describe(odd(train=["one", "two", "three", "one"], test=["four", ""]))
    assert card.duplicate_documents == {"train": 1, "test": 0}
    assert card.overlapping_documents == 0


def test_renderings():
    card = describe(odd())
    assert json.loads(json.dumps(card.to_dict()))["n_unseen_labels"] == 2
    text = card.to_text()
    assert "4 train, 2 test" in text
    assert "A = 0.5, B = 0.4 (somewhere)" in text
    assert all(problem in text for problem in card.problems)
    assert "made by hand" in card._repr_html_()
    hostile = Dataset("<script>", odd().train, odd().test)
    assert "<script>" not in describe(hostile)._repr_html_()


def test_frequency_curve_bins_and_bands():
    counts = np.array([100, 60, 30, 6, 5, 3, 2, 1, 1, 0])
    Y = (np.arange(100)[:, None] < counts).astype(np.float32)
    labels = LabelSpace([str(i) for i in range(10)])
    rng = np.random.default_rng(0)
    dataset = Dataset("curve", split(rng.random((100, 3)), Y, labels), split(rng.random((1, 3)), Y[:1], labels))
    card = describe(dataset)
    assert [point["frequency"] for point in card.frequency_curve] == counts[:9].tolist()
    assert [point["rank"] for point in card.frequency_curve] == list(range(1, 10))
    assert {(row["from"], row["to"]): row["labels"] for row in card.frequency_bins} == {
        (0, 0): 1,
        (1, 1): 2,
        (2, 3): 2,
        (4, 7): 2,
        (8, 15): 0,
        (16, 31): 1,
        (32, 63): 1,
        (64, 127): 1,
    }
    by_count = {band: row["labels"] for band, row in card.bands["count"].items()}
    assert by_count == {"head": 2, "torso": 2, "tail": 5, "zero-shot": 1}
    for bands in card.bands.values():
        assert abs(sum(row["share"] for row in bands.values()) - 100) < 0.1


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.sampled_from([0.0, 0.0, 1.0, 2.0, -1.0]), min_size=4, max_size=4), min_size=1, max_size=30))
def test_row_hashes_are_equal_exactly_for_equal_rows(rows):
    matrix = sparse.csr_array(np.array(rows, np.float32))
    hashes = hash_rows(matrix)
    distinct = {tuple(row) for row in rows}
    assert len(set(hashes.tolist())) == len(distinct)
    assert {tuple(row): code for row, code in zip(rows, hashes.tolist(), strict=True)}.keys() == distinct


def test_row_hashes_do_not_depend_on_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    matrix = sparse.csr_array(rng.random((50, 20)) * (rng.random((50, 20)) < 0.3))
    whole = hash_rows(matrix)
    monkeypatch.setattr(hashing, "ENTRIES_PER_BLOCK", 7)
    np.testing.assert_array_equal(hash_rows(matrix), whole)


def test_hashes_are_the_same_on_every_machine():
    matrix = sparse.csr_array(np.array([[0, 1.5], [2, 0]], np.float32))
    assert hash_rows(matrix).tolist() == [10246847348568166231, 13758858877095464340]
    assert hash_texts(["a", ""]).tolist() == [3405396810240292928, 13020603013274838756]


def test_notes_are_shown_and_stored_with_the_dataset(tmp_path):
    dataset = replace(odd(), notes=("the names contain `<b>`",))
    card = describe(dataset)
    assert card.notes == ["the names contain `<b>`"]
    assert "* the names contain `<b>`" in card.to_text()
    assert "the names contain `&lt;b&gt;`" in card._repr_html_()
    dataset.save(tmp_path / "new")
    assert Dataset.load(tmp_path / "new").notes == dataset.notes
    odd().save(tmp_path / "old")
    state = tmp_path / "old" / "state.json"
    state.write_text(state.read_text().replace('"notes"', '"earlier versions had none"'))
    assert Dataset.load(tmp_path / "old").notes == ()
