"""How much terms that document and label have in common say about seen labels, measured on training documents.

Where label texts describe the documents, a term in common is good evidence. Where they do not (tags, codes, names of
people), it is noise: it would fill shortlists with wrong labels, and every label would have to unlearn it. So before
anything is refined, a linear model of relevance by (learned pairs, matches) is fitted to the shortlists of some
training documents, with the squared hinge loss and all relevant pairs together weighing as much as all others. The
weight of matches is its slope, but never negative and never more than `match_weight`.

It is one weight for all labels. Where half of the texts mislead and half do not, it stays high, and labels with a
misleading text still have to unlearn it.

Nothing is refined yet, and a document's own votes are taken out of the pairs, so the sample is honest.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

SAMPLED_DOCUMENTS = 1000
MIN_RELEVANT_PAIRS = 50  # fewer say nothing


def fit_match_weight(scores: np.ndarray, relevant: np.ndarray, largest: float) -> float:
    """Return the weight of the second column of `scores` (n_pairs, 2), the matches, between 0 and `largest`."""
    n_relevant = int(np.count_nonzero(relevant))
    if min(n_relevant, len(relevant) - n_relevant) < MIN_RELEVANT_PAIRS:
        return largest
    sign = np.where(relevant, 1.0, -1.0)
    weight = np.where(relevant, 0.5 / n_relevant, 0.5 / (len(relevant) - n_relevant))
    size = np.sqrt(np.mean(np.square(scores, dtype=np.float64), axis=0)) + 1e-12
    features = np.column_stack([np.ones(len(scores)), scores / size])  # (n_pairs, 3)

    def measure_loss(slopes: np.ndarray) -> tuple[float, np.ndarray]:
        gap = np.maximum(0, 1 - sign * (features @ slopes))
        return float(weight @ np.square(gap)), -2 * features.T @ (weight * gap * sign)

    slope = minimize(measure_loss, np.zeros(3), jac=True, method="L-BFGS-B").x[2] / size[1]
    return float(np.clip(slope, 0.0, largest))
