"""Datasets on disk: what is written block by block comes back the same, mapped, and trains the same model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import xcwork
from xcwork.core.dataset import Dataset
from xcwork.data.dataset_writer import DatasetWriter
from xcwork.data.load import load_dataset
from xcwork.data.synthetic import make_synthetic
from xcwork.errors import DataError, XcworkError
from xcwork.storage import mapped_arrays
from xcwork.storage.state import write_state


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return make_synthetic(n_documents=120, n_labels=16, n_topics=2, seed=2)


def written(dataset: Dataset, folder: Path, block: int = 17) -> Path:
    with DatasetWriter(folder, n_features=dataset.features.size, label_names=dataset.labels.names) as writer:
        for part, split in ((writer.train, dataset.train), (writer.test, dataset.test)):
            for start in range(0, len(split), block):
                part.add(split.X[start : start + block], split.Y[start : start + block])
    return folder


def test_what_is_written_by_blocks_comes_back_mapped(dataset: Dataset, tmp_path: Path) -> None:
    found = Dataset.load(written(dataset, tmp_path / "big"), mapped=True)
    for ours, theirs in ((found.train, dataset.train), (found.test, dataset.test)):
        for name in ("X", "Y"):
            matrix = getattr(ours, name)
            assert mapped_arrays.find_mapping(matrix.data) is not None
            assert not matrix.data.flags.writeable
            np.testing.assert_array_equal(matrix.toarray(), getattr(theirs, name).toarray())
    assert found.labels.names == dataset.labels.names
    assert found.fingerprint == Dataset.load(tmp_path / "big", mapped=False).fingerprint
    assert sorted(path.name for path in tmp_path.iterdir()) == ["big"]  # nothing is left beside it


def test_a_large_folder_is_mapped_by_itself(dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = written(dataset, tmp_path / "big")
    assert mapped_arrays.find_mapping(load_dataset(folder, home=tmp_path).train.X.data) is None
    assert mapped_arrays.find_mapping(load_dataset(folder, home=tmp_path, mapped=True).train.X.data) is not None
    monkeypatch.setattr("xcwork.core.dataset.MIN_MAPPED_BYTES", 1000)
    assert mapped_arrays.find_mapping(load_dataset(folder, home=tmp_path).train.X.data) is not None


@pytest.mark.parametrize("method", ["flat", "mhs", "mhp"])
def test_a_method_that_streams_learns_the_same(method: str, dataset: Dataset, tmp_path: Path) -> None:
    there = Dataset.load(written(dataset, tmp_path / "big"), mapped=True)
    params = {"width": 8, "epochs": 2, "min_steps": 0, "backbone": "text", "device": "cpu"}
    ours, theirs = (xcwork.create(method, **params).fit(each.train) for each in (dataset, there))
    for name, weights in ours.model_.weights.items():
        np.testing.assert_array_equal(theirs.model_.weights[name], weights)
    np.testing.assert_array_equal(theirs.predict(there.test, 3).ids, ours.predict(dataset.test, 3).ids)


def test_released_pages_are_read_again(dataset: Dataset, tmp_path: Path) -> None:
    X = Dataset.load(written(dataset, tmp_path / "big"), mapped=True).train.X
    before = X[3:9].toarray()
    mapped_arrays.release_pages(X)
    np.testing.assert_array_equal(X[3:9].toarray(), before)
    mapped_arrays.release_pages(dataset.train.X)  # in memory: nothing happens
    assert dataset.train.X.nnz


def test_the_library_reads_what_is_written_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from safetensors.numpy import load_file, save_file

    monkeypatch.setattr(mapped_arrays, "PIECE_BYTES", 7)
    arrays = {
        "a": np.arange(5, dtype=np.int64),
        "b": np.ones((3, 2), np.float32),
        "c": np.array([True, False, True]),
        "d": np.zeros((0, 4), np.float64),
        "e": np.arange(9, dtype=np.uint8),
    }
    save_file(arrays, tmp_path / "theirs")
    on_disk = mapped_arrays.map_arrays(tmp_path / "theirs")
    mapped_arrays.write_arrays(on_disk, tmp_path / "ours")
    for found in (on_disk, load_file(tmp_path / "ours"), mapped_arrays.map_arrays(tmp_path / "ours")):
        assert found.keys() == arrays.keys()
        for name, array in arrays.items():
            np.testing.assert_array_equal(found[name], array)
            assert found[name].dtype == array.dtype


@pytest.mark.parametrize("damage", ["cut", "header", "long header", "outside", "shape", "negative", "type"])
def test_a_damaged_file_is_one_sentence(damage: str, tmp_path: Path) -> None:
    write_state(tmp_path / "s", {"matrix": sparse.csr_array(np.eye(4, dtype=np.float32))})
    file = tmp_path / "s" / "arrays.safetensors"
    content = file.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header, rest = json.loads(content[8 : 8 + length]), content[8 + length :]
    facts = header[".matrix.data"]
    changes = {
        "outside": {"data_offsets": [10**6, 10**6 + 16]},
        "shape": {"shape": [400]},
        "type": {"dtype": "C64"},
        "negative": {"data_offsets": [-16, 0]},
    }
    facts |= changes.get(damage, {})
    text = json.dumps(header).encode()
    whole = len(text).to_bytes(8, "little") + text + rest
    broken = {"cut": whole[:-20], "header": b"\7" + whole[1:], "long header": b"\xff" * 8 + whole[8:]}
    file.write_bytes(broken.get(damage, whole))
    from xcwork.storage.state import read_state

    with pytest.raises(XcworkError, match="damaged"):
        read_state(tmp_path / "s", mapped=True)


def test_blocks_that_do_not_fit_are_refused_and_leave_nothing(dataset: Dataset, tmp_path: Path) -> None:
    X, Y = dataset.train.X, dataset.train.Y
    for wrong, sentence in (
        ((X[:, :3], Y), "a block of X has 3 columns"),
        ((X, Y[:, :2]), "a block of Y has 2 columns"),
        ((X[:5], Y[:4]), "5 documents in X but 4 in Y"),
    ):
        with (
            pytest.raises(DataError, match=sentence),
            DatasetWriter(tmp_path / "big", n_features=X.shape[1], label_names=dataset.labels.names) as writer,
        ):
            writer.train.add(*wrong)
        assert list(tmp_path.iterdir()) == []
    (tmp_path / "taken").mkdir()
    with pytest.raises(DataError, match="exists already"):
        DatasetWriter(tmp_path / "taken", n_features=1, label_names=["a"])
