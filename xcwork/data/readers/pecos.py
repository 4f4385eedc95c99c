"""PECOS folders: `X.trn.npz`, `Y.trn.npz`, `X.tst.npz`, `Y.tst.npz`, matrices as scipy stores them.

X may also lie in one subfolder such as `tfidf-attnxml`. Optional: `X.trn.txt`, `X.tst.txt` (texts, one a line) and
`Z.all.txt` or `output-items.txt` (label texts, one a line). Where X is missing, or with `features="text"`, the texts
are turned into features.

An npz file is a zip of arrays; every array header is held against the size of its zip entry before it is loaded, and
nothing in it can run code.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from tokenize import TokenError  # of a header that is no Python literal
from typing import Any

import numpy as np
from scipy import sparse

from xcwork.core.dataset import Dataset
from xcwork.data.readers.assemble import TEST_SHARE, Part, feature_dataset, label_space, read_names
from xcwork.data.readers.safe_files import check_npz, find
from xcwork.data.readers.sparse_header import MATRIX_NAMES, check_promises
from xcwork.data.readers.texts import Documents, Labels, build_text_dataset
from xcwork.errors import ConfigError, DataError
from xcwork.sparse import fill_with_ones, make_canonical
from xcwork.storage.state import sound_csr

TITLE = "PECOS folder: X.trn.npz, Y.trn.npz, X.tst.npz, Y.tst.npz, optionally X.trn.txt and output-items.txt"


def recognises(path: Path) -> bool:
    return path.is_dir() and (path / "Y.trn.npz").is_file()


def read(
    path: Path,
    name: str,
    *,
    features: str = "given",
    allow_negative: bool = False,
    test_share: float = TEST_SHARE,
    vectorizer: Mapping[str, Any] | None = None,
) -> Dataset:
    if features not in ("given", "text"):
        raise ConfigError(f"features must be 'given' or 'text', got {features!r}")
    from_text = features == "text" or _features_file(path, "trn") is None
    read_part = _read_texts if from_text else _read_features
    train = read_part(path, "trn", allow_negative)
    test = read_part(path, "tst", allow_negative) if (path / "Y.tst.npz").is_file() else None
    if test is not None:
        _check_columns(path, train, test)
    n_labels = _labels_of(train).shape[1]
    names_file = find(path, "Z.all.txt", "output-items.txt")
    names = None if names_file is None else read_names(names_file, n_labels, "labels")
    if from_text:
        labels = None if names is None else Labels(names, names, [str(label) for label in range(n_labels)])
        return build_text_dataset(
            name,
            train,
            test,
            path=path,
            source="PECOS folder, features made from its texts",
            labels=labels,
            vectorizer=vectorizer,
            test_share=test_share,
        )
    return feature_dataset(
        name, train, test, path=path, source="PECOS folder", labels=label_space(names, n_labels), test_share=test_share
    )


def _features_file(path: Path, part: str) -> Path | None:
    """X of a part, in the folder itself or in one of its subfolders."""
    candidates = [path / f"X.{part}.npz", *sorted(path.glob(f"*/X.{part}.npz"))]
    return next((file for file in candidates if file.is_file()), None)


def _read_texts(path: Path, part: str, _allow_negative: bool) -> Documents:
    Y = fill_with_ones(read_npz(path / f"Y.{part}.npz"))
    texts = _texts(path, part, Y.shape[0])
    if texts is None:
        raise DataError(
            f"there is neither X.{part}.npz nor X.{part}.txt", file=path, remedy="put one of them into the folder"
        )
    return Documents(texts, Y)


def _read_features(path: Path, part: str, allow_negative: bool) -> Part:
    Y = fill_with_ones(read_npz(path / f"Y.{part}.npz"))
    file = _features_file(path, part)
    if file is None:
        raise DataError(f"X.{part}.npz is missing", file=path, remedy="put it into the folder")
    X = read_npz(file, allow_negative)
    if X.shape[0] != Y.shape[0]:
        raise DataError(
            f"X has {X.shape[0]:,} rows but Y.{part}.npz has {Y.shape[0]:,}",
            file=file,
            remedy="use files that belong together",
        )
    return Part(X, Y, _texts(path, part, X.shape[0]))


def _texts(path: Path, part: str, n_documents: int) -> list[str] | None:
    file = find(path, f"X.{part}.txt")
    return None if file is None else read_names(file, n_documents, "documents")


def _check_columns(path: Path, train: Part | Documents, test: Part | Documents) -> None:
    pairs = [("labels", _labels_of(train), _labels_of(test))]
    if isinstance(train, Part) and isinstance(test, Part):
        pairs.append(("features", train.X, test.X))
    for what, one, other in pairs:
        if one.shape[1] != other.shape[1]:
            raise DataError(
                f"the training part has {one.shape[1]:,} {what}, the test part {other.shape[1]:,}",
                file=path,
                remedy="use files that belong together",
            )


def _labels_of(part: Part | Documents) -> sparse.csr_array:
    return part.Y if isinstance(part, Part) else part.labels


def read_npz(path: Path, allow_negative: bool = False) -> sparse.csr_array:
    """A sparse matrix that scipy stored, as CSR with float32 values and sorted indices."""
    if not path.is_file() or path.stat().st_size == 0:
        raise DataError("the file is empty or missing", file=path, remedy="download or write it again")
    try:
        check_npz(path)
        matrix = make_canonical(sparse.csr_array(_stored_matrix(path), dtype=np.float32))
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        KeyError,
        ValueError,
        OSError,
        NotImplementedError,
        RuntimeError,
        TypeError,
        IndexError,
        AttributeError,
        SyntaxError,
        MemoryError,
        TokenError,
    ) as damage:
        raise DataError(
            f"the file is damaged or no sparse matrix ({str(damage)[:100] or type(damage).__name__})",
            file=path,
            remedy="store it with scipy.sparse.save_npz",
        ) from damage
    if not np.isfinite(matrix.data).all():
        raise DataError("a value is not a finite number", file=path, remedy="remove or replace it")
    if not allow_negative and matrix.nnz and matrix.data.min() < 0:
        raise DataError("a value is negative", file=path, remedy="give allow_negative=True if it is meant")
    return matrix


def _stored_matrix(path: Path) -> sparse.sparray:
    """The matrix as it was stored, every index checked: compiled code would follow a wrong one anywhere."""
    with np.load(path, allow_pickle=False) as stored:
        layout = stored["format"].item()
        shape = tuple(int(n) for n in stored["shape"].ravel())
        if len(shape) != 2 or min(shape) < 0:
            raise ValueError(f"{shape} is not the shape of a matrix")
        check_promises(path, MATRIX_NAMES, list(shape), packed=True)
        layout = layout.decode("ascii") if isinstance(layout, bytes) else layout
        if layout == "coo":
            return sparse.coo_array((stored["data"], (stored["row"], stored["col"])), shape=shape)
        if layout not in ("csr", "csc"):
            raise ValueError(f"the layout {str(layout)[:20]!r} is not read; convert the matrix to csr")
        # A matrix by columns is the transpose of one by rows.
        by_rows = shape if layout == "csr" else shape[::-1]
        matrix = sound_csr(stored["data"], stored["indices"], stored["indptr"], by_rows)
    return matrix if layout == "csr" else matrix.T
