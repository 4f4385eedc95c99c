"""PECOS folders, ARFF files and idx images; and what happens to paths that are no dataset at all."""

from __future__ import annotations

import gzip
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from xcwork.compute import memory
from xcwork.core.dataset import Dataset
from xcwork.data import readers
from xcwork.data.readers import safe_files
from xcwork.errors import DataError


def load(path: Path, **options: object) -> Dataset:
    return readers.read(readers.choose_reader(path), path, path.name, options)


def refusal(path: Path, **options: object) -> DataError:
    with pytest.raises(DataError) as caught:
        load(path, **options)
    return caught.value


def pecos(path: Path) -> Path:
    matrices = {
        "X.trn": [[0, 1.5], [2, 0]],
        "Y.trn": [[1, 0, 0], [0, 1, 0]],
        "X.tst": [[1, 1]],
        "Y.tst": [[0, 1, 1]],
    }
    for name, rows in matrices.items():
        sparse.save_npz(path / f"{name}.npz", sparse.csr_matrix(np.array(rows, np.float64)))
    (path / "output-items.txt").write_text("red wine\ngreen tea\nred wine\n")
    (path / "X.trn.txt").write_text("grapes and wine\nleaves and tea\n")
    (path / "X.tst.txt").write_text("more tea\n")
    return path


def test_pecos(tmp_path):
    dataset = load(pecos(tmp_path))
    assert dataset.train.X.toarray().tolist() == [[0, 1.5], [2, 0]]
    assert dataset.train.X.dtype == np.float32
    assert dataset.test.Y.toarray().tolist() == [[0, 1, 1]]
    assert dataset.labels.names == ["red wine", "green tea", "red wine"]
    assert dataset.train.texts == ["grapes and wine", "leaves and tea"]


def test_pecos_from_its_texts(tmp_path):
    pecos(tmp_path)
    assert load(tmp_path, features="text").features.vectorizer is not None
    for name in ("X.trn.npz", "X.tst.npz"):
        (tmp_path / name).unlink()
    dataset = load(tmp_path, vectorizer={"ngrams": 1})
    assert "tea" in dataset.features.names
    assert dataset.labels.Z.shape == (3, dataset.features.size)
    assert dataset.test.Y.toarray().tolist() == [[0, 1, 1]]


def test_pecos_features_in_a_subfolder(tmp_path):
    pecos(tmp_path)
    (tmp_path / "tfidf-attnxml").mkdir()
    for name in ("X.trn.npz", "X.tst.npz"):
        (tmp_path / name).rename(tmp_path / "tfidf-attnxml" / name)
    assert load(tmp_path).train.X.toarray().tolist() == [[0, 1.5], [2, 0]]


def test_pecos_with_a_pickle_inside(tmp_path):
    pecos(tmp_path)
    with (tmp_path / "X.trn.npz").open("wb") as file:
        np.savez(file, format=b"csr", data=np.array([print], dtype=object), shape=(1, 1), indices=[0], indptr=[0, 1])
    assert refusal(tmp_path).file == tmp_path / "X.trn.npz"


def test_pecos_with_a_lying_array_header(tmp_path):
    pecos(tmp_path)
    with zipfile.ZipFile(tmp_path / "X.trn.npz", "a") as archive, archive.open("data2.npy", "w") as entry:
        np.lib.format.write_array_header_1_0(entry, {"descr": "<f8", "fortran_order": False, "shape": (10**13,)})
    assert "claims more" in str(refusal(tmp_path))


def test_pecos_with_indices_out_of_range(tmp_path):
    pecos(tmp_path)
    with (tmp_path / "X.trn.npz").open("wb") as file:
        np.savez(file, format=b"csr", data=[1.0], shape=(2, 2), indices=[7], indptr=[0, 1, 1])
    assert refusal(tmp_path).file == tmp_path / "X.trn.npz"


def test_pecos_rows_that_disagree(tmp_path):
    pecos(tmp_path)
    sparse.save_npz(tmp_path / "Y.tst.npz", sparse.csr_matrix((2, 3)))
    assert "rows" in str(refusal(tmp_path))


DENSE = """% a comment
@relation 'small: -C 2'
@attribute first {0,1}
@attribute 'the second' {0,1}
@attribute size numeric
@attribute "co\\"lour" {red,'dark green',blue}
@data
1,0,2.5,red
0,1,-1,'dark green'
"""
SPARSE = """@RELATION s
@ATTRIBUTE a NUMERIC
@ATTRIBUTE b {0,1}
@ATTRIBUTE l1 {0,1}
@ATTRIBUTE l2 {0,1}
@DATA
{0 2.5,2 1}
{1 1, 3 1, 2 1}
{ }
"""
XML = '<labels xmlns="http://mulan.sourceforge.net/labels"><label name="l2"><label name="l1"/></label></labels>'


