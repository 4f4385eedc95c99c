"""Sparse weights in four bytes each: a whole number of 16 bits times a power of two per row, and a short column.

`round_weights` brings weights onto that grid when they have been learned; they are then stored without loss, so what is
stored is what predicts. Rounding moves a weight by less than the 32,000th part of the largest of its row.

A matrix whose values are on no such grid, as those of earlier versions are, is stored with the values that it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from xcwork.methods.model import Misfit, check_keys
from xcwork.sparse import replace_values
from xcwork.storage.state import build_sound_csr

CODE_BITS = 15  # besides the sign
LARGEST_CODE = 2**CODE_BITS - 1
KEYS = {"n_columns", "lengths", "columns", "values", "exponents"}


def round_weights(matrix: sparse.csr_array) -> sparse.csr_array:
    """Return the weights (n_rows, n_columns) rounded to whole multiples of a power of two per row."""
    exponents = find_exponents(matrix)
    codes = np.rint(np.ldexp(matrix.data, -spread_over_entries(exponents, matrix)))
    return replace_values(matrix, np.ldexp(codes, spread_over_entries(exponents, matrix)).astype(np.float32))


def find_exponents(matrix: sparse.csr_array) -> np.ndarray:
    """Return the power of two for each row with which its largest weight is a whole number of 16 bits, (n_rows,)."""
    largest = np.zeros(matrix.shape[0], np.float32)
    filled = np.flatnonzero(np.diff(matrix.indptr))
    if len(filled):
        largest[filled] = np.maximum.reduceat(np.abs(matrix.data), matrix.indptr[filled])
    share, exponents = np.frexp(largest)  # largest = share * 2 ** exponent, a half <= share < 1
    is_rounded_up = np.rint(np.ldexp(share, CODE_BITS)) > LARGEST_CODE
    return (np.clip(exponents, -100, 100) - CODE_BITS + is_rounded_up).astype(np.int8)


def spread_over_entries(of_rows: np.ndarray, matrix: sparse.csr_array) -> np.ndarray:
    """Return for each entry what is given for its row."""
    return np.repeat(of_rows, np.diff(matrix.indptr)).astype(np.int32)


def pack_matrix(matrix: sparse.csr_array) -> dict[str, Any]:
    """Return arrays from which `unpack_matrix` makes the same matrix."""
    exponents = find_exponents(matrix)
    codes = np.ldexp(matrix.data, -spread_over_entries(exponents, matrix))
    is_on_grid = matrix.dtype == np.float32 and bool(
        (np.abs(codes) <= LARGEST_CODE).all() and (codes == np.rint(codes)).all()
    )
    return {
        "n_columns": matrix.shape[1],
        "lengths": np.diff(matrix.indptr).astype(np.uint32),
        "columns": matrix.indices.astype(np.uint16 if matrix.shape[1] <= 2**16 else np.int32),
        "values": codes.astype(np.int16) if is_on_grid else matrix.data,
        "exponents": exponents if is_on_grid else None,
    }


def unpack_matrix(name: str, state: Any) -> sparse.csr_array:
    """Return the matrix of `pack_matrix`, or a matrix that was stored as it is; `Misfit` for anything else."""
    if isinstance(state, sparse.csr_array):
        return state
    if not isinstance(state, Mapping):
        raise Misfit(f"{name} is not a sparse matrix")
    check_keys(name, state, KEYS)
    lengths, columns, values, exponents = (state[key] for key in ("lengths", "columns", "values", "exponents"))
    if not all(isinstance(part, np.ndarray) and part.ndim == 1 for part in (lengths, columns, values)):
        raise Misfit(f"a part of {name} is not a list of numbers")
    if type(state["n_columns"]) is not int or lengths.dtype != np.uint32 or columns.dtype not in (np.uint16, np.int32):
        raise Misfit(f"a part of {name} is of another type")
    starts = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, dtype=np.int64, out=starts[1:])
    if starts[-1] != len(values):
        raise Misfit(f"the rows of {name} do not fit its weights")
    if values.dtype not in ((np.float32, np.float64) if exponents is None else (np.int16,)):
        raise Misfit(f"the weights of {name} are of another type")
    if exponents is not None:
        if not isinstance(exponents, np.ndarray) or exponents.dtype != np.int8 or exponents.shape != lengths.shape:
            raise Misfit(f"the powers of two of {name} do not fit its rows")
        scales = np.ldexp(np.ones(len(exponents), np.float32), exponents.astype(np.int32))
        values = values * np.repeat(scales, lengths)
    starts = starts.astype(np.int32) if starts[-1] < 2**31 else starts
    try:
        return build_sound_csr(
            values, columns.astype(starts.dtype, copy=False), starts, (len(lengths), state["n_columns"])
        )
    except ValueError as problem:
        raise Misfit(f"{name}: {problem}") from None
