"""What methods accept as documents, texts and training data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from xcwork.errors import ConfigError, DataError
from xcwork.methods.inputs import read_documents, read_one_row, read_split, read_texts
from xcwork.methods.registry import create
from xcwork.sparse import replace_values

TEXTS = ["red square", "black circle"]


@pytest.mark.parametrize(
    "documents",
    [
        np.array(TEXTS),
        np.array(TEXTS, object),
        np.array(TEXTS, np.dtypes.StringDType()),
        pd.Series(TEXTS),
        pd.Series(TEXTS, dtype="string"),
        pd.Index(TEXTS),
        tuple(TEXTS),
        (text for text in TEXTS),
        [np.str_(text) for text in TEXTS],
    ],
    ids=["array", "objects", "StringDType", "series", "string series", "index", "tuple", "generator", "numpy strings"],
)
def test_texts_in_any_series_are_a_list_of_plain_strings(documents) -> None:
    read = read_documents(documents)
    assert read == TEXTS
    assert {type(text) for text in read} == {str}


@pytest.mark.parametrize("document", ["red square", np.str_("red square"), np.array("red square")])
def test_one_text_is_one_document(document) -> None:
    assert read_documents(document) == ["red square"]


@pytest.mark.parametrize(
    "rows",
    [
        np.array([[1, 0, 2]]),
        np.array([1.0, 0.0, 2.0]),
        np.array([[True, False, True]]),
        pd.DataFrame([[1, 0, 2]]),
        sparse.csc_matrix([[1, 0, 2]]),
        sparse.coo_array(np.array([1, 0, 2])),
        sparse.csr_array([[1.0, 0.0, 2.0]]),
    ],
)
def test_numbers_are_rows_of_features(rows) -> None:
    read = read_documents(rows)
    assert isinstance(read, sparse.csr_array)
    assert read.shape == (1, 3)
    assert read.indices.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("documents", "sentence"),
    [
        (np.array(["red", 3], object), "document 1 is not a text but of the type int"),
        (["red", None], "document 1 is not a text but of the type NoneType"),
        (pd.Series(["red", np.nan]), "document 1 is not a text but of the type float"),
        ([[1.0, 2.0]], "document 0 is not a text but of the type list"),
        (b"red", "document 0 is not a text but of the type int"),
        (np.array([b"red"]), r"features must be numbers, but these are of the type \|S3"),
        (np.array(["2024-01-01"], "datetime64[D]"), "features must be numbers, but these are of the type datetime64"),
        (np.array([[1j]]), "features must be numbers, but these are of the type complex128"),
        (np.array([TEXTS]), r"texts must be a list, but these have the shape \(1, 2\)"),
        (np.zeros((2, 3, 4)), r"features must be rows of a matrix, but these have the shape \(2, 3, 4\)"),
        (3, "int is not a kind of documents"),
        (None, "NoneType is not a kind of documents"),
    ],
)
def test_other_kinds_of_documents_are_refused_with_a_sentence(documents, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        read_documents(documents)


def test_labels_are_added_from_an_array_and_can_be_stored(checkerboard, tmp_path) -> None:
    method = create("tfidf").fit(checkerboard.train)
    method.add_labels(np.array(["green triangle"]), np.array(["triangles"]))
    method.save(tmp_path / "model")
    loaded = type(method).load(tmp_path / "model")
    assert loaded.predict("green triangle", k=1).to_records()[0]["label"] == "triangles"
    with pytest.raises(DataError, match="label 0 is not a text but of the type int"):
        method.add_labels([3])


def test_texts_say_what_they_are() -> None:
    with pytest.raises(DataError, match="name 1 is not a text"):
        read_texts(["a", 2], "name")


def test_a_canonical_split_is_itself_and_another_is_brought_in_order(jumble) -> None:
    split = read_split(jumble.train)
    assert read_split(split) is split
    X = replace_values(split.X, np.append(np.float32(0), split.X.data[1:]))
    assert read_split(replace(split, X=X)).X.nnz == X.nnz - 1


@pytest.mark.parametrize("k", [2.0, "3", None, True])
def test_k_is_a_whole_number(jumble, k) -> None:
    with pytest.raises(ConfigError, match="k must be a whole number, got"):
        create("popularity").fit(jumble.train).predict(jumble.test, k=k)


def test_one_row_is_read_as_rows_are_and_other_documents_are_not_one_row() -> None:
    row = sparse.csr_matrix(([1.0, 2.0, 3.0], ([0, 0, 0], [4, 1, 4])), shape=(1, 6))
    read = read_one_row(row)
    assert isinstance(read, sparse.csr_array)
    assert read.toarray().tolist() == [[0, 2, 0, 0, 4, 0]]
    assert read.has_canonical_format
    for other in ("a text", ["a text"], np.ones((1, 6)), sparse.csr_array((2, 6)), sparse.csc_array((1, 6))):
        assert read_one_row(other) is None
    with pytest.raises(DataError, match="must be numbers"):
        read_one_row(sparse.csr_array(np.ones((1, 2), complex)))
