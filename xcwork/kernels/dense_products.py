"""Products with sparse matrices whose results are dense, and the largest entries of such results.

Each row or column belongs to one thread, so no result depends on their number.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from xcwork.kernels.stored_code import njit
from xcwork.kernels.topk import push_entry

COLUMNS_PER_CHUNK = 16  # columns that one thread goes through together


@njit(cache=True, parallel=True, nogil=True, fastmath={"contract"})
def multiply_sparse_by_dense(data, indices, indptr, dense, out):
    """Set out = A @ dense for a CSR matrix A; rows of `dense` and `out` lie contiguously.

    Four entries of A at a time: a row of `out` is then read and written a quarter as often.
    """
    for row in prange(out.shape[0]):
        total = out[row]
        total[:] = 0
        at, end = indptr[row], indptr[row + 1]
        while at + 4 <= end:
            a, b, c, d = data[at], data[at + 1], data[at + 2], data[at + 3]
            of_a, of_b = dense[indices[at]], dense[indices[at + 1]]
            of_c, of_d = dense[indices[at + 2]], dense[indices[at + 3]]
            for i in range(total.shape[0]):
                total[i] += (a * of_a[i] + b * of_b[i]) + (c * of_c[i] + d * of_d[i])
            at += 4
        while at < end:
            a = data[at]
            of_a = dense[indices[at]]
            for i in range(total.shape[0]):
                total[i] += a * of_a[i]
            at += 1


@njit(cache=True, parallel=True, nogil=True)
def compute_sparse_gram(data, indices, indptr, t_data, t_indices, t_indptr, out):
    """Set out = A Aᵀ, dense and symmetric; A comes as CSR together with its transpose."""
    for row in prange(out.shape[0]):
        total = out[row]
        total[:] = 0
        for at in range(indptr[row], indptr[row + 1]):
            value = data[at]
            feature = indices[at]
            for cell in range(t_indptr[feature], t_indptr[feature + 1]):
                total[t_indices[cell]] += value * t_data[cell]


@njit(cache=True, parallel=True, nogil=True)
def keep_largest_of_columns(matrix, ids, values):
    """Fill rows of `ids` (ascending) and `values` (n_columns, keep) with each column's entries of largest size."""
    n_rows, n_columns = matrix.shape
    keep = ids.shape[1]
    for chunk in prange((n_columns + COLUMNS_PER_CHUNK - 1) // COLUMNS_PER_CHUNK):
        first, last = chunk * COLUMNS_PER_CHUNK, min(n_columns, (chunk + 1) * COLUMNS_PER_CHUNK)
        sizes = np.empty((COLUMNS_PER_CHUNK, keep), matrix.dtype)
        for row in range(n_rows):
            for column in range(first, last):
                size = abs(matrix[row, column])
                if row < keep or size > sizes[column - first, 0]:
                    push_entry(ids[column], sizes[column - first], min(row, keep), row, size)
        for column in range(first, last):
            ids[column].sort()
            for at in range(keep):
                values[column, at] = matrix[ids[column, at], column]


@njit(cache=True, parallel=True, nogil=True)
def score_rows(X, direct, decoder, own, own_labels, out):
    """Set out[i] = (x_i direct) decoder + x_i own, with column j of `own` for label own_labels[j]; sums in double."""
    n_landmarks = decoder.indptr.shape[0] - 1
    for row in prange(out.shape[0]):
        landmarks = np.zeros(n_landmarks)
        total = np.zeros(out.shape[1])
        for at in range(X.indptr[row], X.indptr[row + 1]):
            value = np.float64(X.data[at])
            term = X.indices[at]
            for cell in range(direct.indptr[term], direct.indptr[term + 1]):
                landmarks[direct.indices[cell]] += value * direct.data[cell]
        for landmark in range(n_landmarks):
            for cell in range(decoder.indptr[landmark], decoder.indptr[landmark + 1]):
                total[decoder.indices[cell]] += landmarks[landmark] * decoder.data[cell]
        for at in range(X.indptr[row], X.indptr[row + 1]):
            value = np.float64(X.data[at])
            term = X.indices[at]
            for cell in range(own.indptr[term], own.indptr[term + 1]):
                total[own_labels[own.indices[cell]]] += value * own.data[cell]
        out[row] = total
