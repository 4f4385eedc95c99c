"""Affinities: two solvers that agree, optimality conditions, the closed form of outliers, degenerate label matrices."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from xcwork.errors import ConfigError
from xcwork.methods.landmarks import admm as admm_module
from xcwork.methods.landmarks import affinity as affinity_module
from xcwork.methods.landmarks.admm import AdmmHistory, AdmmSettings, relate_labels_by_admm
from xcwork.methods.landmarks.affinity import count_cooccurrences, find_pure_outliers, reconstruct_labels, relate_labels


def label_matrix(seed: int, n_documents: int = 50, n_labels: int = 11) -> sparse.csr_array:
    """Labels that depend on each other: the later ones mostly follow one of the first four."""
    rng = np.random.default_rng(seed)
    Y = rng.random((n_documents, n_labels)) < 0.3
    for label in range(4, n_labels):
        follows = rng.random(n_documents) < 0.6
        Y[:, label] = np.where(follows, Y[:, label % 4], Y[:, label])
    Y[0] = True  # no label without a document
    assert len(np.unique(Y, axis=1).T) == n_labels  # identical labels would make Z ambiguous
    return sparse.csr_array(Y.astype(np.float32))


def plain_square_root_lasso(A: np.ndarray, y: np.ndarray, alpha: float, skip: int = -1) -> np.ndarray:
    """The kernel's plain twin: coordinate descent over all candidates, s renewed after every sweep."""
    z, s = np.zeros(A.shape[1]), np.linalg.norm(y)
    for _ in range(20_000):
        before = z.copy()
        for j in range(A.shape[1]):
            if j == skip or not A[:, j].any():
                continue
            left = y - A @ z + A[:, j] * z[j]
            c, square = A[:, j] @ left, A[:, j] @ A[:, j]
            z[j] = np.sign(c) * max(abs(c) - s / alpha, 0.0) / square
        renewed = np.linalg.norm(y - A @ z)
        done = np.abs(z - before).max() < 1e-13 and abs(renewed - s) < 1e-13
        s = renewed
        if done:
            break
    return z


binary = st.integers(0, 2**32 - 1).map(
    lambda seed: (np.random.default_rng(seed).random((14, 7)) < 0.35).astype(np.float32)
)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 3.0])
def test_the_kernel_is_its_plain_twin(alpha):
    Y = label_matrix(1)
    dense = Y.toarray().astype(np.float64)
    found = relate_labels(Y, alpha, tolerance=1e-11)
    expected = np.column_stack(
        [plain_square_root_lasso(dense, dense[:, label], alpha, skip=label) for label in range(Y.shape[1])]
    )
    np.testing.assert_allclose(found.Z.toarray(), expected, atol=1e-6)
    np.testing.assert_allclose(found.norms, np.linalg.norm(dense - dense @ expected, axis=0), atol=1e-6)


@pytest.mark.parametrize("alpha", [1.0, 3.0])
@pytest.mark.parametrize("landmarks", [None, np.array([3, 0, 7, 5])], ids=["all", "four"])
def test_both_solvers_agree(alpha, landmarks):
    Y = label_matrix(3)
    by_admm, history = relate_labels_by_admm(Y, alpha, landmarks=landmarks)
    if landmarks is None:
        by_columns = relate_labels(Y, alpha, tolerance=1e-9)
    else:
        by_columns = reconstruct_labels(Y, landmarks, alpha, tolerance=1e-9)
    np.testing.assert_allclose(by_admm.Z.toarray(), by_columns.Z.toarray(), atol=1e-4)
    np.testing.assert_allclose(by_admm.residuals, by_columns.residuals, atol=1e-4)
    assert by_admm.compute_objective(alpha) == pytest.approx(by_columns.compute_objective(alpha), rel=1e-6)
    assert by_columns.Z.nnz > len(landmarks if landmarks is not None else [])
    assert history.primal[-1] < 1e-6
    assert history.dual[-1] < 1e-5


