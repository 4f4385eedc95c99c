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
from xcwork.core.labels import LabelSpace
from xcwork.data.readers.assemble import TEST_SHARE, feature_dataset, label_numbers, read_names
from xcwork.data.readers.safe_files import find
from xcwork.data.readers.sparse_text import one_based_option, read_matrix
from xcwork.data.readers.split_files import feature_names, label_names, read_parts
from xcwork.errors import DataError

TITLE = "ZestXML folder: split files with Y_Yf.txt, Yf.txt and Xf.txt"
_OWN_FEATURE = re.compile(r"__label__(\d+)__(.*)")


def recognises(path: Path) -> bool:
    return path.is_dir() and find(path, "trn_X_Xf.txt") is not None and find(path, "Y_Yf.txt") is not None


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
    n_labels = train.Y.shape[1]
    label_file = find(path, "Y_Yf.txt")
    assert label_file is not None
    Z = read_matrix(label_file, **rules)
    if Z.shape[0] != n_labels:
        raise DataError(
            f"the header promises {Z.shape[0]:,} labels but trn_X_Y.txt has {n_labels:,}",
            file=label_file,
            line=1,
            remedy="use files that belong together",
        )
    names_file = find(path, "Yf.txt")
    own = Features(Z.shape[1], None if names_file is None else read_names(names_file, Z.shape[1], "label features"))
    names = label_names(path, n_labels) or _names_among(own, n_labels)
    labels = LabelSpace(names or label_numbers(n_labels), texts=names, Z=Z, features=own)
    features = Features(train.X.shape[1], feature_names(path, train.X.shape[1]))
    return feature_dataset(
        name, train, test, path=path, source="ZestXML folder", labels=labels, features=features, test_share=test_share
    )


def _names_among(features: Features, n_labels: int) -> list[str] | None:
    """The label names that the label-id features spell out; seen labels have one, the others keep a number."""
    found = [match for feature in features.names or () if (match := _OWN_FEATURE.fullmatch(feature))]
    if not found:
        return None
    names = label_numbers(n_labels)
    for match in found:
        if int(match[1]) < n_labels:
            names[int(match[1])] = match[2] or names[int(match[1])]
    return names
