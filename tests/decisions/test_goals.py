"""Labels chosen for macro-F1 or coverage: better than the most probable ones, as good as xcolumns."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from xcwork.core.topk import MISSING, TopK
from xcwork.decisions.choice import ASSIGN, Decisions
from xcwork.decisions.goals import choose_labels
from xcwork.errors import ConfigError, DataError

N_LABELS = 40


def draw_topk(n_documents: int, k: int, seed: int) -> TopK:
    rng = np.random.default_rng(seed)
    popular = rng.random(N_LABELS) ** 3
    ids = np.stack([rng.choice(N_LABELS, k, replace=False, p=popular / popular.sum()) for _ in range(n_documents)])
    p = -np.sort(-rng.random((n_documents, k)), axis=1)
    return TopK(ids.astype(np.int32), p.astype(np.float32), None, p.astype(np.float32))


def expected_coverage(topk: TopK, chosen: np.ndarray) -> float:
    missed = np.ones(N_LABELS)
    np.multiply.at(missed, topk.ids[chosen], 1.0 - topk.probabilities[chosen].astype(np.float64))
    return float((1.0 - missed).sum())


def expected_macro_f1(topk: TopK, chosen: np.ndarray) -> float:
    right, predicted, true = (np.zeros(N_LABELS) for _ in range(3))
    np.add.at(true, topk.ids.ravel(), topk.probabilities.ravel())
    np.add.at(right, topk.ids[chosen], topk.probabilities[chosen])
    np.add.at(predicted, topk.ids[chosen], 1.0)
    return float((2 * right / np.maximum(predicted + true, 1e-12)).sum())


MEASURES = {"coverage": expected_coverage, "macro-f1": expected_macro_f1}


@pytest.mark.parametrize("goal", MEASURES)
def test_a_goal_is_served_better_than_by_the_most_probable_labels(goal):
    topk = draw_topk(200, 10, 0)
    chosen, usual = choose_labels(topk, N_LABELS, 3, goal), choose_labels(topk, N_LABELS, 3, "precision")
    assert (chosen.sum(axis=1) == 3).all()
    assert MEASURES[goal](topk, chosen) > MEASURES[goal](topk, usual) * 1.01


@pytest.mark.parametrize("goal", MEASURES)
def test_nothing_beats_the_choice_for_few_documents(goal):
    from itertools import product

    topk = draw_topk(4, 3, 1)
    every = [np.array(slots) for slots in product(range(3), repeat=4)]
    best = max(MEASURES[goal](topk, np.eye(3, dtype=bool)[slots]) for slots in every)
    assert MEASURES[goal](topk, choose_labels(topk, N_LABELS, 1, goal)) == pytest.approx(best, rel=0.02)


@pytest.mark.parametrize("goal", MEASURES)
def test_the_package_of_the_authors_reaches_no_more(goal):
    xcolumns = pytest.importorskip("xcolumns.block_coordinate", reason="xcolumns is not installed")
    topk = draw_topk(200, 10, 2)
    y_proba = sparse.csr_matrix(topk.to_csr(N_LABELS))
    optimise = {
        "coverage": xcolumns.predict_optimizing_coverage_using_bc,
        "macro-f1": xcolumns.predict_optimizing_macro_f1_score_using_bc,
    }[goal]
    theirs = optimise(y_proba, 3, seed=0)
    theirs = theirs[0] if isinstance(theirs, tuple) else theirs
    picked = np.asarray(theirs.todense())[np.arange(200)[:, None], topk.ids] > 0
    ours = MEASURES[goal](topk, choose_labels(topk, N_LABELS, 3, goal))
    assert ours >= MEASURES[goal](topk, picked) * 0.995


def test_one_document_alone_gets_its_most_probable_labels():
    topk = draw_topk(1, 10, 3)
    assert choose_labels(topk, N_LABELS, 4, "coverage")[0].tolist() == [True] * 4 + [False] * 6


def test_missing_slots_are_never_chosen():
    topk = draw_topk(5, 4, 4)
    topk.ids[:, 2:] = MISSING
    topk.probabilities[:, 2:] = 0
    for goal in MEASURES:
        assert choose_labels(topk, N_LABELS, 3, goal).sum(axis=1).tolist() == [2] * 5


def test_decisions_follow_the_goal():
    topk = draw_topk(50, 10, 5)
    words = Decisions(assign=0.0, suggest=0.0, limit=3, goal="coverage").decide(topk, np.ones(N_LABELS, np.int64))
    assert np.array_equal(words == ASSIGN, choose_labels(topk, N_LABELS, 3, "coverage"))


def test_wrong_questions_are_refused():
    with pytest.raises(ConfigError, match="the goal must be one of"):
        choose_labels(draw_topk(1, 2, 0), N_LABELS, 1, "fame")
    with pytest.raises(DataError, match="no probabilities"):
        choose_labels(TopK.make_empty(1, 1), N_LABELS, 1, "coverage")
