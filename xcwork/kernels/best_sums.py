"""The k largest sums of one entry per head, found best first without forming the grid of all sums.

Each head is sorted. The best sum takes the first entry of every head; the next best differ from a known one by one step
in one head. A heap holds the sums on the border of what has been found. From a sum whose last stepped head was h only
heads h … H step further, which reaches every point of the grid once. Points that are not a label are skipped, so the
cost is O((k + skipped) · H · log) per document, whatever the size of the grid.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from xcwork.kernels.stored_code import njit

INITIAL_SUMS = 64  # room for sums before it is doubled


@njit(cache=True, nogil=True)
def _enlarge_arrays(scores, states):
    """Return both arrays with room for twice as many sums."""
    size = 2 * len(scores)
    more_scores = np.empty(size, scores.dtype)
    more_scores[: len(scores)] = scores
    more_states = np.empty((size, states.shape[1]), states.dtype)
    more_states[: len(scores)] = states
    return more_scores, more_states


@njit(cache=True, nogil=True)
def _sift_up(heap, scores, at):
    """Restore the heap after an entry has joined at its end, the place `at`."""
    while at > 0 and scores[heap[at]] > scores[heap[(at - 1) // 2]]:
        heap[at], heap[(at - 1) // 2] = heap[(at - 1) // 2], heap[at]
        at = (at - 1) // 2


@njit(cache=True, nogil=True)
def _sift_down(heap, scores, size):
    """Restore the heap after its root has changed."""
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and scores[heap[child + 1]] > scores[heap[child]]:
            child += 1
        if scores[heap[child]] <= scores[heap[at]]:
            return
        heap[at], heap[child] = heap[child], heap[at]
        at = child


@njit(cache=True, nogil=True)
def _compute_sum(values, starts, state):
    """Return the sum of the entries at the places `state` of the heads."""
    total = 0.0
    for head in range(len(starts) - 1):
        total += values[starts[head] + state[head]]
    return total


@njit(cache=True, nogil=True)
def _find_best_sums(values, digits, starts, places, label_of, ids, scores):
    """Fill for one document ids and scores (k,) with labels and sums, best first, equal sums by id."""
    n_heads = len(starts) - 1
    n_codes = len(label_of)
    k = len(ids)
    sums = np.empty(INITIAL_SUMS, np.float64)
    states = np.zeros((INITIAL_SUMS, n_heads + 1), np.int64)  # the last column: head to step from
    sums[0] = _compute_sum(values, starts, states[0])
    n_sums = 1
    heap = np.empty(INITIAL_SUMS, np.int64)
    heap[0] = 0
    size = 1  # of the heap
    found = 0
    while size > 0:
        top = heap[0]
        total = sums[top]
        if found >= k and total < scores[k - 1]:
            return
        size -= 1
        heap[0] = heap[size]
        _sift_down(heap, sums, size)
        code = 0
        for head in range(n_heads):
            code += digits[starts[head] + states[top, head]] * places[head]
        if code < n_codes and label_of[code] >= 0:
            found = _insert_sum(ids, scores, found, label_of[code], total)
        for head in range(states[top, n_heads], n_heads):
            if states[top, head] + 1 >= starts[head + 1] - starts[head]:
                continue
            if n_sums == len(sums):
                sums, states = _enlarge_arrays(sums, states)
                more = np.empty(len(sums), np.int64)
                more[: len(heap)] = heap
                heap = more
            states[n_sums] = states[top]
            states[n_sums, head] += 1
            states[n_sums, n_heads] = head
            sums[n_sums] = _compute_sum(values, starts, states[n_sums])
            heap[size] = n_sums
            _sift_up(heap, sums, size)
            n_sums += 1
            size += 1


@njit(cache=True, nogil=True)
def _insert_sum(ids, scores, found, label, total):
    """Put a sum into the list of the best, which arrive in descending order up to ties."""
    at = found
    while at > 0 and (scores[at - 1] < total or (scores[at - 1] == total and ids[at - 1] > label)):
        at -= 1
    if at >= len(ids):
        return found
    filled = min(found + 1, len(ids))
    for move in range(filled - 1, at, -1):
        ids[move], scores[move] = ids[move - 1], scores[move - 1]
    ids[at], scores[at] = label, total
    return filled


@njit(cache=True, parallel=True, nogil=True)
def find_grid_top_k(values, digits, starts, places, label_of, ids, scores):
    """Find the best labels of every document.

    `values` (n, Σ lengths) holds the entries of every head, sorted within a head, and `digits` their digits; head h is
    at starts[h]:starts[h + 1]. `label_of` gives the label of a code or -1. `ids` and `scores` (n, k) are filled.
    """
    for row in prange(values.shape[0]):
        _find_best_sums(values[row], digits[row], starts, places, label_of, ids[row], scores[row])
