"""The best sums over a grid against the grid itself, and steps on rows of a table against plain arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from xcwork.kernels.best_sums import find_grid_top_k
from xcwork.kernels.row_sgd import EPSILON
from xcwork.methods.multihead.codes import MixedRadix
from xcwork.methods.multihead.row_table import RowBags, RowTable, descend_numba, descend_torch


def best_by_kernel(heads, label_of, k):
    lengths = tuple(part.shape[1] for part in heads)
    order = [np.argsort(-part, axis=1, kind="stable") for part in heads]
    values = np.hstack([np.take_along_axis(part, at, 1) for part, at in zip(heads, order, strict=True)])
    ids, sums = np.full((len(values), k), -1, np.int32), np.full((len(values), k), -np.inf)
    places = MixedRadix(lengths, len(label_of)).places
    find_grid_top_k(values, np.hstack(order), np.cumsum([0, *lengths]), places, label_of, ids, sums)
    return ids, sums


def best_by_brute_force(heads, label_of, k):
    digits = MixedRadix(tuple(part.shape[1] for part in heads), len(label_of)).split_codes(np.arange(len(label_of)))
    rows = []
    for row in range(len(heads[0])):
        sums = [sum(part[row, d] for part, d in zip(heads, code, strict=True)) for code in digits]
        found = sorted((-s, label) for s, label in zip(sums, label_of.tolist(), strict=True) if label >= 0)[:k]
        rows.append([label for _, label in found] + [-1] * (k - len(found)))
    return rows


@pytest.mark.slow
@given(
    st.lists(st.integers(2, 5), min_size=2, max_size=4), st.integers(1, 12), st.integers(0, 2**32 - 1), st.booleans()
)
def test_best_first_search_equals_brute_force(lengths, k, seed, ties):
    rng = np.random.default_rng(seed)
    heads = [rng.standard_normal((3, length)) for length in lengths]
    if ties:
        heads = [np.round(part) for part in heads]
    n_labels = int(rng.integers(1, np.prod(lengths) + 1))  # the other codes are unused
    label_of = np.where(rng.random(n_labels) < 0.8, rng.permutation(n_labels), -1)
    ids, _ = best_by_kernel(heads, label_of, k)
    assert ids.tolist() == best_by_brute_force(heads, label_of, k)


@pytest.mark.slow
def test_a_large_grid_is_searched_without_being_formed():
    rng = np.random.default_rng(0)
    heads = [rng.standard_normal((2, 3000)) for _ in range(2)]
    ids, sums = best_by_kernel(heads, np.arange(9_000_000), 4)
    assert ids[:, 0].tolist() == [int(heads[0][i].argmax() * 3000 + heads[1][i].argmax()) for i in range(2)]
    top = np.sort(
        [
            np.sort((a[np.argsort(-a)[:9], None] + b[np.argsort(-b)[:9]]).ravel())[::-1][:4]
            for a, b in zip(*heads, strict=True)
        ]
    )[:, ::-1]
    np.testing.assert_allclose(sums, top)


def random_step(seed: int):
    rng = np.random.default_rng(seed)
    X = sparse.csr_array((rng.random((5, 9)) * (rng.random((5, 9)) < 0.4)).astype(np.float32))
    columns = X.tocsc()
    rows = np.flatnonzero(np.diff(columns.indptr))
    starts = np.append(columns.indptr[rows], columns.indptr[-1]).astype(np.int64)
    gradients = rng.standard_normal((5, 4)).astype(np.float32)
    table = rng.standard_normal((9, 4)).astype(np.float32)
    return X, (rows, starts, columns.indices.astype(np.int64), columns.data), gradients, table


@pytest.mark.parametrize("step", [descend_numba, descend_torch])
def test_a_step_with_own_scales_is_row_wise_adagrad_on_the_gradient_of_the_bag(step):
    X, by_row, gradients, start = random_step(1)
    table, squares = torch.from_numpy(start.copy()), torch.full((9,), 0.5)
    step(table, squares, *by_row, torch.from_numpy(gradients), 0.1, 0.0)
    full = X.T @ gradients  # (9, 4)
    met = 0.5 + (full**2).mean(1)
    np.testing.assert_allclose(squares.numpy(), met, rtol=1e-5)
    np.testing.assert_allclose(
        table.numpy(), start - 0.1 * full / np.sqrt(met + EPSILON)[:, None], rtol=1e-4, atol=1e-6
    )


@pytest.mark.parametrize("step", [descend_numba, descend_torch])
def test_a_step_with_a_shared_scale_is_plain_descent(step):
    X, by_row, gradients, start = random_step(3)
    table, squares = torch.from_numpy(start.copy()), torch.zeros(9)
    step(table, squares, *by_row, torch.from_numpy(gradients), 0.1, 4.0)
    full = X.T @ gradients
    np.testing.assert_allclose(squares.numpy(), (full**2).mean(1), rtol=1e-5)
    np.testing.assert_allclose(table.numpy(), start - 0.05 * full, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("shared", [0.0, 2.0])
def test_the_kernel_with_threads_and_the_one_without_agree(monkeypatch, shared):
    from xcwork.methods.multihead import row_table

    _, by_row, gradients, start = random_step(2)
    results = []
    for few in (0, 2**18):
        monkeypatch.setattr(row_table, "MIN_PARALLEL_NUMBERS", few)
        table, squares = torch.from_numpy(start.copy()), torch.zeros(9)
        descend_numba(table, squares, *by_row, torch.from_numpy(gradients), 0.1, shared)
        results.append(table.numpy().tobytes() + squares.numpy().tobytes())
    assert results[0] == results[1]


def test_the_shared_scale_follows_the_gradients_a_table_meets():
    table = RowTable(3, 2, has_common_scale=True)
    table.weight.zero_()
    for size in (2.0, 4.0):
        (table.take_rows(np.array([0, 2])) * size).sum().backward()
        table.descend(1.0)
    # The first gradients are their own measure; the second meet the first scale.
    assert table.weight.tolist() == [[-3.0, -3.0], [0.0, 0.0], [-3.0, -3.0]]
    assert float(table.usual) == pytest.approx(0.99 * 4 + 0.01 * 16)


def test_a_table_moves_only_the_rows_it_handed_out():
    table = RowTable(6, 3)
    table.weight.fill_(1.0)
    table.train()
    X = sparse.csr_array(np.array([[0, 2, 0, 0, 1, 0], [0, 0, 0, 0, 3, 0]], np.float32))
    sums = table.sum_bags(RowBags.from_matrix(X, torch.device("cpu")))
    assert sums.tolist() == [[3.0] * 3, [3.0] * 3]
    sums.sum().backward()
    table.descend(0.5)
    moved = (table.weight != 1).any(1).tolist()
    assert moved == [False, True, False, False, True, False]
    table.take_rows(np.array([0, 5])).sum().backward()
    table.descend(0.5)
    assert (table.weight != 1).any(1).tolist() == [True, True, False, False, True, True]


def test_tables_hand_out_plain_values_when_not_training():
    table = RowTable(4, 2).eval()
    table.weight.fill_(1.0)
    assert not table.take_rows(np.array([1])).requires_grad
    assert not table.sum_bags(
        RowBags.from_matrix(sparse.csr_array((2, 4), dtype=np.float32), torch.device("cpu"))
    ).requires_grad
