"""All support vector machines of one set of documents, on one thread: three ways to solve `xcwork.kernels.svm`.

- `solve_one_by_one` descends on all documents, label by label: best for a few labels that many documents have.
- `solve_by_inner_products` is for many labels over at most some thousand documents, see `xcwork.kernels.svm_gram`.
- `solve_from_negatives` is for many labels over many documents: all start from the solution for a label that no
  document has, and descend on working sets.

All take `positive` (n_labels, n_documents) and return (weights (n_labels, n_features), bias (n_labels,)).
"""

from __future__ import annotations

import numpy as np

from xcwork.kernels.stored_code import njit
from xcwork.kernels.svm import (
    MIN_TOLERANCE,
    PASSES_PER_ROUND,
    START_TOLERANCE_DIVISOR,
    LabelBlock,
    add_row,
    descend_documents,
    solve_block,
    turn_positive,
)
from xcwork.kernels.svm_gram import compute_gram, descend_gram


@njit(cache=True, nogil=True)
def solve_one_by_one(rows, n_features, positive, C, tolerance, max_passes, random):
    """Run coordinate descent over all documents, label by label."""
    return solve_some_one_by_one(
        rows,
        n_features,
        np.arange(positive.shape[1]).astype(np.int32),
        positive,
        compute_curvatures(rows, C),
        C,
        tolerance,
        max_passes,
        random,
    )


@njit(cache=True, nogil=True)
def solve_some_one_by_one(rows, n_features, documents, positive, curvature, C, tolerance, max_passes, random):
    """Run coordinate descent over the rows `documents`, label by label, without a copy of them."""
    n_labels = positive.shape[0]
    weights, bias = _make_zero_solution(n_labels, n_features)
    for label in range(n_labels):
        alpha = np.zeros(positive.shape[1], np.float32)
        order = documents.copy()
        bias[label], random = descend_documents(
            rows,
            curvature,
            weights[label],
            bias[label],
            alpha,
            positive[label],
            order,
            C,
            tolerance,
            max_passes,
            random,
        )
    return weights, bias


@njit(cache=True, nogil=True)
def solve_by_inner_products(rows, n_features, positive, C, tolerance, max_sweeps, random):
    """Descend with the inner products of all pairs of documents; the weights Σ α_i y_i x_i come last."""
    K = compute_gram(rows, n_features)
    weights, bias = _make_zero_solution(positive.shape[0], n_features)
    for label in range(positive.shape[0]):
        alpha, random = descend_gram(K, positive[label], C, tolerance, max_sweeps, random)
        for i in np.flatnonzero(alpha):
            vote = alpha[i] if positive[label, i] else -alpha[i]
            add_row(rows, i, vote, weights[label])
            bias[label] += vote
    return weights, bias


@njit(cache=True, nogil=True)
def solve_from_negatives(rows, n_features, positive, C, tolerance, max_rounds, random):
    """Solve by working sets, from the common solution for a label without documents."""
    n_labels, n_documents = positive.shape
    curvature = compute_curvatures(rows, C)
    start = _make_block(1, n_features, n_documents, random)
    start.alpha[:] = 1 / n_documents
    for i in range(n_documents):
        add_row(rows, i, -start.alpha[0, i], start.weights[0])
    start.bias[0] = -1
    solve_block(
        rows, curvature, start, C, max(tolerance / START_TOLERANCE_DIVISOR, MIN_TOLERANCE), PASSES_PER_ROUND, max_rounds
    )
    block = _make_block(n_labels, n_features, n_documents, random)
    for label in range(n_labels):
        block.weights[label] = start.weights[0]
        block.bias[label] = start.bias[0]
        block.alpha[label] = start.alpha[0]
        turn_positive(rows, block, label, np.flatnonzero(positive[label]))
    solve_block(rows, curvature, block, C, tolerance, PASSES_PER_ROUND, max_rounds)
    return block.weights, block.bias


@njit(cache=True, nogil=True)
def _make_zero_solution(n_labels, n_features):
    """Return weights and biases of zero."""
    return np.zeros((n_labels, n_features), np.float32), np.zeros(n_labels, np.float32)


@njit(cache=True, nogil=True)
def _make_block(n_labels, n_features, n_documents, random):
    """Return labels that no document has and that have not been solved."""
    weights, bias = _make_zero_solution(n_labels, n_features)
    return LabelBlock(
        weights,
        bias,
        np.zeros((n_labels, n_documents), np.float32),
        np.zeros((n_labels, n_documents), np.bool_),
        np.zeros((n_labels, n_documents), np.float32),
        np.full(n_labels, random, np.uint64),
    )


@njit(cache=True, nogil=True)
def compute_curvatures(rows, C):
    """Return ‖x_i‖² + 1 + 1/2C of every row, (n_rows,): how the gradient of α_i changes with α_i."""
    found = np.full(rows.indptr.shape[0] - 1, np.float32(1 + 0.5 / C), np.float32)
    for i in range(found.shape[0]):
        for at in range(rows.indptr[i], rows.indptr[i + 1]):
            found[i] += rows.data[at] * rows.data[at]
    return found
