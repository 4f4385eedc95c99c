"""Scores of chosen pairs: for each row a list of partners, and for each pair a dense or a sparse dot product.

A pair's sum runs over the same terms in the same order whatever else is asked for, so a document has the same scores
alone and in a batch. Partners below zero are empty places and score 0.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from xcwork.kernels.stored_code import njit

ROWS_PER_CHUNK = 64  # rows that share a workspace


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _multiply_vectors(a, b):
    """Return a · b; free to add in the order that suits the processor, which is the same at every call."""
    total = np.float32(0)
    for place in range(a.shape[0]):
        total += a[place] * b[place]
    return total


@njit(cache=True, parallel=True, nogil=True)
def compute_pair_dots(rows, vectors, partners, scores):
    """Set scores[i, j] = rows[i] · vectors[partners[i, j]], with `rows` (n, d) and `partners` (n, k)."""
    for i in prange(partners.shape[0]):
        for j in range(partners.shape[1]):
            partner = partners[i, j]
            scores[i, j] = _multiply_vectors(rows[i], vectors[partner]) if partner >= 0 else np.float32(0)


@njit(cache=True, parallel=True, nogil=True)
def compute_pair_matches(data, indices, indptr, their_data, their_indices, their_indptr, n_columns, partners, scores):
    """Set scores[i, j] = row i of one sparse matrix · row partners[i, j] of another, both with `n_columns` columns."""
    n_rows = partners.shape[0]
    for chunk in prange((n_rows + ROWS_PER_CHUNK - 1) // ROWS_PER_CHUNK):
        row = np.zeros(n_columns, np.float32)
        for i in range(chunk * ROWS_PER_CHUNK, min(n_rows, (chunk + 1) * ROWS_PER_CHUNK)):
            for at in range(indptr[i], indptr[i + 1]):
                row[indices[at]] = data[at]
            for j in range(partners.shape[1]):
                partner = partners[i, j]
                total = np.float32(0)
                if partner >= 0:
                    for at in range(their_indptr[partner], their_indptr[partner + 1]):
                        total += row[their_indices[at]] * their_data[at]
                scores[i, j] = total
            for at in range(indptr[i], indptr[i + 1]):
                row[indices[at]] = 0


@njit(cache=True, parallel=True, nogil=True)
def compute_pair_products(data, indices, indptr, by_term, ids, starts, n_columns, partners, scores):
    """Set scores[i, j] = column partners[i, j] of row i times a matrix (n_terms, n_columns), given by its rows.

    Only the terms of the row are visited. That is less than `compute_pair_matches` does where partners have many terms.
    """
    n_rows = partners.shape[0]
    for chunk in prange((n_rows + ROWS_PER_CHUNK - 1) // ROWS_PER_CHUNK):
        sums = np.zeros(n_columns, np.float32)
        for i in range(chunk * ROWS_PER_CHUNK, min(n_rows, (chunk + 1) * ROWS_PER_CHUNK)):
            for at in range(indptr[i], indptr[i + 1]):
                for place in range(starts[indices[at]], starts[indices[at] + 1]):
                    sums[ids[place]] += data[at] * by_term[place]
            for j in range(partners.shape[1]):
                scores[i, j] = sums[partners[i, j]] if partners[i, j] >= 0 else np.float32(0)
            for at in range(indptr[i], indptr[i + 1]):
                for place in range(starts[indices[at]], starts[indices[at] + 1]):
                    sums[ids[place]] = 0
