"""The labels of a dataset: names, uids, texts, features and parents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

from xcwork.core.features import Features, check_texts
from xcwork.errors import DataError
from xcwork.storage.fingerprint import hash_content
from xcwork.storage.state import register_storable


@register_storable
@dataclass(frozen=True, eq=False)
class LabelSpace:
    """The labels: names for people, ids of the source, and (for zero-shot methods) text and its features Z."""

    names: list[str]
    uids: list[str] | None = None
    texts: list[str] | None = None
    Z: sparse.csr_array | None = None  # (n_labels, n_label_features), unit rows
    features: Features | None = None  # the columns of Z; the documents' own where they share a vocabulary
    parents: list[list[str]] | None = None  # uids of broader labels, where the source has them
    notations: list[str] | None = None  # codes such as `004.6`, '' for a label without one, where the source has them

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

    def find_id(self, label: int | str) -> int:
        """Return the id of a label given by id, name or the source's uid."""
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

    def extend(self, names: Sequence[str], texts: Sequence[str], Z: sparse.csr_array) -> LabelSpace:
        """Return this label space with new labels after the existing ones."""
        if self.Z is None:
            raise DataError("these labels have no text, so none can be added by text")
        return replace(
            self,
            names=[*self.names, *names],
            uids=None if self.uids is None else [*self.uids, *names],
            texts=[*(self.texts or [""] * len(self)), *texts],
            Z=sparse.csr_array(sparse.vstack([self.Z, Z])),
            parents=None if self.parents is None else [*self.parents, *[[] for _ in names]],
            notations=None if self.notations is None else [*self.notations, *[""] * len(names)],
        )

    def to_state(self) -> dict[str, Any]:
        state = {name: getattr(self, name) for name in ("names", "uids", "texts", "Z", "features")}
        state |= {"parents": None if self.parents is None else _flatten_parents(self.parents)}
        # Left out where there are none, so that such labels keep the fingerprint of earlier versions.
        return state if self.notations is None else state | {"notations": self.notations}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> LabelSpace:
        names = state["names"]
        if names is None:
            raise ValueError("the labels have no names")
        for texts in (names, state["uids"], state["texts"], state.get("notations")):
            check_texts("labels", texts, len(names))
        if (Z := state["Z"]) is not None and (not isinstance(Z, sparse.csr_array) or Z.shape[0] != len(names)):
            raise ValueError("the features of the labels do not fit the labels")
        if not isinstance(state["features"], Features | None):
            raise ValueError("the features of the labels cannot be used")
        parents = None if state["parents"] is None else _unflatten_parents(state["parents"], len(names))
        return cls(**{**state, "parents": parents})


def _flatten_parents(parents: list[list[str]]) -> dict[str, Any]:
    """Return all parents in one list and how many each label has: many short lists would be slow to store."""
    return {"uids": list(chain.from_iterable(parents)), "counts": np.array([len(uids) for uids in parents], np.int64)}


def _unflatten_parents(stored: Any, n_labels: int) -> list[list[str]]:
    """Return the parents of each label from what `_flatten_parents` made, or from the lines of an earlier version."""
    if isinstance(stored, list):
        check_texts("labels", stored, n_labels)
        return [line.split("\n") if line else [] for line in stored]
    uids, counts = stored["uids"], stored["counts"]
    if counts.dtype != np.int64 or counts.shape != (n_labels,) or counts.min(initial=0) < 0:
        raise ValueError("the parents of the labels are not counted one by one")
    check_texts("parents of labels", uids, int(counts.sum()))
    return [uids[end - count : end] for end, count in zip(np.cumsum(counts).tolist(), counts.tolist(), strict=True)]
