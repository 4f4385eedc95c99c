"""The (document, label) pairs that refinement learns from: the shortlist, with its mistakes as negatives."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from xcwork.methods.zestxml.arrays import only
from xcwork.results import MISSING, TopK


def training_pairs(
    shortlist: TopK, Y: sparse.csr_array, add_missed: bool, forbidden: np.ndarray | None = None
) -> sparse.csr_array:
    """(n_documents, n_labels) int8: +1 for relevant pairs, -1 for the others on the shortlist.

    Relevant pairs that the shortlist missed join in when `add_missed`. The (document, label) pairs in `forbidden` (n,
    2) are never predicted, often because a document would match itself, so they must not teach anything either.
    """
    listed = _marks(shortlist if forbidden is None else shortlist.without(forbidden), Y.shape)
    relevant = sparse.csr_array((np.full(Y.nnz, 3, np.int8), Y.indices, Y.indptr), shape=Y.shape)
    both = sparse.csr_array(listed + relevant)  # 1 listed but wrong, 3 relevant but missed, 4 listed and relevant
    both.sort_indices()
    if not add_missed:
        both = only(both, both.data != 3)
    both.data = np.where(both.data == 1, -1, 1).astype(np.int8)
    return both


def without_labels(pairs: sparse.csr_array, labels: np.ndarray) -> np.ndarray:
    """Which entries of `pairs` are not about `labels`, (nnz,) bool."""
    dropped = np.zeros(pairs.shape[1], bool)
    dropped[labels] = True
    return ~dropped[pairs.indices]


def _marks(shortlist: TopK, shape: tuple[int, int]) -> sparse.csr_array:
    present = shortlist.ids != MISSING
    indptr = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    ids = shortlist.ids[present]
    marks = sparse.csr_array((np.ones(len(ids), np.int8), ids, indptr), shape=shape)
    marks.sort_indices()
    return marks
