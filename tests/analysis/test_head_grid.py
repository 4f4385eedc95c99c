"""Labels in the grid of their codes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from xcwork.analysis.head_grid import head_grid


def test_a_label_stands_at_the_digits_of_its_code() -> None:
    order = np.array([4, 0, 2, 1, 3])  # code 0 is label 4, code 1 is label 0, …
    grid = head_grid(SimpleNamespace(heads_=[3, 2], order_=order), np.arange(5) * 10)
    np.testing.assert_array_equal(grid, [[40, 0], [20, 10], [30, np.nan]])


def test_more_heads_share_the_columns_and_a_powerset_has_its_bits() -> None:
    three = head_grid(SimpleNamespace(heads_=[2, 2, 2], order_=np.arange(7)), np.arange(7))
    np.testing.assert_array_equal(three, [[0, 1, 2, 3], [4, 5, 6, np.nan]])
    powerset = SimpleNamespace(heads_=[8, 8], order_=np.arange(5), coding_="powerset", bits=3)
    np.testing.assert_array_equal(head_grid(powerset, np.arange(5)), [[0, 1, 2], [3, 4, np.nan]])
