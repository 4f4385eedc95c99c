"""How much to trust a label that was never seen: measured on labels that were seen, but hidden for the purpose.

A label without training documents is scored by its text alone, a seen one also by what was learned about it; the two
scores are not comparable by themselves. Before training, some of the rarer labels are hidden: the terms of their texts
do not vote in XHTP. They then stand in for unseen labels, and a logistic regression of relevance on (score of learned
pairs, score of exact matches) says how probable each of them is. Another one does the same for the margins of seen
labels on held-out documents. Setting the two log-odds equal puts unseen labels on the scale of the margins:

    (a · pairs + m · matches + c_unseen - c_seen) / slope_seen

so an unseen label overtakes a seen one when it is more probable, and P@k over all labels does not suffer. Where learned
pairs do not carry over to new labels, a comes out as zero. How much a label borrows is found in the same way, from the
matches of its own terms and those of borrowed ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LogisticRegression

from xcwork.methods.zestxml.scorer import SEEN, UNSEEN

FEWEST = 10  # relevant pairs below which nothing can be said
AT_LEAST, AT_MOST = 30, 0.1  # labels to hide: some even of few labels, but only a tenth of them
WEAK = 100.0  # regularisation that only matters where the classes can be separated
PRECISE = 1e-10  # of the mean loss, which is small because relevant pairs are so rare
USUAL_SHARE, LARGEST_SHARE = 0.4, 1.0  # of what labels borrow


@dataclass(frozen=True, eq=False)
class Sample:
    """Pairs: features of their score, whether they are relevant, and how many pairs each of them stands for."""

    features: np.ndarray  # (n_pairs, n)
    relevant: np.ndarray  # (n_pairs,) bool
    weights: np.ndarray  # (n_pairs,)


def choose_hidden(frequencies: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Labels to hide: a share of the seen ones, drawn from the rarer half of them; ascending ids."""
    seen = np.flatnonzero(frequencies > 0)
    rarer = seen[frequencies[seen] <= np.median(frequencies[seen])] if len(seen) else seen
    n_hidden = 0 if share == 0 else min(max(round(share * len(seen)), AT_LEAST), int(AT_MOST * len(seen)), len(rarer))
    return np.sort(np.random.default_rng([seed, 1]).permutation(rarer)[:n_hidden])


def calibrate(seen: Sample, hidden: Sample, factors: np.ndarray, prior: float) -> tuple[np.ndarray, float]:
    """(factors with the row of unseen labels set, the bias of unseen labels), on the scale of the margins.

    Where too few relevant pairs are known, unseen labels are scored by exact matches with the factor of seen labels.
    """
    factors = factors.copy()
    factors[UNSEEN] = 0, factors[SEEN, 1]
    if min(seen.relevant.sum(), hidden.relevant.sum()) < FEWEST:
        return factors, prior
    slope, intercept = fit_logistic(seen)
    slopes, unseen_intercept = fit_logistic(hidden)
    if slope[0] <= 0 or slopes[1] <= 0:  # scores that say nothing: no scale to put anything on
        return factors, prior
    factors[UNSEEN] = slopes / slope[0]
    return factors, float((unseen_intercept - intercept) / slope[0])


def borrowing_share(hidden: Sample) -> float:
    """How much borrowed terms count beside a label's own, from the features (own matches, borrowed matches)."""
    if hidden.relevant.sum() < FEWEST:
        return USUAL_SHARE
    (own, borrowed), _ = fit_logistic(hidden)
    return min(borrowed / own, LARGEST_SHARE) if own > 0 else USUAL_SHARE


def fit_logistic(sample: Sample) -> tuple[np.ndarray, float]:
    """Slopes, none of them negative, and intercept of a logistic regression."""
    scale = np.sqrt(np.average(sample.features**2, axis=0, weights=sample.weights)) + 1e-12  # (n,)
    active = scale > 1e-6
    while active.any():
        model = LogisticRegression(C=WEAK, max_iter=1000, tol=PRECISE)
        model.fit((sample.features / scale)[:, active], sample.relevant, sample.weights)
        if (model.coef_ >= 0).all():
            slopes = np.zeros(len(scale))
            slopes[active] = model.coef_[0] / scale[active]
            return slopes, float(model.intercept_[0])
        active[np.flatnonzero(active)[model.coef_[0] < 0]] = False
    return np.zeros(len(scale)), 0.0
