"""Labels of a multi-head method in the grid of their codes.

The first head chooses a row, the digits of all other heads together a column; a powerset has a row for each head and a
column for each of its bits. Labels that share a row share that head's answer, so what stands in one row is what the
method can confuse there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def head_grid(values: np.ndarray, order: np.ndarray, heads: Sequence[int], *, bits: int | None = None) -> np.ndarray:
    """Return `values` (n_labels,) where the codes of the labels put them; NaN for codes that no label has.

    `order` has the label of each code, `heads` the length of each head; `bits` are those of a head of a powerset.
    """
    n_columns = math.prod(heads[1:]) if bits is None else bits
    grid = np.full(-(-len(order) // n_columns) * n_columns, np.nan)
    grid[: len(order)] = np.asarray(values, float)[order]
    return grid.reshape(-1, n_columns)
