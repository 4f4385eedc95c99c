"""Split files: one sparse matrix a file, header `rows columns`, then `id:value id:value` a row; ids start at 0.

`trn_X_Xf.txt` and `trn_X_Y.txt` (features and labels of the training documents) are needed, `tst_*` are the test split.
Optional: `lbl_X_Xf.txt` (label features in the columns of the documents; also called `Yf.txt`), `Xf.txt` (names of the
features), `Y.txt` (names of the labels), `filter_labels_train.txt` and `filter_labels_test.txt` (pairs `row label` that
must not be predicted), or the same as a matrix in `pos_trn_tst.txt`; `trn_X.txt`, `tst_X.txt` (texts, one per line),
also in a folder `raw`.
"""

from __future__ import annotations

from pathlib import Path

from xcwork.core.dataset import Dataset
from xcwork.core.features import Features
from xcwork.data.build import TEST_SHARE, build_dataset
from xcwork.data.raw import RawDataset, RawLabels, RawSplit
from xcwork.data.readers.companion_files import find_names, read_filter_pairs
from xcwork.data.readers.declaration import Finding, FormatDeclaration, describe_options, look_for_files
from xcwork.data.readers.safe_files import find_file, read_head
from xcwork.data.readers.sparse_header import parse_header
from xcwork.data.readers.sparse_text import TextRules, parse_one_based, read_matrix
from xcwork.errors import DataError

FORMAT = FormatDeclaration(
    name="splits",
    title="split files: trn_X_Xf.txt, trn_X_Y.txt, tst_X_Xf.txt, tst_X_Y.txt",
    files=("trn_X_Xf.txt", "trn_X_Y.txt", "tst_X_Xf.txt", "tst_X_Y.txt", "lbl_X_Xf.txt", "Y.txt", "Xf.txt"),
    options=describe_options("one_based", "allow_negative", "test_share"),
    example={"trn_X_Xf.txt": "2 3\n0:1 2:0.5\n1:0.7\n", "trn_X_Y.txt": "2 2\n1:1\n0:1 1:1\n"},
)


def inspect(path: Path) -> Finding:
    return look_for_files(path, "trn_X_Xf.txt")


def read(
    path: Path,
    name: str,
    *,
    one_based: bool | str = False,
    allow_negative: bool = False,
    test_share: float = TEST_SHARE,
) -> Dataset:
    rules = TextRules(parse_one_based(one_based), allow_negative)
    train, test = read_splits(path, rules)
    n_features = train.n_features
    n_labels = train.n_labels
    features = Features(n_features, find_names(path, n_features, "features", "Xf.txt"))
    names = find_names(path, n_labels, "labels", "Y.txt", "raw/Y.txt")
    labels = RawLabels(names=names, texts=names)
    label_file = find_file(path, "lbl_X_Xf.txt") or _find_matrix_called_yf(path)
    if label_file is not None:
        Z = read_matrix(label_file, rules)
        if Z.shape != (n_labels, n_features):
            raise DataError(
                f"the label features are {Z.shape[0]:,} × {Z.shape[1]:,}, but there are {n_labels:,} labels and "
                f"{n_features:,} features",
                file=label_file,
                line=1,
                remedy="use files that belong together",
            )
        labels = RawLabels(names=names, texts=names, Z=Z, features=features)
    raw = RawDataset(train, test, labels, features, source="split files", path=path)
    return build_dataset(raw, name=name, test_share=test_share)


def read_splits(path: Path, rules: TextRules) -> tuple[RawSplit, RawSplit | None]:
    """Return the training split and, where its files exist, the test split."""
    train = _read_split(path, "trn", "train", rules)
    if find_file(path, "tst_X_Xf.txt") is None:
        return train, None
    test = _read_split(path, "tst", "test", rules)
    for what, wanted, found, file in (
        ("features", train.n_features, test.n_features, "tst_X_Xf.txt"),
        ("labels", train.n_labels, test.n_labels, "tst_X_Y.txt"),
    ):
        if found != wanted:
            raise DataError(
                f"the header promises {found:,} {what}, the training file {wanted:,}",
                file=find_file(path, file),
                line=1,
                remedy="use files that belong together",
            )
    return train, test


def _read_split(path: Path, prefix: str, split: str, rules: TextRules) -> RawSplit:
    X_file = find_file(path, f"{prefix}_X_Xf.txt")
    Y_file = find_file(path, f"{prefix}_X_Y.txt")
    if X_file is None or Y_file is None:
        missing = f"{prefix}_X_Xf.txt" if X_file is None else f"{prefix}_X_Y.txt"
        raise DataError(f"{missing} is missing", file=path, remedy="put it into the folder")
    X = read_matrix(X_file, rules)
    Y = read_matrix(Y_file, TextRules(rules.one_based), what="label")
    if X.shape[0] != Y.shape[0]:
        raise DataError(
            f"the header promises {Y.shape[0]:,} rows but {X_file.name} has {X.shape[0]:,}",
            file=Y_file,
            line=1,
            remedy="use files that belong together",
        )
    return RawSplit(
        texts=find_names(path, X.shape[0], "documents", f"{prefix}_X.txt", f"raw/{prefix}_X.txt"),
        X=X,
        Y=Y,
        filter_pairs=read_filter_pairs(path, split, X.shape[0], Y.shape[1]),
    )


def _find_matrix_called_yf(path: Path) -> Path | None:
    """Return `Yf.txt` where it is a matrix, as in the repository's archives; in ZestXML folders it holds names."""
    file = find_file(path, "Yf.txt")
    return file if file is not None and parse_header(read_head(file).partition(b"\n")[0], 2) is not None else None
