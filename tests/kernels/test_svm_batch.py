"""Three ways to the same support vector machines, against a general optimiser."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from xcwork.kernels.svm_batch import (
    compute_curvatures,
    solve_by_inner_products,
    solve_from_negatives,
    solve_one_by_one,
)
from xcwork.kernels.svm_gram import compute_gram, descend_gram, transpose_rows
from xcwork.sparse import Rows

pytestmark = pytest.mark.slow

WAYS = pytest.mark.parametrize("train", [solve_one_by_one, solve_from_negatives, solve_by_inner_products])


ALL = np.arange(300, dtype=np.int32)


def problem(seed: int, n_documents: int = 60, n_features: int = 20, n_labels: int = 3):
    """Documents, one of them empty and a frequent feature among them, and labels of which one has no documents."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_documents, n_features)) * (rng.random((n_documents, n_features)) < 0.25)
    X[:, 3] = rng.random(n_documents) * (rng.random(n_documents) < 0.6)
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)
    X[7] = 0
    positive = (X @ rng.standard_normal((n_features, n_labels)) > 0.3).T
    positive[0] = False
    csr = sparse.csr_array(X.astype(np.float32))
    return X, positive, Rows(csr.data, csr.indices.astype(np.int32), csr.indptr.astype(np.int64))


def objective(w_and_b: np.ndarray, X: np.ndarray, positive: np.ndarray, C: float) -> float:
    y = np.where(positive, 1, -1)
    short = np.maximum(0, 1 - y * (X @ w_and_b[:-1] + w_and_b[-1]))
    return 0.5 * w_and_b @ w_and_b + C * short @ short


@WAYS
@pytest.mark.parametrize("C", [0.3, 1.0, 10.0])
def test_it_minimises_the_loss(train, C):
    X, positive, rows = problem(1)
    weights, bias = train(rows, 20, ALL[: positive.shape[1]], positive, C, 1e-3, 2000, np.uint64(5))
    for label in range(3):
        best = minimize(objective, np.zeros(21), args=(X, positive[label], C), method="L-BFGS-B").fun
        assert objective(np.append(weights[label], bias[label]), X, positive[label], C) <= best * 1.001 + 1e-6


@pytest.mark.parametrize("C", [0.3, 1.0, 10.0])
def test_two_labels_side_by_side_minimise_their_losses(C):
    X, positive, rows = problem(8, n_labels=2)
    positive[0] = ~positive[1]
    positive[0, :10] = True  # some documents have both
    weights, bias = solve_one_by_one(rows, 20, ALL[:60], positive, C, 1e-3, 2000, np.uint64(5))
    for label in range(2):
        best = minimize(objective, np.zeros(21), args=(X, positive[label], C), method="L-BFGS-B").fun
        assert objective(np.append(weights[label], bias[label]), X, positive[label], C) <= best * 1.001 + 1e-6


@WAYS
def test_a_loose_tolerance_is_good_enough_for_ranking(train):
    X, positive, rows = problem(2, n_documents=300)
    weights, bias = train(rows, 20, ALL[: positive.shape[1]], positive, 1.0, 0.1, 200, np.uint64(5))
    for label in (1, 2):
        best = minimize(objective, np.zeros(21), args=(X, positive[label], 1.0), method="L-BFGS-B").fun
        assert objective(np.append(weights[label], bias[label]), X, positive[label], 1.0) <= best * 1.05


@WAYS
def test_the_same_random_numbers_give_the_same_weights(train):
    _, positive, rows = problem(3)
    a, b = (train(rows, 20, ALL[: positive.shape[1]], positive, 1.0, 0.1, 20, np.uint64(9)) for _ in range(2))
    assert a[0].tobytes() == b[0].tobytes()
    assert a[1].tobytes() == b[1].tobytes()


def test_the_gram_matrix_has_dense_and_sparse_columns():
    X, _, rows = problem(4, n_documents=70, n_features=30)
    shares = (X > 0).mean(axis=0)
    rows_of_rare = sparse.csr_array((X * (shares > 0.5) + X * (np.arange(30) % 7 == 0)).astype(np.float32))
    for matrix in (rows, Rows(rows_of_rare.data, rows_of_rare.indices, rows_of_rare.indptr.astype(np.int64))):
        dense = sparse.csr_array(matrix, shape=(70, 30)).toarray()
        K, scale = compute_gram(matrix, 30, ALL[:70])
        np.testing.assert_allclose(K * scale, dense @ dense.T, atol=0.6 * scale)


def test_rare_features_take_the_sparse_way():
    X = np.zeros((40, 50), np.float32)
    X[np.arange(40), np.arange(40)] = 1
    X[:4, 45] = 2  # a tenth of the documents
    csr = sparse.csr_array(X)
    rows = Rows(csr.data, csr.indices.astype(np.int32), csr.indptr.astype(np.int64))
    K, scale = compute_gram(rows, 50, ALL[:40])
    np.testing.assert_allclose(K * scale, X @ X.T, atol=0.6 * scale)


def test_transposing():
    X, _, rows = problem(5)
    found = sparse.csr_array(transpose_rows(rows, 20, ALL[:60]), shape=(20, 60))
    np.testing.assert_array_equal(found.toarray(), X.T.astype(np.float32))
    assert found.has_sorted_indices


def test_descent_by_inner_products_ends_within_the_tolerance():
    X, positive, rows = problem(6)
    K, scale = compute_gram(rows, 20, ALL[:60])
    curvature = compute_curvatures(rows, ALL[:60], 1.0)
    for tolerance in (0.5, 0.05, 0.005):
        alpha, _ = descend_gram(K, scale, curvature, positive[1], 1.0, tolerance, 1000, np.uint64(3))
        y = np.where(positive[1], 1, -1)
        G = y * (X @ X.T @ (alpha * y) + alpha @ y) - 1 + alpha / 2
        projected = np.where(alpha > 0, G, np.minimum(G, 0))
        assert (alpha >= 0).all()
        assert np.abs(projected).max() <= tolerance


@WAYS
def test_some_documents_are_solved_where_they_are_as_on_a_copy_of_them(train):
    X, positive, rows = problem(7)
    some = np.sort(np.random.default_rng(7).choice(60, 35, replace=False)).astype(np.int32)
    csr = sparse.csr_array(X[some].astype(np.float32))
    copy = Rows(csr.data, csr.indices.astype(np.int32), csr.indptr.astype(np.int64))
    expected = train(copy, 20, ALL[:35], positive[:, some], 1.0, 0.01, 50, np.uint64(3))
    found = train(rows, 20, some, positive[:, some], 1.0, 0.01, 50, np.uint64(3))
    for part, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(part, other)
