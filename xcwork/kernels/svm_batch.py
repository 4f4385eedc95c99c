"""All support vector machines of one set of documents, on one thread: three ways to solve `xcwork.kernels.svm`.

- `solve_one_by_one` descends on all documents, label by label: best for a few labels that many documents have.
- `solve_by_inner_products` is for many labels over at most some thousand documents, see `xcwork.kernels.svm_gram`.
- `solve_from_negatives` is for many labels over many documents: all start from the solution for a label that no
  document has, and descend on working sets.

All take the rows that `documents` (n_documents,) names, without a copy of them, and `positive` (n_labels, n_documents);
they return (weights (n_labels, n_features), bias (n_labels,)).
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
from xcwork.kernels.svm_pair import N_SLOTS, descend_pair


@njit(cache=True, nogil=True)
def solve_one_by_one(rows, n_features, documents, positive, C, tolerance, max_passes, random):
    """Run coordinate descent over all documents, label by label; two of them side by side."""
    n_labels, n_documents = positive.shape
    curvature = compute_curvatures(rows, documents, C)
    if n_labels == N_SLOTS:
        return descend_pair(rows, documents, curvature, positive, n_features, C, tolerance, max_passes, random)
    weights, bias = _make_zero_solution(n_labels, n_features)
    for label in range(n_labels):
        alpha = np.zeros(n_documents, np.float32)
        order = np.arange(n_documents).astype(np.int32)
        bias[label], random = descend_documents(
            rows,
            documents,
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
def solve_by_inner_products(rows, n_features, documents, positive, C, tolerance, max_sweeps, random):
    """Descend with the inner products of all pairs of documents; the weights Σ α_i y_i x_i come last."""
    curvature = compute_curvatures(rows, documents, C)
    K, scale = compute_gram(rows, n_features, documents)
    alpha = np.zeros(positive.shape, np.float32)
    for label in range(positive.shape[0]):
        alpha[label], random = descend_gram(K, scale, curvature, positive[label], C, tolerance, max_sweeps, random)
    weights, bias = _make_zero_solution(positive.shape[0], n_features)
    for label in range(positive.shape[0]):
        for i in np.flatnonzero(alpha[label]):
            vote = alpha[label, i] if positive[label, i] else -alpha[label, i]
            add_row(rows, documents[i], vote, weights[label])
            bias[label] += vote
    return weights, bias


@njit(cache=True, nogil=True)
def solve_from_negatives(rows, n_features, documents, positive, C, tolerance, max_rounds, random):
    """Solve by working sets, from the common solution for a label without documents."""
    n_labels, n_documents = positive.shape
    curvature = compute_curvatures(rows, documents, C)
    start = _make_block(1, n_features, documents, random)
    start.alpha[:] = 1 / n_documents
    for i in range(n_documents):
        add_row(rows, documents[i], -start.alpha[0, i], start.weights[0])
    start.bias[0] = -1
    solve_block(
        rows, curvature, start, C, max(tolerance / START_TOLERANCE_DIVISOR, MIN_TOLERANCE), PASSES_PER_ROUND, max_rounds
    )
    block = _make_block(n_labels, n_features, documents, random)
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
def _make_block(n_labels, n_features, documents, random):
    """Return labels that no document has and that have not been solved."""
    n_documents = documents.shape[0]
    weights, bias = _make_zero_solution(n_labels, n_features)
    return LabelBlock(
        weights,
        bias,
        np.zeros((n_labels, n_documents), np.float32),
        np.zeros((n_labels, n_documents), np.bool_),
        np.zeros((n_labels, n_documents), np.float32),
        np.full(n_labels, random, np.uint64),
        documents,
    )


@njit(cache=True, nogil=True)
def compute_curvatures(rows, documents, C):
    """Return ‖x_i‖² + 1 + 1/2C of every document: how the gradient of α_i changes with α_i."""
    found = np.full(documents.shape[0], np.float32(1 + 0.5 / C), np.float32)
    for i in range(found.shape[0]):
        for at in range(rows.indptr[documents[i]], rows.indptr[documents[i] + 1]):
            found[i] += rows.data[at] * rows.data[at]
    return found
