"""Labels of a multi-head method in the grid of their codes.

The first head chooses a row, the digits of all other heads together a column; a powerset has a row for each head and a
column for each of its bits. Labels that share a row share that head's answer, so what stands in one row is what the
method can confuse there.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from xcwork.methods.multihead.base import MultiHead


def head_grid(model: MultiHead, values: np.ndarray) -> np.ndarray:
    """`values` (n_labels,) where the codes of the labels put them; NaN for codes that no label has."""
    lengths = list(model.heads_)
    if getattr(model, "coding_", "") == "powerset":
        lengths = [len(lengths), model.bits]
    n_columns = math.prod(lengths[1:])
    grid = np.full(-(-len(model.order_) // n_columns) * n_columns, np.nan)
    grid[: len(model.order_)] = np.asarray(values, float)[model.order_]
    return grid.reshape(-1, n_columns)
