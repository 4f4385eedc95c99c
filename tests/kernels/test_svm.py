"""The support vector machine kernels against plain twins and against scikit-learn's solver."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from xcwork.kernels import svm
from xcwork.sparse import Rows

N, D = 120, 30


def problem(seed: int = 0, n_labels: int = 3):
    """Random documents, labels that depend on them, and a block that starts from nothing."""
    rng = np.random.default_rng(seed)
    X = sparse.random_array((N, D), density=0.3, rng=rng, dtype=np.float32).tocsr()
    X.data -= 0.2
    scores = X @ rng.normal(size=(D, n_labels)) + 0.3 * rng.normal(size=(N, n_labels))
    positive = np.ascontiguousarray((scores > np.quantile(scores, 0.8, axis=0)).T)
    rows = Rows(X.data, X.indices.astype(np.int32), X.indptr.astype(np.int64))
    block = svm.LabelBlock(
        np.zeros((n_labels, D), np.float32),
        np.zeros(n_labels, np.float32),
        np.zeros((n_labels, N), np.float32),
        positive,
        np.zeros((n_labels, N), np.float32),
        np.arange(1, n_labels + 1, dtype=np.uint64),
        np.arange(N, dtype=np.int32),
    )
    return X.toarray().astype(np.float64), rows, block


def curvature_of(X: np.ndarray, C: float) -> np.ndarray:
    return (np.square(X).sum(axis=1) + 1 + 0.5 / C).astype(np.float32)


def signs(block: svm.LabelBlock) -> np.ndarray:
    return np.where(block.positive, 1.0, -1.0)


def projected_gradients(X: np.ndarray, block: svm.LabelBlock, C: float) -> np.ndarray:
    """The plain twin of the optimality check, (n_labels, n_documents)."""
    margins = block.weights @ X.T + block.bias[:, None]
    G = signs(block) * margins - 1 + block.alpha / (2 * C)
    return np.where(block.alpha > 0, G, np.minimum(G, 0))


def primal(X: np.ndarray, y: np.ndarray, w: np.ndarray, b: float, C: float) -> float:
    return 0.5 * (w @ w + b * b) + C * np.square(np.maximum(0, 1 - y * (X @ w + b))).sum()


def solve(rows, curvature, block, C, tolerance, rounds=500):
    live = np.arange(len(block.bias))
    for _ in range(rounds):
        svm.compute_margins(rows, np.ascontiguousarray(block.weights[live].T), block, live)
        worst = np.empty(len(live), np.float32)
        svm.improve_labels(rows, curvature, block, live, C, tolerance, 5, worst)
        live = live[worst > tolerance]
        if len(live) == 0:
            return
    raise AssertionError("no convergence")


def test_margins_are_the_product():
    X, rows, block = problem()
    rng = np.random.default_rng(1)
    block.weights[:], block.bias[:] = rng.normal(size=(3, D)), rng.normal(size=3)
    live = np.array([2, 0])
    svm.compute_margins(rows, np.ascontiguousarray(block.weights[live].T), block, live)
    expected = block.weights @ X.T + block.bias[:, None]
    np.testing.assert_allclose(block.margins[live], expected[live], rtol=1e-4, atol=1e-5)
    assert (block.margins[1] == 0).all()


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_every_document_ends_within_the_tolerance(C):
    X, rows, block = problem()
    solve(rows, curvature_of(X, C), block, C, 0.01)
    assert np.abs(projected_gradients(X, block, C)).max() <= 0.01 + 1e-4
    # w and b are the sums that define them, so nothing was lost on the way.
    np.testing.assert_allclose(block.weights, (signs(block) * block.alpha) @ X, atol=1e-4)
    np.testing.assert_allclose(block.bias, (signs(block) * block.alpha).sum(axis=1), atol=1e-4)


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_the_solution_is_that_of_scikit_learn(C):
    from sklearn.svm import LinearSVC

    X, rows, block = problem()
    solve(rows, curvature_of(X, C), block, C, 1e-4)
    for label in range(3):
        y = signs(block)[label]
        oracle = LinearSVC(C=C, loss="squared_hinge", tol=1e-9, max_iter=200_000, random_state=0).fit(X, y)
        np.testing.assert_allclose(block.weights[label], oracle.coef_[0], atol=2e-3)
        ours = primal(X, y, block.weights[label].astype(np.float64), float(block.bias[label]), C)
        assert ours == pytest.approx(primal(X, y, oracle.coef_[0], oracle.intercept_[0], C), rel=1e-5)


def test_a_finished_label_is_left_alone():
    X, rows, block = problem()
    solve(rows, curvature_of(X, 1.0), block, 1.0, 0.01)
    before = [part.copy() for part in block]
    worst = np.empty(3, np.float32)
    svm.improve_labels(rows, curvature_of(X, 1.0), block, np.arange(3), 1.0, 0.01, 5, worst)
    assert (worst <= 0.01).all()
    for part, old in zip(block, before, strict=True):
        np.testing.assert_array_equal(part, old)


def test_turning_documents_positive_keeps_the_sums():
    X, rows, block = problem()
    block.positive[:] = False
    block.alpha[:] = np.random.default_rng(0).random((3, N)) * (np.arange(N) % 2)
    block.weights[:], block.bias[:] = -block.alpha @ X, -block.alpha.sum(axis=1)
    svm.turn_positive(rows, block, 1, np.array([3, 4, 7], np.int32))
    assert np.flatnonzero(block.positive[1]).tolist() == [3, 4, 7]
    assert (block.alpha[1, [3, 4, 7]] == 0).all()
    np.testing.assert_allclose(block.weights, -block.alpha @ X, atol=1e-5)
    np.testing.assert_allclose(block.bias, -block.alpha.sum(axis=1), rtol=1e-5)
    assert not block.positive[[0, 2]].any()


def test_the_working_set_is_support_positives_and_the_worst_violators(monkeypatch):
    rng = np.random.default_rng(2)
    n = 3 * svm.MAX_EXTRA_VIOLATORS
    alpha, positive = np.zeros(n, np.float32), np.zeros(n, bool)
    alpha[:10], positive[5:20] = 0.5, True
    projected = -rng.random(n).astype(np.float32)
    chosen = svm.choose_working_set(alpha, positive, projected, np.float32(0.25))
    others = np.flatnonzero((projected < -0.25) & (np.arange(n) >= 20))
    worst = others[np.argsort(projected[others])][: svm.MAX_EXTRA_VIOLATORS + 20]
    assert len(others) > len(worst)
    assert sorted(chosen.tolist()) == sorted([*range(20), *worst.tolist()])


def test_the_result_does_not_depend_on_threads():
    import numba

    results = []
    for threads in {1, numba.config.NUMBA_NUM_THREADS}:
        X, rows, block = problem()
        numba.set_num_threads(threads)
        solve(rows, curvature_of(X, 1.0), block, 1.0, 0.01)
        results.append((block.weights.tobytes(), block.bias.tobytes()))
    numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
    assert len(set(results)) == 1
