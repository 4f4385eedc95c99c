"""How SiameseXML learns how far to trust each of its scores."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from xcwork.core.topk import MISSING
from xcwork.methods.model import Params
from xcwork.methods.siamesexml import fusion
from xcwork.methods.siamesexml.corpus import TokenCorpus
from xcwork.methods.siamesexml.judged import JudgedCandidates, join_judged
from xcwork.methods.siamesexml.scores import SCORE_NAMES, LabelWeights, ScoredCandidates
from xcwork.methods.siamesexml.training import split_folds

N_DOCUMENTS, N_LABELS = 200, 12
EVERY = list(range(len(SCORE_NAMES)))


def scored_with(informative: np.ndarray, seed: int = 0) -> tuple[ScoredCandidates, sparse.csr_array]:
    """Random scores, of which that of place informative[l] is high where label l is relevant."""
    rng = np.random.default_rng(seed)
    truth = (rng.random((N_DOCUMENTS, N_LABELS)) < 0.2).astype(np.float32)
    values = rng.random((len(SCORE_NAMES), N_DOCUMENTS, N_LABELS), np.float32)
    for label, place in enumerate(informative):
        values[place, :, label] = 0.5 * truth[:, label] + 0.5 * values[place, :, label]
    return ScoredCandidates(np.tile(np.arange(N_LABELS, dtype=np.int32), (N_DOCUMENTS, 1)), values), sparse.csr_array(
        truth
    )


@pytest.mark.parametrize("informative", EVERY)
def test_the_informative_score_gets_the_weight(informative):
    frequencies = np.full(N_LABELS, 50)
    scored, truth = scored_with(np.full(N_LABELS, informative))
    weights = fusion.choose_weights(scored, truth, frequencies, EVERY).weigh_labels(frequencies).of_scores[:, 0]
    assert np.argmax(weights) == informative
    assert weights[informative] > 3 * np.sort(np.abs(weights))[-2]


def test_weights_follow_the_frequency_of_a_label():
    """Rare labels are told by one score, frequent ones by another: each gets the weight where it is right."""
    frequencies = np.where(np.arange(N_LABELS) < 6, 1, 3000)
    scored, truth = scored_with(np.where(frequencies == 1, 1, 0))
    weights = fusion.choose_weights(scored, truth, frequencies, EVERY).weigh_labels(np.array([1, 3000])).of_scores
    assert np.argmax(weights, axis=0).tolist() == [1, 0]


def test_scores_that_are_not_available_count_nothing():
    frequencies = np.full(N_LABELS, 50)
    scored, truth = scored_with(np.full(N_LABELS, 0))
    chosen = fusion.choose_weights(scored, truth, frequencies, [1, 4])
    assert np.flatnonzero(chosen.weigh_labels(frequencies).needs).tolist() in ([1, 4], [1], [4])
    settings = SimpleNamespace(classifier_epochs=0, terms=False, graphs="text")
    assert [SCORE_NAMES[place] for place in fusion.list_available(settings)] == ["text", "words"]


def test_without_anything_to_learn_from_the_usual_weights_stay():
    frequencies = np.full(N_LABELS, 50)
    scored, truth = scored_with(np.zeros(N_LABELS, int))
    nothing = sparse.csr_array(truth.shape, dtype=np.float32)
    np.testing.assert_allclose(
        fusion.choose_weights(scored, nothing, frequencies, EVERY).table, fusion.make_usual_weights(EVERY).table
    )
    settings = SimpleNamespace(alpha=None, classifier_epochs=3, terms=True, graphs="text,centroids,documents", tail=0.2)
    chosen = fusion.learn_weights(None, settings)
    assert chosen.tail == 0.2
    np.testing.assert_array_equal(chosen.table, fusion.make_usual_weights(EVERY).table)


def test_alpha_is_the_sum_of_the_paper():
    settings = SimpleNamespace(alpha=0.8, tail=0.5)
    weights = fusion.learn_weights(None, settings).weigh_labels(np.array([0, 9]))
    np.testing.assert_allclose(weights.of_scores.T, [[0.8, 0.2, 0.2, 0, 0, 0]] * 2, rtol=1e-6)
    assert not weights.constant.any()


def test_tail_lowers_the_constant_of_frequent_labels():
    frequencies = np.array([0, 1, 20, 3000])
    table = fusion.make_usual_weights(EVERY).table
    plain, tail = (fusion.Fusion(table, tail=value).weigh_labels(frequencies).constant for value in (0.0, 0.5))
    np.testing.assert_allclose(plain - tail, 0.5 * np.log1p(frequencies), rtol=1e-6)


def test_unseen_labels_get_a_constant_of_their_own_when_enough_is_known_of_them():
    scored, truth = scored_with(np.zeros(N_LABELS, int))
    frequencies = np.where(np.arange(N_LABELS) < 4, 0, 50)
    scored.values[0][:, :4] -= 2.0  # their scores are too low by the same amount
    assert fusion.choose_weights(scored, truth, frequencies, EVERY).unseen_bonus > 0
    few = sparse.csr_array(truth.toarray() * (frequencies > 0))
    assert fusion.choose_weights(scored, few, frequencies, EVERY).unseen_bonus == 0


def test_missing_candidates_never_win():
    scored = ScoredCandidates(np.array([[2, -1]], np.int32), np.full((len(SCORE_NAMES), 1, 2), -1, np.float32))
    weights = LabelWeights(np.eye(len(SCORE_NAMES), 3, dtype=np.float32)[::-1], np.zeros(3, np.float32))
    total = scored.add_up(weights)
    assert np.isfinite(total[0, 0])
    assert total[0, 1] == -np.inf


def test_a_draw_is_two_thirds_of_the_documents_and_keeps_groups_whole():
    group_of = np.repeat(np.arange(40), 3)
    draws = fusion.draw_documents(group_of)
    assert len(draws) == fusion.MAX_DRAWS
    for drawn in draws:
        assert (drawn.reshape(40, 3).sum(axis=1) % 3 == 0).all()
        assert drawn.sum() == 3 * round(fusion.DRAWN_SHARE * 40)
    assert len({drawn.tobytes() for drawn in draws}) > 1
    assert len(fusion.draw_documents(np.arange(2000))) == fusion.MIN_DRAWS
    assert [drawn.tolist() for drawn in fusion.draw_documents(np.zeros(1))] == [[True]] * fusion.MAX_DRAWS


def test_weights_of_equally_good_scores_are_alike():
    """With sixty documents luck decides which factors are best; one ascent over all of them gives ratios of 0.43."""
    frequencies, ratios = np.full(N_LABELS, 50), []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        truth = (rng.random((60, N_LABELS)) < 0.2).astype(np.float32)
        values = truth + 0.9 * rng.normal(size=(len(SCORE_NAMES), 60, N_LABELS))
        scored = ScoredCandidates(np.tile(np.arange(N_LABELS, dtype=np.int32), (60, 1)), values.astype(np.float32))
        chosen = fusion.choose_weights(scored, sparse.csr_array(truth), frequencies, EVERY)
        weights = chosen.weigh_labels(frequencies).of_scores[:, 0]
        ratios.append(weights.min() / weights.max())
    assert np.mean(ratios) > 0.5


def test_scores_of_two_trainings_mean_the_same():
    """Weights that differ by a factor only, as two trainings may learn them, give the same scores and ranking."""
    frequencies = np.arange(N_LABELS)
    scored, truth = scored_with(np.zeros(N_LABELS, int))
    one = fusion.make_usual_weights(EVERY)
    other = fusion.Fusion(one.table * 7, 0.0, 1.4)
    one = fusion.Fusion(one.table, 0.0, 0.2)
    sums = []
    for each in (one, other):
        scaled = fusion.scale_to_logits(each, scored, truth, frequencies)
        before, after = (scored.add_up(which.weigh_labels(frequencies)) for which in (each, scaled))
        np.testing.assert_array_equal(np.argsort(-before, kind="stable"), np.argsort(-after, kind="stable"))
        sums.append(after)
    np.testing.assert_allclose(*sums, atol=0.02)
    probabilities = 1 / (1 + np.exp(-sums[0]))
    assert probabilities.mean() == pytest.approx(truth.toarray().mean(), abs=0.01)


def test_documents_of_two_trainings_keep_their_own_counts():
    """A label without documents in one training and with some in the other is two labels to the weights."""
    wide, narrow = (np.random.default_rng(n).random((len(SCORE_NAMES), 2, n), np.float32) for n in (3, 2))
    first = JudgedCandidates(
        ScoredCandidates(np.array([[0, 1, 2], [2, 3, MISSING]]), wide),
        sparse.csr_array(np.eye(2, 4, dtype=np.float32)),
        np.array([0, 5, 6, 7]),
        np.array([1, 1]),
    )
    second = JudgedCandidates(
        ScoredCandidates(np.array([[0, 3], [1, MISSING]]), narrow),
        sparse.csr_array(np.eye(2, 4, k=1, dtype=np.float32)),
        np.array([9, 0, 0, 1]),
        np.array([4, 5]),
    )
    both = join_judged([first, second])
    assert both.scored.ids.tolist() == [[0, 1, 2], [2, 3, -1], [4, 7, -1], [5, -1, -1]]
    np.testing.assert_array_equal(both.scored.values[:, 2:, :2], narrow)
    assert both.frequencies.tolist() == [0, 5, 6, 7, 9, 0, 0, 1]
    assert both.truth.toarray().nonzero()[1].tolist() == [0, 1, 5, 6]
    assert both.group_of.tolist() == [1, 1, 4, 5]
    assert join_judged([first]) is first


@pytest.mark.parametrize(
    ("n_documents", "alpha", "expected"),
    [
        (100, None, [0]),
        (800, None, [160, 160]),
        (4000, None, [500, 500]),
        (9999, None, [500, 500]),
        (10_000, None, [500]),
        (4000, 0.9, [200]),  # there are no weights to be learned
        (90_000, None, [2000]),
    ],
)
def test_few_documents_validate_in_two_folds(n_documents, alpha, expected):
    ones = sparse.csr_array(np.ones((n_documents, 1), np.float32))
    corpus = TokenCorpus(ones, ones, ones, ones[:1], 1)
    folds = split_folds(corpus, Params({"seed": 0, "validation": 0.05, "alpha": alpha}))
    held = [fold.validation_rows for fold in folds]
    assert [len(rows) for rows in held] == expected
    assert len(np.unique(np.concatenate(held))) == sum(expected)  # in one fold each
    assert all(len(fold.rows) + len(fold.validation_rows) == n_documents for fold in folds)
    (alone,) = split_folds(corpus, Params({"seed": 0, "validation": 0.0, "alpha": alpha}))
    assert len(alone.validation_rows) == 0