@given(binary, st.sampled_from([0.4, 1.0, 2.5]))
def test_every_column_satisfies_the_optimality_conditions(dense, alpha):
    Y = sparse.csr_array(dense)
    found = relate_labels(Y, alpha, tolerance=1e-10)
    Z, dense = found.Z.toarray(), dense.astype(np.float64)
    assert (np.diag(Z) == 0).all()
    assert (found.gaps <= 1e-10).all()
    for label in np.flatnonzero(dense.any(axis=0)):
        left = dense[:, label] - dense @ Z[:, label]
        norm = np.linalg.norm(left)
        assert norm == pytest.approx(found.norms[label], abs=1e-6)
        if norm < 1e-4:
            continue  # a perfect fit: the norm has no gradient there, the duality gap above is the proof
        slopes = alpha * dense.T @ left / norm
        slopes[label] = 0.0
        assert np.abs(slopes).max() <= 1 + 1e-3
        active = Z[:, label] != 0
        np.testing.assert_allclose(slopes[active], np.sign(Z[active, label]), atol=1e-3)


@given(binary, st.sampled_from([0.4, 1.0, 2.5]))
def test_pure_outliers_are_the_empty_columns(dense, alpha):
    Y = sparse.csr_array(dense)
    landmarks = np.array([1, 4, 5])
    predicted = find_pure_outliers(count_cooccurrences(Y, Y[:, landmarks]), dense.sum(axis=0), alpha)
    found = reconstruct_labels(Y, landmarks, alpha, tolerance=1e-10)
    expected = [not plain_square_root_lasso(dense[:, landmarks], y, alpha).any() for y in dense.T]
    for label in np.setdiff1d(np.flatnonzero(dense.any(axis=0)), landmarks):
        empty = found.Z.indptr[label] == found.Z.indptr[label + 1]
        assert empty == predicted[label] == expected[label]
        assert not empty or found.residuals[label] == 1.0


def test_a_count_decides_who_is_an_outlier():
    # Label 1 has 9 documents and shares 3 with label 0: 3α ≤ √9 exactly up to α = 1.
    Y = np.zeros((12, 2), np.float32)
    Y[:9, 1], Y[6:, 0] = 1, 1
    Y = sparse.csr_array(Y)
    assert find_pure_outliers(count_cooccurrences(Y), np.array([6, 9]), 1.0, np.arange(2))[1]
    assert not find_pure_outliers(count_cooccurrences(Y), np.array([6, 9]), 1.01, np.arange(2))[1]
    assert reconstruct_labels(Y, np.array([0]), 1.0).residuals[1] == 1.0
    assert reconstruct_labels(Y, np.array([0]), 1.5).residuals[1] < 1.0


def test_landmarks_are_exactly_themselves():
    landmarks = np.array([6, 2, 9])
    found = reconstruct_labels(label_matrix(3), landmarks, 1.0)
    np.testing.assert_array_equal(found.Z[:, landmarks].toarray(), np.eye(3))
    assert (found.residuals[landmarks] == 0).all()


def test_identical_and_empty_columns_are_no_trouble():
    dense = label_matrix(4).toarray()
    dense[:, 5] = dense[:, 1]
    dense[:, 8] = dense[:, 2]
    dense[:, 10] = 0
    Y = sparse.csr_array(dense)
    found = relate_labels(Y, 3.0, tolerance=1e-8)
    by_admm, _ = relate_labels_by_admm(Y, 3.0)
    assert np.isfinite(found.Z.data).all()
    # Identical columns make Z ambiguous, but not its value.
    assert found.compute_objective(3.0) == pytest.approx(by_admm.compute_objective(3.0), rel=1e-5)
    np.testing.assert_allclose(found.residuals[[1, 2, 5, 8]], 0.0, atol=1e-5)
    assert found.Z[:, [10]].nnz == found.Z[[10]].nnz == 0
    assert found.residuals[10] == 0.0


def test_labels_of_a_single_document_are_outliers_without_being_looked_at():
    Y = sparse.csr_array(np.array([[1, 1, 0], [0, 1, 1], [0, 1, 1]], np.float32))
    found = relate_labels(Y, 1.0)
    assert found.residuals[0] == 1.0
    assert found.Z[[0]].nnz == 0
    assert found.Z[1, 2] > 0


def test_without_any_usable_label_everything_is_an_outlier():
    found = relate_labels(sparse.csr_array(np.eye(4, dtype=np.float32)), 1.0)
    assert found.Z.nnz == 0
    assert (found.residuals == 1.0).all()


