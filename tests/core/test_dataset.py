"""The dataset types: what belongs together stays together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from xcwork.data import Dataset, Features, LabelSpace, Propensity, Split
from xcwork.errors import ConfigError, DataError
from xcwork.text.vectorizer import TextVectorizer


def small_split(n_documents: int = 6, n_labels: int = 4) -> Split:
    X = sparse.csr_array(np.arange(n_documents * 3, dtype=np.float32).reshape(n_documents, 3))
    Y = sparse.csr_array((np.arange(n_documents)[:, None] % n_labels == np.arange(n_labels)).astype(np.float32))
    features = Features(3, ["a", "b", "c"])
    labels = LabelSpace(
        *([f"{what}{i}" for i in range(n_labels)] for what in ("label ", "u", "text ")),
        sparse.csr_array(np.eye(n_labels, 3, dtype=np.float32)),
        features,
        [["u0"] if i else [] for i in range(n_labels)],
    )
    pairs = np.array([[0, 1], [2, 3], [2, 0]])
    texts = [f"document {i}" for i in range(n_documents)]
    return Split(X, Y, labels, features, texts, [f"d{i}" for i in range(n_documents)], ["g"] * n_documents, pairs)


def test_other_texts_change_the_features_and_nothing_else(checkerboard: Dataset) -> None:
    document = replace(checkerboard.test, filter_pairs=np.array([[1, 3]])).take([1])
    edited = document.replace_texts(["black circle"])
    assert edited.texts == ["black circle"]
    np.testing.assert_array_equal(edited.X.toarray(), document.features.transform(["black circle"]).toarray())
    np.testing.assert_array_equal(edited.Y.toarray(), document.Y.toarray())
    assert edited.filter_pairs.tolist() == [[0, 3]]
    with pytest.raises(DataError, match="ready-made features"):
        small_split().replace_texts(["a"] * 6)


def test_the_filtered_labels_of_a_document() -> None:
    split = small_split()
    assert [sorted(split.list_filtered_labels(row).tolist()) for row in range(3)] == [[1], [], [0, 3]]
    assert replace(split, filter_pairs=None).list_filtered_labels(0).tolist() == []


@given(rows=st.lists(st.integers(0, 5), max_size=12))
def test_taking_rows_moves_everything_along(rows: list[int]) -> None:
    split = small_split()
    taken = split.take(rows)
    assert taken.texts == [f"document {i}" for i in rows]
    assert taken.uids == [f"d{i}" for i in rows]
    np.testing.assert_array_equal(taken.X.toarray(), split.X.toarray()[rows])
    np.testing.assert_array_equal(taken.Y.toarray(), split.Y.toarray()[rows])
    expected = {
        (new, label) for new, old in enumerate(rows) for row, label in split.filter_pairs.tolist() if row == old
    }
    assert {tuple(pair) for pair in taken.filter_pairs.tolist()} == expected


@pytest.mark.parametrize("rows", [[], [5, 0, 5], range(3), np.array([1], np.uint8)])
def test_rows_may_be_any_list_of_numbers(rows) -> None:
    assert small_split().take(rows).uids == [f"d{i}" for i in rows]


@given(mask=st.lists(st.booleans(), min_size=6, max_size=6))
def test_a_mask_takes_the_documents_it_selects(mask: list[bool]) -> None:
    expected = [f"d{i}" for i in range(6) if mask[i]]
    assert small_split().take(mask).uids == expected
    assert small_split().take(np.array(mask)).uids == expected


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([0, 6], "there is no document 6; rows go from 0 to 5"),
        ([-1], "there is no document -1; rows go from 0 to 5"),
        ([True] * 5, r"the mask has the shape \(5,\), but there are 6 documents"),
        ([0.5], "a list of row numbers or by a boolean mask"),
        ([[0]], "a list of row numbers or by a boolean mask"),
        (3, "a list of row numbers or by a boolean mask"),
        (["d1"], "a list of row numbers or by a boolean mask"),
    ],
)
def test_rows_that_do_not_exist_are_refused(rows, sentence) -> None:
    with pytest.raises(DataError, match=sentence):
        small_split().take(rows)


def test_pairs_are_compared_with_the_true_labels() -> None:
    split = small_split()
    assert split.has_labels(np.array([[0, 0], [5, 1], [5, 2], [0, 0]])).tolist() == [True, True, False, True]
    assert split.has_labels(np.empty((0, 2), np.int64)).tolist() == []


@given(share=st.floats(0.01, 0.99), seed=st.integers(0, 5))
def test_holding_out_divides_the_documents(share: float, seed: int) -> None:
    split = small_split(20)
    rest, held = split.hold_out(share, seed)
    assert sorted(rest.uids + held.uids) == sorted(split.uids)
    assert len(held) == min(max(1, round(share * 20)), 19)
    assert split.hold_out(share, seed)[1].uids == held.uids


@given(share=st.floats(0.01, 0.99), seed=st.integers(0, 5), n_groups=st.integers(2, 20))
def test_holding_out_never_tears_a_group_apart(share: float, seed: int, n_groups: int) -> None:
    """A bag has the same labels in all its members, which validation must not meet in training."""
    names = [f"bag {row % n_groups}" for row in range(20)]
    rest, held = replace(small_split(20), groups=names).hold_out(share, seed)
    assert sorted(rest.uids + held.uids) == sorted(small_split(20).uids)
    assert len(rest)
    assert len(held)
    assert not set(rest.groups) & set(held.groups)


@pytest.mark.parametrize("share", [0, 1, -0.5, 2])
def test_an_impossible_share_is_refused(share: float) -> None:
    with pytest.raises(ConfigError, match="between 0 and 1"):
        small_split().hold_out(share)


def test_parts_that_do_not_fit_are_refused() -> None:
    split = small_split()
    with pytest.raises(DataError, match="X has 6 documents but texts has 1"):
        replace(split, texts=["one"])
    with pytest.raises(DataError, match="Y has 4 columns but there are 1 labels"):
        replace(split, labels=LabelSpace(["only"]))
    with pytest.raises(DataError, match="X has 3 columns but there are 2 features"):
        replace(split, features=Features(2))


def test_labels_are_found_by_id_name_and_uid() -> None:
    labels = small_split().labels
    assert labels.find_id(2) == labels.find_id("label 2") == labels.find_id("u2") == labels.find_id(np.int32(2)) == 2
    for wrong in (4, -1, "label 9"):
        with pytest.raises(DataError, match="there is no label"):
            labels.find_id(wrong)


def test_an_ambiguous_label_name_is_refused_with_the_ids() -> None:
    labels = LabelSpace(["Mercury", "Venus", "Mercury"])
    with pytest.raises(DataError, match=r"2 labels are called 'Mercury'; give one of the ids \[0, 2\]"):
        labels.find_id("Mercury")


def test_new_labels_come_after_the_others() -> None:
    labels = small_split().labels.extend(["new"], ["a new text"], sparse.csr_array(np.ones((1, 3), np.float32)))
    assert (len(labels), labels.find_id("new"), labels.texts[4], labels.parents[4]) == (5, 4, "a new text", [])
    assert labels.Z.shape == (5, 3)
    with pytest.raises(DataError, match="no text"):
        LabelSpace(["a"]).extend(["b"], ["b"], labels.Z[:1])


def test_a_stored_dataset_comes_back_whole(tmp_path: Path) -> None:
    dataset = Dataset("tiny", small_split(), small_split(5), Propensity(0.5, 0.4, "a test"), "made here")
    dataset.save(tmp_path / "stored")
    loaded = Dataset.load(tmp_path / "stored")
    assert loaded.fingerprint == dataset.fingerprint
    assert (loaded.name, loaded.propensity, loaded.source) == (dataset.name, dataset.propensity, dataset.source)
    assert loaded.labels.parents == dataset.labels.parents
    assert loaded.labels.features is loaded.features
    assert (loaded.test.texts, loaded.test.groups) == (dataset.test.texts, dataset.test.groups)
    np.testing.assert_array_equal(loaded.train.filter_pairs, dataset.train.filter_pairs)


@pytest.mark.parametrize("parents", [[["a\nb"], ["a", "b"], [""], []], [[], [], [], []]])
def test_parents_come_back_as_they_were(tmp_path: Path, parents: list[list[str]]) -> None:
    split = small_split()
    split = replace(split, labels=replace(split.labels, parents=parents))
    Dataset("tiny", split, split).save(tmp_path / "stored")
    assert Dataset.load(tmp_path / "stored").labels.parents == parents


def test_parents_of_earlier_versions_can_be_read() -> None:
    labels = small_split().labels
    stored = labels.to_state() | {"parents": ["u1\nu2", "", "", "u0"]}
    assert LabelSpace.from_state(stored).parents == [["u1", "u2"], [], [], ["u0"]]


@pytest.mark.parametrize("counts", [[1, 1], [1, 1, -1, 1], [9, 9, 9, 9], [1.0, 1.0, 1.0, 0.0]])
def test_damaged_parents_are_refused(counts: list[float]) -> None:
    labels = small_split().labels
    damaged = labels.to_state() | {"parents": {"uids": ["u0"] * 3, "counts": np.array(counts)}}
    with pytest.raises(ValueError, match="parents"):
        LabelSpace.from_state(damaged)


def test_the_fingerprint_changes_with_the_data_and_the_names() -> None:
    dataset = Dataset("tiny", small_split(), small_split())
    other_value = replace(dataset.train, X=dataset.train.X * 2)
    other_name = replace(dataset.train, labels=replace(dataset.labels, names=["a", "b", "c", "d"]))
    prints = {dataset.fingerprint, *(Dataset("x", s, small_split()).fingerprint for s in (other_value, other_name))}
    assert len(prints) == 3


def test_text_cannot_become_features_without_a_vectorizer() -> None:
    with pytest.raises(DataError, match="ready-made features"):
        Features(3).transform(["text"])


def test_a_stored_zero_is_no_label(jumble):
    Y = jumble.train.Y.copy()
    Y.data[:3] = 0
    before = Y.nnz
    split = replace(jumble.train, Y=Y)
    assert split.Y.nnz == before - 3
    assert split.label_frequencies.sum() == before - 3
    assert Y.nnz == before  # the caller's matrix stays as it is


def test_names_of_terms_are_made_when_they_are_asked_for():
    vectorizer = TextVectorizer(ngrams=1).fit(["red apples", "green pears"])
    features = Features(4, None, vectorizer)
    assert "feature_names" not in vars(vectorizer)
    assert features.get_name(0) == "apples"
    assert features.names == vectorizer.feature_names == replace(features, size=4).names
    assert Features(2).names is None
    assert Features(2, ["a", "b"]).names == ["a", "b"]
    assert Features.from_state(features.to_state()).names == features.names
    with pytest.raises(ValueError, match="there is not one term per feature"):
        Features.from_state(features.to_state() | {"size": 5})
