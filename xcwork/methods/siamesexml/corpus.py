"""What a training sees: rows over tokens, and who belongs to whom."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from xcwork.core.split import Split
from xcwork.data.groups import find_groups_sharing_labels
from xcwork.methods.siamesexml.encoded_texts import EncodedTexts

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class TokenCorpus:
    """What one training sees: rows over tokens, and who belongs to whom."""

    X: sparse.csr_array  # (n_documents, n_tokens)
    Y: sparse.csr_array  # (n_documents, n_labels)
    filtered: sparse.csr_array  # (n_documents, n_labels): pairs that are never predicted and must not be judged
    Z: sparse.csr_array  # (n_labels, n_tokens)
    n_tokens: int  # further columns of X and Z are the embeddings of texts by a sentence encoder
    sentence_encoder: str | None = None  # its identity
    group_of: np.ndarray | None = None  # (n_documents,): the group whose labels a document has, if not its own

    @classmethod
    def from_split(cls, train: Split, texts: EncodedTexts, n_tokens: int) -> TokenCorpus:
        """Return the documents of a split, whose rows over tokens are given."""
        pairs = np.empty((0, 2), np.int64) if train.filter_pairs is None else np.unique(train.filter_pairs, axis=0)
        filtered = sparse.csr_array((np.ones(len(pairs), np.float32), (pairs[:, 0], pairs[:, 1])), train.Y.shape)
        groups = find_groups_sharing_labels(train)
        return cls(texts.X, train.Y, filtered, texts.Z, n_tokens, texts.encoder, groups)

    def take(self, rows: np.ndarray) -> TokenCorpus:
        """Return some of the documents."""
        group_of = None if self.group_of is None else self.group_of[rows]
        return replace(self, X=self.X[rows], Y=self.Y[rows], filtered=self.filtered[rows], group_of=group_of)

    @property
    def is_useful(self) -> np.ndarray:
        """Which documents have both tokens and labels."""
        return (np.diff(self.X.indptr) > 0) & (np.diff(self.Y.indptr) > 0)

    @property
    def trainable(self) -> np.ndarray:
        """Ids of the labels that have both text and a useful document."""
        frequencies = np.bincount(self.Y[np.flatnonzero(self.is_useful)].indices, minlength=self.Y.shape[1])
        return np.flatnonzero((frequencies > 0) & (np.diff(self.Z.indptr) > 0))


def log_what_is_left_out(corpus: TokenCorpus) -> None:
    """Warn about documents and labels of which training knows less than it could."""
    is_unseen = np.bincount(corpus.Y.indices, minlength=corpus.Y.shape[1]) == 0
    has_text = np.diff(corpus.Z.indptr) > 0
    for is_concerned, what in (
        (~corpus.is_useful, "documents have no known token or no label and are left out of training"),
        (~has_text & ~is_unseen, "labels have no known token and are known by their documents alone"),
        (is_unseen, "labels have no training document and are known by their text alone"),
        (~has_text & is_unseen, "of them have no known token either, so there is no evidence for them"),
    ):
        if count := np.count_nonzero(is_concerned):
            log.warning("%d %s", count, what)
