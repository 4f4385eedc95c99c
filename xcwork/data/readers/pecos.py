"""PECOS folders: `X.trn.npz`, `Y.trn.npz`, `X.tst.npz`, `Y.tst.npz`, matrices as scipy stores them.

X may also lie in one subfolder such as `tfidf-attnxml`. Optional: `X.trn.txt`, `X.tst.txt` (texts, one per line) and
`Z.all.txt` or `output-items.txt` (label texts, one per line). Where X is missing, or with `features="text"`, the texts
are turned into features.

An npz file is a zip of arrays; every array header is checked against the size of its zip entry before it is loaded, and
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
from xcwork.data.build import TEST_SHARE, build_dataset
from xcwork.data.raw import RawDataset, RawLabels, RawSplit
from xcwork.data.readers.companion_files import find_names
from xcwork.data.readers.safe_files import check_npz
from xcwork.data.readers.sparse_header import MATRIX_NAMES, check_promises
from xcwork.data.readers.text_options import make_vectorizer
from xcwork.errors import ConfigError, DataError
from xcwork.sparse import make_canonical
from xcwork.storage.state import build_sound_csr

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
    from_text = features == "text" or _find_features(path, "trn") is None
    train = _read_split(path, "trn", from_text, allow_negative)
    test = _read_split(path, "tst", from_text, allow_negative) if (path / "Y.tst.npz").is_file() else None
    if test is not None:
        _check_columns(path, train, test)
    n_labels = train.n_labels
    names = find_names(path, n_labels, "labels", "Z.all.txt", "output-items.txt")
    # Items may share a text, so that documents made of text know them by number.
    uids = [str(label) for label in range(n_labels)] if from_text and names is not None else None
    raw = RawDataset(
        train=train,
        test=test,
        labels=RawLabels(names=names, texts=names, uids=uids),
        source="PECOS folder, features made from its texts" if from_text else "PECOS folder",
        path=path,
    )
    return build_dataset(raw, name=name, vectorizer=make_vectorizer(vectorizer), test_share=test_share)


def _find_features(path: Path, suffix: str) -> Path | None:
    """Return the file of X of a split, in the folder itself or in one of its subfolders."""
    candidates = [path / f"X.{suffix}.npz", *sorted(path.glob(f"*/X.{suffix}.npz"))]
    return next((file for file in candidates if file.is_file()), None)


def _read_split(path: Path, suffix: str, from_text: bool, allow_negative: bool) -> RawSplit:
    """Return the documents of a split with their texts; X is left out where these shall become the features."""
    Y = read_npz(path / f"Y.{suffix}.npz")
    file = None if from_text else _find_features(path, suffix)
    if file is None and not from_text:
        raise DataError(f"X.{suffix}.npz is missing", file=path, remedy="put it into the folder")
    X = None if file is None else read_npz(file, allow_negative)
    if X is not None and X.shape[0] != Y.shape[0]:
        raise DataError(
            f"X has {X.shape[0]:,} rows but Y.{suffix}.npz has {Y.shape[0]:,}",
            file=file,
            remedy="use files that belong together",
        )
    texts = find_names(path, Y.shape[0], "documents", f"X.{suffix}.txt")
    if texts is None and X is None:
        raise DataError(
            f"there is neither X.{suffix}.npz nor X.{suffix}.txt", file=path, remedy="put one of them into the folder"
        )
    return RawSplit(texts=texts, X=X, Y=Y)


def _check_columns(path: Path, train: RawSplit, test: RawSplit) -> None:
    """Reject matrices of the test split that have other columns than those of the training split."""
    for what, wanted, found in (
        ("labels", train.n_labels, test.n_labels),
        ("features", train.n_features, test.n_features),
    ):
        if found != wanted:
            raise DataError(
                f"the training split has {wanted:,} {what}, the test split {found:,}",
                file=path,
                remedy="use files that belong together",
            )


def read_npz(path: Path, allow_negative: bool = False) -> sparse.csr_array:
    """Return a sparse matrix that scipy stored, as CSR with float32 values and sorted indices."""
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
    """Return the matrix as it was stored, every index checked: compiled code would follow a wrong one anywhere."""
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
        matrix = build_sound_csr(stored["data"], stored["indices"], stored["indptr"], by_rows)
    return matrix if layout == "csr" else matrix.T
