"""What thresholds do with the predictions for the test split: which are assigned, suggested, left out, and how right.

Thresholds are never chosen here. They come from held-out training documents (`xcwork.decisions`); the test split only
shows what they give.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from xcwork.core.topk import MISSING, TopK
from xcwork.decisions.calibration import HeldOutEvidence
from xcwork.decisions.choice import ASSIGN, LEAVE, SUGGEST, Decisions
from xcwork.decisions.goals import COVERAGE, MACRO_F1, PRECISION, choose_labels
from xcwork.decisions.outcomes import Outcome, measure_outcome
from xcwork.metrics.calibration import N_BINS, assign_bins, build_reliability_table, compute_wilson_interval
from xcwork.metrics.ranking import compute_coverage, compute_f1, place_labels
from xcwork.runs.calibration import plan_run, require_calibration

if TYPE_CHECKING:
    import pandas as pd

    from xcwork.core.dataset import Dataset
    from xcwork.runs import Run

CURVE_PERCENTS = tuple(range(5, 100, 5))  # thresholds that are tried for the curve
MIN_LABEL_CASES = 5  # held-out predictions of a label that is listed on its own
MIN_CERTAIN_DOCUMENTS = 200  # held-out documents below which shares are shown as ranges


@dataclass(frozen=True, eq=False)
class JudgedPredictions:
    """The predictions for the test split with their probabilities, and whether each of them is right."""

    topk: TopK
    frequencies: np.ndarray  # (n_labels,) training documents of the model's labels
    right: np.ndarray  # (n_documents, k) bool
    n_true: np.ndarray  # (n_documents,) labels of each document
    dataset: Dataset

    @property
    def listed(self) -> np.ndarray:
        """Which slots hold a prediction, (n_documents, k) bool."""
        return self.topk.ids != MISSING

    @property
    def probabilities(self) -> np.ndarray:
        assert self.topk.probabilities is not None
        return self.topk.probabilities

    def decide(self, decisions: Decisions) -> np.ndarray:
        """Return the word for every slot, '' where there is no label."""
        return decisions.decide(self.topk, self.frequencies)


def judge_predictions(run: Run, dataset: Dataset, topk: TopK | None = None) -> JudgedPredictions:
    """Return the stored predictions of a run with probabilities of its present calibration."""
    calibration = require_calibration(run)
    frequencies = plan_run(run.config, dataset).take_training_split(dataset.train).label_frequencies
    # The stored probabilities may be of an earlier calibration.
    found = calibration.apply(run.read_topk() if topk is None else topk, frequencies)
    placement = place_labels(found, dataset.test.Y)
    return JudgedPredictions(found, frequencies, placement.mark_hits(), placement.n_true, dataset)


def measure_decisions(judged: JudgedPredictions, decisions: Decisions) -> Outcome:
    """Return what the decisions achieve on the test split."""
    words = judged.decide(decisions)
    return measure_outcome(words == ASSIGN, words == SUGGEST, judged.probabilities, judged.right, judged.n_true)


@dataclass(frozen=True)
class DecisionGroup:
    """Predictions that are treated alike; shares are in percent."""

    n: int
    n_right: int
    n_documents: int  # that have at least one of them
    low: float  # 95 % interval of the share that is right, after Wilson
    high: float

    @property
    def share_right(self) -> float | None:
        return 100.0 * self.n_right / self.n if self.n else None


@dataclass(frozen=True)
class DecisionSummary:
    """What thresholds do: the three groups make up all listed predictions."""

    groups: dict[str, DecisionGroup]  # by the word for them
    bars: dict[str, list[int]]  # by the same words: predictions per tenth of the probability
    n_documents: int
    n_true: int
    outcome: Outcome

    @property
    def n_listed(self) -> int:
        return sum(group.n for group in self.groups.values())

    @property
    def missed_share(self) -> float | None:
        """The true labels that are neither assigned nor suggested, in percent; also those that are not listed."""
        shown = self.groups[ASSIGN].n_right + self.groups[SUGGEST].n_right
        return 100.0 * (self.n_true - shown) / self.n_true if self.n_true else None


def summarise_decisions(judged: JudgedPredictions, decisions: Decisions) -> DecisionSummary:
    """Return the three groups of predictions, and their numbers by probability."""
    words = judged.decide(decisions)
    groups, bars = {}, {}
    for word in (ASSIGN, SUGGEST, LEAVE):
        inside = words == word
        n, n_right = int(inside.sum()), int(judged.right[inside].sum())
        groups[word] = DecisionGroup(n, n_right, int(inside.any(axis=1).sum()), *compute_wilson_interval(n_right, n))
        bins = assign_bins(judged.probabilities[inside])
        bars[word] = np.bincount(bins, minlength=N_BINS).tolist()
    outcome = measure_outcome(words == ASSIGN, words == SUGGEST, judged.probabilities, judged.right, judged.n_true)
    return DecisionSummary(groups, bars, len(judged.n_true), int(judged.n_true.sum()), outcome)


def trace_thresholds(judged: JudgedPredictions) -> pd.DataFrame:
    """Return, for one threshold after the other, the share that is right and the documents that get a label."""
    import pandas as pd

    rows = []
    for percent in CURVE_PERCENTS:
        assigned = judged.listed & (judged.probabilities >= percent / 100.0)
        if not assigned.any():
            continue
        n, n_right = int(assigned.sum()), int(judged.right[assigned].sum())
        documents = 100.0 * float(assigned.any(axis=1).mean())
        rows.append((percent, documents, 100.0 * n_right / n, *compute_wilson_interval(n_right, n), n))
    return pd.DataFrame(rows, columns=["from", "documents", "right", "low", "high", "labels"])


def tabulate_reliability(judged: JudgedPredictions) -> list[dict[str, float]]:
    """Return what the probabilities of all listed predictions say, and what happens."""
    return build_reliability_table(judged.probabilities, judged.right, judged.listed)


def compare_goals(judged: JudgedPredictions, k: int) -> dict[str, dict[str, float]]:
    """Return what k labels per document give on the test split when they are chosen for one goal or another."""
    found = {}
    truth = judged.dataset.test.Y
    for goal in (PRECISION, MACRO_F1, COVERAGE):
        chosen = judged.topk.where(choose_labels(judged.topk, judged.dataset.test.n_labels, k, goal)).head(k)
        placement = place_labels(chosen, truth)
        figures = {f"P@{k}": 100.0 * float(placement.count_hits(k).mean()) / k} | compute_f1(placement, k)
        found[goal] = {name: round(value, 2) for name, value in figures.items()}
        found[goal][f"coverage@{k}"] = round(compute_coverage(placement, k), 2)
    return found


def list_predictions_between(judged: JudgedPredictions, low: float, high: float, limit: int) -> pd.DataFrame:
    """Return predictions with a probability from `low` to below `high` (to 1 where that is the end), surest first.

    `item` is what a review calls the prediction.
    """
    import pandas as pd

    p = judged.probabilities
    inside = judged.listed & (p >= low) & ((p < high) | (high >= 1.0))
    documents, slots = np.nonzero(inside)
    order = np.argsort(-p[documents, slots], kind="stable")[:limit]
    documents, slots = documents[order], slots[order]
    labels = judged.topk.ids[documents, slots].tolist()
    return pd.DataFrame(
        {
            "document": documents,
            "label": [judged.dataset.labels.names[label] for label in labels],
            "percent": 100.0 * p[documents, slots].astype(np.float64),
            "annotated": judged.right[documents, slots].astype(bool),
            "item": [f"test:{document}:{label}" for document, label in zip(documents.tolist(), labels, strict=True)],
        }
    )


def list_labels_reaching(evidence: HeldOutEvidence, precision: float, names: list[str]) -> pd.DataFrame:
    """Return the labels whose own held-out predictions are right as often as wanted from some probability on.

    The probability is the lowest at which that holds; `precision` is from 0 to 1. Most cases first.
    """
    import pandas as pd

    present = evidence.present
    ids, p, right = evidence.ids[present], evidence.probabilities[present], evidence.right[present]
    order = np.lexsort((-p, ids))
    ids, p, right = ids[order], p[order].astype(np.float64), right[order].astype(np.int64)
    starts = np.flatnonzero(np.append(True, np.diff(ids) != 0)) if len(ids) else np.zeros(0, np.int64)
    first = np.repeat(starts, np.diff(np.append(starts, len(ids))))
    cases = np.arange(len(ids)) - first + 1
    sums = np.cumsum(right)
    hits = sums - (sums - right)[first]
    # Equal probabilities of a label are assigned together, so only the last of them is a place to stop.
    is_last = np.append((np.diff(ids) != 0) | (np.diff(p) < 0), True) if len(ids) else np.zeros(0, bool)
    places = np.flatnonzero(is_last & (cases >= MIN_LABEL_CASES) & (hits >= precision * cases))
    rows = {}
    for at in places.tolist():  # of one label the last place is the lowest probability
        n, n_right = int(cases[at]), int(hits[at])
        interval = compute_wilson_interval(n_right, n)
        rows[int(ids[at])] = (names[ids[at]], 100.0 * p[at], n, 100.0 * n_right / n, *interval)
    columns = ["label", "assign from", "cases", "right", "low", "high"]
    return pd.DataFrame(list(rows.values()), columns=columns).sort_values("cases", ascending=False, ignore_index=True)