def test_counts_are_counts():
    Y = label_matrix(5)
    dense = Y.toarray()
    np.testing.assert_array_equal(count_cooccurrences(Y).toarray(), dense.T @ dense)
    np.testing.assert_array_equal(count_cooccurrences(Y, Y[:, [2, 4]]).toarray(), dense.T @ dense[:, [2, 4]])


def test_blocks_do_not_change_the_solution(monkeypatch):
    Y = label_matrix(6)
    whole = relate_labels(Y, 1.0)
    monkeypatch.setattr(affinity_module, "LABELS_PER_BLOCK", 5)
    np.testing.assert_array_equal(relate_labels(Y, 1.0).Z.toarray(), whole.Z.toarray())


def test_the_number_of_coefficients_is_bounded(monkeypatch):
    Y = label_matrix(7)
    assert np.diff(relate_labels(Y, 5.0).Z.indptr).max() > 2
    monkeypatch.setattr(affinity_module, "MAX_COEFFICIENTS_PER_LABEL", 2)
    bounded = relate_labels(Y, 5.0)
    assert np.diff(bounded.Z.indptr).max() <= 2
    assert (bounded.residuals <= 1.0).all()


def test_too_many_pairs_are_estimated_from_some_documents(caplog):
    Y = label_matrix(8, n_documents=400)
    pairs = int((np.diff(Y.indptr) ** 2).sum())
    with caplog.at_level(logging.INFO):
        sampled = relate_labels(Y, 1.0, max_pairs=pairs // 2, seed=3)
    assert "affinities come from" in caplog.text
    again, whole = relate_labels(Y, 1.0, max_pairs=pairs // 2, seed=3), relate_labels(Y, 1.0)
    np.testing.assert_array_equal(sampled.Z.toarray(), again.Z.toarray())
    assert 0 < np.abs(sampled.Z.toarray() - whole.Z.toarray()).max() < 0.5
    assert sampled.lengths.max() < whole.lengths.max()


def test_admm_reports_how_it_converges():
    Y = label_matrix(9)
    _, history = relate_labels_by_admm(Y, 1.0)
    assert history.sigma[0] == 0.01
    assert max(history.sigma) == 3.0
    assert history.primal[-1] < 1e-6 < history.primal[0]
    assert history.objective[-1] == pytest.approx(
        relate_labels(Y, 1.0, tolerance=1e-9).compute_objective(1.0), rel=1e-7
    )
    frame = history.to_frame()
    assert list(frame.columns) == ["round", "objective", "primal", "dual", "sigma"]
    assert len(frame) == len(history.sigma)


def test_the_published_schedule_stops_early_and_near():
    Y = label_matrix(9)
    best = relate_labels(Y, 1.0, tolerance=1e-9).compute_objective(1.0)
    published, history = relate_labels_by_admm(Y, 1.0, settings=AdmmSettings(ceiling=None))
    assert history.primal[-1] < 1e-6
    assert history.sigma[-1] == pytest.approx(0.01 * 1.1 ** (len(history.sigma) - 1))
    assert best < published.compute_objective(1.0) < best * 1.01


def test_admm_by_blocks_is_admm(monkeypatch):
    Y = label_matrix(10)
    whole, _ = relate_labels_by_admm(Y, 1.0)
    monkeypatch.setattr(admm_module, "ENTRIES_PER_BLOCK", 5 * Y.shape[0])
    parts, history = relate_labels_by_admm(Y, 1.0)
    np.testing.assert_allclose(parts.Z.toarray(), whole.Z.toarray(), atol=1e-5)
    assert history.objective[-1] == pytest.approx(whole.compute_objective(1.0), rel=1e-7)


def test_admm_refuses_what_is_too_large_with_a_way_out(monkeypatch):
    monkeypatch.setattr(admm_module, "MAX_DENSE_ENTRIES", 100)
    with pytest.raises(ConfigError, match="solver=square_root_lasso"):
        relate_labels_by_admm(label_matrix(10), 1.0)


def test_histories_of_blocks_add_up():
    short, long = AdmmHistory(), AdmmHistory()
    short.add(10.0, 0.5, 0.4, 1.0)
    long.add(1.0, 0.1, 0.9, 1.0)
    long.add(0.5, 0.05, 0.2, 1.1)
    merged = AdmmHistory.from_blocks([short, long])
    assert merged.objective == [11.0, 10.5]
    assert merged.primal == [0.5, 0.5]
    assert merged.dual == [0.9, 0.4]
