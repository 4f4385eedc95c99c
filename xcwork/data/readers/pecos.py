"""PECOS folders: `X.trn.npz`, `Y.trn.npz`, `X.tst.npz`, `Y.tst.npz`, matrices as scipy stores them.

Other names of the same files are those of SCHEMES, such as `X.npz` with `Xt.npz` and `train_feat.npz` with
`train_label.npz`. X may also lie in one subfolder such as `tfidf-attnxml`. Optional: `X.trn.txt`, `X.tst.txt` (texts,
one per line; other names in `TEXT_NAMES`) and `Z.all.txt` or `output-items.txt` (label texts, one per line). Where X is
missing, or with `features="text"`, the texts are turned into features.

An npz file is a zip of arrays; every array header is checked against the size of its zip entry before it is loaded, and
nothing in it can run code.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tokenize import TokenError  # of a header that is no Python literal
from typing import Any

import numpy as np
from scipy import sparse

from xcwork.core.dataset import Dataset
from xcwork.data.build import TEST_SHARE, build_dataset
from xcwork.data.raw import RawDataset, RawLabels, RawSplit
from xcwork.data.readers.companion_files import find_names
from xcwork.data.readers.declaration import Finding, FormatDeclaration, describe_options, look_for_files
from xcwork.data.readers.safe_files import check_npz, find_file, read_lines
from xcwork.data.readers.sparse_header import MATRIX_NAMES, check_promises
from xcwork.data.readers.text_options import make_vectorizer
from xcwork.errors import ConfigError, DataError
from xcwork.sparse import make_canonical
from xcwork.storage.state import build_sound_csr

FORMAT = FormatDeclaration(
    name="pecos",
    title="PECOS matrices: X.trn.npz, Y.trn.npz, X.tst.npz, Y.tst.npz; or X.npz, Y.npz; or train_feat.npz, …",
    files=("X.trn.npz", "Y.trn.npz", "X.tst.npz", "Y.tst.npz", "X.trn.txt", "X.tst.txt", "output-items.txt"),
    options=describe_options(
        "allow_negative",
        "test_share",
        "vectorizer",
        features="`given` (the matrices) or `text`, which zero-shot methods need: features made from the texts",
    ),
    example_code="""import scipy.sparse

for split in ("trn", "tst"):
    scipy.sparse.save_npz(f"X.{split}.npz", scipy.sparse.csr_matrix([[0, 1.5], [2, 0]]))
    scipy.sparse.save_npz(f"Y.{split}.npz", scipy.sparse.csr_matrix([[1.0, 0, 0], [0, 1, 1]]))
