"""A lasso finds the labels inside, by the even-odd rule; the browser's answer is compared in `tests/browser`."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xcwork.analysis.polygon import MAX_POINTS_PER_BLOCK, find_inside
from xcwork.errors import DataError

COORDINATES = st.integers(-4, 4).map(lambda value: value / 4)  # few values, so that corners, sides and points coincide
POINTS = st.lists(st.tuples(COORDINATES, COORDINATES), max_size=30)


def is_inside(x: float, y: float, polygon: list[tuple[float, float]]) -> bool:
    """The rule as it is written in the browser, one point at a time."""
    inside = False
    for at in range(len(polygon)):
        x_at, y_at = polygon[at]
        x_before, y_before = polygon[at - 1]
        if (y_at > y) != (y_before > y) and x < (x_before - x_at) * (y - y_at) / (y_before - y_at) + x_at:
            inside = not inside
    return inside


@given(positions=POINTS, polygon=st.lists(st.tuples(COORDINATES, COORDINATES), min_size=3, max_size=12))
def test_it_is_the_rule_of_the_browser(
    positions: list[tuple[float, float]], polygon: list[tuple[float, float]]
) -> None:
    expected = [row for row, (x, y) in enumerate(positions) if is_inside(x, y, polygon)]
    assert find_inside(np.array(positions, np.float32).reshape(-1, 2), polygon).tolist() == expected


def test_a_ring_leaves_out_its_hole() -> None:
    outer = [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9), (-0.9, -0.9)]
    inner = [(-0.5, -0.5), (-0.5, 0.5), (0.5, 0.5), (0.5, -0.5), (-0.5, -0.5)]
    positions = np.array([[0, 0], [0.7, 0], [0, 0.7], [0.95, 0]], np.float32)
    assert find_inside(positions, outer + inner).tolist() == [1, 2]


def test_more_points_than_a_block_holds() -> None:
    rng = np.random.default_rng(0)
    positions = rng.uniform(-1, 1, (2 * MAX_POINTS_PER_BLOCK + 7, 2)).astype(np.float32)
    found = find_inside(positions, [(-2, -2), (2, -2), (2, 0), (-2, 0)])
    assert found.tolist() == np.flatnonzero(positions[:, 1] < 0).tolist()


@pytest.mark.parametrize("polygon", [[], [(0, 0)], [(0, 0), (1, 1)]])
def test_less_than_a_triangle_holds_nothing(polygon: list[tuple[float, float]]) -> None:
    assert find_inside(np.zeros((3, 2), np.float32), polygon).size == 0


def test_no_labels_at_all() -> None:
    assert find_inside(np.empty((0, 2), np.float32), [(0, 0), (1, 0), (1, 1)]).size == 0


def test_a_corner_that_is_no_number_is_an_error() -> None:
    with pytest.raises(DataError, match="not a finite number"):
        find_inside(np.zeros((1, 2), np.float32), [(0, 0), (float("nan"), 0), (1, 1)])
