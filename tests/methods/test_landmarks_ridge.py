"""Ridge in all its forms against the normal equations, and the kernels below it against numpy."""

from __future__ import annotations

import logging

import numpy as np
import pytest
import torch
from scipy import sparse

from xcwork.kernels.dense_products import compute_sparse_gram, keep_largest_of_columns, multiply_sparse_by_dense
from xcwork.methods.common.sparse_torch import SparseProduct
from xcwork.methods.landmarks import ridge as ridge_module
from xcwork.methods.landmarks.predictors import Regressors, append_bias, count_kept_weights, keep_largest
from xcwork.methods.landmarks.ridge import Ridge

pytestmark = pytest.mark.slow


def problem(n_documents: int, n_features: int, n_labels: int = 9, seed: int = 0) -> tuple[sparse.csr_array, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = (rng.random((n_documents, n_features)) * (rng.random((n_documents, n_features)) < 0.3)).astype(np.float32)
    X[2] = 0
    X[5] = X[4]
    Y = (rng.random((n_documents, n_labels)) < 0.25).astype(np.float64)
    Y[:, 3] = 0
    return append_bias(sparse.csr_array(X)), Y


def normal_equations(X: sparse.csr_array, Y: np.ndarray, strength: float) -> np.ndarray:
    dense = X.toarray().astype(np.float64)
    return np.linalg.solve(dense.T @ dense + strength * np.eye(dense.shape[1]), dense.T @ Y)


WIDE, TALL = (30, 70), (90, 20)


@pytest.mark.parametrize("shape", [WIDE, TALL], ids=["dual", "primal"])
@pytest.mark.parametrize("kernel", [True, False], ids=["kernel", "torch"])
@pytest.mark.parametrize("n_labels", [9, 1000], ids=["factor", "inverse"])
@pytest.mark.parametrize("strength", [0.1, 1.0])
def test_cholesky_solves_the_normal_equations(shape, kernel, n_labels, strength):
    X, Y = problem(*shape)
    system = Ridge(X, strength, n_labels, solver="cholesky", kernel=kernel)
    weights, errors = system.solve(sparse.csc_array(Y))
    expected = normal_equations(X, Y, strength)
    np.testing.assert_allclose(weights, expected, atol=1e-10)
    np.testing.assert_allclose(errors, np.square(Y - X @ expected).sum(axis=0), atol=1e-9)
    assert system.dual == (shape == WIDE)


@pytest.mark.parametrize("shape", [WIDE, TALL], ids=["dual", "primal"])
@pytest.mark.parametrize("kernel", [True, False], ids=["kernel", "torch"])
def test_conjugate_gradients_agree_with_cholesky(shape, kernel):
    X, Y = problem(*shape)
    expected = normal_equations(X, Y, 1.0)
    exact, errors = Ridge(X, 1.0, 9, solver="cg", tolerance=1e-10, kernel=kernel).solve(sparse.csc_array(Y))
    np.testing.assert_allclose(exact, expected, atol=1e-8)
    np.testing.assert_allclose(errors, np.square(Y - X @ expected).sum(axis=0), atol=1e-8)
    usual, errors = Ridge(X, 1.0, 9, solver="cg", tolerance=0.03, kernel=kernel).solve(sparse.csc_array(Y))
    assert usual.dtype == np.float32
    assert np.abs(usual - expected).max() < 0.03 * np.abs(expected).max()
    np.testing.assert_allclose(errors, np.square(Y - X @ usual).sum(axis=0), rtol=1e-3)  # of what was found


@pytest.mark.parametrize("tolerance", [0.1, 1e-6])
def test_both_sparse_products_give_the_same_weights(tolerance):
    X, Y = problem(200, 300, seed=4)
    by_kernel, by_torch = (
        Ridge(X, 1.0, 9, solver="cg", tolerance=tolerance, kernel=kernel, seed=1).solve(sparse.csc_array(Y))[0]
        for kernel in (True, False)
    )
    np.testing.assert_allclose(by_kernel, by_torch, atol=1e-5)


def test_deflation_saves_rounds(monkeypatch):
    X, Y = problem(400, 60, seed=2)
    rounds = []
    times = Ridge._apply_M
    monkeypatch.setattr(Ridge, "_apply_M", lambda self, P: rounds.append(1) or times(self, P))
    spent = {}
    for rank in (0, 6):
        monkeypatch.setattr(ridge_module, "MAX_DEFLATED_EIGENVALUES", rank)
        system = Ridge(X, 0.1, 9, solver="cg", tolerance=1e-6)
        rounds.clear()
        weights, _ = system.solve(sparse.csc_array(Y))
        spent[rank] = len(rounds)
        np.testing.assert_allclose(weights, normal_equations(X, Y, 0.1), atol=1e-4)
    assert spent[6] < spent[0]


def test_running_out_of_rounds_is_said(monkeypatch, caplog):
    X, Y = problem(60, 40)
    monkeypatch.setattr(ridge_module, "MAX_ROUNDS", 1)
    with caplog.at_level(logging.WARNING):
        Ridge(X, 1e-3, 9, solver="cg", tolerance=1e-9).solve(sparse.csc_array(Y))
    assert "conjugate gradients stopped after 1 rounds" in caplog.text


def test_the_solver_is_chosen_by_size(monkeypatch):
    X, _ = problem(60, 40)
    assert Ridge(X, 1.0, 9).solver == "cholesky"
    monkeypatch.setattr(ridge_module, "MAX_DENSE_UNKNOWNS", 30)
    assert Ridge(X, 1.0, 9).solver == "cg"
    # 15,000 unknowns fit, but for a hundred labels of very sparse documents iterating is less work.
    rows, columns = np.arange(15_000), np.arange(15_000) % 20_000
    thin = sparse.csr_array((np.ones(15_000, np.float32), (rows, columns)), shape=(15_000, 20_000))
    monkeypatch.setattr(ridge_module, "MAX_DENSE_UNKNOWNS", 16_000)
    assert ridge_module.choose_solver(thin.shape, thin.nnz, 100) == "cg"
    assert ridge_module.choose_solver((2_000, thin.shape[1]), thin[:2_000].nnz, 100) == "cholesky"


def test_a_label_without_documents_has_zero_weights():
    X, Y = problem(*WIDE)
    for solver in ("cholesky", "cg"):
        weights, errors = Ridge(X, 1.0, 9, solver=solver).solve(sparse.csc_array(Y))
        assert not weights[:, 3].any()
        assert errors[3] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernels_are_products(dtype):
    rng = np.random.default_rng(1)
    A = sparse.csr_array((rng.random((13, 21)) * (rng.random((13, 21)) < 0.4)).astype(dtype))
    At = sparse.csr_array(A.T)
    dense = rng.random((21, 6)).astype(dtype)
    out = np.empty((13, 6), dtype)
    multiply_sparse_by_dense(A.data, A.indices, A.indptr, dense, out)
    np.testing.assert_allclose(out, A.toarray() @ dense, rtol=1e-5)
    gram = np.empty((13, 13), dtype)
    compute_sparse_gram(A.data, A.indices, A.indptr, At.data, At.indices, At.indptr, gram)
    np.testing.assert_allclose(gram, A.toarray() @ A.toarray().T, rtol=1e-5)
    product = SparseProduct(
        A, {np.float32: torch.float32, np.float64: torch.float64}[dtype], torch.device("cpu"), kernel=False
    )
    np.testing.assert_allclose((product @ torch.from_numpy(dense)).numpy(), out, rtol=1e-5)


@pytest.mark.parametrize("keep", [1, 4, 39])
def test_the_largest_weights_stay(keep):
    columns = np.random.default_rng(3).standard_normal((40, 21)).astype(np.float32)
    expected = np.zeros_like(columns)
    for label in range(21):
        best = np.argsort(-np.abs(columns[:, label]))[:keep]
        expected[best, label] = columns[best, label]
    np.testing.assert_array_equal(keep_largest(columns, keep).toarray(), expected.T)
    ids, values = np.empty((21, keep), np.int32), np.empty((21, keep), np.float32)
    keep_largest_of_columns(columns, ids, values)
    assert (np.diff(ids, axis=1) > 0).all()
    np.testing.assert_array_equal(keep_largest(columns, 40).toarray(), columns.T)


def test_small_weights_go_only_where_not_all_stay():
    columns = np.array([[0.5, 0.004], [-0.02, -0.3], [0.009, 0.0], [0.1, 0.01]])
    kept = keep_largest(columns, 3, 0.01)
    np.testing.assert_array_equal(
        kept.toarray(), np.array([[0.5, -0.02, 0.0, 0.1], [0.0, -0.3, 0.0, 0.01]], np.float32)
    )
    assert kept.nnz == 5
    assert kept.indices.dtype == kept.indptr.dtype == np.int32  # half the file of what scipy would choose
    np.testing.assert_array_equal(keep_largest(columns, 4, 0.01).toarray(), columns.T)


def test_how_many_weights_fit():
    assert count_kept_weights(1_000, 10, None) == 1_000
    assert count_kept_weights(100_000, 100_000, None) == 160
    assert count_kept_weights(100_000, 10, 50) == 50


def test_r2_is_the_share_of_variance_explained():
    X, Y = problem(*TALL)
    weights, errors = Ridge(X, 1.0, 9).solve(sparse.csc_array(Y))
    present = np.flatnonzero(Y.any(axis=0))
    found = Regressors(present, sparse.csr_array(weights.T)[present], errors[present]).compute_r2(Y.sum(axis=0), len(Y))
    variance = np.square(Y - Y.mean(axis=0)).sum(axis=0)
    expected = 1 - np.square(Y - X @ weights).sum(axis=0) / np.where(variance > 0, variance, 1)
    np.testing.assert_allclose(found[present], expected[present], atol=1e-9)
    assert found[3] == 0.0
    assert (found[present] > 0).all()


def test_a_label_of_every_document_has_no_variance_to_explain():
    found = Regressors(np.array([0]), sparse.csr_array((1, 3)), np.array([0.5])).compute_r2(np.array([7]), 7)
    assert found.tolist() == [0.0]
