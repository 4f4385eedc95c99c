"""Labels of a multi-head method in the grid of their codes.

The first head chooses a row, the digits of all other heads together a column; a powerset has a row for each head and a
column for each of its bits. Labels that share a row share that head's answer, so the labels of one row are what the
method can confuse there.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from xcwork.methods.multihead.model import MultiHeadModel


def count_grid_columns(model: MultiHeadModel) -> int:
    """Return how many codes share the answer of the first head; of a powerset, the bits of a head."""
    if getattr(model, "coding", "") == "powerset":
        return int(model.params.bits)
    return math.prod(model.head_lengths[1:])


def place_in_grid(model: MultiHeadModel, values: np.ndarray) -> np.ndarray:
    """Return `values` (n_labels,) where the codes of the labels put them; NaN for codes that no label has."""
    n_labels = len(model.label_of_code)
    n_columns = count_grid_columns(model)
    grid = np.full(-(-n_labels // n_columns) * n_columns, np.nan)
    grid[:n_labels] = np.asarray(values, float)[model.label_of_code]
    return grid.reshape(-1, n_columns)
