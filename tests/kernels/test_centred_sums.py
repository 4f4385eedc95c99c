"""Sums of centred documents agree with the same vectors written out."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from xcwork.kernels.centred_sums import (
    EMPTY_DOCUMENT_COSINE,
    CentredDocuments,
    CentredSum,
    add_row,
    add_sum,
    clear_sum,
    fill_cosines,
    measure_length,
    multiply_sums,
    sum_members,
)


def empty_sum(n_features: int) -> CentredSum:
    return CentredSum(
        np.zeros(n_features),
        np.empty(n_features, np.int32),
        np.zeros(n_features, bool),
        np.zeros(1, np.int64),
        np.zeros(2),
    )


def documents(seed: int, centre: bool, n: int = 7, d: int = 5) -> tuple[CentredDocuments, np.ndarray]:
    """Documents for the kernels, one of them empty, and the vectors they stand for."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    X[0] = 0
    X = X.astype(np.float32).astype(np.float64)
    mean = X.mean(axis=0) if centre else np.zeros(d)
    there = np.abs(X).sum(axis=1) > 0
    lengths = np.linalg.norm(X - mean, axis=1)
    scale = np.where(there, 1 / np.maximum(lengths, 1e-12), 0.0)
    rows = sparse.csr_array(X.astype(np.float32))
    parts = (rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int64))
    return CentredDocuments(*parts, scale, X @ mean, mean, np.array([mean @ mean])), scale[:, None] * (X - mean)


@settings(max_examples=50)
@given(st.integers(0, 10_000), st.booleans())
def test_products_lengths_and_cosines_are_those_of_the_written_out_vectors(seed: int, centre: bool):
    rows, vectors = documents(seed, centre)
    rng = np.random.default_rng(seed + 1)
    one, other = empty_sum(5), empty_sum(5)
    expected = [np.zeros(5), np.zeros(5)]
    for total, place in ((one, 0), (other, 1)):
        for i in rng.integers(0, 7, 4):
            weight = float(rng.normal())
            add_row(total, rows, i, weight)
            expected[place] += weight * vectors[i]
    square = rows.mean_square[0]
    np.testing.assert_allclose(multiply_sums(one, other, square), expected[0] @ expected[1], atol=1e-9)
    np.testing.assert_allclose(measure_length(one, square), np.linalg.norm(expected[0]), atol=1e-6)
    add_sum(one, other, 0.5)
    mixed = expected[0] + 0.5 * expected[1]
    members, found = np.arange(7, dtype=np.int32), np.full(7, np.nan)
    fill_cosines(one, 2.0, rows, members, 1, 5, found)
    wanted = np.where(rows.scale > 0, 2 * vectors @ mixed, EMPTY_DOCUMENT_COSINE)
    np.testing.assert_allclose(found[1:5], wanted[1:5], atol=1e-9)
    assert np.isnan(found[[0, 5, 6]]).all()


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.booleans())
def test_the_sum_of_a_group_is_added_like_its_members(seed: int, centre: bool):
    rows, vectors = documents(seed, centre)
    members = sparse.csr_array(np.array([[1, 1, 0, 1, 0, 0, 0], [0, 0, 0, 0, 1, 1, 0], [1, 0, 0, 0, 0, 0, 0]], float))
    groups, total = sum_members(rows, members), empty_sum(5)
    for group, weight in ((0, 2.0), (1, -0.5), (2, 3.0)):  # the last has an empty document alone
        add_row(total, groups, group, weight)
    expected = np.array([2.0, -0.5, 3.0]) @ (members @ vectors)
    np.testing.assert_allclose(measure_length(total, rows.mean_square[0]), np.linalg.norm(expected), atol=1e-6)
    found = np.empty(7)
    fill_cosines(total, 1.0, rows, np.arange(7, dtype=np.int32), 0, 7, found)
    np.testing.assert_allclose(found, np.where(rows.scale > 0, vectors @ expected, EMPTY_DOCUMENT_COSINE), atol=1e-6)


def test_a_cleared_sum_is_an_empty_one():
    rows, _ = documents(3, True)
    total = empty_sum(5)
    for i in range(7):
        add_row(total, rows, i, 1.0)
    clear_sum(total)
    assert not total.values.any()
    assert not total.in_use.any()
    assert total.n_used[0] == 0
    assert measure_length(total, rows.mean_square[0]) == 0
