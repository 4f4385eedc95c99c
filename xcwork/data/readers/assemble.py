"""From what a reader found to a `Dataset`: the parts are checked against each other, and a missing test part is made.

When there is only one part, a document belongs to the test part if the hash of its group, uid, text or features (the
first of these that it has) falls into the lowest `test_share` of all hashes. The choice depends on nothing but the
document itself: it survives reordering and new documents, and equal documents never end up on both sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from xcwork.core.dataset import Dataset
from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.data.hashing import document_hashes
from xcwork.data.readers.safe_files import read_lines
from xcwork.errors import ConfigError, DataError

TEST_SHARE = 0.2


@dataclass(frozen=True, eq=False)
class Part:
    """The documents of one file or pair of files."""

    X: sparse.csr_array
    Y: sparse.csr_array
    texts: list[str] | None = None
    uids: list[str] | None = None
    groups: list[str] | None = None
    filter_pairs: np.ndarray | None = None


def feature_dataset(
    name: str,
    train: Part,
    test: Part | None,
    *,
    path: Path,
    source: str,
    labels: LabelSpace | None = None,
    features: Features | None = None,
    test_share: float = TEST_SHARE,
    notes: Sequence[str] = (),
) -> Dataset:
    """A dataset whose features are ready-made; without a test part, a share of the documents becomes one."""
    for what, part in (("training", train), ("test", test)):
        if part is not None and part.X.shape[0] == 0:
            raise DataError(f"there are no {what} documents", file=path, remedy="check that the files are complete")
    for what, matrix in (("features", train.X), ("labels", train.Y)):
        if matrix.shape[1] == 0:
            raise DataError(f"there are no {what}", file=path, remedy="check that the files are complete")
    labels = LabelSpace(label_numbers(train.Y.shape[1])) if labels is None else labels
    features = Features(train.X.shape[1]) if features is None else features
    splits = [
        Split(part.X, part.Y, labels, features, part.texts, part.uids, part.groups, part.filter_pairs)
        for part in (train, test)
        if part is not None
    ]
    if test is None:
        hashes = document_hashes(X=train.X, texts=train.texts, uids=train.uids, groups=train.groups)
        held_out = choose_test(hashes, test_share, path)
        splits = [splits[0].take(~held_out), splits[0].take(held_out)]
        source += f"; {test_share:.0%} of the documents held out as test part by hash"
    return Dataset(name, splits[0], splits[1], source=source, notes=tuple(notes))


def label_numbers(count: int) -> list[str]:
    """Names for labels that have none."""
    return [f"label {number}" for number in range(count)]


def choose_test(hashes: np.ndarray, share: float, path: Path) -> np.ndarray:
    """Which documents form the test part, (n_documents,) bool; both parts get at least one."""
    if not isinstance(share, int | float) or not 0 < share < 1:
        raise ConfigError(f"test_share must lie between 0 and 1, got {share!r}")
    if len(np.unique(hashes)) < 2:
        raise DataError(
            "there are not two different documents, so no test part can be held out",
            file=path,
            remedy="give more documents, or a train and a test file",
        )
    chosen = hashes < np.uint64(share * 2.0**64)
    if not chosen.any():
        chosen = hashes == hashes.min()
    elif chosen.all():
        chosen = hashes != hashes.max()
    return chosen


def read_names(path: Path, expected: int, what: str) -> list[str]:
    """One name a line."""
    names = [line for _, line in read_lines(path)]
    if len(names) != expected:
        raise DataError(
            f"there are {len(names):,} names for {expected:,} {what}",
            file=path,
            line=min(len(names), expected) + 1,
            remedy=f"give one line for each of the {what}",
        )
    return names


def label_space(names: list[str] | None, count: int) -> LabelSpace:
    """Labels with these names, or with numbers."""
    return LabelSpace(label_numbers(count)) if names is None else LabelSpace(names, texts=names)
