"""Labels in the grid of their codes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from xcwork.analysis.head_grid import place_in_grid


def test_a_label_stands_at_the_digits_of_its_code() -> None:
    order = np.array([4, 0, 2, 1, 3])  # code 0 is label 4, code 1 is label 0, …
    grid = place_in_grid(SimpleNamespace(head_lengths=[3, 2], label_of_code=order), np.arange(5) * 10)
    np.testing.assert_array_equal(grid, [[40, 0], [20, 10], [30, np.nan]])


def test_more_heads_share_the_columns_and_a_powerset_has_its_bits() -> None:
    three = place_in_grid(SimpleNamespace(head_lengths=[2, 2, 2], label_of_code=np.arange(7)), np.arange(7))
    np.testing.assert_array_equal(three, [[0, 1, 2, 3], [4, 5, 6, np.nan]])
    powerset = SimpleNamespace(
        head_lengths=[8, 8], label_of_code=np.arange(5), coding="powerset", params=SimpleNamespace(bits=3)
    )
    np.testing.assert_array_equal(place_in_grid(powerset, np.arange(5)), [[0, 1, 2], [3, 4, np.nan]])
