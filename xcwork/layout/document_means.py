"""The mean of each label's training documents, a block of labels at a time.

A mean has the terms of all its documents, so a million labels would need far more memory than their documents. Of each
mean only the heaviest terms are kept, and a block has no more documents than `DOCUMENTS_PER_BLOCK`, unless it is the
single label that has more.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy import sparse

from xcwork.core.split import Split
from xcwork.progress import track
from xcwork.search import top_k_rows
from xcwork.sparse import narrow_indices, normalise_rows

MAX_TERMS_PER_LABEL = 100
LABELS_PER_BLOCK = 20_000
DOCUMENTS_PER_BLOCK = 100_000  # counted once for each of their labels


def average_documents(train: Split) -> sparse.csr_array:
    """Return the mean of each label's documents as a unit row, (n_labels, n_features); zeros for unseen labels."""
    documents = normalise_rows(train.X)
    documents_of = sparse.csr_array(train.Y.T)
    bounds = find_bounds(np.diff(documents_of.indptr))
    blocks = [
        keep_heaviest_terms(sparse.csr_array(documents_of[start:end] @ documents))
        for start, end in track(list(pairwise(bounds)), "averaging documents of labels")
    ]
    if not blocks:
        return sparse.csr_array((0, documents.shape[1]), dtype=np.float32)
    return normalise_rows(narrow_indices(sparse.csr_array(sparse.vstack(blocks))))


def find_bounds(counts: np.ndarray) -> list[int]:
    """Return where blocks of labels begin, and where the last one ends; `counts` are the documents per label."""
    ends = np.cumsum(counts)
    bounds = [0]
    while bounds[-1] < len(counts):
        start = bounds[-1]
        before = int(ends[start - 1]) if start else 0
        full = int(np.searchsorted(ends, before + DOCUMENTS_PER_BLOCK, side="right"))
        bounds.append(min(max(full, start + 1), start + LABELS_PER_BLOCK, len(counts)))
    return bounds


def keep_heaviest_terms(rows: sparse.csr_array, n: int = MAX_TERMS_PER_LABEL) -> sparse.csr_array:
    """Return the rows with their n entries of largest size; features of some datasets are negative."""
    if np.diff(rows.indptr).max(initial=0) <= n:
        return rows
    best = top_k_rows(abs(rows), n).to_csr(rows.shape[1])
    return sparse.csr_array(rows.multiply(best.sign()))
