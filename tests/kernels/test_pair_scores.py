"""Scores of chosen pairs against numpy, and the independence from what else is in the batch."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from xcwork.kernels.pair_scores import compute_pair_dots, compute_pair_matches, compute_pair_products


def partners_of(rng: np.random.Generator, n: int, k: int, n_partners: int) -> np.ndarray:
    return rng.integers(-1, n_partners, (n, k)).astype(np.int32)


@given(seed=st.integers(0, 1000), n=st.integers(0, 70), d=st.integers(1, 40))
def test_dots_are_numpys_and_empty_places_are_zero(seed: int, n: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    rows, vectors = rng.standard_normal((n, d), np.float32), rng.standard_normal((9, d), np.float32)
    partners, scores = partners_of(rng, n, 5, 9), np.full((n, 5), np.nan, np.float32)
    compute_pair_dots(rows, vectors, partners, scores)
    expected = np.where(partners < 0, 0, np.einsum("nd,nkd->nk", rows, vectors[partners]))
    np.testing.assert_allclose(scores, expected, atol=1e-5)


@given(seed=st.integers(0, 1000), n=st.integers(0, 70))
def test_matches_are_the_sparse_product(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, 30), density=0.2, format="csr", dtype=np.float32, rng=rng)
    Z = sparse.random_array((9, 30), density=0.2, format="csr", dtype=np.float32, rng=rng)
    partners, scores = partners_of(rng, n, 4, 9), np.full((n, 4), np.nan, np.float32)
    compute_pair_matches(X.data, X.indices, X.indptr, Z.data, Z.indices, Z.indptr, 30, partners, scores)
    product = (X @ Z.T).toarray()
    expected = np.where(partners < 0, 0, product[np.arange(n)[:, None], partners])
    np.testing.assert_allclose(scores, expected, atol=1e-6)
    T = sparse.csr_array(Z.T)
    scores[:] = np.nan
    compute_pair_products(X.data, X.indices, X.indptr, T.data, T.indices, T.indptr, 9, partners, scores)
    np.testing.assert_allclose(scores, expected, atol=1e-6)


def test_a_pair_has_one_score_wherever_it_stands() -> None:
    rng = np.random.default_rng(0)
    rows, vectors = rng.standard_normal((50, 37), np.float32), rng.standard_normal((20, 37), np.float32)
    partners = np.tile(np.arange(20, dtype=np.int32), (50, 1))
    scores, alone = np.empty((50, 20), np.float32), np.empty((1, 1), np.float32)
    compute_pair_dots(rows, vectors, partners, scores)
    for i, j in ((0, 0), (13, 7), (49, 19)):
        compute_pair_dots(rows[[i]], vectors, partners[[i]][:, [j]], alone)
        assert alone[0, 0] == scores[i, j]
