"""What a reader found in its files, before `xcwork.data.build` makes a dataset of it.

raw = RawDataset(
    train=RawSplit(texts=["red apples", "dry wine"], labels=[["fruit"], ["drink"]]),
    test=RawSplit(texts=["sweet wine"], labels=[["drink"]]),  # or None: a share of the documents is held out
    labels=RawLabels(names=["fruit", "drink"]),
)
dataset = build_dataset(raw, name="groceries")
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from xcwork.core.features import Features
from xcwork.core.split import take_pairs
from xcwork.errors import DataError


@dataclass(frozen=True, eq=False)
class RawSplit:
    """Documents as texts or as rows of X, with their labels as lists or as rows of Y.

    Texts beside X are kept for people to read; without X they become the features. The lists in `labels` hold uids
    where `RawLabels` has uids, names otherwise.
    """

    texts: Sequence[str] | None = None
    labels: Sequence[Sequence[str]] | None = None
    X: sparse.csr_array | None = None  # (n_documents, n_features)
    Y: sparse.csr_array | None = None  # (n_documents, n_labels); every stored entry other than 0 is a label
    uids: Sequence[str] | None = None
    groups: Sequence[str] | None = None  # the group of each document, for aggregated labels
    filter_pairs: np.ndarray | None = None  # (n, 2): (document row, label id) pairs that must never be predicted

    def __post_init__(self) -> None:
        if self.texts is None and self.X is None:
            raise DataError("documents need texts or features")
        if (self.labels is None) == (self.Y is None):
            raise DataError("the labels of documents are given as lists or as a matrix, one of the two")

    def __len__(self) -> int:
        return len(self.texts or ()) if self.X is None else self.X.shape[0]

    @property
    def n_features(self) -> int:
        """The number of columns of X; 0 without X."""
        return 0 if self.X is None else self.X.shape[1]

    @property
    def n_labels(self) -> int:
        """The number of columns of Y; 0 without Y."""
        return 0 if self.Y is None else self.Y.shape[1]

    def take(self, rows: np.ndarray) -> RawSplit:
        """Return the documents at `rows`, in that order."""

        def pick(values: Sequence[Any] | None) -> list[Any] | None:
            return None if values is None else [values[row] for row in rows]

        return replace(
            self,
            texts=pick(self.texts),
            labels=pick(self.labels),
            X=None if self.X is None else self.X[rows],
            Y=None if self.Y is None else self.Y[rows],
            uids=pick(self.uids),
            groups=pick(self.groups),
            filter_pairs=None if self.filter_pairs is None else take_pairs(self.filter_pairs, rows, len(self)),
        )


@dataclass(frozen=True, eq=False)
class RawLabels:
    """What is known about the labels apart from the documents that have them; every field has one item per label."""

    names: Sequence[str] | None = None  # None: the uids or, without them, numbers
    texts: Sequence[str] | None = None  # None: the names, where documents are texts
    uids: Sequence[str] | None = None
    parents: Sequence[Sequence[str]] | None = None  # uids of broader labels
    notations: Sequence[str] | None = None  # codes of the labels, '' for one without
    Z: sparse.csr_array | None = None  # (n_labels, n_label_features), ready-made like X
    features: Features | None = None  # the columns of Z


@dataclass(frozen=True, eq=False)
class RawDataset:
    """Everything that `build_dataset` needs."""

    train: RawSplit
    test: RawSplit | None = None  # None: a share of the training documents is held out
    labels: RawLabels = field(default_factory=RawLabels)
    features: Features | None = None  # the columns of X; None: they have no names
    source: str = ""  # where the data come from and how they were read
    notes: Sequence[str] = ()  # sentences for the user about how the files were read
    path: Path | None = None  # the file or folder that errors name
