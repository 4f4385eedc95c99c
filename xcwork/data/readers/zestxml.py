"""ZestXML folders: split files whose labels have features of their own.

To the split files come `Y_Yf.txt` (labels × label features), `Yf.txt` (their names) and `Xf.txt` (names of the document
features). Label names are taken from `Y.txt` or `raw/Y.txt`, or else from the features `__label__<id>__<text>` that the
published datasets carry.
"""

from __future__ import annotations

import re
from pathlib import Path

from xcwork.core.dataset import Dataset
from xcwork.core.features import Features
from xcwork.data.build import TEST_SHARE, build_dataset, number_labels
from xcwork.data.raw import RawDataset, RawLabels
from xcwork.data.readers.companion_files import find_names
from xcwork.data.readers.declaration import Finding, FormatDeclaration, describe_options, look_for_files
from xcwork.data.readers.safe_files import find_file
from xcwork.data.readers.sparse_text import TextRules, parse_one_based, read_matrix
from xcwork.data.readers.split_files import read_splits
from xcwork.errors import DataError

FORMAT = FormatDeclaration(
    name="zestxml",
    title="ZestXML: split files and Y_Yf.txt, the features of the labels",
    files=("trn_X_Xf.txt", "trn_X_Y.txt", "Y_Yf.txt", "Yf.txt", "Xf.txt"),
    options=describe_options("one_based", "allow_negative", "test_share"),
    example={
        "trn_X_Xf.txt": "2 3\n0:1 2:0.5\n1:0.7\n",
        "trn_X_Y.txt": "2 2\n1:1\n0:1 1:1\n",
        "Y_Yf.txt": "2 4\n0:0.6 2:0.8\n1:1 3:2\n",
    },
)
_OWN_FEATURE = re.compile(r"__label__(\d+)__(.*)")


def inspect(path: Path) -> Finding:
    return look_for_files(path, "trn_X_Xf.txt", "Y_Yf.txt")


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
    label_file = find_file(path, "Y_Yf.txt")
    assert label_file is not None
    Z = read_matrix(label_file, rules)
    if Z.shape[0] != n_labels:
        raise DataError(
            f"the header promises {Z.shape[0]:,} labels but trn_X_Y.txt has {n_labels:,}",
            file=label_file,
            line=1,
            remedy="use files that belong together",
        )
    label_features = Features(Z.shape[1], find_names(path, Z.shape[1], "label features", "Yf.txt"))
    names = find_names(path, n_labels, "labels", "Y.txt", "raw/Y.txt") or _find_names_among(label_features, n_labels)
    raw = RawDataset(
        train=train,
        test=test,
        labels=RawLabels(names=names, texts=names, Z=Z, features=label_features),
        features=Features(n_features, find_names(path, n_features, "features", "Xf.txt")),
        source="ZestXML folder",
        path=path,
    )
    return build_dataset(raw, name=name, test_share=test_share)


def _find_names_among(features: Features, n_labels: int) -> list[str] | None:
    """Return the label names that the label-id features spell out; seen labels have one, the others keep a number."""
    found = [match for feature in features.names or () if (match := _OWN_FEATURE.fullmatch(feature))]
    if not found:
        return None
    names = number_labels(n_labels)
    for match in found:
        if int(match[1]) < n_labels:
            names[int(match[1])] = match[2] or names[int(match[1])]
    return names
