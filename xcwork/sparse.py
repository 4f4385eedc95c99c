"""Helpers on sparse matrices, and the one rule about their memory.

**A matrix is a value.** Nobody writes into the arrays of a matrix that was passed in or handed out. Therefore a result
may share arrays with its input, arrays may be read-only or mapped from disk, and one dataset serves many methods at the
same time. To change a matrix is to make another one: with the functions here, none of which writes into its arguments.

scipy's own in-place methods (`sort_indices`, `sum_duplicates`, `eliminate_zeros`) and assignments to the entries of a
matrix occur in this module only, and only on arrays that it has just made.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy import sparse

ENTRIES_PER_BLOCK = 2**20  # of which temporary arrays are made
UNIT_TOLERANCE = 1e-5  # of the square of a length, to which float32 values add up
Matrix = TypeVar("Matrix", sparse.csr_array, np.ndarray)
Compressed = TypeVar("Compressed", sparse.csr_array, sparse.csc_array)


class Rows(NamedTuple):
    """A CSR matrix as the kernels see it: float32 values (as a rule), int32 columns, int64 row starts."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray


def take_rows(rows: Rows, chosen: np.ndarray) -> Rows:
    """Return some rows in a matrix of their own."""
    sizes = rows.indptr[chosen + 1] - rows.indptr[chosen]
    starts = np.zeros(len(chosen) + 1, np.int64)
    np.cumsum(sizes, out=starts[1:])
    at = np.repeat(rows.indptr[chosen] - starts[:-1], sizes) + np.arange(starts[-1])
    return Rows(rows.data[at], rows.indices[at], starts)


def to_rows(matrix: sparse.csr_array, dtype: Any = np.float32) -> Rows:
    """Return the arrays of a CSR matrix in the types that kernels are compiled for; `dtype` None keeps its values."""
    data = matrix.data if dtype is None else matrix.data.astype(dtype, copy=False)
    return Rows(data, matrix.indices.astype(np.int32, copy=False), matrix.indptr.astype(np.int64, copy=False))


def to_unit_rows(matrix: sparse.csr_array) -> Rows:
    """Return the arrays of a CSR matrix whose rows are scaled to length one, in the types of `to_rows`."""
    indices, indptr = matrix.indices, matrix.indptr
    return Rows(normalise_values(matrix), indices.astype(np.int32, copy=False), indptr.astype(np.int64, copy=False))


def make_canonical(matrix: sparse.sparray) -> sparse.csr_array:
    """Return `matrix` as CSR with ascending columns, each entry stored once and no zero; itself when it is so already.

    Indices have 32 bits where these are enough, as kernels need them.
    """
    rows = matrix if isinstance(matrix, sparse.csr_array) else sparse.csr_array(matrix)
    return drop_zeros(merge_duplicates(narrow_indices(rows)))


def merge_duplicates(matrix: Compressed) -> Compressed:
    """Return `matrix` with entries at the same place added up and indices in order."""
    if matrix.has_canonical_format:
        return matrix
    merged = matrix.copy()
    merged.sum_duplicates()
    return merged


def sort_entries(matrix: Compressed) -> Compressed:
    """Return `matrix` with the entries of each row (or column, in CSC) in order."""
    return matrix if matrix.has_sorted_indices else matrix.sorted_indices()


def drop_zeros(matrix: Compressed) -> Compressed:
    """Return `matrix` without the zeros that it stores."""
    return matrix if matrix.data.all() else keep_entries(matrix, matrix.data != 0)


def keep_entries(matrix: Compressed, keep: np.ndarray) -> Compressed:
    """Return only the entries marked in `keep` (nnz,), in a matrix of the same shape."""
    kept_before = np.concatenate([[0], np.cumsum(keep)]).astype(matrix.indptr.dtype)  # (nnz + 1,)
    return type(matrix)((matrix.data[keep], matrix.indices[keep], kept_before[matrix.indptr]), shape=matrix.shape)


def replace_values(matrix: Compressed, values: np.ndarray) -> Compressed:
    """Return the entries of `matrix` with other values (nnz,)."""
    return type(matrix)((values, matrix.indices, matrix.indptr), shape=matrix.shape)


def fill_with_ones(matrix: Compressed) -> Compressed:
    """Return the entries of `matrix` with the value 1: that a label is relevant counts, not how much."""
    return replace_values(matrix, np.ones(matrix.nnz, np.float32))


def narrow_indices(matrix: Compressed) -> Compressed:
    """Return `matrix` with 32-bit indices where these are enough.

    scipy often makes 64-bit ones, which take half as much memory again, and which kernels would copy each time.
    """
    if matrix.indices.dtype == np.int32 or max(*matrix.shape, matrix.nnz) > np.iinfo(np.int32).max:
        return matrix
    return type(matrix)(
        (matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)), shape=matrix.shape
    )


def enlarge(matrix: sparse.csr_array, shape: tuple[int, int]) -> sparse.csr_array:
    """Return the same entries in a matrix with more rows or columns."""
    indptr = np.pad(matrix.indptr, (0, shape[0] - matrix.shape[0]), mode="edge")
    return sparse.csr_array((matrix.data, matrix.indices, indptr), shape=shape)


