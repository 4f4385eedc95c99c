"""Exact top-k: of score matrices, sparse or dense."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from xcwork.kernels.topk import csr_top_k, dense_top_k
from xcwork.results import TopK


def top_k_rows(scores: sparse.sparray | np.ndarray, k: int) -> TopK:
    """The k best columns of every row, score descending then column ascending.

    Of a sparse matrix only the explicit entries count, an explicit zero among them; of a dense one -inf and NaN do not.
    """
    k = min(k, scores.shape[1])
    best = TopK.empty(scores.shape[0], k)
    if sparse.issparse(scores):
        matrix = sparse.csr_array(scores)
        csr_top_k(matrix.data, matrix.indices, matrix.indptr, k, best.ids, best.scores)
    else:
        dense_top_k(np.ascontiguousarray(scores), k, best.ids, best.scores)
    return best
