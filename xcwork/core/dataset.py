"""What a dataset is: documents, labels, and which label belongs to which document.

Symbols follow the papers: `X` (documents × terms), `Y` (documents × labels, ones where relevant), `Z` (labels × label
terms). All three are CSR with float32 values. A `Split` has the label space and the features it is expressed in,
so a method needs nothing else to train. Nothing here is ever modified in place: derived objects are new ones.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from xcwork.core.features import Features, check_texts
from xcwork.core.labels import LabelSpace
from xcwork.core.propensity import Propensity
from xcwork.core.split import Split
from xcwork.export import html
from xcwork.storage.embedding_cache import EmbeddingCache
from xcwork.storage.fingerprint import VERSION_PREFIX, hash_content
from xcwork.storage.mapped_arrays import split_pieces
from xcwork.storage.state import ARRAYS_FILE, read_state, write_state

MIN_MAPPED_BYTES = 2**31  # of arrays that stay on disk


@dataclass(frozen=True, eq=False)
class Dataset:
    """A training split and a test split with the same labels and features."""

    name: str
    train: Split
    test: Split
    propensity: Propensity = field(default_factory=Propensity)
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
        """Ids of the labels that no training document has."""
        return np.flatnonzero(self.train.label_frequencies == 0)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all that decides a result: everything but the name and the source."""
        constants = {"A": self.propensity.A, "B": self.propensity.B}
        return hash_content({"train": self.train, "test": self.test, "propensity": constants})

    @cached_property
    def _first_fingerprint(self) -> str:
        return compute_first_fingerprint(self)

    def recognises(self, fingerprint: str | None) -> bool:
        """Return whether a recorded fingerprint, of this version or the first, is that of this data; None fits all."""
        if fingerprint is None:
            return True
        return fingerprint == (
            self.fingerprint if str(fingerprint).startswith(VERSION_PREFIX) else self._first_fingerprint
        )

    def keep_embeddings_in(self, embeddings: EmbeddingCache) -> Dataset:
        """Return this dataset with a place where sentence embeddings of its texts are kept."""
        train, test = (replace(split, embeddings=embeddings) for split in (self.train, self.test))
        return replace(self, train=train, test=test)

    def _repr_html_(self) -> str:
        """Show what is in the dataset, and how its labels spread over the bands of frequency."""
        from xcwork.core.bands import make_absolute_bands

        frequencies, n_unseen = self.train.label_frequencies, len(self.unseen_labels)
        facts: list[list[Any]] = [
            ["documents", f"{len(self.train):,} train, {len(self.test):,} test"],
            ["features", f"{self.features.size:,}" + (", raw texts kept" if self.train.texts is not None else "")],
            ["labels", f"{len(self.labels):,}, {n_unseen:,} of them never in training"],
            ["labels per document", f"{self.train.Y.nnz / max(1, len(self.train)):.2f} in training"],
        ]
        bands = make_absolute_bands(frequencies)
        counts = np.bincount(bands.of_label, minlength=len(bands.names)).tolist()
        drawn = html.scale_bars(counts)
        rows = [[name, count, bar] for name, count, bar in zip(bands.names, counts, drawn, strict=True)]
        parts = [html.render_table(["", ""], facts), html.render_table(["band", "labels", ""], rows)]
        return html.render_heading(self.name) + "".join(parts) + html.render_paragraph(bands.definition)

    def save(self, folder: str | Path) -> None:
        """Store everything below `folder`; `load` reads it."""
        constants = {"A": self.propensity.A, "B": self.propensity.B, "source": self.propensity.source}
        write_state(
            folder,
            {
                "name": self.name,
                "source": self.source,
                "notes": list(self.notes),
                "propensity": constants,
                "labels": self.labels,
                "features": self.features,
                "train": self.train.to_state(),
                "test": self.test.to_state(),
            },
        )

    @classmethod
    def load(cls, folder: str | Path, *, mapped: bool | None = None) -> Dataset:
        """Return the dataset that `save` stored.

        `mapped` leaves its matrices on disk, from where batches are read; None: if it has more than MIN_MAPPED_BYTES.
        """
        if mapped is None:
            arrays = Path(folder) / ARRAYS_FILE
            mapped = arrays.is_file() and arrays.stat().st_size > MIN_MAPPED_BYTES
        state = read_state(folder, mapped=mapped)
        labels, features = state["labels"], state["features"]
        train, test = (Split(labels=labels, features=features, **state[part]) for part in ("train", "test"))
        notes = state.get("notes") or []  # folders of earlier versions have none
        check_texts("notes", notes, len(notes))
        return cls(state["name"], train, test, Propensity(**state["propensity"]), state["source"], tuple(notes))


def compute_first_fingerprint(dataset: Dataset) -> str:
    """Return the fingerprint that version 1 recorded for this dataset."""
    train, test, labels = dataset.train, dataset.test, dataset.labels
    digest = hashlib.sha256()
    for matrix in (train.X, train.Y, test.X, test.Y, labels.Z):
        if matrix is not None:
            digest.update(str(matrix.shape).encode())
            for part in (matrix.data, matrix.indices, matrix.indptr):
                for piece in split_pieces(part):
                    digest.update(piece.view(np.uint8).data)
    for names in (labels.names, train.groups or []):
        digest.update("\n".join(names).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]
