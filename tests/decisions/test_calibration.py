"""Probabilities: right on average, monotone, falling along a list, the same after storing, and never made up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.planted_scores import N_LABELS, draw_frequencies, draw_sample
from xcwork.core.topk import MISSING, TopK
from xcwork.decisions.calibration import Calibration
from xcwork.decisions.fitting import MIN_RIGHT, HeldOutSample, UnseenWeights, estimate_unseen_share, fit_calibration
from xcwork.decisions.stored_calibration import read_calibration, write_calibration
from xcwork.errors import DataError, XcworkError
from xcwork.metrics.calibration import compute_ece
from xcwork.metrics.ranking import place_labels
from xcwork.storage.state import write_state


@pytest.fixture(scope="module")
def calibration() -> Calibration:
    return fit_calibration([draw_sample(1500, 0)[0]], way="refit", label_frequencies=draw_frequencies())


def test_planted_probabilities_are_found(calibration):
    sample, _ = draw_sample(4000, 1)
    topk = calibration.apply(sample.topk, sample.label_frequencies)
    right = place_labels(topk, sample.truth).mark_hits()
    assert compute_ece(topk.probabilities, right, topk.ids != MISSING) < 2.0
    # The logistic of the score, which knows nothing of ranks and labels, is far off.
    naive = 1.0 / (1.0 + np.exp(-sample.topk.scores))
    assert compute_ece(naive, right, topk.ids != MISSING) > 5.0


def test_labels_that_were_never_seen_get_lower_probabilities_where_they_are_less_often_right(calibration):
    ids = np.array([[0], [150], [250]], np.int32)
    topk = TopK(ids, np.full((3, 1), 0.5, np.float32))
    never, seldom, often = calibration.apply(topk, draw_frequencies()).probabilities[:, 0]
    assert never < seldom < often


def test_evidence_is_cross_fitted(calibration):
    sample, _ = draw_sample(1500, 0)
    in_sample = calibration.apply(sample.topk, sample.label_frequencies).probabilities
    assert not np.array_equal(in_sample, calibration.evidence.probabilities)
    np.testing.assert_allclose(in_sample, calibration.evidence.probabilities, atol=0.35)
    assert calibration.n_documents == 1500


lists = st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=30)


@given(lists, st.integers(0, 2**31))
@settings(max_examples=60, deadline=None)
def test_probabilities_fall_along_every_list(calibration, scores, seed):
    k = len(scores)
    ids = np.random.default_rng(seed).permutation(N_LABELS)[:k].astype(np.int32)
    topk = TopK(ids[None, :], -np.sort(-np.array([scores], np.float32), axis=1))
    p = calibration.apply(topk, draw_frequencies()).probabilities
    assert ((p >= 0) & (p <= 1)).all()
    assert (np.diff(p, axis=1) <= 0).all()
    for shorter in range(1, k):  # the length of the list changes nothing
        np.testing.assert_array_equal(
            calibration.apply(topk.head(shorter), draw_frequencies()).probabilities, p[:, :shorter]
        )


@given(st.floats(-10, 10), st.floats(0, 5), st.floats(0, 8), st.integers(1, 40), st.sampled_from([0, 1, 5, 6, 90]))
@settings(max_examples=100, deadline=None)
def test_a_higher_score_never_means_a_lower_probability(calibration, score, more, gap, rank, frequency):
    def logit(value):
        return sum(calibration.explain(value, gap, rank, frequency).values())

    assert logit(score + more) >= logit(score) - 1e-9


def test_the_parts_of_an_explanation_add_up_to_the_logit(calibration):
    from xcwork.decisions.evidence_terms import Facts

    facts = Facts(np.array([0.3]), np.array([0.7]), np.array([4]), np.array([2]))
    parts = calibration.explain(0.3, 0.7, 4, 2)
    assert sum(parts.values()) == pytest.approx(calibration.compute_logits(facts)[0])


def test_candidates_keep_the_probabilities_they_have_among_all_labels(calibration):
    sample, _ = draw_sample(50, 3, k=12)
    whole = calibration.apply(sample.topk, sample.label_frequencies)
    some = np.arange(0, N_LABELS, 3)
    limited = calibration.apply_among(sample.topk.keep_labels(some), sample.label_frequencies, sample.topk)
    np.testing.assert_allclose(limited.probabilities, whole.keep_labels(some).probabilities, atol=1e-6)


def test_missing_slots_have_no_probability(calibration):
    topk = TopK(np.array([[3, -1], [-1, -1]], np.int32), np.array([[1.0, -np.inf], [-np.inf, -np.inf]], np.float32))
    p = calibration.apply(topk, draw_frequencies()).probabilities
    assert p[0, 0] > 0
    assert p[0, 1] == p[1, 0] == p[1, 1] == 0
    assert calibration.apply(TopK.make_empty(0, 3), draw_frequencies()).probabilities.shape == (0, 3)


def test_a_score_that_is_not_a_number_has_no_probability(calibration):
    topk = TopK(np.array([[3]], np.int32), np.array([[np.nan]], np.float32))
    with pytest.raises(DataError, match="not a number"):
        calibration.apply(topk, draw_frequencies())


def test_stored_calibrations_answer_alike(calibration, tmp_path):
    write_calibration(tmp_path, calibration)
    loaded = read_calibration(tmp_path)
    sample, _ = draw_sample(20, 4)
    a, b = (each.apply(sample.topk, sample.label_frequencies).probabilities for each in (calibration, loaded))
    assert a.tobytes() == b.tobytes()
    assert (loaded.way, loaded.n_documents) == ("refit", 1500)
    assert read_calibration(tmp_path / "elsewhere") is None


@pytest.mark.parametrize(
    "damage",
    [
        {"way": "by hand"},
        {"score_curves": np.zeros((2, 3))},
        {"rank_steps": np.arange(7.0)},
        {"map_to": np.array([0.0, 2.0]), "map_from": np.array([0.0, 1.0])},
        {"map_to": np.array([0.5, 0.1]), "map_from": np.array([0.0, 1.0])},
        {"score_knots": np.array([np.nan, 1.0])},
        {"evidence": "none"},
        {"gap_knots": "text"},
    ],
)
def test_a_damaged_calibration_is_refused(calibration, tmp_path, damage):
    broken = replace(calibration, **damage)
    write_state(tmp_path / "calibration", {"calibration": broken})
    with pytest.raises(DataError, match="calibrat"):
        read_calibration(tmp_path)


def test_something_else_in_its_place_is_refused(tmp_path):
    write_state(tmp_path / "calibration", {"calibration": 5})
    with pytest.raises(XcworkError, match="does not hold a calibration"):
        read_calibration(tmp_path)


def _change(sample: HeldOutSample, **changes: object) -> HeldOutSample:
    return replace(sample, topk=replace(sample.topk, **changes))


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda s: draw_sample(20, 0)[0], "20 held-out documents are too few"),
        (lambda s: _change(s, scores=np.full_like(s.topk.scores, 2.0)), "all scores .* are equal"),
        (lambda s: _change(s, scores=np.where(s.topk.ids == 7, np.nan, s.topk.scores)), "not numbers"),
        (lambda s: replace(s, truth=s.truth * 0), f"at least {MIN_RIGHT}"),
    ],
)
def test_what_would_give_wrong_probabilities_gives_none(spoil, says):
    sample, _ = draw_sample(200, 0)
    with pytest.raises(DataError, match=says):
        fit_calibration([spoil(sample)], way="refit", label_frequencies=draw_frequencies())


def test_samples_of_several_models_count_together():
    samples = [draw_sample(300, seed)[0] for seed in range(3)]
    calibration = fit_calibration(samples, way="refit", label_frequencies=draw_frequencies())
    assert calibration.n_documents == 900
    np.testing.assert_array_equal(calibration.evidence.n_true[:300], np.diff(samples[0].truth.indptr))


def test_the_share_of_unseen_labels_is_estimated_from_labels_seen_once():
    """Labels are drawn by Zipf's law, 2.5 per document: of new documents about as many are unseen as was estimated."""
    rng = np.random.default_rng(0)
    chances = 1.0 / np.arange(1, 4001)
    drawn = rng.choice(4000, size=20_000, p=chances / chances.sum())
    for n_train in (2_500, 5_000, 7_500):
        frequencies = np.bincount(drawn[:n_train], minlength=4000)
        unseen = (frequencies[drawn[10_000:]] == 0).mean()
        assert abs(estimate_unseen_share(frequencies) - unseen) < 0.02


def test_unseen_labels_weigh_as_the_final_model_will_meet_them():
    final, scoring = np.array([0, 0, 1, 2, 3, 4]), np.array([0, 0, 0, 1, 1, 4])
    weights = UnseenWeights.from_frequencies(final, [scoring])
    assert weights.right == pytest.approx((1 / 10) / (2 / 6))
    assert weights.wrong == pytest.approx(2 / 3)
    # A model that scores the documents itself has seen what it will have seen.
    assert UnseenWeights.from_frequencies(final, [final]) == UnseenWeights(1.0, 1.0)
    nobody = np.array([3, 3])
    assert UnseenWeights.from_frequencies(nobody, [nobody]) == UnseenWeights(1.0, 1.0)


def test_the_same_sample_gives_the_same_calibration():
    a, b = (
        fit_calibration([draw_sample(300, 5)[0]], way="refit", label_frequencies=draw_frequencies(), seed=3)
        for _ in range(2)
    )
    assert a.score_curves.tobytes() == b.score_curves.tobytes()
    assert a.evidence.probabilities.tobytes() == b.evidence.probabilities.tobytes()
