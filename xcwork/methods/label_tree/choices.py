"""Settings that are not given are chosen from the data, at no cost: no classifier is trained for it.

Both rules were fitted to held-out parts of training splits; why they hold has not been examined any further.

- C, by the documents of a label: labels with two or three were found better with C = 4 and more, labels with fifty and
  more with C = 1/2 and less.
- The power of the hinge, by the labels of a document: 3 was as good as 2 or better with up to five labels, 2 was better
  with nineteen. Nothing in between was tried.
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
