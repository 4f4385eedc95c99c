"""Choose k labels per document for a goal that counts every label alike, however rare.

*Macro-F1* is the mean over labels of 2 tp / (predicted + true), *coverage* the share of labels that are found at least
once. Neither is a sum over documents, so the best choice for one document depends on the others. Expected values come
from the probabilities; then block coordinate ascent (Schultheis et al., NeurIPS 2023): one document after the other is
taken out and given the k labels with the largest gain, until a pass changes nothing worth having. With one document
alone, or with rare labels that have no candidates, this is the usual choice of the k most probable labels.

Cost: O(passes * predictions); only listed labels are candidates, so any number of labels will do.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from xcwork.core.topk import MISSING, TopK
from xcwork.errors import ConfigError, DataError
from xcwork.progress import track

PRECISION = "precision"
MICRO_F1 = "micro-f1"
MACRO_F1 = "macro-f1"
COVERAGE = "coverage"
GOALS = (PRECISION, MICRO_F1, MACRO_F1, COVERAGE)
MAX_PASSES = 5
MIN_GAIN = 1e-6  # of the goal, relative, that is worth another pass
TINY = 1e-9  # keeps a certain label from making a product zero, which could not be undone


def choose_labels(topk: TopK, n_labels: int, k: int, goal: str) -> np.ndarray:
    """Return which slots are chosen, (n_documents, depth) bool: k per document, or all where there are fewer."""
    if topk.probabilities is None:
        raise DataError("these predictions have no probabilities to choose by", remedy="predict with proba=True")
    if goal not in GOALS:
        raise ConfigError(f"the goal must be one of {', '.join(GOALS)}, got {goal!r}")
    present = topk.ids != MISSING
    chosen = present & (np.arange(topk.k) < k)
    if goal in (PRECISION, MICRO_F1):
        return chosen
    labels = np.where(present, topk.ids, 0)
    p = np.where(present, topk.probabilities, 0.0).astype(np.float64)
    ascend = _ascend_coverage if goal == COVERAGE else _ascend_macro_f1
    step, measure = ascend(labels, p, chosen, n_labels)
    best = measure()
    for _ in track(range(MAX_PASSES), f"choosing for {goal}"):
        for document in range(len(topk)):
            gains = np.where(present[document], step(document, None), -np.inf)
            kept = np.argsort(-gains, kind="stable")[:k]
            chosen[document] = False
            chosen[document, kept[np.isfinite(gains[kept])]] = True
            step(document, chosen[document])
        reached = measure()
        if reached <= best * (1.0 + MIN_GAIN):
            break
        best = reached
    return chosen


Step = Callable[[int, np.ndarray | None], np.ndarray]


def _ascend_coverage(
    labels: np.ndarray, p: np.ndarray, chosen: np.ndarray, n_labels: int
) -> tuple[Step, Callable[[], float]]:
    """Return (step, measure): step takes a document out and returns gains, or puts it back with its new choice."""
    missed = np.zeros(n_labels)  # log of the probability that no chosen document has the label
    logs = np.log(np.maximum(1.0 - p, TINY))
    np.add.at(missed, labels[chosen], logs[chosen])

    def step(document: int, kept: np.ndarray | None) -> np.ndarray:
        mine = labels[document]
        if kept is not None:
            missed[mine[kept]] += logs[document, kept]
            return mine
        before = chosen[document]
        missed[mine[before]] -= logs[document, before]
        return p[document] * np.exp(missed[mine])

    return step, lambda: float((1.0 - np.exp(missed)).sum())


def _ascend_macro_f1(
    labels: np.ndarray, p: np.ndarray, chosen: np.ndarray, n_labels: int
) -> tuple[Step, Callable[[], float]]:
    """Return (step, measure) as `_ascend_coverage` does, for macro-F1."""
    right, predicted, true = np.zeros(n_labels), np.zeros(n_labels), np.zeros(n_labels)
    np.add.at(true, labels.ravel(), p.ravel())
    np.add.at(right, labels[chosen], p[chosen])
    np.add.at(predicted, labels[chosen], 1.0)

    def step(document: int, kept: np.ndarray | None) -> np.ndarray:
        mine = labels[document]
        sign, moved = (1.0, kept) if kept is not None else (-1.0, chosen[document])
        right[mine[moved]] += sign * p[document, moved]
        predicted[mine[moved]] += sign
        if kept is not None:
            return mine
        without = 2.0 * right[mine] / np.maximum(predicted[mine] + true[mine], TINY)
        return 2.0 * (right[mine] + p[document]) / (predicted[mine] + 1.0 + true[mine]) - without

    return step, lambda: float((2.0 * right / np.maximum(predicted + true, TINY)).sum())
