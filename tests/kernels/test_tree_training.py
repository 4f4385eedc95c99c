"""Kernels that grow a label tree and lay out its weights, against plain numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from xcwork.kernels.tree_training import cluster_rows, gather_rows, group_by_feature, sum_members
from xcwork.sparse import Rows


def rows_of(matrix: np.ndarray) -> Rows:
    csr = sparse.csr_array(matrix.astype(np.float32))
    return Rows(csr.data, csr.indices.astype(np.int32), csr.indptr.astype(np.int64))


def unit(matrix: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(matrix, axis=-1, keepdims=True)
    return np.divide(matrix, lengths, out=np.zeros_like(matrix), where=lengths > 0)


def plain_cluster(V: np.ndarray, starts: list[int], balanced: bool, least_gain: float, max_rounds: int) -> np.ndarray:
    means, before = V[starts], -np.inf
    for _ in range(max_rounds):
        similarity = V @ means.T
        if balanced:
            order = np.argsort(similarity[:, 1] - similarity[:, 0], kind="stable")
            found = np.ones(len(V), int)
            found[order[: (len(V) + 1) // 2]] = 0
        else:
            found = similarity.argmax(axis=1)
        mean = similarity[np.arange(len(V)), found].mean()
        if mean - before < least_gain:
            break
        before = mean
        means = unit(np.array([V[found == c].sum(axis=0) for c in range(len(starts))]))
    return found


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_clustering_is_spherical_k_means(seed, balanced):
    rng = np.random.default_rng(seed)
    V = unit(rng.random((31, 12)) * (rng.random((31, 12)) < 0.5))
    members = np.sort(rng.choice(31, 20, replace=False)).astype(np.int32)
    starts = rng.choice(20, 2 if balanced else 4, replace=False)
    found = cluster_rows(rows_of(V), 12, members, starts, balanced, 1e-4, 50)
    np.testing.assert_array_equal(found, plain_cluster(V[members], starts, balanced, 1e-4, 50))


@given(st.integers(2, 40), st.integers(0, 1000))
def test_balanced_halves_differ_by_one_at_most(n, seed):
    rng = np.random.default_rng(seed)
    V = unit(np.round(rng.random((n, 5)), 1))  # with ties
    found = cluster_rows(rows_of(V), 5, np.arange(n, dtype=np.int32), rng.choice(n, 2, replace=False), True, 1e-4, 50)
    assert np.bincount(found, minlength=2).tolist() == [(n + 1) // 2, n // 2]


def test_planted_clusters_are_found():
    V = unit(np.repeat(np.eye(3), 5, axis=0) + np.random.default_rng(0).random((15, 3)) / 10)
    found = cluster_rows(rows_of(V), 3, np.arange(15, dtype=np.int32), np.array([0, 5, 10]), False, 1e-4, 50)
    assert found.tolist() == [0] * 5 + [1] * 5 + [2] * 5


@given(st.integers(0, 1000), st.sampled_from([14, 5000]))
def test_gathered_rows_are_the_rows_without_unused_columns(seed, n_features):
    rng = np.random.default_rng(seed)
    X = np.zeros((9, n_features))
    X[:, -14:] = rng.random((9, 14)) * (rng.random((9, 14)) < 0.2)
    documents = np.flatnonzero(rng.random(9) < 0.5)
    local, features = gather_rows(rows_of(X), n_features, documents)
    chosen = X[documents].astype(np.float32)
    assert features.tolist() == np.flatnonzero(chosen.any(axis=0)).tolist()
    found = sparse.csr_array(local, shape=(len(documents), len(features))).toarray()
    np.testing.assert_array_equal(found, chosen[:, features])


def test_large_sets_are_clustered_without_a_copy():
    """As small ones are: where they have more entries than there are features, rows are read where they lie."""
    rng = np.random.default_rng(7)
    V = unit(rng.random((40, 12)))
    members = np.sort(rng.choice(40, 30, replace=False)).astype(np.int32)
    wide = np.pad(V, ((0, 0), (0, 1000)))
    starts = np.array([3, 11])
    found = cluster_rows(rows_of(V), 12, members, starts, True, 1e-4, 50)
    np.testing.assert_array_equal(found, cluster_rows(rows_of(wide), 1012, members, starts, True, 1e-4, 50))


@pytest.mark.parametrize("least", [0.01, 0.2])
def test_sums_of_members_are_unit_rows_without_small_entries(least):
    rng = np.random.default_rng(5)
    X = rng.random((30, 40)) * (rng.random((30, 40)) < 0.2) * np.where(rng.random((30, 40)) < 0.1, -1, 1)
    members = sparse.csr_array((rng.random((6, 30)) < 0.3).astype(np.float32))
    members = sparse.vstack([members, sparse.csr_array((1, 30))]).tocsr()
    starts, documents = members.indptr.astype(np.int64), members.indices.astype(np.int32)
    found = sum_members(rows_of(X), 40, starts, documents, members.data.astype(np.float32), 1, 7, np.float32(least))
    sums = unit(members.toarray()[1:] @ X.astype(np.float32))
    expected = unit(np.where(sums >= least, sums, 0))
    np.testing.assert_allclose(sparse.csr_array(tuple(found), shape=(6, 40)).toarray(), expected, atol=1e-6)


@pytest.mark.parametrize("least", [0.0, 0.5, 2.0])
def test_small_weights_are_dropped_and_the_rest_is_ordered_by_feature(least):
    rng = np.random.default_rng(3)
    weights = (rng.standard_normal((4, 7)) * (rng.random((4, 7)) < 0.7)).astype(np.float32)
    starts, slots, values = group_by_feature(weights, np.float32(least))
    found = sparse.csr_array((values, slots, starts), shape=(7, 4)).toarray()
    np.testing.assert_array_equal(found, np.where(np.abs(weights) >= least, weights, 0).T)
    assert (values != 0).all()
