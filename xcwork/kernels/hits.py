"""Where the true labels of every document stand in its ranked list.

One binary search per listed label in the sorted true labels of its document: O(n_documents * k * log |y|)
with no allocation. Fifteen million listed labels take about a tenth of a second on one core, so the loop is not
parallel: that keeps it safe to call from several threads at a time, whichever threading layer numba finds.
"""

from __future__ import annotations

from xcwork.kernels.stored_code import njit


@njit(cache=True, nogil=True)
def rank_positives(ids, indices, indptr, ranks):
    """Write into `ranks` (nnz,) the first slot, counted from 1, that lists each true label; the rest stay as they are.

    `ranks` must start with a value larger than any slot. `indices` ascend within a row.
    """
    for row in range(ids.shape[0]):
        start, end = indptr[row], indptr[row + 1]
        if start == end:
            continue
        for slot in range(ids.shape[1]):
            label = ids[row, slot]
            low, high = start, end
            while low < high:
                middle = (low + high) // 2
                if indices[middle] < label:
                    low = middle + 1
                else:
                    high = middle
            if low < end and indices[low] == label and ranks[low] > slot + 1:
                ranks[low] = slot + 1