def renumber_columns(matrix: sparse.csr_array, columns: np.ndarray, n_columns: int) -> sparse.csr_array:
    """Return the matrix (n_rows, `n_columns`) in which column c of `matrix` is column columns[c]."""
    indices = columns.astype(matrix.indices.dtype, copy=False)[matrix.indices]
    moved = sparse.csr_array((matrix.data.copy(), indices, matrix.indptr), shape=(matrix.shape[0], n_columns))
    moved.sort_indices()
    return moved


def number_by_frequency(X: sparse.csr_array) -> tuple[sparse.csr_array, np.ndarray]:
    """Return `X` with its most frequent columns first, as `order_by_frequency`, but with the entries where they were.

    Values and row starts are those of `X` itself, so that little memory is taken.
    """
    counts = count_in_columns(X)
    columns = np.argsort(-counts, kind="stable").astype(np.int32)
    rank = np.empty_like(columns)
    rank[columns] = np.arange(len(columns), dtype=np.int32)
    return sparse.csr_array((X.data, rank[X.indices], X.indptr), shape=X.shape), columns


def count_in_columns(matrix: sparse.csr_array) -> np.ndarray:
    """Return the number of entries in every column, (n_columns,), with little memory besides."""
    counts = np.zeros(matrix.shape[1], np.int64)
    for start in range(0, matrix.nnz, ENTRIES_PER_BLOCK):
        counts += np.bincount(matrix.indices[start : start + ENTRIES_PER_BLOCK], minlength=matrix.shape[1])
    return counts


def scale_to_unit(X: sparse.csr_array) -> sparse.csr_array:
    """Return `X` as float32 with rows of length one; itself where they are so already, up to rounding."""
    rows = X if X.dtype == np.float32 else X.astype(np.float32)
    squares = sum_squares(rows)
    return rows if np.all((abs(squares - 1) < UNIT_TOLERANCE) | (squares == 0)) else normalise_rows(rows)


def order_by_frequency(X: sparse.csr_array) -> tuple[sparse.csr_array, np.ndarray]:
    """Return `X` with its most frequent columns first, and the original column behind each new one.

    The weights used most then lie together and stay in the processor's cache.
    """
    columns = np.argsort(-count_in_columns(X), kind="stable").astype(np.int32)
    rank = np.empty_like(columns)
    rank[columns] = np.arange(len(columns), dtype=np.int32)
    return renumber_columns(X, rank, X.shape[1]), columns


def pack_rows(ids: np.ndarray, values: np.ndarray, present: np.ndarray, n_columns: int) -> sparse.csr_array:
    """Return the slots marked in `present` as a matrix (n_rows, `n_columns`): values[i, j] at (i, ids[i, j])."""
    indptr = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    packed = sparse.csr_array((values[present], ids[present], indptr), shape=(len(ids), n_columns))
    packed.sort_indices()
    return packed


def normalise_rows(matrix: Matrix) -> Matrix:
    """Return `matrix`, sparse or dense, as float32 with rows of length one; rows of zeros stay zero."""
    if not sparse.issparse(matrix):
        dense = np.asarray(matrix, np.float32)
        lengths = np.linalg.norm(dense, axis=1, keepdims=True)
        return np.divide(dense, lengths, out=np.zeros_like(dense), where=lengths > 0)
    rows = matrix if isinstance(matrix, sparse.csr_array) else sparse.csr_array(matrix)
    return replace_values(rows, normalise_values(rows))


def normalise_values(rows: sparse.csr_array) -> np.ndarray:
    """Return the entries of `rows` as float32, scaled so that every row has length one; rows of zeros stay zero."""
    rows = rows if rows.dtype == np.float32 else rows.astype(np.float32)
    if rows.shape[0] == 1 and rows.nnz:  # one document should not wait
        square = float(sum_squares(rows)[0])
        return rows.data * np.float32(1 / math.sqrt(square) if square > 0 else 0)
    lengths = np.sqrt(sum_squares(rows).astype(np.float64))
    factors = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0).astype(np.float32)
    return rows.data * (factors if len(factors) == 1 else np.repeat(factors, np.diff(rows.indptr)))


def sum_squares(rows: sparse.csr_array) -> np.ndarray:
    """Return the sum of the squares of every row, (n_rows,), with little memory besides."""
    rows = merge_duplicates(rows)
    if rows.shape[0] == 1 and rows.nnz:  # one document should not wait
        return np.add.reduceat(rows.data * rows.data, [0])
    total = np.zeros(rows.shape[0], rows.dtype)
    for first, last in cut_rows(rows.indptr):
        filled = first + np.flatnonzero(np.diff(rows.indptr[first : last + 1]))
        if len(filled):
            start = rows.indptr[first]
            values = rows.data[start : rows.indptr[last]]
            total[filled] = np.add.reduceat(values * values, rows.indptr[filled] - start)
    return total


def cut_rows(indptr: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield (first, last + 1) of stretches of rows with about `ENTRIES_PER_BLOCK` entries each."""
    first = 0
    while first < len(indptr) - 1:
        last = int(np.searchsorted(indptr, indptr[first] + ENTRIES_PER_BLOCK, side="right")) - 1
        last = max(first + 1, last)
        yield first, last
        first = last


def gather_filled(ids: np.ndarray, values: np.ndarray, filled: np.ndarray, n_columns: int) -> sparse.csr_array:
    """Return the rows whose first `filled` slots count as a matrix (n_rows, n_columns)."""
    return pack_rows(ids, values, np.arange(ids.shape[1]) < filled[:, None], n_columns)
