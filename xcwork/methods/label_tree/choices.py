"""Settings that are not given are chosen from the data, at no cost: no classifier is trained for it.

What suits a dataset follows from two counts, as held-out parts of training splits show.

- C, by the documents of a label. Where a label has two or three, each of them must count: with C = 1 most weights stay
  so small that they are pruned away. Where it has hundreds, errors are outvoted by weights that are kept small.
- The power of the hinge, by the labels of a document. With few labels, power 3 forgives the small doubts that add up
  on the way down; with many, labels differ by small doubts alone, and power 2 keeps them apart.
"""

from __future__ import annotations

import numpy as np

from xcwork.core.split import Split
from xcwork.methods.model import Params

DOCUMENTS_FOR_C_OF_ONE = 24  # of a usual label
SMALLEST_C = 0.25
LARGEST_C = 8.0
MANY_LABELS = 10  # of a document on average


def choose_settings(train: Split, params: Params) -> Params:
    """Return `params` with a number for `C` and for `power`: as given, or chosen from `train`."""
    chosen = {"C": params.C, "power": params.power}
    if params.C is None:
        chosen["C"] = choose_error_weight(train.label_frequencies)
    if params.power is None:
        chosen["power"] = choose_power(train)
    return params | chosen


def choose_error_weight(label_frequencies: np.ndarray) -> float:
    """Return C = (24 / n)^¾, between 1/4 and 8, where n is the geometric mean of the documents of a label."""
    seen = label_frequencies[label_frequencies > 0]
    usual = float(np.exp(np.log(seen).mean()))
    return float(np.clip((DOCUMENTS_FOR_C_OF_ONE / usual) ** 0.75, SMALLEST_C, LARGEST_C))


def choose_power(train: Split) -> int:
    """Return 3, or 2 where documents have many labels."""
    return 3 if train.Y.nnz < MANY_LABELS * train.n_documents else 2
