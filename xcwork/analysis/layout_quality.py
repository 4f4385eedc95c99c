"""How well a layout keeps neighbourhoods: neighbours kept, trustworthiness and continuity.

*Neighbours kept* is the share of a label's fifteen nearest labels in many dimensions that are among its fifteen nearest
on the map, with all labels in play. The other two are close to 1 for very different maps (0.99 both for UMAP of all
labels of pyseealso and for one of 1,000 with the others placed beside, which keep 0.65 and 0.39 of the neighbours), and
a thin sample of many labels has none of the true neighbours left; so this is the figure to compare by.

Trustworthiness is 1 when labels that are near on the map are near in many dimensions, too; continuity is 1 when labels
that are near in many dimensions are near on the map. Both compare ranks, so they take the square of the sample's size.

Reference: Venna and Kaski, Neighborhood preservation in nonlinear projection methods, ICANN 2001.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xcwork.search.index import ExactIndex

MAX_SAMPLE = 2_000


class LayoutQuality(NamedTuple):
    """Three shares from 0 to 1."""

    trustworthiness: float
    continuity: float
    neighbours_kept: float
    n_labels: int  # in the sample


def measure_layout_quality(
    reduced: np.ndarray, positions: np.ndarray, *, n_neighbours: int = 15, max_sample: int = MAX_SAMPLE, seed: int = 0
) -> LayoutQuality:
    """Compare `positions` (n, 2) with the unit vectors `reduced` (n, d) that they were made of."""
    from sklearn.manifold import trustworthiness

    held = np.flatnonzero(reduced.any(axis=1))  # labels without a direction have no neighbours to keep
    sample = np.sort(np.random.default_rng(seed).permutation(held)[:max_sample])
    many, two = reduced[sample], positions[sample]
    k = min(n_neighbours, max(1, (len(sample) - 1) // 2))
    # For unit vectors the Euclidean distance orders neighbours as the cosine does.
    return LayoutQuality(
        float(trustworthiness(many, two, n_neighbors=k)),
        float(trustworthiness(two, many, n_neighbors=k)),
        _count_kept_neighbours(reduced, positions, sample, k),
        len(sample),
    )


def _count_kept_neighbours(reduced: np.ndarray, positions: np.ndarray, sample: np.ndarray, k: int) -> float:
    """Return the mean share of the k nearest of all labels that stay among the k nearest."""
    from scipy.spatial import cKDTree

    before = ExactIndex().build(reduced).query(reduced[sample], k + 1).ids
    after = cKDTree(positions).query(positions[sample], k + 1)[1]
    shares = [
        len((set(one) & set(other)) - {label}) / k
        for label, one, other in zip(sample.tolist(), before.tolist(), after.tolist(), strict=True)
    ]
    return float(np.mean(shares))
