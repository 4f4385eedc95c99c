"""Tensor kernels against the compiled kernels and numpy, on odd data: empty rows, ties, duplicates, no positives."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from xcwork.core.topk import TopK
from xcwork.kernels import svm_batch, tree_training
from xcwork.kernels.tensor_machines import (
    Documents,
    MachineSettings,
    SharedDocuments,
    compute_objectives,
    solve_machines,
)
from xcwork.kernels.tensor_rows import TensorRows, cut_by_size, multiply_sparse
from xcwork.kernels.tensor_search import TensorVectors
from xcwork.kernels.tensor_topk import find_top_k
from xcwork.kernels.tensor_trees import cluster_sets
from xcwork.methods.common.linear_machines import append_ones, keep_largest_weights
from xcwork.search import ExactIndex, TermSearch, top_k_product, top_k_rows
from xcwork.sparse import fill_with_ones, normalise_rows, to_rows

CPU = torch.device("cpu")


def make_matrix(n_rows: int, n_columns: int, seed: int, *, share: float = 0.1, signed: bool = False):
    """Return random rows of few different values, some of them empty and some twice."""
    random = np.random.default_rng(seed)
    values = random.integers(1, 5, (n_rows, n_columns)) * (random.random((n_rows, n_columns)) < share)
    if signed:
        values = values * random.choice([-1, 1], values.shape)
    values[:: max(2, n_rows // 4)] = 0
    values[n_rows // 2] = values[n_rows // 2 - 1]
    return sparse.csr_array(values.astype(np.float32))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("k", [1, 3, 40])
def test_the_best_of_rows_with_ties_are_those_of_the_kernel(seed: int, k: int) -> None:
    random = np.random.default_rng(seed)
    scores = random.integers(-2, 3, (30, 17)).astype(np.float32)
    scores[random.random(scores.shape) < 0.3] = [-np.inf, np.nan][seed % 2]
    scores[scores == 0] = np.where(random.random((scores == 0).sum()) < 0.5, 0.0, -0.0)
    scores[3] = -np.inf
    ids, best = find_top_k(torch.from_numpy(scores), k)
    expected = top_k_rows(scores, k)
    np.testing.assert_array_equal(ids.numpy(), expected.ids)
    np.testing.assert_array_equal(best.numpy(), expected.scores)


@pytest.mark.parametrize("signed", [False, True])
def test_sparse_products_and_transposes(signed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xcwork.kernels.tensor_rows.MAX_LISTED_ENTRIES", 50)  # several steps
    A, B = make_matrix(20, 30, 0, signed=signed), make_matrix(30, 25, 1, signed=signed)
    rows, terms = TensorRows.from_csr(A, CPU), TensorRows.from_csr(B, CPU)
    dense = torch.from_numpy(B.toarray())
    np.testing.assert_array_equal((rows @ dense).numpy(), A @ B.toarray())
    np.testing.assert_array_equal((rows.transpose() @ torch.from_numpy(A.toarray())).numpy(), A.T @ A.toarray())
    total = torch.zeros((20, 25))
    met = multiply_sparse(rows, np.diff(B.indptr)[A.indices], terms, total)
    np.testing.assert_array_equal(total.numpy(), (A @ B).toarray())
    np.testing.assert_array_equal(met.numpy(), (fill_with_ones(A) @ fill_with_ones(B)).toarray() > 0)
    some = torch.tensor([5, 0, 5, 19])
    taken = rows.take(some, int(np.diff(A.indptr)[some.numpy()].sum()))
    np.testing.assert_array_equal((taken @ torch.eye(30)).numpy(), A[some.numpy()].toarray())
    nothing = TensorRows.from_csr(sparse.csr_array((3, 30), dtype=np.float32), CPU)
    assert not (nothing @ dense).any()


def test_stretches_of_rows_are_complete_and_small() -> None:
    sizes = np.array([5, 1, 0, 9, 30, 2, 2, 2])
    parts = cut_by_size(sizes, 10, 3)
    assert [row for part in parts for row in range(part.start, part.stop)] == list(range(8))
    assert all(part.stop - part.start == 1 or sizes[part].sum() <= 10 for part in parts)
    assert max(part.stop - part.start for part in parts) <= 3


def make_machines(seed: int):
    """Return documents, and labels with no positive, one, a few, half, nearly all and all documents."""
    random = np.random.default_rng(seed)
    X = normalise_rows(make_matrix(90, 60, seed))
    positive = np.zeros((7, 90), bool)
    for label, n in enumerate([0, 1, 3, 45, 88, 90, 1]):
        positive[label, random.choice(90, n, replace=False)] = True
    positive[6] = positive[1]
    return X, positive


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("with_gram", [True, False])
def test_machines_have_the_objective_of_the_compiled_kernel(
    seed: int, C: float, with_gram: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xcwork.kernels.machine_sizes.MAX_GRAM_DOCUMENTS", 90 if with_gram else 89)
    monkeypatch.setattr("xcwork.kernels.tensor_machines.MAX_DENSE_NUMBERS", 61 * 40)  # K in three parts
    X, positive = make_machines(seed)
    rows = TensorRows.from_csr(append_ones(X), CPU)
    signs = torch.from_numpy(np.where(positive.T, 1, -1).astype(np.float32))
    documents = Documents.from_rows(rows)
    assert (documents.gram is not None) == with_gram
    machines = SharedDocuments(documents, signs)
    settings = MachineSettings(C, 1e-3)
    coefficients, n_left = solve_machines(machines, torch.zeros((90, 7)), settings)
    weights = machines.collect(coefficients)
    w, b = svm_batch.solve_from_negatives(
        to_rows(X), 60, np.arange(X.shape[0], dtype=np.int32), positive, C, 1e-4, 1000, np.uint64(1)
    )
    expected = compute_objectives(machines, torch.from_numpy(np.vstack([w.T, b[None]])), settings)
    assert n_left == 0
    np.testing.assert_allclose(compute_objectives(machines, weights, settings), expected, rtol=1e-4)
    np.testing.assert_allclose(weights[:60], w.T, atol=5e-3)
    np.testing.assert_allclose(weights[:, 1], weights[:, 6], atol=1e-3)  # labels with the same documents


def test_a_label_that_is_solved_does_not_move() -> None:
    X, positive = make_machines(0)
    rows = TensorRows.from_csr(append_ones(X), CPU)
    signs = torch.from_numpy(np.where(positive.T, 1, -1).astype(np.float32))
    machines = SharedDocuments(Documents.from_rows(rows), signs)
    settings = MachineSettings(1.0, 1e-2)
    solved, _ = solve_machines(machines, torch.zeros((90, 7)), settings)
    again, _ = solve_machines(machines, solved, settings)
    assert torch.equal(again, solved)


def test_the_largest_weights_stay_and_equal_ones_by_column() -> None:
    rows = sparse.csr_array(np.array([[1, -3, 2, 2, 0], [0, 0, 1, 0, 0], [5, 5, 5, 5, 5]], np.float32))
    kept = keep_largest_weights(rows, 2)
    assert kept.toarray().tolist() == [[0, -3, 2, 0, 0], [0, 0, 1, 0, 0], [5, 5, 0, 0, 0]]


@pytest.mark.parametrize(("balanced", "k"), [(True, 2), (False, 3)])
def test_clusters_are_those_of_the_compiled_kernel(balanced: bool, k: int) -> None:
    random = np.random.default_rng(5)
    rows = normalise_rows(
        sparse.csr_array((random.random((60, 40)) * (random.random((60, 40)) < 0.2)).astype(np.float32))
    )
    sets = [np.arange(0, 23), np.arange(23, 60), np.array([4, 9, 50]), np.array([7, 8])]
    starts = [random.choice(len(members), min(k, len(members)), replace=False) for members in sets]
    found = cluster_sets(
        TensorRows.from_csr(rows, CPU), sets, starts, balanced=balanced, least_gain=1e-4, max_rounds=100
    )
    for members, start, clusters in zip(sets, starts, found, strict=True):
        expected = tree_training.cluster_rows(
            to_rows(rows), 40, members, start, balanced and len(start) == 2, 1e-4, 100
        )
        np.testing.assert_array_equal(clusters, expected)


@pytest.mark.parametrize("with_start", [False, True])
@pytest.mark.parametrize("among", [None, np.array([0, 3, 4, 11])])
def test_term_search_is_the_product_of_the_kernel(with_start: bool, among: np.ndarray | None) -> None:
    from xcwork.compute.device import compute_with_torch

    X, terms = make_matrix(25, 30, 2), make_matrix(30, 12, 3)
    start = None
    if with_start:
        start = np.array([0, 1, np.nan, 0, 0, 2, 0, 0, 1, 0, 0, 0], np.float32)
    expected = top_k_product(X, terms, 5, start=start, among=among)
    with compute_with_torch():
        assert_same(TermSearch(terms, start).find(X, 5, among=among), expected)
        assert TermSearch(terms, start).find(X[:0], 5).ids.shape == (0, 5)
    assert_same(TermSearch(terms, start).find(X, 5, among=among), expected)


@pytest.mark.parametrize("precision", ["float32", "float16", "bfloat16"])
def test_exact_search_is_exact_in_any_precision(precision: str) -> None:
    from xcwork.compute.device import compute_with_torch

    random = np.random.default_rng(0)
    vectors = random.normal(size=(400, 8)).astype(np.float32)
    vectors[200:220] = vectors[:20]  # equal ones
    vectors[300:400] = vectors[300] + 1e-4 * random.normal(size=(100, 8))  # too near for half precision
    queries = np.vstack([vectors[:5], vectors[300:303], random.normal(size=(6, 8))]).astype(np.float32)
    index = ExactIndex(precision=precision).build(vectors)
    with compute_with_torch():
        for among in (None, np.arange(100, 400)):
            found = index.query(queries, 7, among=among)
            expected = ExactIndex().build(vectors).query(queries, 7, among=among)
            np.testing.assert_allclose(found.scores, expected.scores, atol=1e-6)
            apart = np.abs(np.diff(expected.scores, axis=1)).min(axis=1) > 1e-6
            np.testing.assert_array_equal(found.ids[apart], expected.ids[apart])


def test_equal_vectors_are_found_by_id() -> None:
    vectors = torch.ones((300, 4))
    for precision in (torch.float32, torch.float16):
        ids, _ = TensorVectors(vectors, precision).search(torch.ones((2, 4)), 5)
        assert ids.tolist() == [[0, 1, 2, 3, 4]] * 2


def assert_same(found: TopK, expected: TopK) -> None:
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-6)
