"""What a term weighs in a document and in a label text."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.methods.common.label_rows import align_columns
from xcwork.sparse import drop_zeros, replace_values


def read_label_counts(Z: sparse.csr_array, labels: LabelSpace, features: Features) -> sparse.csr_array:
    """Return how often each label text has each term of the documents, (n_labels, n_features)."""
    return align_columns(count_terms(Z, labels.features or features), labels.features, features)


def count_terms(rows: sparse.csr_array, features: Features) -> sparse.csr_array:
    """Return how often each term occurs, recovered from unit rows of tf-idf (float64)."""
    rows = drop_zeros(rows.astype(np.float64))
    vectorizer = features.vectorizer
    relative = np.abs(rows.data if vectorizer is None else rows.data / vectorizer.idf[rows.indices])
    lengths = np.diff(rows.indptr)
    filled = np.flatnonzero(lengths)
    if len(filled):
        once = np.minimum.reduceat(relative, rows.indptr[filled])
        relative = relative / np.repeat(once, lengths[filled])
    if vectorizer is not None and vectorizer.sublinear:
        relative = np.exp(relative - 1)
    return replace_values(rows, relative)


def weigh_document_counts(counts: sparse.csr_array, *, k3: float) -> sparse.csr_array:
    """Return d(x, t) of BM25, (n_documents, n_features)."""
    weights = (k3 + 1) * counts.data / (counts.data + k3)
    return replace_values(counts, weights.astype(np.float32))


def weigh_label_counts(
    counts: sparse.csr_array, idf: np.ndarray, mean_length: float, *, k1: float, b: float
) -> sparse.csr_array:
    """Return r(l, t) of BM25, (n_labels, n_features)."""
    lengths = np.repeat(counts.sum(axis=1), np.diff(counts.indptr)) / mean_length
    saturation = counts.data + k1 * (1 - b + b * lengths)
    weights = idf[counts.indices] * (k1 + 1) * counts.data / saturation
    return replace_values(counts, weights.astype(np.float32))
