"""A layout put into the square [-1, 1] × [-1, 1], and turned onto another one.

*Robust.* The middle 98 % of the labels decide about the scale; whatever lies farther out is pulled in, the farther the
more, but never past a label that was nearer. So one label far away does not squeeze all others into a dot.

*Wide.* UMAP does not say where is up, and maps are wider than high: the longer side lies across.

*Aligned.* A layout is turned (and mirrored, where that helps) so that the labels
it shares with another layout lie as near to their places there as possible (orthogonal Procrustes).
"""

from __future__ import annotations

import numpy as np

MIDDLE = (0.01, 0.99)  # quantiles between which labels decide about the scale
INNER = 0.85  # half width of the square in which they lie
MIN_SHARED_LABELS = 3  # that a turn can be found with


def fit_into_square(positions: np.ndarray) -> np.ndarray:
    """Return positions in [-1, 1], at the same scale in both directions, with outliers pulled in along their rays."""
    if not len(positions):
        return np.zeros((0, 2), np.float32)
    low, high = np.quantile(positions, MIDDLE, axis=0)
    half = float((high - low).max()) / 2
    if half <= 0:  # nearly all labels at one point
        half = float(np.abs(positions - low).max()) or 1.0
    scaled = (positions - (low + high) / 2) * (INNER / half)
    reach = np.abs(scaled).max(axis=1)
    rest = 1 - INNER
    beyond = np.maximum(reach - INNER, 0) / rest
    pulled = np.where(beyond > 0, INNER + rest * beyond / (1 + beyond), reach)
    factor = np.divide(pulled, reach, out=np.ones_like(reach), where=reach > 0)
    return np.clip(scaled * factor[:, None], -1, 1).astype(np.float32)


def lay_across(positions: np.ndarray) -> np.ndarray:
    """Return positions turned so that the middle of the labels is widest across, the same way for the same layout."""
    if len(positions) < MIN_SHARED_LABELS:
        return positions
    low, high = np.quantile(positions, MIDDLE, axis=0)
    middle = positions[((positions >= low) & (positions <= high)).all(axis=1)]
    if len(middle) < MIN_SHARED_LABELS:
        return positions
    centre = middle.mean(axis=0, dtype=np.float64)
    away = middle - centre
    across = np.linalg.eigh(away.T @ away)[1][:, 1]
    across = across * (-1 if across[np.abs(across).argmax()] < 0 else 1)
    turn = np.column_stack([across, (-across[1], across[0])])
    return ((positions - centre) @ turn).astype(np.float32)


def turn_onto(positions: np.ndarray, ids: np.ndarray, onto: np.ndarray, onto_ids: np.ndarray) -> np.ndarray:
    """Return `positions` turned so that labels with the same id lie near each other; both ids ascending."""
    here, there = np.isin(ids, onto_ids), np.isin(onto_ids, ids)
    if int(here.sum()) < MIN_SHARED_LABELS:
        return positions
    centre = positions[here].mean(axis=0)
    mine = positions[here] - centre
    theirs = onto[there] - onto[there].mean(axis=0)
    left, _, right = np.linalg.svd(mine.T.astype(np.float64) @ theirs)
    return ((positions - centre) @ (left @ right)).astype(np.float32)
