"""The sizes of a dataset that decide what a training takes, known before it is read into memory."""

from __future__ import annotations

from typing import NamedTuple


class DataSizes(NamedTuple):
    """What the training documents come to."""

    n_documents: int
    n_labels: int
    n_features: int
    terms_per_document: float
    labels_per_document: float

    @property
    def n_entries(self) -> int:
        """Entries of the matrix of the documents."""
        return round(self.n_documents * self.terms_per_document)
