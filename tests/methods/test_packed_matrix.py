"""Weights in four bytes: rounded once, stored without loss, and damage is told."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from xcwork.methods.common.packed_matrix import pack_matrix, round_weights, unpack_matrix
from xcwork.methods.model import Misfit


def draw_weights(seed: int, n_columns: int = 30) -> sparse.csr_array:
    """Weights of very different sizes by row, with an empty row and one of zeros."""
    rng = np.random.default_rng(seed)
    dense = (
        rng.standard_normal((12, n_columns))
        * (rng.random((12, n_columns)) < 0.4)
        * 10.0 ** rng.integers(-6, 6, 12)[:, None]
    )
    dense[3] = 0
    weights = sparse.csr_array(dense.astype(np.float32))
    weights.data[weights.indptr[5] : weights.indptr[6]] = 0
    return weights


def is_equal(a: sparse.csr_array, b: sparse.csr_array) -> bool:
    parts = ((a.data, b.data), (a.indices, b.indices), (a.indptr, b.indptr))
    return a.shape == b.shape and all(np.array_equal(x, y) and x.dtype == y.dtype for x, y in parts)


@given(st.integers(0, 10_000))
def test_rounding_is_small_and_done_once(seed: int) -> None:
    weights = draw_weights(seed)
    rounded = round_weights(weights)
    assert is_equal(round_weights(rounded), rounded)
    for row in range(12):
        part = slice(weights.indptr[row], weights.indptr[row + 1])
        largest = np.abs(weights.data[part]).max(initial=0)
        assert (np.abs(weights.data[part] - rounded.data[part]) <= largest / 32_000).all()


@pytest.mark.parametrize("n_columns", [30, 2**16, 2**16 + 1])
def test_what_was_rounded_is_stored_in_short_numbers_without_loss(n_columns: int) -> None:
    rounded = round_weights(draw_weights(1, n_columns))
    packed = pack_matrix(rounded)
    assert packed["values"].dtype == np.int16
    assert packed["columns"].dtype == (np.uint16 if n_columns <= 2**16 else np.int32)
    assert is_equal(unpack_matrix("weights", packed), rounded)


def test_what_was_not_rounded_keeps_its_values() -> None:
    weights = draw_weights(2)
    packed = pack_matrix(weights)
    assert packed["values"].dtype == np.float32
    assert is_equal(unpack_matrix("weights", packed), weights)


def test_a_matrix_of_an_earlier_version_is_taken_as_it_is() -> None:
    weights = draw_weights(3)
    assert unpack_matrix("weights", weights) is weights


@pytest.mark.parametrize(
    "damage",
    [
        {"n_columns": 3},
        {"n_columns": 30.0},
        {"lengths": np.zeros(12, np.uint32)},
        {"lengths": np.zeros(12, np.float32)},
        {"columns": np.zeros(2, np.uint16)},
        {"columns": np.zeros((2, 2), np.uint16)},
        {"values": np.zeros(2, np.int16)},
        {"values": None},
        {"exponents": np.zeros(3, np.int8)},
        {"exponents": np.zeros(12)},
        {"exponents": None},
        {"more": 1},
    ],
)
def test_damage_is_told(damage: dict[str, object]) -> None:
    with pytest.raises(Misfit, match="weights"):
        unpack_matrix("weights", pack_matrix(round_weights(draw_weights(4))) | damage)


def test_something_else_is_no_matrix() -> None:
    with pytest.raises(Misfit, match="weights is not a sparse matrix"):
        unpack_matrix("weights", [1, 2])
