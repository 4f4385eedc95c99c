"""The k best entries of every row of a sparse product, without ever forming the product.

One accumulator per thread collects the scores of a document over the columns of the terms it contains, and a bounded
heap keeps the best: O(entries touched + candidates * log k) per document, O(columns) memory per thread. Scores are
summed in the order of the document's terms, so a document gets the same score to the last bit alone or in a batch.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from xcwork.kernels.topk import push_entry, sort_best_first

DOCUMENTS_PER_CHUNK = 64  # documents that share an accumulator


@njit(cache=True, parallel=True, nogil=True)
def find_product_top_k(data, indices, indptr, terms_data, terms_indices, terms_indptr, start, every, ids, scores):
    """Fill `ids` and `scores` (n_rows, k) with the best columns of start + rows @ terms.

    `start` (n_columns,) is the score before any term counts; a column whose start is NaN is never chosen. With `every`
    all other columns compete, without it only those that share a term with the row.
    """
    n_rows = ids.shape[0]
    n_columns = start.shape[0]
    for chunk in prange((n_rows + DOCUMENTS_PER_CHUNK - 1) // DOCUMENTS_PER_CHUNK):
        total = start.copy()
        met = np.zeros(n_columns, np.bool_)
        touched = np.empty(n_columns, np.int32)
        for row in range(chunk * DOCUMENTS_PER_CHUNK, min(n_rows, (chunk + 1) * DOCUMENTS_PER_CHUNK)):
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
            for i in range(n_columns if every else n_touched):
                column = i if every else touched[i]
                if not np.isnan(total[column]):
                    filled = push_entry(ids[row], scores[row], filled, column, total[column])
            sort_best_first(ids[row], scores[row], filled)
            for i in range(n_touched):
                total[touched[i]] = start[touched[i]]
                met[touched[i]] = False