""",
)


@dataclass(frozen=True)
class MatrixNames:
    """What a project calls the matrices of a split."""

    X: str
    Y: str


SCHEMES = (
    (MatrixNames("X.trn.npz", "Y.trn.npz"), MatrixNames("X.tst.npz", "Y.tst.npz")),
    (MatrixNames("X.npz", "Y.npz"), MatrixNames("Xt.npz", "Yt.npz")),
    (MatrixNames("train_feat.npz", "train_label.npz"), MatrixNames("test_feat.npz", "test_label.npz")),
    (MatrixNames("X.train.npz", "Y.train.npz"), MatrixNames("X.test.npz", "Y.test.npz")),
    (MatrixNames("X_train.npz", "Y_train.npz"), MatrixNames("X_test.npz", "Y_test.npz")),
    (MatrixNames("X_trn.npz", "Y_trn.npz"), MatrixNames("X_tst.npz", "Y_tst.npz")),
    (MatrixNames("trn_X_Xf.npz", "trn_X_Y.npz"), MatrixNames("tst_X_Xf.npz", "tst_X_Y.npz")),
)  # (of the training split, of the test split)
TEXT_NAMES = (
    ("X.trn.txt", "train_raw_texts.txt", "train_texts.txt", "raw/trn_X.txt", "train.txt"),
    ("X.tst.txt", "test_raw_texts.txt", "test_texts.txt", "raw/tst_X.txt", "test.txt"),
)
ITEM_NAMES = ("Z.all.txt", "output-items.txt", "output-labels.txt", "label_map.txt", "Y.txt", "raw/Y.txt")


def inspect(path: Path) -> Finding:
    if path.is_dir() and (scheme := _find_scheme(path)) is not None:
        return Finding.accept(scheme[0].Y)
    finding = look_for_files(path, "X.trn.npz", "Y.trn.npz")
    if path.is_dir() and (matrices := sorted(file.name for file in path.glob("*.npz"))):
        missing = "Y.trn.npz, the labels, or another of the names in data/README.md"
        return Finding.refuse(missing, seen=", ".join(matrices[:5]), nearness=max(0.6, finding.nearness))
    return finding


def _find_scheme(path: Path) -> tuple[MatrixNames, MatrixNames] | None:
    """Return the names of the matrices in a folder: those of the first scheme whose labels are there."""
    return next((scheme for scheme in SCHEMES if (path / scheme[0].Y).is_file()), None)


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
    scheme = _find_scheme(path)
    assert scheme is not None  # or nobody would have recognised it
    train_names, test_names = scheme
    from_text = features == "text" or _find_features(path, train_names) is None
    train = _read_split(path, train_names, TEXT_NAMES[0], from_text, allow_negative)
    test = None
    if (path / test_names.Y).is_file():
        test = _read_split(path, test_names, TEXT_NAMES[1], from_text, allow_negative)
    if test is not None:
        _check_columns(path, train, test)
    n_labels = train.n_labels
    names = _find_lines(path, n_labels, "labels", ITEM_NAMES, n_certain=2)
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


def _find_features(path: Path, names: MatrixNames) -> Path | None:
    """Return the file of X of a split, in the folder itself or in one of its subfolders."""
    candidates = [path / names.X, *sorted(path.glob(f"*/{names.X}"))]
    return next((file for file in candidates if file.is_file()), None)


def _find_lines(path: Path, expected: int, what: str, files: tuple[str, ...], n_certain: int) -> list[str] | None:
    """Return the lines of the first file that exists; only of the first `n_certain` must there be `expected` lines.

    Other projects call other things `train.txt` or `Y.txt`, so those are taken only where their lines fit.
    """
    certain = find_names(path, expected, what, *files[:n_certain])
    if certain is not None:
        return certain
    for name in files[n_certain:]:
        if (file := find_file(path, name)) is not None and file.stat().st_size:
            lines = [line for _, line in islice(read_lines(file), expected + 1)]
            if len(lines) == expected:
                return lines
    return None


def _read_split(
    path: Path, names: MatrixNames, text_names: tuple[str, ...], from_text: bool, allow_negative: bool
) -> RawSplit:
    """Return the documents of a split with their texts; X is left out where these shall become the features."""
    Y = read_npz(path / names.Y)
    file = None if from_text else _find_features(path, names)
    if file is None and not from_text:
        raise DataError(f"{names.X} is missing", file=path, remedy="put it into the folder")
    X = None if file is None else read_npz(file, allow_negative)
    if X is not None and X.shape[0] != Y.shape[0]:
        raise DataError(
            f"X has {X.shape[0]:,} rows but {names.Y} has {Y.shape[0]:,}",
            file=file,
            remedy="use files that belong together",
        )
    texts = _find_lines(path, Y.shape[0], "documents", text_names, n_certain=1)
    if texts is None and X is None:
        raise DataError(
            f"there is neither {names.X} nor {text_names[0]}", file=path, remedy="put one of them into the folder"
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
        matrix = make_canonical(sparse.csr_array(_load_matrix(path), dtype=np.float32))
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
            f"the file is damaged or not a sparse matrix ({str(damage)[:100] or type(damage).__name__})",
            file=path,
            remedy="store it with scipy.sparse.save_npz",
        ) from damage
    if not np.isfinite(matrix.data).all():
        raise DataError("a value is not a finite number", file=path, remedy="remove or replace it")
    if not allow_negative and matrix.nnz and matrix.data.min() < 0:
        raise DataError("a value is negative", file=path, remedy="give allow_negative=True if this is intended")
    return matrix


def _load_matrix(path: Path) -> sparse.sparray:
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
