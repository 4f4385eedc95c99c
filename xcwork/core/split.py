"""Documents and their labels: one split of a dataset, training or test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from xcwork.core.features import Features
from xcwork.core.held_out import keep_groups_whole, number_groups
from xcwork.core.labels import LabelSpace
from xcwork.errors import ConfigError, DataError
from xcwork.sparse import drop_zeros
from xcwork.storage.embedding_cache import EmbeddingCache
from xcwork.storage.fingerprint import hash_content


@dataclass(frozen=True, eq=False)
class Split:
    """Documents with their labels."""

    X: sparse.csr_array  # (n_documents, n_features)
    Y: sparse.csr_array  # (n_documents, n_labels), ones
    labels: LabelSpace
    features: Features
    texts: list[str] | None = None
    uids: list[str] | None = None
    groups: list[str] | None = None  # the group of each document, for aggregated labels
    filter_pairs: np.ndarray | None = None  # (n, 2): (document row, label id) pairs that must never be predicted
    embeddings: EmbeddingCache | None = None  # where those of its texts are kept; no part of its content

    def __post_init__(self) -> None:
        documents = self.X.shape[0]
        for what, length in (
            ("Y", self.Y.shape[0]),
            ("texts", documents if self.texts is None else len(self.texts)),
            ("uids", documents if self.uids is None else len(self.uids)),
            ("groups", documents if self.groups is None else len(self.groups)),
        ):
            if length != documents:
                raise DataError(f"X has {documents} documents but {what} has {length}")
        if self.Y.shape[1] != len(self.labels):
            raise DataError(f"Y has {self.Y.shape[1]} columns but there are {len(self.labels)} labels")
        if self.X.shape[1] != self.features.size:
            raise DataError(f"X has {self.X.shape[1]} columns but there are {self.features.size} features")
        if not self.Y.data.all():  # a stored zero would count as a label wherever entries are counted
            object.__setattr__(self, "Y", drop_zeros(self.Y))

    def __repr__(self) -> str:
        return f"<{len(self):,} documents, {self.n_labels:,} labels, {self.X.shape[1]:,} features>"

    def __len__(self) -> int:
        return self.X.shape[0]

    @property
    def n_documents(self) -> int:
        return self.X.shape[0]

    @property
    def n_labels(self) -> int:
        return self.Y.shape[1]

    @cached_property
    def label_frequencies(self) -> np.ndarray:
        """How many documents have each label, (n_labels,) int64."""
        return np.bincount(self.Y.indices, minlength=self.n_labels)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything here: splits with the same fingerprint train the same model."""
        return hash_content(self.to_state() | {"labels": self.labels, "features": self.features})

    def has_labels(self, pairs: np.ndarray) -> np.ndarray:
        """Return whether each (document row, label id) pair is a true label, (n_pairs,) bool."""
        pairs = pairs.astype(np.int64)  # a product of the two may be large
        documents = np.unique(pairs[:, 0])
        Y = self.Y[documents]
        true = np.repeat(documents, np.diff(Y.indptr)) * self.n_labels + Y.indices
        return np.isin(pairs[:, 0] * self.n_labels + pairs[:, 1], true)

    def take(self, rows: np.ndarray | Sequence[int] | Sequence[bool]) -> Split:
        """Return the documents at `rows`, in that order, or those that a boolean mask selects."""
        rows = _read_row_numbers(rows, len(self))
        return replace(
            self,
            X=self.X[rows],
            Y=self.Y[rows],
            texts=None if self.texts is None else [self.texts[i] for i in rows],
            uids=None if self.uids is None else [self.uids[i] for i in rows],
            groups=None if self.groups is None else [self.groups[i] for i in rows],
            filter_pairs=None if self.filter_pairs is None else take_pairs(self.filter_pairs, rows, len(self)),
        )

    def replace_texts(self, texts: Sequence[str]) -> Split:
        """Return these documents with other texts; labels, groups and filter pairs stay."""
        return replace(self, X=self.features.transform(texts), texts=list(texts))

    def list_filtered_labels(self, row: int) -> np.ndarray:
        """Return the ids of the labels that must never be predicted for the document at `row`."""
        if self.filter_pairs is None:
            return np.empty(0, np.int64)
        return self.filter_pairs[self.filter_pairs[:, 0] == row, 1]

    def hold_out(self, share: float, seed: int = 0) -> tuple[Split, Split]:
        """Return (the rest, a random `share` of the documents): a validation split without touching test data.

        Groups stay whole, so fewer documents may be held out, or more if no group fits; one group of all is no group.
        """
        if not 0 < share < 1:
            raise ConfigError(f"the share to hold out must lie between 0 and 1, got {share}")
        n_held = min(max(1, round(share * len(self))), len(self) - 1)
        drawn = np.random.default_rng(seed).permutation(len(self))[:n_held]
        held = np.zeros(len(self), dtype=bool)
        held[keep_groups_whole(drawn, None if self.groups is None else number_groups(self.groups))] = True
        return self.take(~held), self.take(held)

    def to_state(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("X", "Y", "texts", "uids", "groups", "filter_pairs")}


def _read_row_numbers(rows: np.ndarray | Sequence[int] | Sequence[bool], n_documents: int) -> np.ndarray:
    """Return row numbers given as such or as a boolean mask, (n,) int64; anything else is refused."""
    rows = np.asarray(rows)
    if rows.dtype == bool:
        if rows.shape != (n_documents,):
            raise DataError(f"the mask has the shape {rows.shape}, but there are {n_documents} documents")
        return np.flatnonzero(rows)
    if rows.ndim != 1 or (len(rows) and rows.dtype.kind not in "iu"):
        raise DataError("documents are taken by a list of row numbers or by a boolean mask")
    if len(wrong := rows[(rows < 0) | (rows >= n_documents)]):
        raise DataError(f"there is no document {wrong[0]}; rows go from 0 to {n_documents - 1}")
    return rows.astype(np.int64)


def take_pairs(pairs: np.ndarray, rows: np.ndarray, n_documents: int) -> np.ndarray:
    """Return filter pairs renumbered for the documents at `rows`, which may repeat."""
    by_document = sparse.csr_array(
        (np.ones(len(pairs), np.int8), (pairs[:, 0], pairs[:, 1])),
        shape=(n_documents, int(pairs[:, 1].max(initial=0)) + 1),
    )
    return np.column_stack(by_document[rows].nonzero()).astype(np.int64)
