"""How much to trust a label that was never seen: measured on labels that nearly were.

A label without training documents is scored by its text alone, a seen one also by what was learned about it; the two
scores are not comparable by themselves. A label with one training document would be unseen if that document were not
there. To that document it therefore is what an unseen label is to a new document, and there are as many such labels
among the labels of training documents as there will be unseen ones among those of new documents (the estimate of Good
and Turing). So they stand in for unseen labels (`stand_ins`), and a logistic regression of relevance on (score of
learned pairs, score of exact matches), beside the labels that are really unseen, says how probable each of them is.
Another one does the same for the margins of seen labels on validation documents. Setting the two log-odds equal puts
unseen labels on the scale of the margins:

    (a · pairs + m · matches + c_unseen - c_seen) / slope_seen

so an unseen label overtakes a seen one when it is more probable, and P@k over all labels does not suffer. Where learned
pairs do not carry over to new labels, a comes out as zero. How much a label borrows is found in the same way, from the
matches of its own terms and those of borrowed ones. Nothing of this is drawn at random but the validation documents.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xcwork.methods.zestxml.scorer import UNSEEN_ROW

MIN_RELEVANT_PAIRS = 10  # fewer say nothing
MIN_STAND_INS = 50  # where there are labels enough
MIN_TELLING_STAND_INS = 10  # one or two labels and their texts say nothing about others
MAX_STAND_IN_SHARE = 0.1  # of the seen labels, where labels with more than one document have to help out
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

    @property
    def says_enough(self) -> bool:
        """Tell whether there are enough pairs of both kinds."""
        n_relevant = int(np.count_nonzero(self.relevant))
        return min(n_relevant, len(self.relevant) - n_relevant) >= MIN_RELEVANT_PAIRS


def choose_stand_ins(frequencies: np.ndarray) -> np.ndarray:
    """Return the labels that stand in for unseen ones, ascending: those with one document, else the rarest.

    None do where they would be too few to say anything.
    """
    once = np.flatnonzero(frequencies == 1)
    seen = np.flatnonzero(frequencies > 0)
    wanted = min(MIN_STAND_INS, int(MAX_STAND_IN_SHARE * len(seen)))
    chosen = once if len(once) >= wanted else np.sort(seen[np.argsort(frequencies[seen], kind="stable")[:wanted]])
    return chosen if len(chosen) >= MIN_TELLING_STAND_INS else chosen[:0]


def calibrate_unseen(
    seen: CalibrationSample, unseen: CalibrationSample, factors: np.ndarray, prior: float
) -> tuple[np.ndarray, float]:
    """Return the factors with the row of unseen labels set, and their bias, on the scale of the margins.

    Where too few relevant pairs are known, unseen labels are scored by exact matches alone, with the factor they have.
    """
    factors = factors.copy()
    factors[UNSEEN_ROW, 0] = 0
    if not (seen.says_enough and unseen.says_enough):
        return factors, prior
    slope, intercept = fit_logistic(seen)
    slopes, unseen_intercept = fit_logistic(unseen)
    if slope[0] <= 0 or slopes[1] <= 0:  # scores that say nothing: no scale to put anything on
        return factors, prior
    factors[UNSEEN_ROW] = slopes / slope[0]
    return factors, float((unseen_intercept - intercept) / slope[0])


def fit_borrowing_share(unseen: CalibrationSample) -> float:
    """Return how much borrowed terms count beside a label's own, from the features (own matches, borrowed matches)."""
    if not unseen.says_enough:
        return USUAL_BORROWING_SHARE
    (own, borrowed), _ = fit_logistic(unseen)
    return min(borrowed / own, MAX_BORROWING_SHARE) if own > 0 else USUAL_BORROWING_SHARE


def fit_logistic(sample: CalibrationSample) -> tuple[np.ndarray, float]:
    """Return the slopes, none of them negative, and the intercept of a logistic regression."""
    from sklearn.linear_model import LogisticRegression

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
