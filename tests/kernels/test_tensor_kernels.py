"""Tensor kernels against the compiled kernels and numpy, on odd data: empty rows, ties, duplicates, no positives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from scipy import sparse

from tests.support.emulated_accelerator import emulate
from xcwork.core.topk import TopK
from xcwork.kernels import svm_batch, tree_training
from xcwork.kernels.bilinear_training import LabelledPairs
from xcwork.kernels.tensor_machines import (
    Documents,
    MachineSettings,
    OwnDocuments,
    SharedDocuments,
    compute_gram,
    compute_objectives,
    solve_machines,
)
from xcwork.kernels.tensor_preconditioners import (
    Preconditioner,
    make_preconditioner,
)
from xcwork.kernels.tensor_rows import TensorRows, cut_by_size, multiply_sparse
from xcwork.kernels.tensor_search import TensorVectors
from xcwork.kernels.tensor_topk import find_top_k
from xcwork.kernels.tensor_trees import cluster_sets
from xcwork.methods.common.linear_machines import TensorPairSolver, append_ones, keep_largest_weights
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
@pytest.mark.parametrize("is_preconditioned", [True, False])
def test_machines_have_the_objective_of_the_compiled_kernel(
    seed: int, C: float, with_gram: bool, is_preconditioned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xcwork.kernels.machine_sizes.MAX_GRAM_DOCUMENTS", 90 if with_gram else 89)
    monkeypatch.setattr("xcwork.kernels.machine_sizes.MIN_DOCUMENTS_FOR_INVERSE", 90)
    monkeypatch.setattr("xcwork.kernels.tensor_machines.MAX_DENSE_NUMBERS", 61 * 40)  # K in three parts
    X, positive = make_machines(seed)
    rows = TensorRows.from_csr(append_ones(X), CPU)
    signs = torch.from_numpy(np.where(positive.T, 1, -1).astype(np.float32))
    documents = Documents.from_rows(rows, 7 if is_preconditioned else 3, C)
    assert (documents.gram is not None) == with_gram
    assert (documents.preconditioner is not None) == (with_gram and is_preconditioned)
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
    np.testing.assert_allclose(weights[:60], w.T, atol=1e-3)
    np.testing.assert_allclose(weights[:, 1], weights[:, 6], atol=1e-3)  # labels with the same documents


def test_a_label_that_is_solved_does_not_move() -> None:
    X, positive = make_machines(0)
    rows = TensorRows.from_csr(append_ones(X), CPU)
    signs = torch.from_numpy(np.where(positive.T, 1, -1).astype(np.float32))
    machines = SharedDocuments(Documents.from_rows(rows, 7, 1.0), signs)
    settings = MachineSettings(1.0, 1e-2)
    solved, _ = solve_machines(machines, torch.zeros((90, 7)), settings)
    again, _ = solve_machines(machines, solved, settings)
    assert torch.equal(again, solved)


def test_a_preconditioner_saves_products_and_changes_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    topics = random.integers(0, 20, 300)  # documents of a topic share most of their words, as texts do
    dense = (random.random((300, 400)) < 0.05) + 3.0 * (random.random((20, 400)) < 0.1)[topics]
    rows = TensorRows.from_csr(append_ones(normalise_rows(sparse.csr_array(dense.astype(np.float32)))), CPU)
    signs = torch.from_numpy(np.where((topics[:, None] == np.arange(20)) & (random.random((300, 20)) < 0.8), 1, -1))
    n_products = 0

    def count(call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*given: Any) -> Any:
            nonlocal n_products
            n_products += 1
            return call(*given)

        return counted

    monkeypatch.setattr(Documents, "multiply", count(Documents.multiply))
    monkeypatch.setattr(Preconditioner, "apply", count(Preconditioner.apply))
    found = []
    for n_labels in (10, 300):
        n_products = 0
        machines = SharedDocuments(Documents.from_rows(rows, n_labels, 1.0), signs.to(torch.float32))
        coefficients, n_left = solve_machines(machines, torch.zeros((300, 20)), MachineSettings(1.0, 1e-2))
        assert n_left == 0
        weights = machines.collect(coefficients)
        found.append((n_products, compute_objectives(machines, weights, MachineSettings(1.0, 1e-2))))
    assert found[1][0] < 0.8 * found[0][0]
    np.testing.assert_allclose(found[1][1], found[0][1], rtol=1e-4)


@pytest.mark.parametrize("float64", [True, False])
def test_machines_with_a_preconditioner_are_the_same_on_a_device(
    float64: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xcwork.kernels.machine_sizes.MIN_DOCUMENTS_FOR_INVERSE", 90)
    X, positive = make_machines(0)
    settings = MachineSettings(1.0, 1e-3)

    def solve(place: torch.device) -> torch.Tensor:
        documents = Documents.from_rows(TensorRows.from_csr(append_ones(X), place), 7, 1.0)
        assert documents.preconditioner is not None
        machines = SharedDocuments(
            documents, torch.from_numpy(np.where(positive.T, 1, -1).astype(np.float32)).to(place)
        )
        coefficients, n_left = solve_machines(machines, torch.zeros((90, 7)).to(place), settings)
        assert n_left == 0
        return machines.collect(coefficients).cpu()

    with emulate(float64=float64):
        found = solve(torch.device("emu"))
    np.testing.assert_allclose(found, solve(CPU), atol=1e-4)


def test_a_device_without_memory_for_a_preconditioner_does_without(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xcwork.kernels.machine_sizes.MIN_DOCUMENTS_FOR_INVERSE", 90)
    X, _ = make_machines(0)
    caplog.set_level("INFO", "xcwork.kernels.tensor_preconditioners")
    with emulate() as traffic:
        compute_gram(TensorRows.from_csr(append_ones(X), torch.device("emu")))
    with emulate(memory=traffic.peak_bytes):
        rows = TensorRows.from_csr(append_ones(X), torch.device("emu"))
        gram = compute_gram(rows)
        assert make_preconditioner(gram, 90, 1.0) is None
    assert "no memory for a preconditioner" in caplog.text


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


@pytest.mark.parametrize("logistic", [False, True])
def test_labels_with_documents_of_their_own_are_left_out_once_they_are_done(
    logistic: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = normalise_rows(make_matrix(60, 40, 1))
    random = np.random.default_rng(0)
    has = random.random((12, 60)) < np.linspace(0.05, 1, 12)[:, None]
    signs = sparse.csr_array(np.where(has, np.where(random.random((12, 60)) < 0.2, 1, -1), 0))
    offsets = random.normal(size=signs.nnz).astype(np.float32) * np.repeat(np.linspace(0, 3, 12), np.diff(signs.indptr))
    pairs = LabelledPairs(to_rows(signs.astype(np.float32), None), offsets.astype(np.float32))
    settings = MachineSettings(5.0, 1e-3, logistic)
    found = []
    sizes: list[int] = []
    narrow = OwnDocuments.narrow
    monkeypatch.setattr(OwnDocuments, "narrow", lambda self, labels: sizes.append(len(labels)) or narrow(self, labels))
    for share in (0.0, 0.9):
        monkeypatch.setattr(OwnDocuments, "max_narrowed_share", share)
        solver = TensorPairSolver.from_pairs(X, pairs, settings, CPU, prune=0.0, max_weights=100)
        weights, bias = solver.solve(np.arange(12))
        found.append(np.column_stack([weights.toarray(), bias]))
    assert sizes
    np.testing.assert_allclose(found[1], found[0], atol=1e-4)
