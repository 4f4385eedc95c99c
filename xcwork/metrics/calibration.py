"""Whether probabilities mean what they say: calibration error, Brier score and the reliability table.

ECE@k looks at the first k labels of every document only, because a long tail of labels with a probability near zero
would make any method look calibrated (Ullah, Schultheis, Zhang, Babbar: How well calibrated are extreme multi-label
classifiers?, KDD 2025). Predictions are put into ten bins of equal width by their probability:

    ECE@k = sum over bins of (predictions in the bin / all predictions) * |share that is right - mean probability|

The Brier score is the mean of (probability - right)². Both are given times 100. The interval of a share is Wilson's.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from xcwork.core.bands import make_absolute_bands
from xcwork.core.topk import MISSING, TopK
from xcwork.errors import DataError
from xcwork.metrics.ranking import Placement

KS = (1, 3, 5, 10)
BRIER_K = 5
N_BINS = 10
Z_95 = 1.959963984540054  # quantile of the normal distribution for an interval of 95 %
RELIABILITY_COLUMNS = ("from", "to", "n", "said", "right", "low", "high")


def measure_calibration(topk: TopK, placement: Placement, frequencies: np.ndarray) -> dict[str, Any]:
    """Return `ece` by k, `brier` by band and the `reliability` table of predictions that have probabilities."""
    if topk.probabilities is None:
        raise DataError("these predictions have no probabilities", remedy="predict with proba=True")
    right = placement.mark_hits()
    first = topk.head(min(BRIER_K, topk.k))
    present = first.ids != MISSING
    errors = (topk.probabilities[:, : first.k] - right[:, : first.k])[present].astype(np.float64) ** 2
    bands = make_absolute_bands(frequencies)
    of_label = np.append(bands.of_label, len(bands.names) - 1)  # labels added later were never seen
    band = of_label[np.minimum(first.ids[present], len(frequencies))]
    brier = {"all": _compute_mean(errors)}
    brier |= {name: _compute_mean(errors[band == at]) for at, name in enumerate(bands.names) if (band == at).any()}
    listed = topk.ids != MISSING
    return {
        "ece": {str(k): compute_ece(topk.probabilities[:, :k], right[:, :k], listed[:, :k]) for k in KS if k <= topk.k},
        "brier": brier,
        "reliability": build_reliability_table(
            topk.probabilities[:, : max(KS)], right[:, : max(KS)], listed[:, : max(KS)]
        ),
    }


def compute_ece(probabilities: np.ndarray, right: np.ndarray, listed: np.ndarray, n_bins: int = N_BINS) -> float:
    """Return the expected calibration error of the listed predictions, times 100."""
    p, hits = probabilities[listed].astype(np.float64), right[listed].astype(np.float64)
    if len(p) == 0:
        return 0.0
    bins = assign_bins(p, n_bins)
    gaps = np.bincount(bins, weights=hits - p, minlength=n_bins)
    return 100.0 * float(np.abs(gaps).sum()) / len(p)


def assign_bins(probabilities: np.ndarray, n_bins: int = N_BINS) -> np.ndarray:
    """Return the bin of equal width that each probability belongs to; 1 belongs to the last one."""
    return np.minimum((probabilities * n_bins).astype(np.int64), n_bins - 1)


def build_reliability_table(
    probabilities: np.ndarray, right: np.ndarray, listed: np.ndarray, n_bins: int = N_BINS
) -> list[dict[str, float]]:
    """Return one row per bin that has predictions: its bounds, what they say, what share is right, and its interval."""
    p, hits = probabilities[listed].astype(np.float64), right[listed]
    bins = assign_bins(p, n_bins)
    rows = []
    for at in np.unique(bins).tolist():
        inside = bins == at
        n, n_right = int(inside.sum()), int(hits[inside].sum())
        low, high = compute_wilson_interval(n_right, n)
        figures = (100.0 * at / n_bins, 100.0 * (at + 1) / n_bins, n, 100.0 * float(p[inside].mean()))
        rows.append(dict(zip(RELIABILITY_COLUMNS, (*figures, 100.0 * n_right / n, low, high), strict=True)))
    return rows


def compute_wilson_interval(n_right: int, n: int) -> tuple[float, float]:
    """Return the 95 % interval of a share of n in percent, after Wilson; of nothing it is everything."""
    if n == 0:
        return 0.0, 100.0
    share = n_right / n
    middle = share + Z_95**2 / (2 * n)
    spread = Z_95 * math.sqrt(share * (1 - share) / n + Z_95**2 / (4 * n * n))
    scale = 1 + Z_95**2 / n
    return 100.0 * max(0.0, (middle - spread) / scale), 100.0 * min(1.0, (middle + spread) / scale)


def describe_calibration(figures: dict[str, Any]) -> str:
    """Return the figures as one sentence."""
    errors = ", ".join(f"ECE@{k} {value:.2f}" for k, value in figures["ece"].items())
    return f"Probabilities: {errors} points; Brier score {figures['brier']['all']:.2f} (times 100)."


def check_calibration_figures(figures: Any) -> None:
    """Raise a ValueError at stored figures that cannot be shown."""
    if figures == {}:
        return
    rows = figures["reliability"]
    numbers = [*figures["ece"].values(), *figures["brier"].values(), figures["brier"]["all"]]
    numbers += [row[column] for row in rows for column in RELIABILITY_COLUMNS]
    if not all(type(number) in (int, float) and math.isfinite(number) for number in numbers):
        raise ValueError("a figure of the calibration is not a number")


def _compute_mean(squares: np.ndarray) -> float:
    return 100.0 * float(squares.mean()) if len(squares) else 0.0
