"""Labels put beside their nearest laid-out labels: how a million labels get a place from a layout of some of them.

A label goes to the weighted mean of the nearest laid-out labels that lie around the very nearest one; neighbours in
another part of the map would draw it into the empty space between. A little noise, the same for the same seed, keeps
labels with equal vectors apart.
"""

from __future__ import annotations

import numpy as np

from xcwork.layout.projection import make_search_index
from xcwork.progress import track

NEIGHBOURS = 8
LABELS_PER_BLOCK = 20_000
NEARBY_SHARE = 0.05  # of the width of the map: how far from the nearest label others count
NOISE_SHARE = 0.002  # of the width of the map


def place_others(reduced: np.ndarray, laid_out: np.ndarray, positions: np.ndarray, *, seed: int = 0) -> np.ndarray:
    """Return positions of all rows of `reduced`, of which the rows `laid_out` (ascending) have `positions` already."""
    everything = np.zeros((len(reduced), 2), np.float32)
    everything[laid_out] = positions
    others = np.setdiff1d(np.arange(len(reduced)), laid_out)
    if not len(others):
        return everything
    index = make_search_index(reduced[laid_out], seed=seed)
    low, high = np.quantile(positions, (0.01, 0.99), axis=0)
    width = float((high - low).max()) or 1.0
    rng = np.random.default_rng(seed)
    for start in track(range(0, len(others), LABELS_PER_BLOCK), "placing the other labels"):
        rows = others[start : start + LABELS_PER_BLOCK]
        best = index.query(reduced[rows], NEIGHBOURS)
        places = positions[best.ids]  # (block, k, 2)
        apart = np.linalg.norm(places - places[:, :1], axis=2)
        weights = np.maximum(best.scores, 0) ** 2 + 1e-6
        weights[apart > NEARBY_SHARE * width] = 0
        mean = np.einsum("ij,ijc->ic", weights, places) / weights.sum(axis=1, keepdims=True)
        everything[rows] = mean + rng.normal(scale=NOISE_SHARE * width, size=mean.shape)
    return everything
