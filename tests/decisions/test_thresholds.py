"""Thresholds keep what they promise, fall back where evidence is thin, and say what cannot be promised."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.planted_scores import draw_frequencies, draw_sample
from xcwork.core.topk import TopK
from xcwork.decisions.calibration import HeldOutEvidence
from xcwork.decisions.choice import (
    ASSIGN,
    DECISIONS_FILE,
    LEAVE,
    NEVER_ASSIGN,
    SUGGEST,
    Decisions,
    read_decisions,
    write_decisions,
)
from xcwork.decisions.fitting import fit_calibration
from xcwork.decisions.outcomes import measure_outcome
from xcwork.decisions.thresholds import (
    MIN_ASSIGNMENTS,
    choose_for_f1,
    choose_for_precision,
    promise_precision,
    read_precision,
)
from xcwork.errors import ConfigError, DataError
from xcwork.metrics.ranking import place_labels


@pytest.fixture(scope="module")
def calibration():
    return fit_calibration([draw_sample(2000, 0)[0]], way="refit", label_frequencies=draw_frequencies())


@pytest.mark.parametrize("by", ["one", "band", "label"])
@pytest.mark.parametrize("percent", [80, 90, 95])
def test_the_asked_precision_is_achieved_on_other_documents(calibration, by, percent):
    sample, _ = draw_sample(6000, 9)
    choice = choose_for_precision(calibration.evidence, percent / 100, by=by)
    topk = calibration.apply(sample.topk, sample.label_frequencies)
    words = choice.decisions.decide(topk, sample.label_frequencies)
    placement = place_labels(topk, sample.truth)
    outcome = measure_outcome(
        words == ASSIGN, words == SUGGEST, topk.probabilities, placement.mark_hits(), placement.n_true
    )
    assert outcome.precision == pytest.approx(percent, abs=3.0)
    assert outcome.expected_precision == pytest.approx(percent, abs=3.0)
    assert outcome.n_assignments > 300


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=200), st.floats(0.05, 1.0))
@settings(max_examples=100, deadline=None)
def test_a_promise_holds_on_its_own_evidence(pairs, precision):
    p = np.array([each[0] for each in pairs], np.float32)
    right = np.array([each[1] for each in pairs], np.uint8)
    promise = promise_precision(p, right, np.arange(len(p)) // 3, precision)
    if not promise.is_reached:
        assert (promise.n, promise.precision) == (0, None)
        return
    taken = p.astype(np.float64) >= promise.threshold
    assert taken.sum() == promise.n >= MIN_ASSIGNMENTS
    assert 0.5 * (p[taken].mean(dtype=np.float64) + right[taken].mean()) >= precision - 1e-9


def test_what_cannot_be_reached_is_not_promised():
    p = np.linspace(0.2, 0.6, 500).astype(np.float32)
    promise = promise_precision(p, np.zeros(500, np.uint8), np.arange(500), 0.9)
    assert not promise.is_reached
    assert not promise.is_certain


def test_a_few_lucky_predictions_are_not_promised():
    promise = promise_precision(np.full(40, 0.99, np.float32), np.ones(40, np.uint8), np.arange(40), 0.95)
    assert promise.is_reached
    assert not promise.is_certain  # of 40 right ones, 91 to 100 % may be right


def test_labels_without_evidence_fall_back_to_their_band(calibration):
    decisions = Decisions(
        assign=0.5, suggest=0.1, by="label", bands={"tail": 0.7, "torso": NEVER_ASSIGN}, labels={3: 0.2}
    )
    frequencies = np.array([0, 2, 20, 2])
    thresholds = decisions.assign_thresholds(np.array([[0, 1, 2, 3, -1]]), frequencies)
    assert thresholds.tolist() == [[0.5, 0.7, NEVER_ASSIGN, 0.2, 0.5]]
    topk = TopK(np.array([[2, 1, 3, 0, -1]], np.int32), np.zeros((1, 5), np.float32))
    words = decisions.decide(
        TopK(topk.ids, topk.scores, None, np.array([[0.99, 0.69, 0.3, 0.05, 0.0]], np.float32)), frequencies
    )
    assert words.tolist() == [[SUGGEST, SUGGEST, ASSIGN, LEAVE, ""]]


def test_the_limit_leaves_the_rest_out():
    topk = TopK(np.array([[0, 1, 2]], np.int32), np.zeros((1, 3), np.float32), None, np.full((1, 3), 0.9, np.float32))
    words = Decisions(assign=0.5, suggest=0.1, limit=2).decide(topk, np.ones(3, np.int64))
    assert words.tolist() == [[ASSIGN, ASSIGN, LEAVE]]


def test_decisions_need_probabilities():
    with pytest.raises(DataError, match="no probabilities"):
        Decisions().decide(TopK.make_empty(1, 1), np.ones(3, np.int64))


def test_f1_is_maximised_over_limit_and_threshold():
    rng = np.random.default_rng(0)
    p = -np.sort(-rng.random((300, 6)), axis=1).astype(np.float32)
    right = (rng.random(p.shape) < p).astype(np.uint8)
    evidence = HeldOutEvidence(
        np.arange(6, dtype=np.int32)[None, :].repeat(300, axis=0),
        p,
        right,
        np.ones((300, 6), np.int64),
        right.sum(axis=1).astype(np.int64),
    )
    found = choose_for_f1(evidence)

    def f1(threshold: float, limit: int) -> float:
        taken = (p >= threshold) & (np.arange(6) < limit)
        return 2 * right[taken].sum() / (taken.sum() + right.sum())

    best = max(f1(t, limit) for t in np.linspace(0.01, 0.99, 99) for limit in range(1, 7))
    assert f1(found.assign, found.limit) == pytest.approx(best)


def draw_predictions(n: int, seed: int, per_document: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return honest probabilities, what came of them, and documents; those of one document share their luck."""
    rng = np.random.default_rng(seed)
    documents = np.arange(n) // per_document
    p = rng.beta(4, 1, n // per_document)[documents]
    luck = rng.random(n // per_document)[documents]
    return p.astype(np.float32), (luck < p).astype(np.uint8), documents


def test_much_evidence_is_promised_and_little_is_not():
    assert promise_precision(*draw_predictions(30_000, 0), 0.9).is_certain
    little = promise_precision(*draw_predictions(1_000, 0), 0.9)
    assert little.is_reached
    assert not little.is_certain


def test_predictions_of_one_document_are_no_independent_evidence():
    alone, together = (promise_precision(*draw_predictions(8_000, 0, size), 0.9) for size in (1, 8))
    assert together.high - together.low > 2.0 * (alone.high - alone.low)
    assert alone.is_certain
    assert not together.is_certain


def test_the_lowest_threshold_that_looks_good_enough_is_corrected_for_luck():
    """Chosen on little evidence again and again, thresholds keep the precision on average."""
    p, right, _ = draw_predictions(200_000, 99)
    reached = [promise_precision(*draw_predictions(400, seed), 0.9).threshold for seed in range(60)]
    found = [float(right[p >= threshold].mean()) for threshold in reached if threshold != NEVER_ASSIGN]
    assert len(found) > 50
    assert np.mean(found) >= 0.9


@pytest.mark.parametrize(("given_", "read"), [(0.95, 0.95), (95, 0.95), (1, 1.0), (100, 1.0)])
def test_a_precision_is_a_share_or_a_percentage(given_, read):
    assert read_precision(given_) == pytest.approx(read)


@pytest.mark.parametrize("value", [0, -3, 101])
def test_a_precision_beyond_reason_is_rejected(value):
    with pytest.raises(ConfigError, match="a precision lies above 0"):
        read_precision(value)


def test_decisions_survive_their_file(tmp_path):
    made = Decisions(
        assign=NEVER_ASSIGN, suggest=0.3, by="label", bands={"head": 0.9}, labels={7: 0.8}, asked_precision=0.95
    )
    write_decisions(tmp_path, made)
    assert read_decisions(tmp_path) == made
    assert json.loads((tmp_path / DECISIONS_FILE).read_text())["assign"] is None
    assert read_decisions(tmp_path / "none") == Decisions()


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"schema": 1}',
        '{"schema": 9}',
        "null",
        json.dumps(Decisions().to_dict() | {"assign": "much"}),
        json.dumps(Decisions().to_dict() | {"assign": 80}),
        json.dumps(Decisions().to_dict() | {"suggest": 0.9}),
        json.dumps(Decisions().to_dict() | {"labels": {"a": 0.5}}),
        json.dumps(Decisions().to_dict() | {"limit": 0}),
        json.dumps(Decisions().to_dict() | {"goal": "fame"}),
    ],
)
def test_a_file_edited_by_hand_is_refused_with_its_name(tmp_path, content):
    (tmp_path / DECISIONS_FILE).write_text(content)
    with pytest.raises(DataError, match=r"decisions\.json.*decisions cannot be"):
        read_decisions(tmp_path)


def test_bands_of_predictions_are_those_of_their_labels(calibration):
    choice = choose_for_precision(calibration.evidence, 0.8, by="band")
    assert set(choice.bands) == {"head", "torso", "tail", "zero-shot"}
    assert not choice.bands["head"].is_reached  # no label has more than 50 training documents here
    assert choice.bands["torso"].threshold < choice.overall.threshold + 0.2
    assert draw_frequencies().max() == 40
