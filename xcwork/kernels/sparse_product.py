"""The k best entries of every row of a sparse product, without ever forming the product.

One accumulator per thread collects the scores of a document over the columns of the terms it contains, and a bounded
heap keeps the best: O(entries touched + candidates * log k) per document, O(columns) memory per thread. Scores are
summed in the order of the document's terms, so a document gets the same score to the last bit alone or in a batch.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from xcwork.kernels.stored_code import njit
from xcwork.kernels.topk import can_enter, push_entry, sort_best_first

DOCUMENTS_PER_CHUNK = 64  # documents that share an accumulator


@njit(cache=True, nogil=True)
def _rank_every_column(row, data, indices, indptr, terms_data, terms_indices, terms_indptr, start, total, ids, scores):
    """Fill one row where all columns compete, so that it is not noted which of them share a term with it."""
    total[:] = start
    for at in range(indptr[row], indptr[row + 1]):
        value = data[at]
        term = indices[at]
        for cell in range(terms_indptr[term], terms_indptr[term + 1]):
            total[np.uint32(terms_indices[cell])] += value * terms_data[cell]
    filled = np.int64(0)
    own_ids, own_scores = ids[row], scores[row]  # cut out once, not for every column
    for column in range(total.shape[0]):
        if not np.isnan(total[column]) and can_enter(own_scores, filled, total[column]):
            filled = push_entry(own_ids, own_scores, filled, column, total[column])
    sort_best_first(own_ids, own_scores, filled)


@njit(cache=True, nogil=True)
def rank_chunk(first, last, data, indices, indptr, terms_data, terms_indices, terms_indptr, start, every, ids, scores):
    """Fill the rows first … last - 1 of `ids` and `scores`, see `find_product_top_k`, on this thread."""
    n_columns = start.shape[0]
    total = start.copy()
    met = np.zeros(n_columns, np.bool_)
    touched = np.empty(n_columns, np.int32)
    for row in range(first, last):
        if every:
            _rank_every_column(
                row, data, indices, indptr, terms_data, terms_indices, terms_indptr, start, total, ids, scores
            )
            continue
        n_touched = 0
        for at in range(indptr[row], indptr[row + 1]):
            value = data[at]
            term = indices[at]
            for cell in range(terms_indptr[term], terms_indptr[term + 1]):
                column = terms_indices[cell]
                total[column] += value * terms_data[cell]
                if not met[column]:
                    met[column] = True
                    touched[n_touched] = column
                    n_touched += 1
        filled = np.int64(0)
        own_ids, own_scores = ids[row], scores[row]
        for i in range(n_touched):
            column = touched[i]
            if not np.isnan(total[column]) and can_enter(own_scores, filled, total[column]):
                filled = push_entry(own_ids, own_scores, filled, column, total[column])
        sort_best_first(own_ids, own_scores, filled)
        for i in range(n_touched):
            total[touched[i]] = start[touched[i]]
            met[touched[i]] = False


@njit(cache=True, parallel=True, nogil=True)
def find_product_top_k(data, indices, indptr, terms_data, terms_indices, terms_indptr, start, every, ids, scores):
    """Fill `ids` and `scores` (n_rows, k) with the best columns of start + rows @ terms.

    `start` (n_columns,) is the score before any term counts; a column whose start is NaN is never chosen. With `every`
    all other columns compete, without it only those that share a term with the row.
    """
    n_rows = ids.shape[0]
    for chunk in prange((n_rows + DOCUMENTS_PER_CHUNK - 1) // DOCUMENTS_PER_CHUNK):
        rank_chunk(
            chunk * DOCUMENTS_PER_CHUNK,
            min(n_rows, (chunk + 1) * DOCUMENTS_PER_CHUNK),
            data,
            indices,
            indptr,
            terms_data,
            terms_indices,
            terms_indptr,
            start,
            every,
            ids,
            scores,
        )
