"""Choosing landmarks: gains against the definition, lazy against plain greedy, the guarantee against brute force."""

from __future__ import annotations

import logging
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from xcwork.methods.landmarks.affinity import Combination, relate_labels
from xcwork.methods.landmarks.selection import (
    SelectionSettings,
    choose_greedily,
    choose_landmarks,
    compute_graph_weights,
    compute_objective,
    scale_scores,
)


def graph(seed: int, n_labels: int, density: float = 0.6) -> tuple[sparse.csr_array, np.ndarray]:
    """A random symmetric graph in multiples of 1/4, so that ties are real, and a bonus per label."""
    rng = np.random.default_rng(seed)
    W = np.triu(rng.integers(1, 9, (n_labels, n_labels)) / 4 * (rng.random((n_labels, n_labels)) < density), 1)
    return sparse.csr_array(W + W.T), rng.integers(0, 5, n_labels) / 4


def plain_greedy(W: sparse.csr_array, bonus: np.ndarray, k: int, redundancy: float) -> list[int]:
    chosen: list[int] = []
    for _ in range(k):
        now = compute_objective(W, bonus, np.array(chosen, int), redundancy)
        gains = {
            label: compute_objective(W, bonus, np.array([*chosen, label]), redundancy) - now
            for label in range(W.shape[0])
            if label not in chosen
        }
        chosen.append(max(gains, key=lambda label: (round(gains[label], 9), -label)))
    return chosen


seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.sampled_from([0.0, 0.5, 2.0]))
def test_lazy_greedy_is_greedy(seed, redundancy):
    W, bonus = graph(seed, 9)
    found = choose_greedily(W, bonus, 5, np.arange(9), redundancy=redundancy)
    assert found.landmarks.tolist() == plain_greedy(W, bonus, 5, redundancy)


@given(seeds, st.sampled_from([0.0, 0.5, 2.0]))
def test_gains_are_differences_of_the_objective(seed, redundancy):
    W, bonus = graph(seed, 8)
    found = choose_greedily(W, bonus, 8, np.arange(8), redundancy=redundancy)
    for size, gain in enumerate(found.gains):
        before, after = (compute_objective(W, bonus, found.landmarks[:n], redundancy) for n in (size, size + 1))
        assert gain == pytest.approx(after - before, abs=1e-9)


@settings(max_examples=25)
@given(seeds, st.sampled_from([0.0, 0.5, 2.0]))
def test_the_objective_is_submodular(seed, redundancy):
    W, bonus = graph(seed, 6)

    def value(chosen: tuple[int, ...]) -> float:
        return compute_objective(W, bonus, np.array(chosen, int), redundancy)

    for size in range(5):
        for small in combinations(range(6), size):
            for extra in set(range(6)) - set(small):
                large = (*small, extra)
                for label in set(range(6)) - set(large):
                    assert value((*large, label)) - value(large) <= value((*small, label)) - value(small) + 1e-9


def share_of_the_best(W: sparse.csr_array, bonus: np.ndarray, k: int, redundancy: float) -> tuple[bool, float]:
    """Whether the greedy choice says that it is guaranteed, and what share of the best set's worth it reaches."""
    found = choose_greedily(W, bonus, k, np.arange(W.shape[0]), redundancy=redundancy)
    sets = (np.array(chosen) for chosen in combinations(range(W.shape[0]), k))
    best = max(compute_objective(W, bonus, chosen, redundancy) for chosen in sets)
    return bool(found.is_guaranteed), compute_objective(
        W, bonus, found.landmarks, redundancy
    ) / best if best > 0 else 1.0


@pytest.mark.parametrize("redundancy", [0.0, 0.5])
@pytest.mark.parametrize("k", [2, 3])
def test_the_guarantee_holds_wherever_its_condition_does(k, redundancy):
    guaranteed = []
    for seed in range(80):
        W, bonus = graph(seed, 8, density=0.2 + 0.1 * (seed % 8))
        is_guaranteed, share = share_of_the_best(W, bonus * k * (seed % 11), k, redundancy)
        if is_guaranteed:
            guaranteed.append(share)
    assert len(guaranteed) > 10
    assert min(guaranteed) >= 1 - 1 / np.e


def test_gains_that_are_not_negative_guarantee_nothing():
    """A hub takes away what its neighbours, which are worth three times as much together, say about others."""
    n_centres, n_private = 6, 50
    W = np.zeros((1 + n_centres * (1 + n_private),) * 2)
    for centre in range(1, n_centres + 1):
        private = n_centres + 1 + (centre - 1) * n_private + np.arange(n_private)
        W[0, centre], W[centre, private] = 0.49, 1 / n_private
    W = sparse.csr_array(W + W.T)
    found = choose_greedily(W, np.zeros(W.shape[0]), n_centres, np.arange(W.shape[0]), redundancy=0.5)
    centres = np.arange(1, n_centres + 1)
    worth, best = (compute_objective(W, np.zeros(W.shape[0]), chosen, 0.5) for chosen in (found.landmarks, centres))
    assert found.n_monotone == n_centres
    assert worth / best == pytest.approx(0.34, abs=0.005)
    assert not found.is_guaranteed


