"""What `fit`, `predict` and `explain` accept, brought into the one form that methods work on.

Documents may come as a split, as rows of features or as texts; candidate labels as ids or as a mask. Each is checked
here once, so that every method rejects the same thing with the same message.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from xcwork.core.split import Split
from xcwork.errors import ConfigError, DataError
from xcwork.sparse import make_canonical

Documents: TypeAlias = Split | sparse.sparray | np.ndarray | str | Iterable[str]
Candidates: TypeAlias = np.ndarray | Sequence[int] | Sequence[bool]
TEXT_KINDS = "OTU"  # numpy's types that can hold texts: object, StringDType and fixed width
ACCEPTED_FORMS = "give a split, a matrix of features, a text or a list of texts"


def read_split(split: Split) -> Split:
    """Return `split` with canonical matrices (see `xcwork.sparse.make_canonical`); itself when they are so already."""
    X = make_canonical(split.X)
    Y = make_canonical(split.Y)
    labels = split.labels
    if labels.Z is not None and (Z := make_canonical(labels.Z)) is not labels.Z:
        labels = replace(labels, Z=Z)
    is_same = X is split.X and Y is split.Y and labels is split.labels
    return split if is_same else replace(split, X=X, Y=Y, labels=labels)


def read_one_row(documents: Documents) -> sparse.csr_array | None:
    """Return a sparse matrix of one row as canonical rows; None for documents in any other form."""
    if isinstance(documents, sparse.csr_array | sparse.csr_matrix) and documents.shape[0] == 1:
        return _read_rows(documents)
    return None


def read_documents(documents: Documents) -> sparse.csr_array | list[str]:
    """Return documents in any accepted form as canonical rows of features or as a list of texts."""
    if isinstance(documents, Split):
        return make_canonical(documents.X)
    if sparse.issparse(documents):
        return _read_rows(documents)
    if isinstance(documents, str):
        return [str(documents)]
    if not isinstance(documents, Iterable):
        raise DataError(f"{type(documents).__name__} is not a kind of documents", remedy=ACCEPTED_FORMS)
    if not isinstance(documents, np.ndarray) and hasattr(documents, "to_numpy"):  # a column of a table
        documents = documents.to_numpy()
    if isinstance(documents, np.ndarray) and documents.dtype.kind not in TEXT_KINDS:
        return _read_rows(documents)
    return read_texts(documents, "document")


def check_width(X: sparse.csr_array, n_features: int) -> None:
    """Raise where rows have other features than the training documents."""
    if X.shape[1] != n_features:
        raise DataError(f"the documents have {X.shape[1]} features, but the model was trained on {n_features}")


def read_texts(texts: Iterable[str], what: str) -> list[str]:
    """Return a list, array or other series of texts as a list of plain strings; `what` says what each of them is."""
    if isinstance(texts, np.ndarray):
        if texts.ndim > 1:
            raise DataError(f"texts must be a list, but these have the shape {texts.shape}", remedy=ACCEPTED_FORMS)
        texts = texts.reshape(-1).tolist()
    read = []
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(
                f"{what} {place} is not a text but of the type {type(text).__name__}",
                remedy="give every one as a text, or all of them as rows of a feature matrix",
            )
        read.append(str(text))
    return read


def read_candidates(among: Candidates | None, n_labels: int) -> np.ndarray | None:
    """Return the label ids that `among` allows, ascending and each once; None allows all labels."""
    if among is None:
        return None
    try:
        given = np.asarray(among)
    except ValueError:  # a list of lists of different lengths
        given = np.empty((0, 0))
    is_list = given.ndim == 1 and not isinstance(among, np.ndarray)
    if is_list and given.dtype.kind != "b" and any(isinstance(each, bool) for each in among):
        given = np.empty((0, 0))  # numpy would take True for the label 1
    if given.ndim == 1 and given.dtype.kind == "b":
        if len(given) != n_labels:
            raise ConfigError(f"a mask of candidates has one entry per label: {n_labels:,}, not {len(given):,}")
        return np.flatnonzero(given)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise ConfigError("among must be a list of label ids (whole numbers) or a mask with one bool per label")
    unknown = given[(given < 0) | (given >= n_labels)]
    if unknown.size:
        raise DataError(f"there is no label {unknown[0]}; ids go from 0 to {n_labels - 1}")
    return np.unique(given.astype(np.int64))


def _read_rows(rows: Any) -> sparse.csr_array:
    """Return a sparse or dense matrix of features as canonical rows; one vector is one document."""
    if rows.dtype.kind not in "biuf":
        raise DataError(f"features must be numbers, but these are of the type {rows.dtype}", remedy=ACCEPTED_FORMS)
    if rows.ndim > 2:
        raise DataError(
            f"features must be rows of a matrix, but these have the shape {rows.shape}", remedy=ACCEPTED_FORMS
        )
    if isinstance(rows, sparse.csr_array) and rows.ndim == 2:
        return make_canonical(rows)
    return make_canonical(sparse.csr_array(rows.reshape(1, -1) if rows.ndim < 2 else rows))
