"""What a dataset is: documents, labels, and which label belongs to which document.

Symbols follow the papers: `X` (documents × terms), `Y` (documents × labels, ones where relevant), `Z` (labels × label
terms). All three are CSR with float32 values. A `Split` carries the label space and the features it is expressed in,
so a method needs nothing else to train. Nothing here is ever modified in place: derived objects are new ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from xcwork import markup
from xcwork.data.fingerprint import VERSION, first_fingerprint, hash_content
from xcwork.data.held_out import keep_groups_whole, number_groups
from xcwork.errors import ConfigError, DataError
from xcwork.sparse import drop_zeros
from xcwork.storage import ARRAYS_FILE, read_state, write_state

if TYPE_CHECKING:
    from xcwork.data.text import TextVectorizer


MAPPED_FROM = 2**31  # bytes


@dataclass(frozen=True, eq=False)
class Features:
    """The columns of a feature matrix: how many, what they are called, and how text becomes them."""

    size: int
    names: list[str] | None = None
    vectorizer: TextVectorizer | None = None
    image_shape: tuple[int, ...] | None = None

    def __repr__(self) -> str:
        return f"<{self.size:,} features>"

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything here."""
        return hash_content(self.to_state())

    def name(self, feature: int) -> str:
        return f"feature {feature}" if self.names is None else self.names[feature]

    def transform(self, texts: Sequence[str]) -> sparse.csr_array:
        """The rows of `texts` in these columns."""
        if self.vectorizer is None:
            raise DataError(
                "this dataset was loaded as ready-made features, so new text cannot be turned into them",
                remedy="give a feature matrix, or load the dataset from raw text",
            )
        return self.vectorizer.transform(texts)

    def to_state(self) -> dict[str, Any]:
        # The vectoriser knows the names; storing them twice would double the largest part of many models.
        names = None if self.vectorizer is not None else self.names
        shape = None if self.image_shape is None else list(self.image_shape)
        return {"size": self.size, "names": names, "vectorizer": self.vectorizer, "image_shape": shape}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Features:
        vectorizer, shape = state["vectorizer"], state["image_shape"]
        names = state["names"] if vectorizer is None else vectorizer.feature_names
        if type(state["size"]) is not int or not 0 <= state["size"] < 2**31:
            raise ValueError("the number of features is not a number")
        _check_texts("features", names, state["size"])
        if shape is not None and not (all(type(n) is int for n in shape) and math.prod(shape) == state["size"]):
            raise ValueError("the shape of the images does not fit the features")
        return cls(state["size"], names, vectorizer, None if shape is None else tuple(shape))


def _check_texts(what: str, texts: Any, count: int) -> None:
    """What a file calls names must be names: one text each, or nothing at all."""
    if texts is not None and not (isinstance(texts, list) and len(texts) == count and set(map(type, texts)) <= {str}):
        raise ValueError(f"the {what} are not named one by one")


