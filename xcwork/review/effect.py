"""What the answers change: metrics of the stored predictions under the labels as annotated and as corrected.

The predictions are the same, only the labels they are measured against differ; what counts as a rare label stays as it
was in training. Both sides are resampled with the same draws of documents, so the interval is that of the change.

Cost: two evaluations of the stored lists and a bootstrap, O(resamples * n_documents).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from xcwork.core.dataset import Dataset
from xcwork.core.propensity import compute_inverse_propensities
from xcwork.core.topk import TopK
from xcwork.metrics.ranking import HEADLINE_METRICS, Ratio, compute_document_ratios, place_labels
from xcwork.metrics.significance import resample_ratios
from xcwork.review.correction import correct_labels, decide_items
from xcwork.review.documents import TEST, get_split
from xcwork.review.queue import QueueName, ReviewQueue
from xcwork.review.verdicts import VerdictLog

N_RESAMPLES = 1000
CONFIDENCE = 0.95


@dataclass(frozen=True)
class MetricChange:
    """One metric before and after the corrections, in percent, with bootstrap intervals."""

    metric: str
    original: float
    corrected: float
    original_interval: tuple[float, float]
    corrected_interval: tuple[float, float]
    change_interval: tuple[float, float]

    @property
    def change(self) -> float:
        return self.corrected - self.original


def measure_changes(
    topk: TopK,
    dataset: Dataset,
    verdicts: VerdictLog,
    *,
    split: str = TEST,
    metrics: Sequence[str] = HEADLINE_METRICS,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
) -> list[MetricChange]:
    """Return the metrics of `topk`, the predictions for a split, under its annotated and its corrected labels."""
    decided = decide_items(verdicts).take_split(split)
    annotated = get_split(dataset, split).Y
    before, after = (
        _compute_ratios(topk, Y, dataset, metrics) for Y in (annotated, correct_labels(annotated, decided))
    )
    # One product for each side: in a product of both, equal columns may differ in their last bits.
    first, second = (_resample_percent(ratios, n_resamples, seed) for ratios in (before, after))
    tails = [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]
    bounds = [np.quantile(sample, tails, axis=0).T.tolist() for sample in (first, second, second - first)]
    return [
        MetricChange(metric, a.compute_percent(), b.compute_percent(), *((low, high) for low, high in intervals))
        for metric, a, b, *intervals in zip(metrics, before, after, *bounds, strict=True)
    ]


def measure_if_confirmed(
    topk: TopK,
    dataset: Dataset,
    verdicts: VerdictLog,
    queue: ReviewQueue,
    *,
    metrics: Sequence[str] = HEADLINE_METRICS,
) -> dict[str, float]:
    """Return the metrics if every waiting item of a queue turned out as suspected: missing labels right, others wrong.

    Items near the threshold, and those that people put there, are suspected of nothing; for them it is what would be
    if all were right.
    """
    decided = decide_items(verdicts).take_split(queue.split)
    answered = verdicts.group_by_item()
    suspected = queue.name != QueueName.wrong
    waiting = {place[1:]: suspected for place in queue.list_places() if place not in answered}
    return measure_with(topk, dataset, waiting | decided, split=queue.split, metrics=metrics)


def measure_with(
    topk: TopK,
    dataset: Dataset,
    has_label: Mapping[tuple[int, int], bool],
    *,
    split: str = TEST,
    metrics: Sequence[str] = HEADLINE_METRICS,
) -> dict[str, float]:
    """Return the metrics if the labels of some (document row, label id) are as `has_label` says."""
    Y = correct_labels(get_split(dataset, split).Y, has_label)
    ratios = _compute_ratios(topk, Y, dataset, metrics)
    return {metric: ratio.compute_percent() for metric, ratio in zip(metrics, ratios, strict=True)}


def _resample_percent(ratios: Sequence[Ratio], n_resamples: int, seed: int) -> np.ndarray:
    """Return metrics in percent on draws of the documents, the same draws for the same seed."""
    above = np.column_stack([100.0 * ratio.numerator for ratio in ratios])
    below = np.column_stack([ratio.denominator for ratio in ratios])
    return resample_ratios(above, below, n_resamples, seed)  # (n_resamples, n_metrics)


def _compute_ratios(topk: TopK, Y: sparse.csr_array, dataset: Dataset, metrics: Sequence[str]) -> list[Ratio]:
    q = compute_inverse_propensities(dataset.train.label_frequencies, len(dataset.train), dataset.propensity)
    ks = sorted({int(metric.partition("@")[2]) for metric in metrics})
    # Labels beyond the largest k count for nothing, and this is computed again with every answer.
    ratios = compute_document_ratios(place_labels(topk.head(min(max(ks), topk.k)), Y), q, ks)
    return [ratios[metric] for metric in metrics]
