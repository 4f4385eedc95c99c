"""Random walks against the exact distribution of the walk."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from xcwork.core.topk import MISSING, TopK
from xcwork.kernels.random_walks import find_most_visited

RESTART = 0.8


def walk(Y: sparse.csr_array, k: int, steps: int, seed: int = 0) -> TopK:
    documents_of = sparse.csr_array(Y.T)
    walkers = np.flatnonzero(np.diff(documents_of.indptr))
    random = np.random.default_rng(seed).integers(1, 2**63, len(walkers), dtype=np.uint64)
    best = TopK.make_empty(len(walkers), k)
    find_most_visited(
        documents_of.indices,
        documents_of.indptr,
        Y.indices,
        Y.indptr,
        walkers,
        random,
        steps,
        RESTART,
        best.ids,
        best.scores,
    )
    return best


def stationary(Y: np.ndarray) -> np.ndarray:
    """The share of steps that a long walk from each label spends on every label."""
    step = (Y.T / Y.sum(axis=0)[:, None]) @ (Y / Y.sum(axis=1, keepdims=True))  # label → document → label
    n = len(step)
    # A step is the k-th since the start with probability restart * (1 - restart)^(k - 1).
    return RESTART * step @ np.linalg.inv(np.eye(n) - (1 - RESTART) * step)


def test_visits_follow_the_exact_distribution() -> None:
    rng = np.random.default_rng(3)
    Y = (rng.random((30, 6)) < 0.3).astype(np.float32)
    Y[np.arange(30), rng.integers(6, size=30)] = 1
    best = walk(sparse.csr_array(Y), 6, steps=200_000)
    visited = best.to_csr(6).toarray() / 200_000
    np.testing.assert_allclose(visited, stationary(Y), atol=0.01)


def test_a_walk_stays_in_its_part_of_the_graph() -> None:
    Y = np.zeros((6, 5), np.float32)
    Y[:3, :2], Y[3:, 2:4] = 1, 1  # label 4 has no document
    best = walk(sparse.csr_array(Y), 3, steps=400)
    assert [set(row[row != MISSING].tolist()) for row in best.ids] == [{0, 1}, {0, 1}, {2, 3}, {2, 3}]
    assert best.scores[best.ids != MISSING].sum() == 4 * 400
    again = walk(sparse.csr_array(Y), 3, steps=400)
    np.testing.assert_array_equal(best.ids, again.ids)
    np.testing.assert_array_equal(best.scores, again.scores)