def test_dense_arff_with_the_count_of_meka(tmp_path):
    (tmp_path / "small.arff").write_text(DENSE)
    dataset = load(tmp_path / "small.arff")
    rows = sorted(np.vstack([dataset.train.X.toarray(), dataset.test.X.toarray()]).tolist())
    assert rows == [[-1, 0, 1, 0], [2.5, 1, 0, 0]]
    assert dataset.labels.names == ["first", "the second"]
    assert dataset.features.names == ["size", 'co"lour=red', 'co"lour=dark green', 'co"lour=blue']


def test_mulan_pair_with_xml(tmp_path):
    (tmp_path / "set-train.arff").write_text(SPARSE)
    (tmp_path / "set-test.arff").write_text(SPARSE)
    (tmp_path / "set.xml").write_text(XML)
    dataset = load(tmp_path)
    assert dataset.labels.names == ["l2", "l1"]
    assert dataset.labels.parents == [[], ["l2"]]
    assert dataset.train.X.toarray().tolist() == [[2.5, 0], [0, 1], [0, 0]]
    assert dataset.train.Y.toarray().tolist() == [[0, 1], [1, 1], [0, 0]]
    assert dataset.train.Y.has_sorted_indices


def test_multi_instance_arff_keeps_bags_together(tmp_path):
    rows = "".join(f'bag{i},"{i},1\\n{i},2\\n{i},3",{i % 2},1\n' for i in range(30))
    (tmp_path / "bags.arff").write_text(
        "@relation bags\n@attribute id {" + ",".join(f"bag{i}" for i in range(30)) + "}\n@attribute bag relational\n"
        "  @attribute x numeric\n  @attribute y numeric\n@end bag\n@attribute odd {0,1}\n@attribute all {0,1}\n@data\n"
        + rows
    )
    dataset = load(tmp_path)
    assert len(dataset.train) + len(dataset.test) == 90
    assert not set(dataset.train.groups) & set(dataset.test.groups)
    assert dataset.features.names == ["x", "y"]
    at = dataset.train.groups.index("bag7") if "bag7" in dataset.train.groups else None
    split, at = (dataset.train, at) if at is not None else (dataset.test, dataset.test.groups.index("bag7"))
    assert split.X[at : at + 3].toarray().tolist() == [[7, 1], [7, 2], [7, 3]]
    assert split.Y[at : at + 3].toarray().tolist() == [[1, 1]] * 3


@pytest.mark.parametrize(
    ("old", "new", "line", "part"),
    [
        ("{0 2.5,2 1}", "{0 2.5,9 1}", 7, "attribute 9"),
        ("{0 2.5,2 1}", "{0 2.5,2 1", 7, "closing"),
        ("{0 2.5,2 1}", "{0 2.5,2 7}", 7, "'l1' is '7'"),
        ("{0 2.5,2 1}", "{0 nan,2 1}", 7, "'a' is 'nan'"),
        ("{0 2.5,2 1}", "{0 1e39,2 1}", 7, "'a' is '1e39'"),  # more than single precision holds
        ("{0 2.5,2 1}", "{0 2.5,0 1}", 7, "occurs twice"),
        ("{0 2.5,2 1}", "{0 2.5 2}", 7, "'a' is '2.5 2'"),
        ("{0 2.5,2 1}", "0,1,1", 7, "3 values for 4 attributes"),
        ("NUMERIC", "blob", 2, "cannot become features"),
        ("@DATA", "@DATUM", 6, "not an ARFF declaration"),
    ],
)
@pytest.mark.filterwarnings("error")  # one sentence, and nothing beside it
def test_broken_arff(tmp_path, old, new, line, part):
    (tmp_path / "set.arff").write_text(SPARSE.replace(old, new, 1))
    (tmp_path / "set.xml").write_text(XML)
    error = refusal(tmp_path)
    assert (error.file, error.line) == (tmp_path / "set.arff", line)
    assert part in str(error)


def test_arff_whose_labels_nobody_names(tmp_path):
    (tmp_path / "set.arff").write_text(SPARSE)
    assert "n_labels" in str(refusal(tmp_path))
    assert load(tmp_path, n_labels=1).labels.names == ["l2"]
    (tmp_path / "set.xml").write_text(XML.replace("l1", "l9"))
    assert "'l9' is not an attribute" in str(refusal(tmp_path))
    (tmp_path / "set.xml").write_text(XML[:-5])
    assert refusal(tmp_path).line == 1
    (tmp_path / "set.xml").write_text('<!DOCTYPE a [<!ENTITY b "c">]>' + XML)
    assert "entities" in str(refusal(tmp_path))


def idx(path: Path, array: np.ndarray) -> None:
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    path.write_bytes(gzip.compress(header + array.astype(np.uint8).tobytes()))


