"""Equal fingerprints mean equal results: whatever decides a result changes the fingerprint, and nothing collides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from xcwork.core.dataset import Dataset, compute_first_fingerprint
from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.propensity import Propensity
from xcwork.core.split import Split
from xcwork.data.build import build_dataset
from xcwork.data.raw import RawDataset, RawLabels, RawSplit
from xcwork.storage.fingerprint import hash_content, may_match
from xcwork.text.vectorizer import TextVectorizer

CONTENT = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


def small_dataset(vectorizer: TextVectorizer | None = None) -> Dataset:
    raw = RawDataset(
        train=RawSplit(
            texts=["red wine", "green tea"],
            labels=[["w"], ["t"]],
            uids=["a", "b"],
            groups=["g", "h"],
            filter_pairs=np.array([[0, 1]]),
        ),
        test=RawSplit(texts=["white wine"], labels=[["w"]], filter_pairs=np.array([[0, 1]])),
        labels=RawLabels(names=["Wine", "Tea"], uids=["w", "t"], parents=[["drinks"], []]),
    )
    return build_dataset(raw, name="drinks", vectorizer=vectorizer)


def change_train(change: Callable[[Split], Split]) -> Callable[[Dataset], Dataset]:
    return lambda dataset: replace(dataset, train=change(dataset.train))


def change_labels(**new: object) -> Callable[[Dataset], Dataset]:
    return change_train(lambda train: replace(train, labels=replace(train.labels, **new)))


CHANGES = {
    "X": change_train(lambda train: replace(train, X=train.X * np.float32(2))),
    "Y": change_train(lambda train: replace(train, Y=sparse.csr_array(train.Y[::-1]))),
    "Z": change_labels(Z=None),
    "label names": change_labels(names=["Wein", "Tea"]),
    "label uids": change_labels(uids=["w", "x"]),
    "label texts": change_labels(texts=["Wine", "Tea from leaves"]),
    "parents": change_labels(parents=[["drinks", "alcohol"], []]),
    "texts": change_train(lambda train: replace(train, texts=["red wine", "Green tea"])),
    "uids": change_train(lambda train: replace(train, uids=["a", "c"])),
    "groups": change_train(lambda train: replace(train, groups=["g", "g"])),
    "no groups": change_train(lambda train: replace(train, groups=None)),
    "training filter pairs": change_train(lambda train: replace(train, filter_pairs=np.array([[1, 0]]))),
    "test filter pairs": lambda dataset: replace(dataset, test=replace(dataset.test, filter_pairs=None)),
    "feature names": change_train(
        lambda train: replace(train, features=replace(train.features, vectorizer=None, names=["?"] * train.X.shape[1]))
    ),
    "vectoriser": lambda dataset: small_dataset(vectorizer=TextVectorizer(sublinear=True)),
    "propensity": lambda dataset: replace(dataset, propensity=Propensity(A=0.6)),
}


@pytest.mark.parametrize("changed", CHANGES)
def test_whatever_decides_a_result_is_part_of_the_fingerprint(changed):
    dataset = small_dataset()
    other = CHANGES[changed](dataset)
    assert other.fingerprint != dataset.fingerprint
    assert not dataset.recognises(other.fingerprint)


def test_the_same_data_have_the_same_fingerprint_under_any_name():
    dataset = small_dataset()
    again = replace(small_dataset(), name="other", source="elsewhere")
    assert again.fingerprint == dataset.fingerprint
    assert dataset.recognises(again.fingerprint)


def test_line_breaks_in_names_do_not_collide():
    dataset = small_dataset()
    one, two = (change_labels(parents=[parents, []])(dataset) for parents in (["a\nb"], ["a", "b"]))
    assert one.fingerprint != two.fingerprint
    one, two = (
        replace(dataset, train=replace(dataset.train, groups=groups)) for groups in (["a", "\nb"], ["a\n", "b"])
    )
    assert one.fingerprint != two.fingerprint
    assert compute_first_fingerprint(one) == compute_first_fingerprint(
        two
    )  # what the prefix of a fingerprint tells apart


@given(one=CONTENT, other=CONTENT)
def test_different_content_has_different_hashes(one, other):
    assert (hash_content(one) == hash_content(other)) == (repr(_ordered(one)) == repr(_ordered(other)))


def _ordered(value: object) -> object:
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value)}
    return [_ordered(item) for item in value] if isinstance(value, list) else value


def test_arrays_of_the_same_bytes_but_another_shape_or_type_differ():
    numbers = np.arange(6, dtype=np.int32)
    views = (numbers, numbers.reshape(2, 3), numbers.reshape(3, 2), numbers.view(np.float32), numbers.view(np.int64))
    assert len({hash_content(view) for view in views}) == 5


def test_fingerprints_of_earlier_versions_are_still_recognised():
    dataset = small_dataset()
    recorded = compute_first_fingerprint(dataset)
    assert dataset.recognises(recorded)
    assert dataset.recognises(None)
    assert not dataset.recognises("0123456789abcdef")
    assert not CHANGES["X"](dataset).recognises(recorded)


def test_the_first_version_is_computed_as_it_was():
    X = sparse.csr_array(np.eye(2, dtype=np.float32))
    split = Split(X, X, LabelSpace(["a", "b"]), Features(2), groups=["g", "g"])
    assert compute_first_fingerprint(Dataset("tiny", split, split)) == "8b9ab2e20bbc04af"


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("2-a", "2-a", True),
        ("2-a", "2-b", False),
        ("a", "b", False),
        ("a", "2-b", True),
        (None, "a", False),
        (None, None, True),
    ],
)
def test_recorded_fingerprints_of_different_versions_may_match(one, other, expected):
    assert may_match(one, other) is expected
    assert may_match(other, one) is expected
