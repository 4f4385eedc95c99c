"""Is one run better than another, or was the test split kind to it?

Both runs are measured on the same documents, so documents are resampled in pairs: draw as many documents as there
are, with repetition, and take the difference of the two metrics on that draw. The middle 95 % of many such differences
is the interval. Every metric here is a ratio of sums over documents with a denominator that depends on the truth alone,
so a draw is a vector of counts and all metrics of all draws are two matrix products.

Cost: O(resamples * n_documents * metrics), in blocks of bounded memory; the same seed gives the same interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from xcwork.core.dataset import Dataset
from xcwork.core.propensity import compute_inverse_propensities
from xcwork.core.topk import TopK
from xcwork.errors import ConfigError, DataError
from xcwork.metrics.ranking import KS, compute_document_ratios, place_labels

if TYPE_CHECKING:
    import pandas as pd

COUNTS_PER_BLOCK = 4_000_000  # held together


@dataclass(frozen=True)
class Difference:
    """How much higher the first run is than the second, with the interval in which the difference lies.

    `p_value` is the two-sided share of draws on the other side of zero. `significant` says that the interval leaves
    out zero.
    """

    difference: float
    low: float
    high: float
    p_value: float
    significant: bool
    confidence: float
    n_documents: int


def bootstrap_difference(
    a: np.ndarray,
    b: np.ndarray,
    *,
    denominator: np.ndarray | None = None,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Difference:
    """Return the difference between two runs from their values per document, such as P@5, with its bootstrap interval.

    Without `denominator` the means are compared; with it (PSP@k) the ratios of sums.
    """
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise DataError(
            f"the runs must have one value for each of the same documents, got shapes {a.shape} and {b.shape}",
            remedy="evaluate both runs on the same test split",
        )
    below = np.ones(len(a)) if denominator is None else np.asarray(denominator, dtype=np.float64)
    return compute_differences((a - b)[:, None], below[:, None], n_resamples, confidence, seed)[0]


def compare_predictions(
    a: TopK,
    b: TopK,
    dataset: Dataset,
    *,
    ks: Sequence[int] = KS,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Return both runs' test metrics, their difference (a - b), its interval and whether it is significant."""
    import pandas as pd

    q = compute_inverse_propensities(dataset.train.label_frequencies, len(dataset.train), dataset.propensity)
    ratios_a, ratios_b = (compute_document_ratios(place_labels(topk, dataset.test.Y), q, ks) for topk in (a, b))
    above = np.column_stack([100.0 * (ratios_a[m].numerator - ratios_b[m].numerator) for m in ratios_a])
    below = np.column_stack([ratios_a[m].denominator for m in ratios_a])  # (n_documents, n_metrics)
    found = compute_differences(above, below, n_resamples, confidence, seed)
    rows: list[dict[str, Any]] = [
        {
            "metric": metric,
            "a": ratios_a[metric].compute_percent(),
            "b": ratios_b[metric].compute_percent(),
            "difference": d.difference,
            "low": d.low,
            "high": d.high,
            "p_value": d.p_value,
            "significant": d.significant,
        }
        for metric, d in zip(ratios_a, found, strict=True)
    ]
    return pd.DataFrame(rows)


def compute_differences(
    above: np.ndarray, below: np.ndarray, n_resamples: int, confidence: float, seed: int
) -> list[Difference]:
    """Return one `Difference` for every column of `above` and `below` (n_documents, n_metrics), from the same draws."""
    if n_resamples < 1 or not 0 < confidence < 1:
        raise ConfigError(
            f"a bootstrap needs at least 1 resample and a confidence between 0 and 1, got {n_resamples}, {confidence}"
        )
    n_documents = len(above)
    draws = resample_ratios(above, below, n_resamples, seed)  # (n_resamples, n_metrics)
    low, high = np.quantile(draws, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    # Counting the observed sample as one more draw keeps the p-value of a finite bootstrap above zero.
    sides = np.minimum((draws <= 0).sum(axis=0), (draws >= 0).sum(axis=0))
    p_values = np.minimum(1.0, 2.0 * (sides + 1) / (n_resamples + 1))
    observed = _divide_sums(above.sum(axis=0), below.sum(axis=0))
    return [
        Difference(float(d), float(lo), float(hi), float(p), bool(lo > 0 or hi < 0), confidence, n_documents)
        for d, lo, hi, p in zip(observed, low, high, p_values, strict=True)
    ]


def resample_ratios(above: np.ndarray, below: np.ndarray, n_resamples: int, seed: int) -> np.ndarray:
    """Return the ratio of sums of each column (n_documents, n_metrics) on every draw, (n_resamples, n_metrics)."""
    n_documents = len(above)
    if n_documents == 0:
        return np.zeros((n_resamples, above.shape[1]))
    rng = np.random.default_rng(seed)
    draws, block = [], max(1, COUNTS_PER_BLOCK // n_documents)
    for start in range(0, n_resamples, block):
        size = min(block, n_resamples - start)
        chosen = rng.integers(n_documents, size=(size, n_documents))
        # Row by row, because the counts of one draw fit into the processor's cache and those of a block do not.
        counts = np.stack([np.bincount(draw, minlength=n_documents) for draw in chosen]).astype(np.float64)
        draws.append(_divide_sums(counts @ above, counts @ below))
    return np.vstack(draws)


def _divide_sums(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    return np.divide(above, below, out=np.zeros_like(above, dtype=np.float64), where=below > 0)
