"""The k best entries of every row, score descending and then column ascending.

A bounded heap per row: O(entries * log k), no sorting of whole rows, no allocation beyond the result.

Who fills a heap starts with `filled = np.int64(0)`: for a literal 0 numba compiles `push_entry` twice, for the literal
and for what the function returns.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from xcwork.kernels.stored_code import njit


@njit(cache=True, inline="always")
def _is_below(score_a, id_a, score_b, id_b):
    """Tell whether a ranks below b."""
    return score_a < score_b or (score_a == score_b and id_a > id_b)


@njit(cache=True, nogil=True)
def _sift_down(ids, scores, start, end):
    """Restore the heap whose root is its worst entry."""
    root = start
    while 2 * root + 1 < end:
        child = 2 * root + 1
        if child + 1 < end and _is_below(scores[child + 1], ids[child + 1], scores[child], ids[child]):
            child += 1
        if not _is_below(scores[child], ids[child], scores[root], ids[root]):
            return
        ids[root], ids[child] = ids[child], ids[root]
        scores[root], scores[child] = scores[child], scores[root]
        root = child


@njit(cache=True, nogil=True)
def can_enter(scores, filled, new_score):
    """Tell whether `push_entry` has to look at an entry: cheap, and the answer for nearly all of many is no."""
    k = scores.shape[0]
    return filled < k or (k > 0 and new_score >= scores[0])


@njit(cache=True, nogil=True)
def push_entry(ids, scores, filled, new_id, new_score):
    """Offer one entry to the heap of the best len(ids) entries; return how many are filled."""
    k = ids.shape[0]
    if filled < k:
        child = filled
        ids[child] = new_id
        scores[child] = new_score
        while child > 0:
            parent = (child - 1) // 2
            if not _is_below(scores[child], ids[child], scores[parent], ids[parent]):
                break
            ids[parent], ids[child] = ids[child], ids[parent]
            scores[parent], scores[child] = scores[child], scores[parent]
            child = parent
        return filled + 1
    if k > 0 and _is_below(scores[0], ids[0], new_score, new_id):
        ids[0] = new_id
        scores[0] = new_score
        _sift_down(ids, scores, 0, k)
    return filled


@njit(cache=True, nogil=True)
def sort_best_first(ids, scores, filled):
    """Turn the heap into a list, best first."""
    for end in range(filled - 1, 0, -1):
        ids[0], ids[end] = ids[end], ids[0]
        scores[0], scores[end] = scores[end], scores[0]
        _sift_down(ids, scores, 0, end)


@njit(cache=True, parallel=True, nogil=True)
def find_csr_top_k(data, indices, indptr, k, ids, scores):
    """Fill `ids` and `scores` (n_rows, k) from a CSR matrix; entries without a number are never chosen."""
    for row in prange(ids.shape[0]):
        filled = np.int64(0)
        own_ids, own_scores = ids[row], scores[row]  # cut out once, not for every entry
        for at in range(indptr[row], indptr[row + 1]):
            if not np.isnan(data[at]) and can_enter(own_scores, filled, data[at]):
                filled = push_entry(own_ids, own_scores, filled, indices[at], data[at])
        sort_best_first(own_ids, own_scores, filled)


@njit(cache=True, parallel=True, nogil=True)
def find_dense_top_k(matrix, k, ids, scores):
    """Fill `ids` and `scores` (n_rows, k) from a dense matrix; entries of -inf and NaN are never chosen."""
    for row in prange(ids.shape[0]):
        filled = np.int64(0)
        own_ids, own_scores = ids[row], scores[row]  # cut out once, not for every entry
        for column in range(matrix.shape[1]):
            value = matrix[row, column]
            if value > -np.inf and can_enter(own_scores, filled, value):
                filled = push_entry(own_ids, own_scores, filled, column, value)
        sort_best_first(own_ids, own_scores, filled)