@dataclass(frozen=True, eq=False)
class LabelSpace:
    """The labels: names for people, ids of the source, and (for zero-shot methods) text and its features Z."""

    names: list[str]
    uids: list[str] | None = None
    texts: list[str] | None = None
    Z: sparse.csr_array | None = None  # (n_labels, n_label_features), unit rows
    features: Features | None = None  # the columns of Z; the documents' own where they share a vocabulary
    parents: list[list[str]] | None = None  # uids of broader labels, where the source has them

    def __repr__(self) -> str:
        return f"<{len(self):,} labels{'' if self.texts is None else ' with texts'}>"

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything here; labels without texts go by their names."""
        return hash_content(self.to_state() | {"texts": self.names if self.texts is None else self.texts})

    @cached_property
    def _ids(self) -> dict[str, list[int]]:
        ids: dict[str, list[int]] = {}
        for label, name in enumerate(self.names):
            ids.setdefault(name, []).append(label)
        return ids

    def id_of(self, label: int | str) -> int:
        """The id of a label given by id, name or the source's uid."""
        if isinstance(label, int | np.integer):
            if not 0 <= label < len(self):
                raise DataError(f"there is no label {label}; ids go from 0 to {len(self) - 1}")
            return int(label)
        found = self._ids.get(label, [])
        if len(found) == 1:
            return found[0]
        if len(found) > 1:
            raise DataError(f"{len(found)} labels are called {label!r}; give one of the ids {found[:5]}")
        if self.uids is not None and label in self.uids:
            return self.uids.index(label)
        raise DataError(f"there is no label called {label!r}")

    def extended(self, names: Sequence[str], texts: Sequence[str], Z: sparse.csr_array) -> LabelSpace:
        """This label space with new labels after the existing ones."""
        if self.Z is None:
            raise DataError("these labels have no text, so none can be added by text")
        return replace(
            self,
            names=[*self.names, *names],
            uids=None if self.uids is None else [*self.uids, *names],
            texts=[*(self.texts or [""] * len(self)), *texts],
            Z=sparse.csr_array(sparse.vstack([self.Z, Z])),
            parents=None if self.parents is None else [*self.parents, *[[] for _ in names]],
        )

    def to_state(self) -> dict[str, Any]:
        state = {name: getattr(self, name) for name in ("names", "uids", "texts", "Z", "features")}
        return state | {"parents": None if self.parents is None else _flatten(self.parents)}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> LabelSpace:
        names = state["names"]
        if names is None:
            raise ValueError("the labels have no names")
        for texts in (names, state["uids"], state["texts"]):
            _check_texts("labels", texts, len(names))
        if (Z := state["Z"]) is not None and (not isinstance(Z, sparse.csr_array) or Z.shape[0] != len(names)):
            raise ValueError("the features of the labels do not fit the labels")
        if not isinstance(state["features"], Features | None):
            raise ValueError("the features of the labels cannot be used")
        parents = None if state["parents"] is None else _unflatten(state["parents"], len(names))
        return cls(**{**state, "parents": parents})


def _flatten(parents: list[list[str]]) -> dict[str, Any]:
    """Return all parents in one list and how many each label has: many short lists would be slow to store."""
    return {"uids": list(chain.from_iterable(parents)), "counts": np.array([len(uids) for uids in parents], np.int64)}


def _unflatten(stored: Any, n_labels: int) -> list[list[str]]:
    """Return the parents of each label from what `_flatten` made, or from the lines of an earlier version."""
    if isinstance(stored, list):
        _check_texts("labels", stored, n_labels)
        return [line.split("\n") if line else [] for line in stored]
    uids, counts = stored["uids"], stored["counts"]
    if counts.dtype != np.int64 or counts.shape != (n_labels,) or counts.min(initial=0) < 0:
        raise ValueError("the parents of the labels are not counted one by one")
    _check_texts("parents of labels", uids, int(counts.sum()))
    return [uids[end - count : end] for end, count in zip(np.cumsum(counts).tolist(), counts.tolist(), strict=True)]


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

    def __post_init__(self) -> None:
        documents = self.X.shape[0]
        for what, length in (
            ("Y", self.Y.shape[0]), ("texts", documents if self.texts is None else len(self.texts)),
            ("uids", documents if self.uids is None else len(self.uids)),
            ("groups", documents if self.groups is None else len(self.groups)),
        ):  # fmt: skip
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
        """How many documents carry each label, (n_labels,) int64."""
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
        rows = _row_numbers(rows, len(self))
        return replace(
            self, X=self.X[rows], Y=self.Y[rows],
            texts=None if self.texts is None else [self.texts[i] for i in rows],
            uids=None if self.uids is None else [self.uids[i] for i in rows],
            groups=None if self.groups is None else [self.groups[i] for i in rows],
            filter_pairs=None if self.filter_pairs is None else take_pairs(self.filter_pairs, rows, len(self)),
        )  # fmt: skip

    def with_texts(self, texts: Sequence[str]) -> Split:
        """Return these documents with other texts; labels, groups and filter pairs stay."""
        return replace(self, X=self.features.transform(texts), texts=list(texts))

    def filtered_labels(self, row: int) -> np.ndarray:
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


def _row_numbers(rows: np.ndarray | Sequence[int] | Sequence[bool], n_documents: int) -> np.ndarray:
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


