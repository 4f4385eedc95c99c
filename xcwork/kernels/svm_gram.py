"""Support vector machines of many labels over a few thousand documents, through the documents' inner products.

The problem is that of `xcwork.kernels.svm`. Where many labels share few documents it pays to compute the matrix
K = X Xᵀ once. Coordinate descent then keeps the scores f = K (α ∘ y) of all documents up to date instead of w:

- a document that need not move costs one look at f_i instead of a pass over its terms;
- one that moves adds a row of K to f, which is contiguous and short.

A sweep moves the documents whose projected gradient exceeds a threshold; it starts high and is halved, so the documents
that matter most move first, as in greedy descent, at the price of a scan.

No inner product is larger than the largest ‖x_i‖², so K is kept as whole numbers of 16 bits: f is wrong by less than
Σ α_i / 65,000, far below the tolerance, and half as much memory is read. Weights come from α and the documents.

Memory: 2 n_documents² bytes. Cost: O(pairs of documents * terms they share) for K, O(n_documents) per move.
"""

from __future__ import annotations

import numpy as np

from xcwork.kernels.stored_code import njit
from xcwork.kernels.svm import shuffle_order
from xcwork.sparse import Rows

LARGEST_CODE = np.float32(32_767)
DENSE_COLUMN_DIVISOR = 8  # a feature that more than one in eight documents has is cheaper as a dense column
ROWS_PER_TILE = 32  # rows and columns that are mirrored together
FIRST_GRADIENT_THRESHOLD = np.float32(0.5)  # projected gradient from which on documents move in the first sweep


@njit(cache=True, nogil=True)
def transpose_rows(rows, n_columns, documents):
    """Return the matrix of the rows `documents` with rows and columns exchanged."""
    indptr = np.zeros(n_columns + 1, np.int64)
    for document in documents:
        for at in range(rows.indptr[document], rows.indptr[document + 1]):
            indptr[rows.indices[at] + 1] += 1
    for column in range(n_columns):
        indptr[column + 1] += indptr[column]
    data = np.empty(indptr[n_columns], np.float32)
    indices = np.empty(indptr[n_columns], np.int32)
    place = indptr[:-1].copy()
    for row in range(documents.shape[0]):
        for at in range(rows.indptr[documents[row]], rows.indptr[documents[row] + 1]):
            to = place[rows.indices[at]]
            data[to] = rows.data[at]
            indices[to] = row
            place[rows.indices[at]] += 1
    return Rows(data, indices, indptr)


@njit(cache=True, nogil=True)
def compute_gram(rows, n_features, documents):
    """Return (whole numbers, scale): their product is K = X Xᵀ of the rows `documents`, (n_documents, n_documents)."""
    n_rows = documents.shape[0]
    columns = transpose_rows(rows, n_features, documents)
    number = np.full(n_features, -1, np.int32)  # of the dense column of each feature
    n_dense = 0
    for feature in range(n_features):
        if (columns.indptr[feature + 1] - columns.indptr[feature]) * DENSE_COLUMN_DIVISOR > n_rows:
            number[feature] = n_dense
            n_dense += 1
    dense = np.zeros((n_dense, n_rows), np.float32)
    for feature in range(n_features):
        if number[feature] >= 0:
            for at in range(columns.indptr[feature], columns.indptr[feature + 1]):
                dense[number[feature], columns.indices[at]] = columns.data[at]
    scale = _find_largest_square(rows, documents) / LARGEST_CODE
    factor = np.float32(1 / scale if scale > 0 else 0)
    K = np.empty((n_rows, n_rows), np.int16)
    sums = np.empty(n_rows, np.float32)
    end = columns.indptr[:-1].copy()  # of the part of each column that lies in the rows so far
    for i in range(n_rows):
        row = sums[: i + 1]
        row[:] = 0
        for at in range(rows.indptr[documents[i]], rows.indptr[documents[i] + 1]):
            feature = rows.indices[at]
            value = rows.data[at]
            if number[feature] >= 0:
                column = dense[number[feature]]
                for j in range(i + 1):
                    row[j] += value * column[j]
            else:
                end[feature] += 1
                for cell in range(columns.indptr[feature], end[feature]):
                    row[columns.indices[cell]] += value * columns.data[cell]
        for j in range(i + 1):
            K[i, j] = np.int16(np.rint(min(max(row[j] * factor, -LARGEST_CODE), LARGEST_CODE)))
    _mirror_triangle(K)
    return K, scale


@njit(cache=True, nogil=True)
def _find_largest_square(rows, documents):
    """Return the largest ‖x_i‖² of the rows `documents`."""
    largest = np.float32(0)
    for document in documents:
        square = np.float32(0)
        for at in range(rows.indptr[document], rows.indptr[document + 1]):
            square += rows.data[at] * rows.data[at]
        largest = max(largest, square)
    return largest


@njit(cache=True, nogil=True)
def _mirror_triangle(K):
    """Copy the lower triangle to the upper one, in tiles that fit into the cache."""
    n = K.shape[0]
    for top in range(0, n, ROWS_PER_TILE):
        for left in range(0, top + 1, ROWS_PER_TILE):
            for i in range(top, min(top + ROWS_PER_TILE, n)):
                for j in range(left, min(left + ROWS_PER_TILE, i)):
                    K[j, i] = K[i, j]


@njit(cache=True, nogil=True)
def descend_gram(K, scale, curvature, positive, C, tolerance, max_sweeps, random):
    """Solve for one label; return (α (n_documents,), random).

    It ends when a sweep met no document that violates its optimality condition by more than half the tolerance: moves
    are cheap here, and those of the last sweep may cost the other half. Violations down to a tenth count as well while
    there are larger ones: many small ones together move w.
    """
    n_documents = K.shape[0]
    diagonal = np.float32(0.5 / C)
    least = np.float32(tolerance / 10)
    alpha = np.zeros(n_documents, np.float32)
    f = np.zeros(n_documents, np.float32)
    bias = np.float32(0)
    order = np.arange(n_documents).astype(np.int32)
    threshold = FIRST_GRADIENT_THRESHOLD
    for _ in range(max_sweeps):
        random = shuffle_order(order, n_documents, random)
        worst = np.float32(0)
        for i in order:
            y = np.float32(1) if positive[i] else np.float32(-1)
            G = y * (f[i] + bias) - np.float32(1) + alpha[i] * diagonal
            violation = abs(min(G, np.float32(0)) if alpha[i] == 0 else G)
            worst = max(worst, violation)
            if violation > threshold:
                moved = max(alpha[i] - G / curvature[i], np.float32(0))
                step = (moved - alpha[i]) * y
                alpha[i] = moved
                bias += step
                factor = step * scale
                row = K[i]
                for j in range(n_documents):
                    f[j] += factor * np.float32(row[j])
        if worst <= tolerance / 2:
            break
        threshold = max(least, min(threshold, worst) / 2)
    return alpha, random