def test_a_star_and_a_pair():
    # The centre first, then one end of the pair, then nothing helps as much. All gains are positive.
    W = np.zeros((7, 7))
    W[0, 1:5] = 1
    W[5, 6] = 2.5
    found = choose_greedily(sparse.csr_array(W + W.T), np.zeros(7), 2, np.arange(7), redundancy=0.5)
    assert found.landmarks.tolist() == [0, 5]
    assert found.gains.tolist() == [4.0, 2.5]


def test_monotonicity_ends_when_the_set_is_no_longer_small():
    # Of three labels that all say the same the second adds 2 - 2(1 + λ) < 0.
    W = sparse.csr_array(np.ones((3, 3)) - np.eye(3))
    full = choose_greedily(W, np.zeros(3), 3, np.arange(3), redundancy=0.5)
    assert full.landmarks.tolist() == [0, 1, 2]
    assert full.gains.tolist() == [2.0, -1.0, -4.0]
    assert full.n_monotone == 1
    stopped = choose_greedily(W, np.zeros(3), 3, np.arange(3), redundancy=0.5, fill=False)
    assert stopped.landmarks.tolist() == [0]


def test_a_run_says_whether_its_choice_is_guaranteed(labels, caplog):
    with caplog.at_level(logging.INFO):
        pick("f_pen", 4, labels)
    assert "the greedy guarantee does not hold here" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.INFO):
        pick("most_frequent", 4, labels)
    assert "guarantee" not in caplog.text


def test_laziness_saves_evaluations():
    # Disjoint stars of different size: each centre is refreshed once, nobody else is.
    blocks = [np.ones((n, n)) * 0 for n in range(30, 20, -1)]
    for block in blocks:
        block[0, 1:] = block[1:, 0] = 1
    W = sparse.csr_array(sparse.block_diag(blocks))
    found = choose_greedily(W, np.zeros(W.shape[0]), 10, np.arange(W.shape[0]), redundancy=0.5)
    assert found.n_evaluations == 10
    assert found.gains.tolist() == [float(n - 1) for n in range(30, 20, -1)]


def test_only_eligible_labels_are_chosen():
    W, bonus = graph(1, 8)
    found = choose_greedily(W, bonus, 5, np.array([1, 4, 6]), redundancy=0.5)
    assert sorted(found.landmarks.tolist()) == [1, 4, 6]


def test_weights_are_symmetric_sizes():
    Z = sparse.csc_array(np.array([[0, -2.0, 0], [1.0, 0, 0], [0, 0, 0]]))
    W = compute_graph_weights(Combination(Z, np.zeros(3), np.ones(3), np.zeros(3)))
    np.testing.assert_array_equal(W.toarray(), [[0, 1.5, 0], [1.5, 0, 0], [0, 0, 0]])


def test_scores_are_stretched_over_the_degrees():
    r2 = np.array([0.2, -5.0, 0.6, 0.4])
    np.testing.assert_allclose(scale_scores(r2, np.array([0, 2, 3]), 8.0), [0.0, 0.0, 8.0, 4.0])
    assert not scale_scores(np.full(3, 0.5), np.arange(3), 8.0).any()


@pytest.fixture
def labels() -> sparse.csr_array:
    """Label 2 is empty; the others have 5, 4, 3, 3, 2 and 1 documents."""
    Y = np.zeros((8, 7), np.float32)
    for label, n in {0: 3, 1: 5, 3: 4, 4: 3, 5: 2, 6: 1}.items():
        Y[label : label + n, label] = 1
    return sparse.csr_array(Y)


def pick(strategy: str, k: int, Y: sparse.csr_array, **changes) -> list[int]:
    settings = SelectionSettings(strategy, k, **changes)
    r2 = np.linspace(0.1, 0.9, Y.shape[1])
    return choose_landmarks(Y, relate_labels(Y, 1.0), r2, settings).landmarks.tolist()


def test_the_simple_strategies(labels):
    assert pick("most_frequent", 4, labels) == [1, 3, 0, 4]
    assert pick("f_score", 3, labels) == [6, 5, 4]
    assert pick("random", 4, labels, seed=1) == pick("random", 4, labels, seed=1)
    assert len({tuple(pick("random", 4, labels, seed=seed)) for seed in range(5)}) > 1


def test_score_weight_decides_between_graph_and_scores(labels):
    assert pick("combined", 4, labels, score_weight=0.0) == pick("f_pen", 4, labels)
    assert set(pick("combined", 4, labels, score_weight=1e6)) == set(pick("f_score", 4, labels))


@pytest.mark.parametrize("strategy", ["combined", "f_pen", "f_score", "most_frequent", "ml_cssp", "random"])
def test_every_strategy_respects_empty_labels_and_their_number(labels, strategy, caplog):
    with caplog.at_level(logging.WARNING):
        found = pick(strategy, 50, labels)
    assert sorted(found) == [0, 1, 3, 4, 5, 6]
    assert "of the 50 landmarks asked for there are only 6" in caplog.text
    assert len(set(pick(strategy, 3, labels))) == 3


def test_column_subset_sampling_prefers_leverage():
    # Rank one: all leverage is with the two identical, frequent labels; the others are orthogonal and rare.
    Y = np.zeros((40, 6), np.float32)
    Y[:30, :2] = 1
    for label in range(2, 6):
        Y[30 + label, label] = 1
    draws = [pick("ml_cssp", 1, sparse.csr_array(Y), seed=seed)[0] for seed in range(20)]
    assert set(draws) == {0, 1}
