"""Linear support vector machines with squared hinge loss, many labels over the same documents.

For one label, with y_i = +1 for the documents that have it and -1 for the others,

    min over w, b of  ½‖w‖² + ½b² + C Σ_i max(0, 1 - y_i (w·x_i + b))²

is solved in its dual: one α_i ≥ 0 per document, w = Σ α_i y_i x_i, b = Σ α_i y_i, and the gradient
G_i = y_i (w·x_i + b) - 1 + α_i / 2C. Coordinate descent (Hsieh et al., ICML 2008) sets α_i ← max(0, α_i - G_i / Q_i)
with Q_i = ‖x_i‖² + 1 + 1/2C and moves w along; documents with α_i = 0 and a large G_i are shrunk away.

Almost every document is a plain negative whose α is zero, so visiting all of them in turn would be wasted. Two kernels
alternate until no document violates its optimality condition by more than the tolerance:

- `compute_margins` scores all documents for a block of labels together; with the labels side by side in memory this is
  several times cheaper per multiplication than the gathers of coordinate descent;
- `improve_labels` takes, for every label, the documents with α_i > 0 and the worst violators, and descends on those
  alone.

Nothing is sampled: a label is finished when the condition holds for all documents.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import prange

from xcwork.kernels.stored_code import njit
from xcwork.kernels.topk import push_entry

DOCUMENTS_PER_CHUNK = 64  # documents scored together, so that their margins stay in the cache
MAX_EXTRA_VIOLATORS = 500  # that join a working set besides as many as are in it anyway
PASSES_PER_ROUND = 5  # of descent between two looks at all documents
# The common start of all labels is solved this much better: it is solved once, and then has fewer documents with α > 0.
START_TOLERANCE_DIVISOR = 100
MIN_TOLERANCE = 1e-5  # a smaller violation is within rounding error
MIN_GRADIENT = np.float32(1e-7)  # a smaller gradient does not move α


class LabelBlock(NamedTuple):
    """The problems of some labels over all documents, and how far their solution has come."""

    weights: np.ndarray  # (n_labels, n_features) float32
    bias: np.ndarray  # (n_labels,) float32
    alpha: np.ndarray  # (n_labels, n_documents) float32
    positive: np.ndarray  # (n_labels, n_documents) bool
    margins: np.ndarray  # (n_labels, n_documents) float32: w·x + b when they were last computed
    random: np.ndarray  # (n_labels,) uint64, never zero: the state of each label's generator
    documents: np.ndarray  # (n_documents,) int32: the row of each document, so that some rows are solved where they are


@njit(cache=True, nogil=True)
def multiply_row(rows, i, w):
    """Return x_i · w, in four sums that the processor can overlap.

    A column without a sign is not first compared with zero.
    """
    at, end = rows.indptr[i], rows.indptr[i + 1]
    a = b = c = d = np.float32(0)
    while at + 4 <= end:
        a += rows.data[at] * w[np.uint32(rows.indices[at])]
        b += rows.data[at + 1] * w[np.uint32(rows.indices[at + 1])]
        c += rows.data[at + 2] * w[np.uint32(rows.indices[at + 2])]
        d += rows.data[at + 3] * w[np.uint32(rows.indices[at + 3])]
        at += 4
    while at < end:
        a += rows.data[at] * w[np.uint32(rows.indices[at])]
        at += 1
    return (a + b) + (c + d)


@njit(cache=True, nogil=True)
def add_row(rows, i, factor, w):
    """Add factor * x_i to w."""
    for at in range(rows.indptr[i], rows.indptr[i + 1]):
        w[np.uint32(rows.indices[at])] += factor * rows.data[at]


@njit(cache=True, nogil=True)
def turn_positive(rows, block, label, documents):
    """Make `documents`, negatives so far, positives of a label of the block, without a vote of their own yet."""
    for i in documents:
        if block.alpha[label, i] > 0:
            add_row(rows, block.documents[i], block.alpha[label, i], block.weights[label])
            block.bias[label] += block.alpha[label, i]
            block.alpha[label, i] = 0
        block.positive[label, i] = True


@njit(cache=True, nogil=True)
def shuffle_order(order, n, random):
    """Permute the first n entries (Fisher-Yates with a xorshift generator); return the generator's state."""
    for i in range(n - 1, 0, -1):
        random ^= random << np.uint64(13)
        random ^= random >> np.uint64(7)
        random ^= random << np.uint64(17)
        j = np.int64(random % np.uint64(i + 1))
        order[i], order[j] = order[j], order[i]
    return random


@njit(cache=True, nogil=True)
def descend_documents(rows, documents, curvature, w, b, alpha, positive, order, C, tolerance, max_passes, random):
    """Run coordinate descent on the documents in `order`; change w and alpha, return (b, random).

    Document i is row documents[i].

    Stops when the projected gradients of a pass differ by at most `tolerance`, or after `max_passes`.
    """
    diagonal = np.float32(0.5 / C)
    active = order.shape[0]
    shrink_above = np.inf
    for _ in range(max_passes):
        random = shuffle_order(order, active, random)
        highest, lowest = -np.inf, np.inf
        at = 0
        while at < active:
            i = order[at]
            y = np.float32(1) if positive[i] else np.float32(-1)
            G = y * (multiply_row(rows, documents[i], w) + b) - np.float32(1) + alpha[i] * diagonal
            if alpha[i] == 0 and shrink_above < G:
                active -= 1
                order[at], order[active] = order[active], order[at]
                continue
            projected = min(G, np.float32(0)) if alpha[i] == 0 else G
            highest, lowest = max(highest, projected), min(lowest, projected)
            if abs(projected) > MIN_GRADIENT:
                moved = max(alpha[i] - G / curvature[i], np.float32(0))
                step = (moved - alpha[i]) * y
                alpha[i] = moved
                b += step
                add_row(rows, documents[i], step, w)
            at += 1
        if highest - lowest <= tolerance:
            break
        shrink_above = highest if highest > 0 else np.inf
    return b, random


