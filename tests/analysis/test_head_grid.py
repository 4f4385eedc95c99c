"""Labels in the grid of their codes."""

from __future__ import annotations

import numpy as np

from xcwork.analysis.head_grid import head_grid


def test_a_label_stands_at_the_digits_of_its_code() -> None:
    order = np.array([4, 0, 2, 1, 3])  # code 0 is label 4, code 1 is label 0, …
    grid = head_grid(np.arange(5) * 10, order, [3, 2])
    np.testing.assert_array_equal(grid, [[40, 0], [20, 10], [30, np.nan]])


def test_more_heads_share_the_columns_and_a_powerset_has_its_bits() -> None:
    three = head_grid(np.arange(7), np.arange(7), [2, 2, 2])
    np.testing.assert_array_equal(three, [[0, 1, 2, 3], [4, 5, 6, np.nan]])
    powerset = head_grid(np.arange(5), np.arange(5), [8, 8], bits=3)
    np.testing.assert_array_equal(powerset, [[0, 1, 2], [3, 4, np.nan]])
