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
class TokenMap:
    """The token of every label feature, after one token for every document feature."""

    n_document_features: int
    of_label_feature: np.ndarray  # (n_label_features,) int64

    @classmethod
    def from_features(cls, ours: Features, theirs: Features | None, n_label_features: int) -> TokenMap:
        """Return the tokens for document features `ours` and label features `theirs`."""
        same_columns = theirs is ours or (theirs is None and n_label_features == ours.size)
        if same_columns:
            return cls(ours.size, np.arange(n_label_features))
        if theirs is not None and theirs.names is not None and ours.names is not None:
            known = {name: feature for feature, name in enumerate(ours.names)}
            token = np.array([known.get(name, -1) for name in theirs.names], np.int64)
        else:
            log.warning("label features and document features have no common names, so they share no tokens")
            token = np.full(n_label_features, -1, np.int64)
        is_new = token < 0
        token[is_new] = ours.size + np.arange(np.count_nonzero(is_new))
        return cls(ours.size, token)

    @property
    def size(self) -> int:
        return int(max(self.n_document_features, self.of_label_feature.max(initial=-1) + 1))

    def name_token(self, token: int, ours: Features, theirs: Features | None) -> str:
        """Return what a token is called."""
        if token < ours.size or theirs is None:
            return ours.get_name(token)
        return theirs.get_name(int(np.flatnonzero(self.of_label_feature == token)[0]))

    def map_documents(self, X: sparse.csr_array) -> sparse.csr_array:
        """Return documents (n, n_features) as unit rows over the tokens; further columns, an embedding, follow."""
        words, rest = split_columns(X, self.n_document_features)
        return append_columns(enlarge(normalise_rows(words), (X.shape[0], self.size)), rest)

    def map_labels(self, Z: sparse.csr_array) -> sparse.csr_array:
        """Return label texts (n, n_label_features) as unit rows over the tokens; further columns follow."""
        words, rest = split_columns(Z, len(self.of_label_feature))
        return append_columns(renumber_columns(normalise_rows(words), self.of_label_feature, self.size), rest)


def split_columns(rows: sparse.csr_array, n_first: int) -> tuple[sparse.csr_array, sparse.csr_array | None]:
    """Return the first columns and the others; None where there are no others."""
    return (rows, None) if rows.shape[1] == n_first else (rows[:, :n_first], rows[:, n_first:])


def append_columns(rows: sparse.csr_array, rest: sparse.csr_array | None) -> sparse.csr_array:
    """Return the rows with further columns, if there are any."""
    return rows if rest is None else sparse.csr_array(sparse.hstack([rows, rest], format="csr"))
