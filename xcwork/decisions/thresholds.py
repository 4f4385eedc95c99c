"""Choose thresholds from the evidence of held-out documents, never from the test split.

For a wanted precision the threshold is the lowest probability t such that the predictions with at least t are right as
often as wanted. How often they are right is the mean of two estimates: the share that was right, which is noisy where
predictions are few, and the mean of their cross-fitted probabilities, which is smooth but inherits the calibration's
bias. A threshold needs `MIN_ASSIGNMENTS` predictions at or above it, else nothing is promised and nothing is assigned.

The lowest threshold that looks good enough looks better than it is. By how much is found by drawing the documents with
replacement: the threshold chosen on such a draw is tried on all documents, and what it falls short of the wanted
precision, on average, is its *optimism*. The threshold is then chosen for a precision that is higher by the optimism.
A precision is promised only if the interval of what was right, less the optimism, lies within `MAX_MISS_POINTS` of it.

Per band the same is done within each band of label frequency. A label gets a threshold of its own if it has
`MIN_ASSIGNMENTS` predictions among the evidence and falls back to its band otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xcwork.core.bands import make_absolute_bands
from xcwork.decisions.calibration import HeldOutEvidence
from xcwork.decisions.choice import NEVER_ASSIGN, Decisions
from xcwork.decisions.outcomes import Outcome, measure_outcome
from xcwork.decisions.ranked_evidence import MIN_ASSIGNMENTS, RankedEvidence
from xcwork.errors import ConfigError

MAX_MISS_POINTS = 1.5  # between the asked precision and the ends of its interval, for it to be promised
MAX_LIMIT = 20  # labels per document that are tried
N_TRIED_THRESHOLDS = 99


@dataclass(frozen=True)
class Promise:
    """A threshold and what held-out documents say about it, in percent."""

    threshold: float  # from 0 to 1; NEVER_ASSIGN where no threshold reaches the precision
    n: int  # held-out predictions at or above it
    precision: float | None
    low: float  # 95 % interval of what new documents can be expected to give
    high: float
    asked: float

    @property
    def is_reached(self) -> bool:
        return self.threshold != NEVER_ASSIGN

    @property
    def is_certain(self) -> bool:
        """Whether the evidence pins the precision down well enough to promise it."""
        return self.is_reached and max(self.asked - self.low, self.high - self.asked) <= MAX_MISS_POINTS


def read_precision(value: float) -> float:
    """Return a wanted precision given as 0.95 or as 95."""
    precision = value / 100.0 if value > 1.0 else value
    if not 0.0 < precision <= 1.0:
        raise ConfigError(f"a precision lies above 0 and is at most 1 (or 100 %), got {value:g}")
    return precision


def promise_precision(probabilities: np.ndarray, right: np.ndarray, documents: np.ndarray, precision: float) -> Promise:
    """Return the lowest threshold at which predictions are right as often as wanted.

    All arrays are (n_predictions,); `documents` are the numbers of the documents that the predictions belong to.
    """
    order = np.argsort(-probabilities, kind="stable")
    ranked = RankedEvidence(probabilities[order].astype(np.float64), right[order].astype(np.float64), documents[order])
    optimism = ranked.estimate_optimism(precision)
    end = ranked.find_end(min(precision + optimism, 1.0))
    if end == 0:
        return Promise(NEVER_ASSIGN, 0, None, 0.0, 100.0, 100.0 * precision)
    p, share = ranked.probabilities, float(ranked.right[:end].mean())
    low, high = ranked.compute_interval(end)
    # Half way to the next probability: rounding must not decide about predictions at the threshold.
    threshold = p[end - 1] if end == len(p) else (p[end - 1] + p[end]) / 2.0
    return Promise(float(threshold), end, 100.0 * share, max(low - 100.0 * optimism, 0.0), high, 100.0 * precision)


@dataclass(frozen=True)
class Choice:
    """Thresholds with the evidence for each of them."""

    decisions: Decisions
    overall: Promise
    bands: dict[str, Promise]
    labels: dict[int, Promise]
    expected: Outcome  # on the held-out documents

    @property
    def is_promised(self) -> bool:
        """Whether the evidence pins down the precision of every threshold that assigns anything."""
        used = [each for each in self.list_promises() if each.is_reached]
        return bool(used) and all(each.is_certain for each in used)

    def list_promises(self) -> list[Promise]:
        """Return the promises that count: the overall one, or those of bands and labels."""
        return [self.overall] if self.decisions.by == "one" else [*self.bands.values(), *self.labels.values()]


def choose_for_precision(
    evidence: HeldOutEvidence, precision: float, *, by: str = "one", suggest: float = 0.2
) -> Choice:
    """Return thresholds at which the wanted share (0 to 1) of the assigned labels is right."""
    present = evidence.present
    p, hits, documents = evidence.probabilities[present], evidence.right[present], np.nonzero(present)[0]
    overall = promise_precision(p, hits, documents, precision)
    bands: dict[str, Promise] = {}
    labels: dict[int, Promise] = {}
    if by in ("band", "label"):
        scheme = make_absolute_bands(evidence.frequencies[present])  # one entry per prediction
        for at, name in enumerate(scheme.names):
            inside = scheme.of_label == at
            bands[name] = promise_precision(p[inside], hits[inside], documents[inside], precision)
    if by == "label":
        labels = _promise_labels(evidence.ids[present], p, hits, documents, precision)
    thresholds = [overall.threshold, *(each.threshold for each in (*bands.values(), *labels.values()))]
    decisions = Decisions(
        assign=overall.threshold,
        suggest=min([suggest, *thresholds]),
        by=by,
        bands={name: each.threshold for name, each in bands.items()},
        labels={label: each.threshold for label, each in labels.items()},
        asked_precision=precision,
    )
    return Choice(decisions, overall, bands, labels, measure_on_evidence(evidence, decisions))


def _promise_labels(
    ids: np.ndarray, p: np.ndarray, hits: np.ndarray, documents: np.ndarray, precision: float
) -> dict[int, Promise]:
    """Return the thresholds of the labels with enough predictions; those that cannot reach the precision are left."""
    order = np.argsort(ids, kind="stable")
    labels, starts, counts = np.unique(ids[order], return_index=True, return_counts=True)
    found = {}
    for at in np.flatnonzero(counts >= MIN_ASSIGNMENTS).tolist():
        inside = order[starts[at] : starts[at] + counts[at]]
        promise = promise_precision(p[inside], hits[inside], documents[inside], precision)
        if promise.is_reached:
            found[int(labels[at])] = promise
    return found


def choose_for_f1(evidence: HeldOutEvidence, *, suggest: float = 0.2) -> Decisions:
    """Return the limit and the threshold that maximise micro-F1 on the held-out documents."""
    best = (-1.0, MAX_LIMIT, 0.5)
    right, p, n_true = evidence.right.astype(np.float64), evidence.probabilities, float(evidence.n_true.sum())
    for threshold in np.linspace(0.01, 0.99, N_TRIED_THRESHOLDS):
        assigned = (p >= threshold) & evidence.present
        n_assigned = np.cumsum(assigned.sum(axis=0))  # by limit
        n_right = np.cumsum((right * assigned).sum(axis=0))
        f1 = 2.0 * n_right / np.maximum(n_assigned + n_true, 1.0)
        limit = int(np.argmax(f1[:MAX_LIMIT]))
        if f1[limit] > best[0] + 1e-12:
            best = (float(f1[limit]), limit + 1, float(threshold))
    return Decisions(assign=best[2], suggest=min(suggest, best[2]), limit=best[1], goal="micro-f1")


def measure_on_evidence(evidence: HeldOutEvidence, decisions: Decisions) -> Outcome:
    """Return what the decisions would have achieved on the held-out documents."""
    limits = np.full(evidence.ids.shape, decisions.assign)
    if decisions.by != "one":
        scheme = make_absolute_bands(evidence.frequencies.ravel())
        of_band = np.array([decisions.bands.get(name, decisions.assign) for name in scheme.names])
        limits = of_band[scheme.of_label].reshape(evidence.ids.shape)
        for label, threshold in decisions.labels.items():
            limits[evidence.ids == label] = threshold
    allowed = evidence.present
    if decisions.limit is not None:
        allowed = allowed & (np.arange(evidence.ids.shape[1]) < decisions.limit)
    assigned = allowed & (evidence.probabilities >= limits)
    suggested = allowed & (evidence.probabilities >= decisions.suggest)
    return measure_outcome(assigned, suggested, evidence.probabilities, evidence.right, evidence.n_true)
