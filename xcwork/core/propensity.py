"""How likely a true label is to be annotated at all, and the constants that say so for each dataset.

Jain, Prabhu and Varma (KDD 2016) model the chance that an annotator adds a label which n of N training documents
have. Its inverse is the weight of a hit in PSP@k:

    q = 1 + C * (n + B)^-A        C = (ln N - 1) * (B + 1)^A

n and N always come from the training split, and N counts documents without labels too. A label never seen has n = 0,
which the formula extends to: it gets the largest weight. A and B are published per dataset; they move PSP@k by
several points, so every report names the values it used and their source.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


def compute_inverse_propensities(frequencies: np.ndarray, n_train: int, propensity: Propensity) -> np.ndarray:
    """Return the weight q of a hit of each label, (n_labels,), from the label counts of the training split."""
    a, b = propensity.A, propensity.B
    # Below three documents ln N - 1 is negative and the weights would turn upside down: then all labels weigh the same.
    scale = max(0.0, np.log(max(n_train, 1)) - 1.0) * (b + 1.0) ** a
    return 1.0 + scale * (np.asarray(frequencies, dtype=np.float64) + b) ** -a


@dataclass(frozen=True)
class Propensity:
    """The constants of the propensity model (of PSP@k) and where they come from."""

    A: float = 0.55
    B: float = 1.5
    source: str = "default of the Extreme Classification Repository"
