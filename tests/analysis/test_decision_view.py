"""What thresholds do with test predictions: groups add up, shares are those counted by hand, labels on their own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.orchard import write_orchard
from xcwork.analysis.decision_view import (
    MIN_LABEL_CASES,
    JudgedPredictions,
    judge_predictions,
    list_labels_reaching,
    list_predictions_between,
    measure_decisions,
    summarise_decisions,
    tabulate_reliability,
    trace_thresholds,
)
from xcwork.analysis.probability_view import explain_probability
from xcwork.core.topk import MISSING
from xcwork.data.load import load_dataset
from xcwork.decisions.calibration import HeldOutEvidence
from xcwork.decisions.choice import ASSIGN, LEAVE, SUGGEST, Decisions
from xcwork.errors import RunError
from xcwork.runs import Run, RunStore, worker


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    home = tmp_path_factory.mktemp("home")
    made = RunStore(home).create("one_vs_all", None, write_orchard(home / "data" / "orchard", 600))
    assert worker.main(made.folder) == 0
    return made


@pytest.fixture(scope="module")
def judged(run: Run) -> JudgedPredictions:
    return judge_predictions(run, load_dataset(run.home / "data" / "orchard"))


@settings(max_examples=30, deadline=None)
@given(percents=st.tuples(st.integers(0, 100), st.integers(0, 100)).map(sorted))
def test_three_groups_make_up_all_predictions(judged: JudgedPredictions, percents: list[int]) -> None:
    suggest, assign = percents[0] / 100, percents[1] / 100
    summary = summarise_decisions(judged, Decisions(assign=assign, suggest=suggest))
    p, listed, right = judged.probabilities, judged.listed, judged.right.astype(bool)
    by_hand = {
        ASSIGN: listed & (p >= assign),
        SUGGEST: listed & (p >= suggest) & (p < assign),
        LEAVE: listed & (p < suggest),
    }
    for word, inside in by_hand.items():
        group = summary.groups[word]
        assert (group.n, group.n_right) == (int(inside.sum()), int((inside & right).sum()))
        assert group.n_documents == int(inside.any(axis=1).sum())
        assert sum(summary.bars[word]) == group.n
        assert group.low - 1e-9 <= (group.share_right if group.n else 50.0) <= group.high + 1e-9
    assert summary.n_listed == int(listed.sum())
    assert summary.outcome == measure_decisions(judged, Decisions(assign=assign, suggest=suggest))
    found = int(((by_hand[ASSIGN] | by_hand[SUGGEST]) & right).sum())
    assert summary.missed_share == pytest.approx(100 * (1 - found / judged.n_true.sum()))


def test_the_curve_is_what_single_thresholds_achieve(judged: JudgedPredictions) -> None:
    traced = trace_thresholds(judged)
    assert len(traced) > 5
    for row in traced.to_dict("records"):
        outcome = measure_decisions(judged, Decisions(assign=row["from"] / 100, suggest=0.0))
        assert row["right"] == pytest.approx(outcome.precision)
        assert row["documents"] == pytest.approx(outcome.automation_share)
        assert row["labels"] == outcome.n_assignments
    assert (np.diff(traced["documents"]) <= 0).all(), "a higher threshold never serves more documents"


def test_bars_list_their_predictions(judged: JudgedPredictions) -> None:
    summary = summarise_decisions(judged, Decisions())
    for at in range(10):
        listed = list_predictions_between(judged, at / 10, (at + 1) / 10, limit=10_000)
        assert len(listed) == sum(bars[at] for bars in summary.bars.values())
        assert listed["percent"].is_monotonic_decreasing
    assert sum(row["n"] for row in tabulate_reliability(judged)) == summary.n_listed


def test_a_run_without_calibration_is_a_sentence(run: Run, judged: JudgedPredictions, monkeypatch) -> None:
    monkeypatch.setattr(Run, "read_calibration", lambda self: None)
    with pytest.raises(RunError, match="train again or run `xcwork calibrate"):
        judge_predictions(run, judged.dataset)


def make_evidence(rows: list[tuple[int, float, int]]) -> HeldOutEvidence:
    """One prediction per document: (label, probability, right)."""
    ids, p, right = (np.array(column)[:, None] for column in zip(*rows, strict=True))
    ones = np.ones(len(rows), np.int64)
    return HeldOutEvidence(ids.astype(np.int32), p.astype(np.float32), right.astype(np.uint8), ones[:, None], ones)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from([0.1, 0.25, 0.5, 0.75, 0.9]), st.integers(0, 1)),
        min_size=1,
        max_size=60,
    ),
    percent=st.integers(1, 100),
)
def test_labels_on_their_own_are_found_as_by_trying_every_threshold(rows, percent: int) -> None:
    names = ["a", "b", "c", "d"]
    found = list_labels_reaching(make_evidence(rows), percent / 100, names).set_index("label")
    for label, name in enumerate(names):
        best = None
        for threshold in (0.9, 0.75, 0.5, 0.25, 0.1):
            hits = [right for each, p, right in rows if each == label and p >= threshold]
            ends_here = any(each == label and p == threshold for each, p, _ in rows)
            if ends_here and len(hits) >= MIN_LABEL_CASES and sum(hits) >= percent / 100 * len(hits):
                best = (threshold, len(hits), sum(hits))
        assert (best is None) == (name not in found.index)
        if best is not None:
            assert found.loc[name, "assign from"] == pytest.approx(100 * best[0], abs=1e-4)
            assert found.loc[name, "cases"] == best[1]
            assert found.loc[name, "right"] == pytest.approx(100 * best[2] / best[1])


def test_no_evidence_lists_no_label() -> None:
    evidence = make_evidence([(MISSING, 0.0, 0)])
    assert len(list_labels_reaching(evidence, 0.5, ["a"])) == 0


def test_the_way_to_a_probability_ends_at_the_prediction(run: Run, judged: JudgedPredictions) -> None:
    model = run.load_model()
    predicted = model.predict(judged.dataset.test.take([0]), 5, proba=True)
    way = explain_probability(model.calibration_, predicted, int(predicted.ids[0, 0]), model.label_frequencies_)
    assert way is not None
    assert way.probability == pytest.approx(float(predicted.probabilities[0, 0]))
    calibration = model.calibration_
    # The first label has no earlier one, so only the map lies between the parts and the end.
    assert np.interp(way.raw, calibration.map_from, calibration.map_to) == pytest.approx(way.probability, abs=1e-5)
    assert f"{calibration.n_documents:,} documents" in way.describe()
    assert explain_probability(calibration, predicted, 10**6, model.label_frequencies_) is None
