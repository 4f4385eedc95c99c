"""Which rows of the token table stand for a text: documents and labels share tokens wherever they share terms.

Documents use the first rows, one for each of their features. A label feature that is also a document feature (the same
column, or the same name in another vocabulary) uses the same row; any other has a row of its own after them.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from xcwork.core.features import Features
from xcwork.sparse import enlarge, normalise_rows, renumber_columns

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Tokens:
    """The token of every label feature, after one token for every document feature."""

    n_documents_features: int
    of_label_feature: np.ndarray  # (n_label_features,) int64

    @classmethod
    def of(cls, ours: Features, theirs: Features | None, n_label_features: int) -> Tokens:
        """Tokens for document features `ours` and label features `theirs`."""
        same_columns = theirs is ours or (theirs is None and n_label_features == ours.size)
        if same_columns:
            return cls(ours.size, np.arange(n_label_features))
        known: dict[str, int] = {}
        if theirs is not None and theirs.names is not None and ours.names is not None:
            known = {name: feature for feature, name in enumerate(ours.names)}
        else:
            log.warning("label features and document features have no common names, so they share no tokens")
        names = [""] * n_label_features if not known else theirs.names
        token = np.array([known.get(name, -1) for name in names], np.int64)
        is_new = token < 0
        token[is_new] = ours.size + np.arange(np.count_nonzero(is_new))
        return cls(ours.size, token)

    @property
    def size(self) -> int:
        return int(max(self.n_documents_features, self.of_label_feature.max(initial=-1) + 1))

    def name(self, token: int, ours: Features, theirs: Features | None) -> str:
        """What a token is called."""
        if token < ours.size or theirs is None:
            return ours.name(token)
        return theirs.name(int(np.flatnonzero(self.of_label_feature == token)[0]))

    def of_documents(self, X: sparse.csr_array) -> sparse.csr_array:
        """Unit rows over the tokens."""
        return enlarge(normalise_rows(X), (X.shape[0], self.size))

    def of_labels(self, Z: sparse.csr_array) -> sparse.csr_array:
        """Unit rows over the tokens."""
        return renumber_columns(normalise_rows(Z), self.of_label_feature, self.size)
