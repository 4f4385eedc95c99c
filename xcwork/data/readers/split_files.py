"""Split files: one sparse matrix a file, header `rows columns`, then `id:value id:value` a row; ids start at 0.

`trn_X_Xf.txt` and `trn_X_Y.txt` (features and labels of the training documents) are needed, `tst_*` are the test part.
Optional: `lbl_X_Xf.txt` (label features in the columns of the documents; also called `Yf.txt`), `Xf.txt` (names of the
features), `Y.txt` (names of the labels), `filter_labels_train.txt` and `filter_labels_test.txt` (pairs `row label` that
must not be predicted), or the same as a matrix in `pos_trn_tst.txt`; `trn_X.txt`, `tst_X.txt` (texts, one a line), also
in a folder `raw`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from xcwork.core.dataset import Dataset
from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.data.readers.assemble import TEST_SHARE, Part, feature_dataset, label_numbers, read_names
from xcwork.data.readers.safe_files import find, head, read_lines
from xcwork.data.readers.sparse_header import header_numbers
from xcwork.data.readers.sparse_text import one_based_option, read_matrix
from xcwork.errors import DataError
from xcwork.sparse import fill_with_ones

TITLE = "split files: trn_X_Xf.txt, trn_X_Y.txt, tst_X_Xf.txt, tst_X_Y.txt, optionally lbl_X_Xf.txt and filter files"


def recognises(path: Path) -> bool:
    return path.is_dir() and find(path, "trn_X_Xf.txt") is not None


def read(
    path: Path,
    name: str,
    *,
    one_based: bool | str = False,
    allow_negative: bool = False,
    test_share: float = TEST_SHARE,
) -> Dataset:
    rules = {"one_based": one_based_option(one_based), "allow_negative": allow_negative}
    train, test = read_parts(path, rules)
    n_features, n_labels = train.X.shape[1], train.Y.shape[1]
    features = Features(n_features, feature_names(path, n_features))
    names = label_names(path, n_labels)
    labels = LabelSpace(names or label_numbers(n_labels), texts=names)
    label_file = find(path, "lbl_X_Xf.txt") or _matrix_called_yf(path)
    if label_file is not None:
        Z = read_matrix(label_file, **rules)
        if Z.shape != (n_labels, n_features):
            raise DataError(
                f"the label features are {Z.shape[0]:,} × {Z.shape[1]:,}, but there are {n_labels:,} labels and "
                f"{n_features:,} features",
                file=label_file,
                line=1,
                remedy="use files that belong together",
            )
        labels = LabelSpace(labels.names, texts=labels.texts, Z=Z, features=features)
    return feature_dataset(
        name, train, test, path=path, source="split files", labels=labels, features=features, test_share=test_share
    )


def read_parts(path: Path, rules: dict[str, object]) -> tuple[Part, Part | None]:
    """The training part and, where its files exist, the test part."""
    train = _read_part(path, "trn", "train", rules)
    if find(path, "tst_X_Xf.txt") is None:
        return train, None
    test = _read_part(path, "tst", "test", rules)
    for what, one, other, file in (
        ("features", train.X, test.X, "tst_X_Xf.txt"),
        ("labels", train.Y, test.Y, "tst_X_Y.txt"),
    ):
        if one.shape[1] != other.shape[1]:
            raise DataError(
                f"the header promises {other.shape[1]:,} {what}, the training file {one.shape[1]:,}",
                file=find(path, file),
                line=1,
                remedy="use files that belong together",
            )
    return train, test


def _read_part(path: Path, prefix: str, part: str, rules: dict[str, object]) -> Part:
    X_file, Y_file = find(path, f"{prefix}_X_Xf.txt"), find(path, f"{prefix}_X_Y.txt")
    if X_file is None or Y_file is None:
        missing = f"{prefix}_X_Xf.txt" if X_file is None else f"{prefix}_X_Y.txt"
        raise DataError(f"{missing} is missing", file=path, remedy="put it into the folder")
    X, Y = read_matrix(X_file, **rules), read_matrix(Y_file, what="label", one_based=rules["one_based"])
    if X.shape[0] != Y.shape[0]:
        raise DataError(
            f"the header promises {Y.shape[0]:,} rows but {X_file.name} has {X.shape[0]:,}",
            file=Y_file,
            line=1,
            remedy="use files that belong together",
        )
    texts = find(path, f"{prefix}_X.txt", f"raw/{prefix}_X.txt")
    return Part(
        X,
        fill_with_ones(Y),
        texts=None if texts is None else read_names(texts, X.shape[0], "documents"),
        filter_pairs=read_filter(path, part, X.shape[0], Y.shape[1]),
    )


def feature_names(path: Path, count: int) -> list[str] | None:
    file = find(path, "Xf.txt")
    return None if file is None else read_names(file, count, "features")


def label_names(path: Path, count: int) -> list[str] | None:
    file = find(path, "Y.txt", "raw/Y.txt")
    return None if file is None else read_names(file, count, "labels")


def _matrix_called_yf(path: Path) -> Path | None:
    """`Yf.txt` holds names in ZestXML folders, but a matrix in the repository's archives."""
    file = find(path, "Yf.txt")
    return file if file is not None and header_numbers(head(file).partition(b"\n")[0], 2) is not None else None


def read_filter(path: Path, part: str, n_documents: int, n_labels: int) -> np.ndarray | None:
    """The (document row, label id) pairs that must not be predicted."""
    matrix = find(path, "pos_trn_tst.txt") if part == "test" else None
    file = find(path, f"filter_labels_{part}.txt")
    if file is None and matrix is not None:
        Y = read_matrix(matrix, what="label")
        _check_pairs(matrix, np.array([[Y.shape[0] - 1, Y.shape[1] - 1]]), [1], n_documents, n_labels)
        return np.column_stack(Y.nonzero()).astype(np.int64)
    if file is None:
        return None
    pairs, lines = [], []
    # The file may be empty: a dataset without such pairs.
    for number, line in read_lines(file) if file.stat().st_size else ():
        words = line.split()
        if not words:
            continue
        if len(words) != 2 or not all(word.isascii() and word.isdigit() and len(word) < 10 for word in words):
            raise DataError(
                f"{line[:40]!r} is not a pair of a document row and a label id",
                file=file,
                line=number,
                remedy="write `row label`, counted from 0",
            )
        pairs.append((int(words[0]), int(words[1])))
        lines.append(number)
    found = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    _check_pairs(file, found, lines, n_documents, n_labels)
    return found


def _check_pairs(file: Path, pairs: np.ndarray, lines: list[int], n_documents: int, n_labels: int) -> None:
    wrong = np.flatnonzero((pairs[:, 0] >= n_documents) | (pairs[:, 1] >= n_labels))
    if len(wrong):
        row, label = pairs[wrong[0]]
        raise DataError(
            f"the pair {row} {label} is beyond the {n_documents:,} documents and {n_labels:,} labels",
            file=file,
            line=lines[wrong[0]],
            remedy="use the filter file that belongs to this part",
        )
