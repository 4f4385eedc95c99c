"""Exact top-k: of score matrices, sparse or dense, and of sparse products that are never formed."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from xcwork.core.topk import TopK
from xcwork.errors import DataError
from xcwork.kernels import MIN_NUMBERS_PER_THREAD, use_cores_for
from xcwork.kernels.sparse_product import DOCUMENTS_PER_CHUNK, find_product_top_k
from xcwork.kernels.topk import find_csr_top_k, find_dense_top_k
from xcwork.sparse import to_rows


def top_k_rows(scores: sparse.sparray | np.ndarray, k: int) -> TopK:
    """Return the k best columns of every row, score descending then column ascending.

    Of a sparse matrix only the explicit entries count, an explicit zero among them; of a dense one -inf and NaN do not.
    """
    k = min(k, scores.shape[1])
    best = TopK.make_empty(scores.shape[0], k)
    if sparse.issparse(scores):
        matrix = sparse.csr_array(scores)
        with use_cores_for(matrix.nnz):
            find_csr_top_k(matrix.data, matrix.indices, matrix.indptr, k, best.ids, best.scores)
    else:
        matrix = np.ascontiguousarray(scores)
        with use_cores_for(matrix.size):
            find_dense_top_k(matrix, k, best.ids, best.scores)
    return best


def top_k_product(
    X: sparse.csr_array,
    terms: sparse.csr_array,
    k: int,
    *,
    start: np.ndarray | None = None,
    among: np.ndarray | None = None,
) -> TopK:
    """Return the k best columns of every row of `start + X @ terms`, where `terms` is (n_features, n_columns).

    Without `start` only the columns that share a feature with the row compete, so a row without features gets none;
    with it all columns do, except those where it is NaN. `among` restricts the columns to these ids.
    """
    n_columns = terms.shape[1]
    if X.shape[1] != terms.shape[0] or (start is not None and start.shape != (n_columns,)):
        # The kernel does not check bounds, and a model from a damaged file may not fit together.
        raise DataError(f"rows of {X.shape[1]} features cannot meet a {terms.shape[0]} × {n_columns} matrix of terms")
    base = np.zeros(n_columns, np.float32) if start is None else start.astype(np.float32)  # (n_columns,)
    if among is not None:
        outside = np.ones(n_columns, bool)
        outside[among] = False
        base[outside] = np.nan
    best = TopK.make_empty(X.shape[0], min(k, n_columns))
    rows, columns = to_rows(X), to_rows(terms)
    with use_cores_for(X.shape[0] // DOCUMENTS_PER_CHUNK * MIN_NUMBERS_PER_THREAD):  # a chunk of rows is not divided
        find_product_top_k(*rows, *columns, base, start is not None, best.ids, best.scores)
    return best
