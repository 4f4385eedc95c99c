"""XC-repository text, split files, ZestXML folders and svmlight lines, against matrices written out by hand."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from xcwork.core.dataset import Dataset
from xcwork.data import readers
from xcwork.data.readers import sparse_text
from xcwork.errors import ConfigError, DataError

TRAIN = "3 4 5\n0,2 1:0.5 3:2\n 0:1e-3\n4,3 2:.25 1:3\n"
TEST = "1 4 5\n1 0:1\n"


def load(path: Path, **options: object) -> Dataset:
    return readers.read(readers.choose_reader(path), path, path.name, options)


def write(folder: Path, **files: str) -> Path:
    for name, content in files.items():
        (folder / f"{name}.txt").write_text(content)
    return folder


def refusal(path: Path, **options: object) -> DataError:
    with pytest.raises(DataError) as caught:
        load(path, **options)
    return caught.value


def test_xc_folder(tmp_path):
    dataset = load(write(tmp_path, train=TRAIN, test=TEST))
    assert dataset.train.X.toarray().tolist() == [
        [0, 0.5, 0, 2],
        [np.float32(1e-3), 0, 0, 0],
        [0, 3, 0.25, 0],
    ]
    assert dataset.train.Y.toarray().tolist() == [[1, 0, 1, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 1, 1]]
    assert dataset.test.X.toarray().tolist() == [[1, 0, 0, 0]]
    assert dataset.test.Y.toarray().tolist() == [[0, 1, 0, 0, 0]]
    assert dataset.train.X.dtype == dataset.train.Y.dtype == np.float32
    assert dataset.train.X.has_canonical_format
    assert dataset.unseen_labels.tolist() == [1]
    assert dataset.labels.names[1] == "label 1"


def test_xc_names_prefixed_and_gzipped(tmp_path):
    for part, content in (("eurlex_train", TRAIN), ("eurlex_test", TEST)):
        (tmp_path / f"{part}.txt.gz").write_bytes(gzip.compress(content.encode()))
    write(tmp_path, Y="a\nb\nc\nd\ne\n", Xf="w\nx\ny\nz\n", filter_labels_test="0 3\n")
    dataset = load(tmp_path)
    assert dataset.labels.names == ["a", "b", "c", "d", "e"]
    assert dataset.features.names == ["w", "x", "y", "z"]
    assert dataset.train.X.nnz == 5
    assert dataset.test.filter_pairs.tolist() == [[0, 3]]


def test_blocks_do_not_change_the_result(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    lines = [
        ",".join(map(str, rng.choice(50, rng.integers(0, 4), replace=False)))
        + "".join(f" {i}:{rng.random():.6f}" for i in rng.choice(300, rng.integers(0, 9), replace=False))
        for _ in range(400)
    ]
    write(tmp_path, train="400 300 50\n" + "\n".join(lines), test="1 300 50\n\n")
    whole = load(tmp_path).fingerprint
    monkeypatch.setattr(sparse_text, "BLOCK_BYTES", 97)
    assert load(tmp_path).fingerprint == whole


def test_single_file_is_split_by_document(tmp_path):
    lines = [f"{i % 7} {i}:1" for i in range(200)]
    file = tmp_path / "all.txt"
    file.write_text("200 200 7\n" + "\n".join(lines) + "\n")
    dataset = load(file)
    assert len(dataset.train) + len(dataset.test) == 200
    assert 20 <= len(dataset.test) <= 60
    in_test = set(dataset.test.X.indices.tolist())
    file.write_text("200 200 7\n" + "\n".join(reversed(lines)) + "\n")
    assert set(load(file).test.X.indices.tolist()) == in_test


def test_windows_line_ends_and_trailing_blank_lines(tmp_path):
    write(tmp_path, train=TRAIN.replace("\n", "\r\n") + "\n\n", test=TEST)
    assert load(tmp_path).train.X.nnz == 5


@pytest.mark.parametrize(
    ("content", "line", "part"),
    [
        ("3 4\n0 1:1\n 0:1\n1 2:1\n", 1, "header"),
        ("many few 5\n0 1:1\n", 1, "header"),
        ("\ufffe3 4 5\n", 1, "header"),
        ("9999999999 4 5\n0 1:1\n", 1, "promises 9,999,999,999 documents"),
        ("1 9999999999 5\n0 1:1\n", 1, "promises 9,999,999,999 features"),
        ("1 4 2000000000\n0 1:1\n", 1, "promises 2,000,000,000 labels"),
        ("3 4 5\n0 1:1\n 0:1\n", 4, "ends after 2 of the 3 rows"),
        ("1 4 5\n0 1:1\n0 1:1\n", 3, "more rows than the 1"),
        ("2 4 5\n0 1:1\n0 4:1 0:1\n", 3, "feature id 4 is beyond the 4 features"),
        ("2 4 5\n0 1:1\n0 77:1\n", 3, "feature id '77' is beyond"),
        ("2 4 5\n1 1:1\n5 4:1\n", 3, "count from 1"),
        ("2 4 5\n0 1:1\n5 3:1\n", 3, "label id 5 is beyond the 5 labels"),
        ("2 4 5\n0 1:1\n1 3:1 2:5 3:2\n", 3, "feature id 3 occurs twice"),
        ("2 4 5\n0 1:1\n1,2,1 3:1\n", 3, "label id 1 occurs twice"),
        ("2 4 5\n0 1:1\n1 3:-1\n", 3, "negative"),
        ("2 4 5\n0 1:1\n1 -3:1\n", 3, "feature id '-3' is negative"),
        ("2 4 5\n0 1:1\n-1 3:1\n", 3, "label id '-1' is negative"),
        ("2 4 5\n0 1:1\n1 3:nan\n", 3, "not a finite number"),
        ("2 4 5\n0 1:1\n1 3:1e99\n", 3, "not a finite number"),
        ("2 4 5\n0 1:1\n1 3:abc\n", 3, "'abc' is not a number"),
        ("2 4 5\n0 1:1\n1 3:1.2.3\n", 3, "'1.2.3' is not a number"),
        ("2 4 5\n0 1:1\n1 3:\n", 3, "missing"),
        ("2 4 5\n0 1:1\n1 3\n", 3, "'3' has no `:value`"),
        ("2 4 5\n0 1:1\n1 x:3\n", 3, "expected a feature id but found 'x'"),
        ("2 4 5\n0 1:1\n1,,2 3:1\n", 3, "expected label ids"),
    ],
)
def test_malformed_xc_lines(tmp_path, content, line, part):
    file = tmp_path / "broken.txt"
    file.write_text(content)
    error = refusal(file)
    assert error.file == file
    assert error.line == line
    assert part in str(error)
    assert error.remedy


@pytest.mark.parametrize("header", ["0 4 5\n", "2 0 5\n0\n1\n", "2 4 0\n 1:1\n 2:1\n"])
def test_headers_that_promise_nothing(tmp_path, header):
    (tmp_path / "nothing.txt").write_text(header)
    assert refusal(tmp_path / "nothing.txt").remedy


def test_a_split_file_without_its_folder(tmp_path):
    (tmp_path / "trn_X_Xf.txt").write_text("2 3\n0:1\n1:1\n")
    assert "give their folder" in str(refusal(tmp_path / "trn_X_Xf.txt"))


def test_first_of_several_errors_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(sparse_text, "BLOCK_BYTES", 64)
    lines = ["0 1:1"] * 300
    lines[120] = lines[20] = lines[250] = "0 oops"
    file = tmp_path / "broken.txt"
    file.write_text("300 4 5\n" + "\n".join(lines) + "\n")
    assert refusal(file).line == 22


def test_ids_from_one(tmp_path):
    write(tmp_path, train="2 2 3\n1 1:1\n3 2:4\n", test="1 2 3\n2 1:1\n")
    assert "one_based=True" in str(refusal(tmp_path))
    dataset = load(tmp_path, one_based=True)
    assert dataset.train.X.toarray().tolist() == [[1, 0], [0, 4]]
    assert dataset.train.Y.toarray().tolist() == [[1, 0, 0], [0, 0, 1]]
    assert "counts from 1" in str(refusal(write(tmp_path, test="1 2 3\n0 1:1\n"), one_based=True))


def test_negative_values_on_request(tmp_path):
    write(tmp_path, train="1 2 1\n0 1:-2.5\n", test="1 2 1\n0 0:1\n")
    assert "allow_negative=True" in str(refusal(tmp_path))
    assert load(tmp_path, allow_negative=True).train.X.toarray().tolist() == [[0, -2.5]]


def test_parts_that_disagree(tmp_path):
    write(tmp_path, train=TRAIN, test="1 5 5\n1 0:1\n")
    error = refusal(tmp_path)
    assert error.file == tmp_path / "test.txt"
    assert "5 features" in str(error)


def test_names_that_do_not_fit(tmp_path):
    error = refusal(write(tmp_path, train=TRAIN, test=TEST, Y="a\nb\n"))
    assert error.file == tmp_path / "Y.txt"
    assert error.line == 3


def test_unknown_option_is_named(tmp_path):
    write(tmp_path, train=TRAIN, test=TEST)
    with pytest.raises(ConfigError, match="no option 'sparator'"):
        load(tmp_path, sparator=",")
    with pytest.raises(ConfigError, match="test_share must be of type float"):
        load(tmp_path, test_share="a lot")


SPLITS = {
    "trn_X_Xf": "2 3\n0:1 2:0.5\n\n",
    "trn_X_Y": "2 2\n1:1\n0:1\n",
    "tst_X_Xf": "1 3\n1:2\n",
    "tst_X_Y": "1 2\n0:1 1:1\n",
}


def test_split_files(tmp_path):
    write(tmp_path, **SPLITS, lbl_X_Xf="2 3\n0:1\n1:1 2:1\n", Xf="one\ntwo\nthree\n", filter_labels_train="1 1\n")
    dataset = load(tmp_path)
    assert dataset.train.X.toarray().tolist() == [[1, 0, 0.5], [0, 0, 0]]
    assert dataset.train.Y.toarray().tolist() == [[0, 1], [1, 0]]
    assert dataset.labels.Z.toarray().tolist() == [[1, 0, 0], [0, 1, 1]]
    assert dataset.labels.features is dataset.features
    assert dataset.features.names == ["one", "two", "three"]
    assert dataset.train.filter_pairs.tolist() == [[1, 1]]
    assert dataset.test.filter_pairs is None


def test_split_files_of_the_repository_call_label_features_yf(tmp_path):
    write(tmp_path, **SPLITS, Yf="2 3\n0:1\n1:1\n", pos_trn_tst="1 2\n1:1\n")
    dataset = load(tmp_path)
    assert dataset.labels.Z.toarray().tolist() == [[1, 0, 0], [0, 1, 0]]
    assert dataset.test.filter_pairs.tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("change", "file", "part"),
    [
        ({"trn_X_Y": "3 2\n1:1\n0:1\n\n"}, "trn_X_Y.txt", "3 rows"),
        ({"tst_X_Y": "1 3\n0:1\n"}, "tst_X_Y.txt", "3 labels"),
        ({"lbl_X_Xf": "1 3\n0:1\n"}, "lbl_X_Xf.txt", "label features"),
        ({"filter_labels_test": "0 1\n7 0\n"}, "filter_labels_test.txt", "beyond"),
        ({"filter_labels_test": "0 1\nzero one\n"}, "filter_labels_test.txt", "pair"),
        ({"trn_X_Y": "2 2\n2:1\n1:1\n"}, "trn_X_Y.txt", "label ids run from 1 to 2"),
    ],
)
def test_split_files_that_disagree(tmp_path, change, file, part):
    error = refusal(write(tmp_path, **{**SPLITS, **change}))
    assert error.file == tmp_path / file
    assert error.line is not None
    assert part in str(error)


def test_a_missing_split_file(tmp_path):
    write(tmp_path, **{name: SPLITS[name] for name in ("trn_X_Xf", "tst_X_Xf")})
    assert "trn_X_Y.txt is missing" in str(refusal(tmp_path))


def test_zestxml_folder(tmp_path):
    write(tmp_path, **SPLITS, Y_Yf="2 4\n0:1 3:2\n1:1\n", Xf="one\ntwo\nthree\n")
    write(tmp_path, Yf="red\nblue\n__label__1__sky\n__label__0__rose\n")
    dataset = load(tmp_path)
    assert dataset.source == "ZestXML folder"
    assert dataset.labels.names == ["rose", "sky"]
    assert dataset.labels.Z.toarray().tolist() == [[1, 0, 0, 2], [0, 1, 0, 0]]
    assert dataset.labels.features.names[:2] == ["red", "blue"]
    (tmp_path / "raw").mkdir()
    write(tmp_path / "raw", Y="Rose\nSky\n", trn_X="first text\nsecond text\n", tst_X="third\n")
    dataset = load(tmp_path)
    assert dataset.labels.names == ["Rose", "Sky"]
    assert dataset.train.texts == ["first text", "second text"]


def test_svmlight(tmp_path):
    (tmp_path / "train.svm").write_text("# made by hand\n3,7 1:0.5 4:1 # first\n7 2:1\n\n 1:1\n")
    (tmp_path / "test.svm").write_text("9 3:1\n")
    dataset = load(tmp_path)
    assert dataset.labels.names == ["3", "7", "9"]
    assert dataset.train.X.toarray().tolist() == [[0.5, 0, 0, 1], [0, 1, 0, 0], [1, 0, 0, 0]]
    assert dataset.train.Y.toarray().tolist() == [[1, 1, 0], [0, 1, 0], [0, 0, 0]]
    assert dataset.test.X.toarray().tolist() == [[0, 0, 1, 0]]
    assert load(tmp_path, one_based=False).features.size == 5


def test_svmlight_errors_count_comment_lines(tmp_path):
    file = tmp_path / "data.svm"
    file.write_text("# comment\n1 1:1\n# another\n1 3:1 2:1 3:1\n2 5:1\n")
    error = refusal(file)
    assert error.line == 4
    assert "occurs twice" in str(error)


def test_svmlight_agrees_with_sklearn(tmp_path):
    from sklearn.datasets import dump_svmlight_file, load_svmlight_file

    rng = np.random.default_rng(1)
    X = rng.random((40, 12)) * (rng.random((40, 12)) < 0.4)
    X[:, 0] = 1  # no blank lines
    file = str(tmp_path / "train.libsvm")
    dump_svmlight_file(X, rng.integers(0, 2, (40, 5)), file, multilabel=True)
    (tmp_path / "test.libsvm").write_text("0 0:1 11:1\n")
    expected, labels = load_svmlight_file(file, multilabel=True, n_features=12)
    dataset = load(tmp_path)
    np.testing.assert_array_equal(dataset.train.X.toarray(), expected.toarray().astype(np.float32))
    found = [[int(dataset.labels.names[i]) for i in row] for row in np.split(*_rows(dataset.train.Y))]
    assert found == [sorted(map(int, row)) for row in labels]


def _rows(matrix):
    return matrix.indices, matrix.indptr[1:-1]
