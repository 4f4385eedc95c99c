"""How much to trust a label that was never seen: measured on labels that were seen, but hidden for the purpose.

A label without training documents is scored by its text alone, a seen one also by what was learned about it; the two
scores are not comparable by themselves. Before training, some of the rarer labels are hidden: the terms of their texts
do not vote in XHTP. They then stand in for unseen labels, and a logistic regression of relevance on (score of learned
pairs, score of exact matches) says how probable each of them is. Another one does the same for the margins of seen
labels on validation documents. Setting the two log-odds equal puts unseen labels on the scale of the margins:

    (a · pairs + m · matches + c_unseen - c_seen) / slope_seen

so an unseen label overtakes a seen one when it is more probable, and P@k over all labels does not suffer. Where learned
pairs do not carry over to new labels, a comes out as zero. How much a label borrows is found in the same way, from the
matches of its own terms and those of borrowed ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LogisticRegression

from xcwork.methods.zestxml.scorer import SEEN_ROW, UNSEEN_ROW

MIN_RELEVANT_PAIRS = 10  # fewer say nothing
MIN_HIDDEN_LABELS = 30
MAX_HIDDEN_SHARE = 0.1  # of the seen labels, even where that is fewer than the minimum
WEAK_REGULARISATION_C = 100.0  # only matters where the classes can be separated
LOSS_TOLERANCE = 1e-10  # of the mean loss, which is small because relevant pairs are so rare
USUAL_BORROWING_SHARE = 0.4
MAX_BORROWING_SHARE = 1.0


@dataclass(frozen=True, eq=False)
class CalibrationSample:
    """Pairs: features of their score, whether they are relevant, and how many pairs each of them stands for."""

    features: np.ndarray  # (n_pairs, n)
    relevant: np.ndarray  # (n_pairs,) bool
    weights: np.ndarray  # (n_pairs,)


def choose_pseudo_unseen(frequencies: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Return labels to hide: a share of the seen ones, drawn from the rarer half of them; ascending ids."""
    seen = np.flatnonzero(frequencies > 0)
    rarer = seen[frequencies[seen] <= np.median(frequencies[seen])] if len(seen) else seen
    wanted = max(round(share * len(seen)), MIN_HIDDEN_LABELS)
    n_hidden = 0 if share == 0 else min(wanted, int(MAX_HIDDEN_SHARE * len(seen)), len(rarer))
    return np.sort(np.random.default_rng([seed, 1]).permutation(rarer)[:n_hidden])


def calibrate_unseen(
    seen: CalibrationSample, hidden: CalibrationSample, factors: np.ndarray, prior: float
) -> tuple[np.ndarray, float]:
    """Return the factors with the row of unseen labels set, and their bias, on the scale of the margins.

    Where too few relevant pairs are known, unseen labels are scored by exact matches with the factor of seen labels.
    """
    factors = factors.copy()
    factors[UNSEEN_ROW] = 0, factors[SEEN_ROW, 1]
    if min(seen.relevant.sum(), hidden.relevant.sum()) < MIN_RELEVANT_PAIRS:
        return factors, prior
    slope, intercept = fit_logistic(seen)
    slopes, unseen_intercept = fit_logistic(hidden)
    if slope[0] <= 0 or slopes[1] <= 0:  # scores that say nothing: no scale to put anything on
        return factors, prior
    factors[UNSEEN_ROW] = slopes / slope[0]
    return factors, float((unseen_intercept - intercept) / slope[0])


def fit_borrowing_share(hidden: CalibrationSample) -> float:
    """Return how much borrowed terms count beside a label's own, from the features (own matches, borrowed matches)."""
    if hidden.relevant.sum() < MIN_RELEVANT_PAIRS:
        return USUAL_BORROWING_SHARE
    (own, borrowed), _ = fit_logistic(hidden)
    return min(borrowed / own, MAX_BORROWING_SHARE) if own > 0 else USUAL_BORROWING_SHARE


def fit_logistic(sample: CalibrationSample) -> tuple[np.ndarray, float]:
    """Return the slopes, none of them negative, and the intercept of a logistic regression."""
    scale = np.sqrt(np.average(sample.features**2, axis=0, weights=sample.weights)) + 1e-12  # (n,)
    active = scale > 1e-6
    while active.any():
        model = LogisticRegression(C=WEAK_REGULARISATION_C, max_iter=1000, tol=LOSS_TOLERANCE)
        model.fit((sample.features / scale)[:, active], sample.relevant, sample.weights)
        if (model.coef_ >= 0).all():
            slopes = np.zeros(len(scale))
            slopes[active] = model.coef_[0] / scale[active]
            return slopes, float(model.intercept_[0])
        active[np.flatnonzero(active)[model.coef_[0] < 0]] = False
    return np.zeros(len(scale)), 0.0
