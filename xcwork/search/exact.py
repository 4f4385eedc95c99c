"""Exact top-k: of score matrices, sparse or dense, and of sparse products that are never formed."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from xcwork.core.topk import TopK
from xcwork.errors import DataError
from xcwork.kernels import MIN_NUMBERS_PER_THREAD, use_cores_for
from xcwork.kernels.sparse_product import DOCUMENTS_PER_CHUNK, find_product_top_k, rank_chunk
from xcwork.kernels.topk import find_csr_top_k, find_dense_top_k
from xcwork.sparse import Rows, to_rows, to_unit_rows


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
    unit: bool = False,
) -> TopK:
    """Return the k best columns of every row of `start + X @ terms`, where `terms` is (n_features, n_columns).

    Without `start` only the columns that share a feature with the row compete, so a row without features gets none;
    with it all columns do, except those where it is NaN. `among` restricts the columns to these ids. With `unit` the
    rows of X count as if they had length one.
    """
    check_terms(X, terms, start)
    base = np.zeros(terms.shape[1], np.float32) if start is None else start.astype(np.float32, copy=False)
    return rank_columns(
        (to_unit_rows if unit else to_rows)(X), to_rows(terms), base, k, every=start is not None, among=among
    )


def check_terms(X: sparse.csr_array, terms: sparse.csr_array, start: np.ndarray | None) -> None:
    """Raise where rows, terms and starts do not fit together: the kernel does not check bounds."""
    n_columns = terms.shape[1]
    if X.shape[1] != terms.shape[0] or (start is not None and start.shape != (n_columns,)):
        raise DataError(f"rows of {X.shape[1]} features cannot meet a {terms.shape[0]} × {n_columns} matrix of terms")


def rank_columns(
    rows: Rows, terms: Rows, base: np.ndarray, k: int, *, every: bool, among: np.ndarray | None = None
) -> TopK:
    """Return what `top_k_product` does, of arrays that fit; `base` (n_columns,) float32 is the score without terms.

    With `every` all columns compete, without it those that share a feature with the row.
    """
    n_rows, n_columns = len(rows.indptr) - 1, len(base)
    if among is not None:
        outside = np.ones(n_columns, bool)
        outside[among] = False
        base = np.where(outside, np.float32(np.nan), base)
    best = TopK.make_empty(n_rows, min(k, n_columns))
    if n_rows <= DOCUMENTS_PER_CHUNK:  # not divided: one document should not wait for threads
        rank_chunk(0, n_rows, *rows, *terms, base, every, best.ids, best.scores)
        return best
    with use_cores_for(n_rows // DOCUMENTS_PER_CHUNK * MIN_NUMBERS_PER_THREAD):
        find_product_top_k(*rows, *terms, base, every, best.ids, best.scores)
    return best