def images(path: Path) -> Path:
    path.mkdir(exist_ok=True)
    idx(path / "train-images-idx3-ubyte.gz", np.array([[[0, 255], [51, 0]], [[0, 0], [0, 102]]]))
    idx(path / "train-labels-idx1-ubyte.gz", np.array([2, 0]))
    idx(path / "t10k-images-idx3-ubyte.gz", np.zeros((1, 2, 2)))
    idx(path / "t10k-labels-idx1-ubyte.gz", np.array([9]))
    return path


def test_idx_images(tmp_path):
    dataset = load(images(tmp_path / "fashion-mnist"))
    np.testing.assert_allclose(dataset.train.X.toarray(), [[0, 1, 0.2, 0], [0, 0, 0, 0.4]], rtol=1e-6)
    assert dataset.features.image_shape == (2, 2)
    assert dataset.labels.names[9] == "Ankle boot"
    assert dataset.train.Y.indices.tolist() == [2, 0]
    assert load(images(tmp_path / "digits")).labels.names == [str(i) for i in range(10)]


@pytest.mark.parametrize("array", [np.zeros((3, 2, 2)), np.zeros(4)], ids=["more images than labels", "no images"])
def test_idx_files_that_disagree(tmp_path, array):
    images(tmp_path)
    idx(tmp_path / "train-images-idx3-ubyte.gz", array)
    assert "do not fit" in str(refusal(tmp_path))


def test_idx_header_that_lies(tmp_path):
    images(tmp_path)
    lie = struct.pack(">BBBB3I", 0, 0, 8, 3, 2**31, 2**31, 2**31) + b"x"
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(lie))
    assert "promises" in str(refusal(tmp_path))


def test_a_folder_that_matches_no_format_names_the_two_nearest(tmp_path):
    (tmp_path / "notes.md").write_text("nothing")
    (tmp_path / "train_X_Xf.txt").write_text("1 1\n0:1\n")
    message = str(refusal(tmp_path))
    assert "a folder with notes.md, train_X_Xf.txt, and no format fits" in message
    assert "(1) format 'splits', " in message
    assert "it lacks trn_X_Xf.txt (there is train_X_Xf.txt)" in message
    assert "(2) format " in message
    assert "(3)" not in message


def test_paths_that_are_no_dataset(tmp_path):
    assert "no such file" in str(refusal(tmp_path / "nowhere"))
    (tmp_path / "empty").mkdir()
    assert "no files" in str(refusal(tmp_path / "empty"))
    (tmp_path / "thing.bin").write_bytes(b"\x00\x01")
    assert "thing.bin" in str(refusal(tmp_path / "thing.bin"))


@pytest.mark.parametrize("name", ["train.txt", "train.svm", "data.csv", "data.jsonl", "data.parquet", "x.arff"])
def test_empty_files(tmp_path, name):
    (tmp_path / name).write_bytes(b"")
    error = refusal(tmp_path)
    assert "empty" in str(error)
    assert error.file == tmp_path / name


def test_damaged_archives(tmp_path):
    whole = gzip.compress(b"text,labels\n" + b"".join(b"document %d,label\n" % i for i in range(5000)))
    file = tmp_path / "data.csv.gz"
    file.write_bytes(whole[: len(whole) // 2])
    error = refusal(file)
    assert "cut off or damaged" in str(error)
    assert 1 <= error.line < 5000
    file.write_bytes(whole[:-8] + b"\0" * 8)
    assert "cut off or damaged" in str(refusal(file))
    file.write_bytes(b"text,labels\na,b\n")
    assert "not gzip" in str(refusal(file))
    (tmp_path / "data.csv.zip").write_bytes(b"PK\x03\x04 broken")
    assert "damaged" in str(refusal(tmp_path / "data.csv.zip"))
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a.csv", "x")
        archive.writestr("b.csv", "x")
    assert "holds 2 files" in str(refusal(tmp_path / "two.zip"))


def test_a_gzip_bomb_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(safe_files, "MIN_SUSPECT_BYTES", 2**20)
    (tmp_path / "data.csv.gz").write_bytes(gzip.compress(b"text,labels\n" + b"a" * 2**24))
    assert "250 times its size" in str(refusal(tmp_path / "data.csv.gz"))
    monkeypatch.setattr(safe_files, "MAX_EXPANSION_RATIO", 10**6)
    monkeypatch.setattr(safe_files, "measure_available_memory", lambda: 2**20)
    assert "GiB" in str(refusal(tmp_path / "data.csv.gz"))


def test_a_header_larger_than_the_memory(tmp_path, monkeypatch):
    (tmp_path / "big.txt").write_text("1 5000000 5000000\n0 1:1\n")
    monkeypatch.setattr(memory, "measure_available_memory", lambda: 2**28)
    error = refusal(tmp_path / "big.txt")
    assert "would need 0.7 GiB" in str(error)
