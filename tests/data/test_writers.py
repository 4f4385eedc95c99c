"""What the writers write, `load_dataset` reads back; peers read it, too."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from xcwork.core.dataset import Dataset
from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.data import writers
from xcwork.data.load import load_dataset
from xcwork.data.writers import write_splits, write_xc
from xcwork.errors import DataError

N_FEATURES, N_LABELS = 30, 8


def matrix(rng: np.random.Generator, rows: int, columns: int, ones: bool = False) -> sparse.csr_array:
    kept = rng.random((rows, columns)) < 0.2
    values = np.ones((rows, columns)) if ones else np.exp(8 * rng.standard_normal((rows, columns)))
    return sparse.csr_array((kept * values).astype(np.float32))


def make(seed: int = 0, label_features: str = "shared", rows: int = 25) -> Dataset:
    rng = np.random.default_rng(seed)
    features = Features(N_FEATURES, [f"term {i}" for i in range(N_FEATURES)])
    own = {"none": None, "shared": features, "own": Features(5, ["ä", "b", "c", "d", "e"])}[label_features]
    Z = None if own is None else matrix(rng, N_LABELS, own.size)
    labels = LabelSpace([f"näme {i}" for i in range(N_LABELS)], Z=Z, features=own)
    train, test = (
        Split(
            matrix(rng, n, N_FEATURES),
            matrix(rng, n, N_LABELS, ones=True),
            labels,
            features,
            filter_pairs=np.array([[0, 1], [n - 1, 3]]),
        )
        for n in (rows, 7)
    )
    return Dataset("made", train, test)


def assert_same(one: Dataset, other: Dataset) -> None:
    assert one.fingerprint == other.fingerprint
    assert one.features.names == other.features.names
    for a, b in ((one.train, other.train), (one.test, other.test)):
        np.testing.assert_array_equal(a.filter_pairs, b.filter_pairs)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), label_features=st.sampled_from(["none", "shared", "own"]))
def test_splits_round_trip(tmp_path_factory, seed, label_features):
    folder = tmp_path_factory.mktemp("written") / "splits"
    dataset = make(seed, label_features)
    write_splits(dataset, folder)
    again = load_dataset(folder)
    assert_same(dataset, again)
    assert (again.labels.features is again.features) == (label_features == "shared")


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_xc_round_trip(tmp_path_factory, seed):
    folder = tmp_path_factory.mktemp("written") / "xc"
    dataset = make(seed, "none")
    write_xc(dataset, folder)
    assert_same(dataset, load_dataset(folder))


def test_blocks_do_not_change_the_files(tmp_path, monkeypatch):
    dataset = make(rows=200)
    write_xc(dataset, tmp_path / "whole")
    monkeypatch.setattr(writers, "ENTRIES_PER_BLOCK", 50)
    write_xc(dataset, tmp_path / "blocks")
    assert (tmp_path / "whole/train.txt").read_bytes() == (tmp_path / "blocks/train.txt").read_bytes()


def test_the_text_form(tmp_path):
    features = Features(3)
    labels = LabelSpace(["two\nlines", "b"])
    X = sparse.csr_array(np.array([[0, 0.5, 2], [0, 0, 0], [1, 0, 0]], np.float32))
    Y = sparse.csr_array(np.array([[1, 1], [1, 0], [0, 0]], np.float32))
    split = Split(X, Y, labels, features)
    dataset = Dataset("tiny", split, split)
    write_xc(dataset, tmp_path / "xc")
    assert (tmp_path / "xc/train.txt").read_text() == "3 3 2\n0,1 1:0.5 2:2\n0\n 0:1\n"
    assert (tmp_path / "xc/Y.txt").read_text() == "two lines\nb\n"
    assert sorted(path.name for path in (tmp_path / "xc").iterdir()) == ["Y.txt", "test.txt", "train.txt"]
    write_splits(dataset, tmp_path / "splits")
    assert (tmp_path / "splits/trn_X_Xf.txt").read_text() == "3 3\n1:0.5 2:2\n\n0:1\n"
    assert (tmp_path / "splits/tst_X_Y.txt").read_text() == "3 2\n0:1 1:1\n0:1\n\n"


def test_sklearn_reads_the_xc_file(tmp_path):
    from sklearn.datasets import load_svmlight_file

    dataset = make(3, "none")
    write_xc(dataset, tmp_path / "xc")
    with (tmp_path / "xc/train.txt").open("rb") as file:
        file.readline()
        X, labels = load_svmlight_file(file, n_features=N_FEATURES, multilabel=True, zero_based=True, dtype=np.float32)
    filled = np.flatnonzero(np.diff(dataset.train.X.indptr) + np.diff(dataset.train.Y.indptr))
    np.testing.assert_array_equal(X.toarray(), dataset.train.X[filled].toarray())
    rows = np.split(dataset.train.Y.indices, dataset.train.Y.indptr[1:-1])
    assert [sorted(row) for row in labels] == [rows[i].tolist() for i in filled]


def test_nothing_is_overwritten_or_left_half_done(tmp_path, monkeypatch):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken/precious.txt").write_text("keep me")
    with pytest.raises(DataError, match="taken"):
        write_xc(make(), tmp_path / "taken")
    assert (tmp_path / "taken/precious.txt").read_text() == "keep me"

    def full_disk(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(writers, "_write_names", full_disk)
    with pytest.raises(OSError, match="disk full"):
        write_splits(make(), tmp_path / "new")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]