@dataclass(frozen=True)
class Propensity:
    """The constants of the propensity model (methods of PSP@k) and where they come from."""

    A: float = 0.55
    B: float = 1.5
    source: str = "default of the Extreme Classification Repository"


@dataclass(frozen=True, eq=False)
class Dataset:
    """A training part, a test part, and the labels and features both are expressed in."""

    name: str
    train: Split
    test: Split
    propensity: Propensity = Propensity()
    source: str = ""
    notes: tuple[str, ...] = ()  # sentences for the user about how the files were read

    def __repr__(self) -> str:
        return f"<{self.name}: {len(self.train):,} train and {len(self.test):,} test documents, {self.labels!r}>"

    @property
    def labels(self) -> LabelSpace:
        return self.train.labels

    @property
    def features(self) -> Features:
        return self.train.features

    @property
    def unseen_labels(self) -> np.ndarray:
        """Ids of the labels that no training document carries."""
        return np.flatnonzero(self.train.label_frequencies == 0)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all that decides a result: everything but the name and the source."""
        constants = {"A": self.propensity.A, "B": self.propensity.B}
        return hash_content({"train": self.train, "test": self.test, "propensity": constants})

    @cached_property
    def _first_fingerprint(self) -> str:
        return first_fingerprint(self)

    def recognises(self, fingerprint: str | None) -> bool:
        """Return whether a recorded fingerprint, of this version or the first, is that of this data; None fits all."""
        if fingerprint is None:
            return True
        return fingerprint == (self.fingerprint if str(fingerprint).startswith(VERSION) else self._first_fingerprint)

    def _repr_html_(self) -> str:
        """What is in the dataset, and how its labels spread over the bands of frequency."""
        from xcwork.metrics.bands import absolute_bands

        frequencies, n_unseen = self.train.label_frequencies, len(self.unseen_labels)
        facts: list[list[markup.Cell]] = [
            ["documents", f"{len(self.train):,} train, {len(self.test):,} test"],
            ["features", f"{self.features.size:,}" + (", raw texts kept" if self.train.texts is not None else "")],
            ["labels", f"{len(self.labels):,}, {n_unseen:,} of them never in training"],
            ["labels a document", f"{self.train.Y.nnz / max(1, len(self.train)):.2f} in training"],
        ]
        bands = absolute_bands(frequencies)
        counts = np.bincount(bands.of_label, minlength=len(bands.names)).tolist()
        drawn = markup.bars(counts)
        rows = [[name, count, bar] for name, count, bar in zip(bands.names, counts, drawn, strict=True)]
        parts = [markup.table(["", ""], facts), markup.table(["band", "labels", ""], rows)]
        return markup.heading(self.name) + "".join(parts) + markup.paragraph(bands.definition)

    def save(self, folder: str | Path) -> None:
        """Store everything below `folder`; `load` brings it back."""
        constants = {"A": self.propensity.A, "B": self.propensity.B, "source": self.propensity.source}
        write_state(
            folder,
            {
                "name": self.name, "source": self.source, "notes": list(self.notes), "propensity": constants,
                "labels": self.labels,
                "features": self.features,
                "train": self.train.to_state(), "test": self.test.to_state(),
            },
        )  # fmt: skip

    @classmethod
    def load(cls, folder: str | Path, *, mapped: bool | None = None) -> Dataset:
        """The dataset that `save` stored.

        `mapped` leaves its matrices on disk, from where batches are read; None: if it has more than MAPPED_FROM bytes.
        """
        if mapped is None:
            arrays = Path(folder) / ARRAYS_FILE
            mapped = arrays.is_file() and arrays.stat().st_size > MAPPED_FROM
        state = read_state(folder, mapped=mapped)
        labels, features = state["labels"], state["features"]
        train, test = (Split(labels=labels, features=features, **state[part]) for part in ("train", "test"))
        notes = state.get("notes") or []  # folders of earlier versions have none
        _check_texts("notes", notes, len(notes))
        return cls(state["name"], train, test, Propensity(**state["propensity"]), state["source"], tuple(notes))
