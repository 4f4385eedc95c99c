"""Which points lie inside a polygon: the rule by which a lasso on the label map chooses labels.

The browser counts with the same rule (`isInside` in `viz/map_component/picking.js`): even-odd, in double precision, the
same steps in the same order. So the server finds exactly the labels that were counted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xcwork.errors import DataError

MAX_POINTS_PER_BLOCK = 1 << 18
ROUNDING = 1e-9  # of a crossing; nothing further outside can be counted as inside


def find_inside(positions: np.ndarray, polygon: Sequence[Sequence[float]] | np.ndarray) -> np.ndarray:
    """Return the rows of `positions` (n, 2) inside `polygon` (m, 2), ascending.

    The polygon is closed by itself; with fewer than three points nothing is inside. Where it crosses itself, the
    even-odd rule applies.
    """
    corners = np.asarray(polygon, np.float64).reshape(-1, 2) if len(polygon) else np.empty((0, 2))
    if not np.isfinite(corners).all():
        raise DataError("a corner of the polygon is not a finite number", remedy="draw the lasso again")
    if len(corners) < 3:
        return np.empty(0, np.int64)
    low, high = corners.min(axis=0) - ROUNDING, corners.max(axis=0) + ROUNDING
    x, y = np.ascontiguousarray(positions.T)
    near = np.flatnonzero((x >= low[0]) & (x <= high[0]) & (y >= low[1]) & (y <= high[1]))
    blocks = range(0, len(near), MAX_POINTS_PER_BLOCK)
    found = [near[at : at + MAX_POINTS_PER_BLOCK] for at in blocks]
    return np.concatenate([np.empty(0, np.int64), *(each[_are_inside(positions[each], corners)] for each in found)])


def _are_inside(positions: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Return for each position whether a ray to the right crosses an odd number of sides."""
    x, y = np.ascontiguousarray(positions.T, np.float64)
    inside = np.zeros(len(positions), bool)
    for (x_at, y_at), (x_before, y_before) in zip(corners, np.roll(corners, 1, axis=0), strict=True):
        if y_at == y_before:  # no ray crosses a level side
            continue
        rows = np.flatnonzero((y_at > y) != (y_before > y))  # few: most positions lie above or below the side
        inside[rows] ^= x[rows] < (x_before - x_at) * (y[rows] - y_at) / (y_before - y_at) + x_at
    return inside
