"""Exact top-k: of score matrices, sparse or dense, and of sparse products that are never formed."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from scipy import sparse

from xcwork.errors import DataError
from xcwork.kernels import ENOUGH, cores_for
from xcwork.kernels.product import CHUNK, product_top_k
from xcwork.kernels.topk import csr_top_k, dense_top_k
from xcwork.results import TopK

Matrix = TypeVar("Matrix", sparse.csr_array, np.ndarray)


def top_k_rows(scores: sparse.sparray | np.ndarray, k: int) -> TopK:
    """The k best columns of every row, score descending then column ascending.

    Of a sparse matrix only the explicit entries count, an explicit zero among them; of a dense one -inf and NaN do not.
    """
    k = min(k, scores.shape[1])
    best = TopK.empty(scores.shape[0], k)
    if sparse.issparse(scores):
        matrix = sparse.csr_array(scores)
        with cores_for(matrix.nnz):
            csr_top_k(matrix.data, matrix.indices, matrix.indptr, k, best.ids, best.scores)
    else:
        matrix = np.ascontiguousarray(scores)
        with cores_for(matrix.size):
            dense_top_k(matrix, k, best.ids, best.scores)
    return best


def top_k_product(
    X: sparse.csr_array, terms: sparse.csr_array, k: int, *,
    start: np.ndarray | None = None, among: np.ndarray | None = None,
) -> TopK:  # fmt: skip
    """The k best columns of every row of `start + X @ terms`, where `terms` is (n_features, n_columns).

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
    best = TopK.empty(X.shape[0], min(k, n_columns))
    rows, columns = _plain(X), _plain(terms)
    with cores_for(X.shape[0] // CHUNK * ENOUGH):  # a chunk of rows is not divided
        product_top_k(*rows, *columns, base, start is not None, best.ids, best.scores)
    return best


def unit_rows(matrix: Matrix) -> Matrix:
    """`matrix` as float32 with rows of length one; rows of zeros stay zero."""
    if not sparse.issparse(matrix):
        dense = np.asarray(matrix, np.float32)
        lengths = np.linalg.norm(dense, axis=1, keepdims=True)
        return np.divide(dense, lengths, out=np.zeros_like(dense), where=lengths > 0)
    ready = isinstance(matrix, sparse.csr_array) and matrix.dtype == np.float32
    rows = matrix if ready else sparse.csr_array(matrix, dtype=np.float32)
    return sparse.csr_array((unit_values(rows), rows.indices, rows.indptr), shape=rows.shape)


def unit_values(rows: sparse.csr_array) -> np.ndarray:
    """The stored entries of `rows` as float32, scaled so that every row has length one; rows of zeros stay zero."""
    lengths = np.sqrt(_square_sums(rows).astype(np.float64))
    factors = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0).astype(np.float32)
    values = rows.data.astype(np.float32, copy=False)
    return values * (factors if len(factors) == 1 else np.repeat(factors, np.diff(rows.indptr)))


def _square_sums(rows: sparse.csr_array) -> np.ndarray:
    """The sum of the squares of every row, (n_rows,)."""
    if rows.shape[0] == 1 and rows.nnz and rows.has_canonical_format:  # one document should not wait for scipy
        return np.add.reduceat(rows.data * rows.data, [0])
    return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()


def _plain(matrix: sparse.csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The arrays of a CSR matrix in the one combination of types that the kernels are compiled for."""
    matrix = matrix if isinstance(matrix, sparse.csr_array) else sparse.csr_array(matrix)
    return (
        matrix.data.astype(np.float32, copy=False),
        matrix.indices.astype(np.int32, copy=False),
        matrix.indptr.astype(np.int64, copy=False),
    )