@njit(cache=True, nogil=True)
def _fill_margins(rows, documents, first, last, by_feature, bias, live, result):
    """Compute w·x + b of the documents first … last - 1 for the labels `live` into `result` (n_labels, n_documents)."""
    n_live = live.shape[0]
    scores = np.empty((last - first, n_live), np.float32)
    for i in range(first, last):
        row = scores[i - first]
        for j in range(n_live):
            row[j] = bias[live[j]]
        for at in range(rows.indptr[documents[i]], rows.indptr[documents[i] + 1]):
            value = rows.data[at]
            w = by_feature[np.uint32(rows.indices[at])]
            for j in range(n_live):
                row[j] += value * w[j]
    for j in range(n_live):
        for i in range(first, last):
            result[live[j], i] = scores[i - first, j]


@njit(cache=True, parallel=True, nogil=True)
def compute_margins(rows, by_feature, block, live):
    """Compute w·x + b of all documents for the labels `live` of the block.

    `by_feature` (n_features, n_live) is their w.
    """
    n_documents = block.documents.shape[0]
    for chunk in prange((n_documents + DOCUMENTS_PER_CHUNK - 1) // DOCUMENTS_PER_CHUNK):
        first, last = chunk * DOCUMENTS_PER_CHUNK, min(n_documents, (chunk + 1) * DOCUMENTS_PER_CHUNK)
        _fill_margins(rows, block.documents, first, last, by_feature, block.bias, live, block.margins)


@njit(cache=True, nogil=True)
def _measure_violations(margin, alpha, positive, C, projected):
    """Fill `projected` (n_documents,) with the projected gradients; return the largest of their sizes."""
    diagonal = np.float32(0.5 / C)
    worst = np.float32(0)
    for i in range(margin.shape[0]):
        y = np.float32(1) if positive[i] else np.float32(-1)
        G = y * margin[i] - np.float32(1) + alpha[i] * diagonal
        projected[i] = min(G, np.float32(0)) if alpha[i] == 0 else G
        worst = max(worst, abs(projected[i]))
    return worst


@njit(cache=True, nogil=True)
def choose_working_set(alpha, positive, projected, least):
    """Return the positives, the documents with α > 0, and the worst of those that violate by more than `least`."""
    chosen = np.empty(alpha.shape[0], np.int32)
    n_chosen = 0
    for i in range(alpha.shape[0]):
        if alpha[i] > 0 or positive[i]:
            chosen[n_chosen] = i
            n_chosen += 1
    room = min(alpha.shape[0] - n_chosen, n_chosen + MAX_EXTRA_VIOLATORS)
    worst = np.empty(room, np.int32)
    sizes = np.empty(room, np.float32)
    n_worst = np.int64(0)
    for i in range(alpha.shape[0]):
        if alpha[i] == 0 and not positive[i] and projected[i] < -least:
            n_worst = push_entry(worst, sizes, n_worst, i, -projected[i])
    for i in range(n_worst):
        chosen[n_chosen + i] = worst[i]
    return chosen[: n_chosen + n_worst]


@njit(cache=True, nogil=True)
def _improve_label(rows, curvature, block, label, C, tolerance, max_passes):
    """Run one round of descent for a label of the block; return the violation it had before it."""
    alpha, positive = block.alpha[label], block.positive[label]
    projected = np.empty(alpha.shape[0], np.float32)
    worst = _measure_violations(block.margins[label], alpha, positive, C, projected)
    if worst > tolerance:
        order = choose_working_set(alpha, positive, projected, np.float32(tolerance / 2))
        block.bias[label], block.random[label] = descend_documents(
            rows,
            block.documents,
            curvature,
            block.weights[label],
            block.bias[label],
            alpha,
            positive,
            order,
            C,
            tolerance,
            max_passes,
            block.random[label],
        )
    return worst


@njit(cache=True, parallel=True, nogil=True)
def improve_labels(rows, curvature, block, live, C, tolerance, max_passes, worst):
    """Run one round of descent for the labels `live`; `worst` (n_live,) receives the violation each had before it.

    A label whose violation is within the tolerance is left as it is.
    """
    for j in prange(live.shape[0]):
        worst[j] = _improve_label(rows, curvature, block, live[j], C, tolerance, max_passes)


@njit(cache=True, nogil=True)
def solve_block(rows, curvature, block, C, tolerance, max_passes, max_rounds):
    """Alternate checks and descent on one thread, until every label of the block is within the tolerance.

    Return how many labels are not after `max_rounds`.
    """
    n_documents = block.documents.shape[0]
    live = np.arange(block.bias.shape[0])
    for _ in range(max_rounds):
        by_feature = np.ascontiguousarray(block.weights[live].T)  # (n_features, n_live)
        for first in range(0, n_documents, DOCUMENTS_PER_CHUNK):
            last = min(n_documents, first + DOCUMENTS_PER_CHUNK)
            _fill_margins(rows, block.documents, first, last, by_feature, block.bias, live, block.margins)
        n_left = 0
        for j in range(live.shape[0]):
            if _improve_label(rows, curvature, block, live[j], C, tolerance, max_passes) > tolerance:
                live[n_left] = live[j]
                n_left += 1
        live = live[:n_left]
        if n_left == 0:
            break
    return live.shape[0]
