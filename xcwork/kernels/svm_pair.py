"""Two support vector machines over the same documents, side by side: the slots of a node that halves its labels.

The problem and the descent of each are those of `xcwork.kernels.svm`. A node near the root has documents that no cache
holds, so reading them is most of the work; here each is read once for both. A document is left out when both have
shrunk it away.
"""

from __future__ import annotations

import numpy as np

from xcwork.kernels.stored_code import njit
from xcwork.kernels.svm import MIN_GRADIENT, shuffle_order

N_SLOTS = 2


@njit(cache=True, nogil=True)
def descend_pair(rows, documents, curvature, positive, n_features, C, tolerance, max_passes, random):
    """Run coordinate descent over all documents; return (weights (2, n_features), biases (2,)).

    Each stops when the projected gradients of a pass differ by at most `tolerance`, both after `max_passes`.
    """
    n_documents = documents.shape[0]
    diagonal = np.float32(0.5 / C)
    w = np.zeros((n_features, N_SLOTS), np.float32)
    b = np.zeros(N_SLOTS, np.float32)
    alpha = np.zeros((n_documents, N_SLOTS), np.float32)
    is_shrunk = np.zeros((n_documents, N_SLOTS), np.bool_)
    is_done = np.zeros(N_SLOTS, np.bool_)
    shrink_above = np.full(N_SLOTS, np.inf, np.float32)
    highest, lowest = np.empty(N_SLOTS, np.float32), np.empty(N_SLOTS, np.float32)
    margins, steps = np.empty(N_SLOTS, np.float32), np.empty(N_SLOTS, np.float32)
    order = np.arange(n_documents).astype(np.int32)
    active = n_documents
    for _ in range(max_passes):
        random = shuffle_order(order, active, random)
        highest[:], lowest[:] = -np.inf, np.inf
        at = 0
        while at < active:
            i = order[at]
            _multiply_both(rows, documents[i], w, margins)
            stays, moves = False, False
            for slot in range(N_SLOTS):
                steps[slot] = 0
                if is_done[slot] or is_shrunk[i, slot]:
                    continue
                y = np.float32(1) if positive[slot, i] else np.float32(-1)
                old = alpha[i, slot]
                G = y * (margins[slot] + b[slot]) - np.float32(1) + old * diagonal
                if old == 0 and shrink_above[slot] < G:
                    is_shrunk[i, slot] = True
                    continue
                stays = True
                projected = min(G, np.float32(0)) if old == 0 else G
                highest[slot], lowest[slot] = max(highest[slot], projected), min(lowest[slot], projected)
                if abs(projected) > MIN_GRADIENT:
                    moved = max(old - G / curvature[i], np.float32(0))
                    steps[slot] = (moved - old) * y
                    alpha[i, slot] = moved
                    b[slot] += steps[slot]
                    moves = True
            if moves:
                _add_to_both(rows, documents[i], steps, w)
            if stays:
                at += 1
            else:
                active -= 1
                order[at], order[active] = order[active], order[at]
        for slot in range(N_SLOTS):
            is_done[slot] |= highest[slot] - lowest[slot] <= tolerance
            shrink_above[slot] = highest[slot] if highest[slot] > 0 else np.inf
        if is_done.all():
            break
    return w.T.copy(), b


@njit(cache=True, nogil=True)
def _multiply_both(rows, i, w, margins):
    """Fill `margins` (2,) with x_i · w, in four sums that the processor can overlap."""
    at, end = rows.indptr[i], rows.indptr[i + 1]
    a = b = c = d = np.float32(0)
    while at + 2 <= end:
        x, y = rows.data[at], rows.data[at + 1]
        first, second = np.uint32(rows.indices[at]), np.uint32(rows.indices[at + 1])
        a += x * w[first, 0]
        b += x * w[first, 1]
        c += y * w[second, 0]
        d += y * w[second, 1]
        at += 2
    if at < end:
        last = np.uint32(rows.indices[at])
        a += rows.data[at] * w[last, 0]
        b += rows.data[at] * w[last, 1]
    margins[0] = a + c
    margins[1] = b + d


@njit(cache=True, nogil=True)
def _add_to_both(rows, i, steps, w):
    """Add steps[slot] * x_i to the weights of each slot."""
    first, second = steps[0], steps[1]
    for at in range(rows.indptr[i], rows.indptr[i + 1]):
        feature = np.uint32(rows.indices[at])
        w[feature, 0] += first * rows.data[at]
        w[feature, 1] += second * rows.data[at]
