"""Learn the calibration of a trained method: predict held-out training documents, compare with their labels, fit.

    plan = plan_holding_out("auto", dataset.train, dataset.test)
    method.fit(plan.take_training_split(dataset.train))
    method.set_calibration(calibrate(method, dataset.train, plan))
    method.predict(texts, proba=True)

The plan decides who scores: the method itself, if it was trained without the held-out documents, or further models
with the same parameters, one for each part that is held out. Cost: the prediction of at most 5,000 documents, or these
trainings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from xcwork.core.split import Split
from xcwork.decisions.calibration import Calibration
from xcwork.decisions.fitting import DEPTH, HeldOutSample, fit_calibration
from xcwork.decisions.held_out_documents import HELD_OUT, NONE, HoldingOut
from xcwork.decisions.new_documents import split_rows, split_rows_anew
from xcwork.errors import DataError

if TYPE_CHECKING:
    from xcwork.methods.base import Method


def calibrate(method: Method, train: Split, plan: HoldingOut) -> Calibration:
    """Return the calibration of a trained method, learned on the documents of `train` that `plan` holds out."""
    samples = score_held_out_documents(method, train, plan)
    return fit_calibration(samples, way=plan.way, label_frequencies=method.label_frequencies_, seed=method.seed)


def score_held_out_documents(method: Method, train: Split, plan: HoldingOut) -> list[HeldOutSample]:
    """Return the predictions for held-out documents, each by a model that was not trained on them."""
    if plan.way == NONE:
        raise DataError(f"there is no calibration: {plan.reason}")
    if plan.way == HELD_OUT:
        return [_score(method, split_rows(train, plan.parts[0])[1])]
    return [_score_by_refit(method, train, part) for part in plan.parts]


def _score_by_refit(method: Method, train: Split, part: np.ndarray) -> HeldOutSample:
    rest, held = split_rows_anew(train, part)
    return _score(type(method).from_params(dict(method.model_.params)).fit(rest), held)


def _score(scorer: Method, held: Split) -> HeldOutSample:
    return HeldOutSample(scorer.predict(held, DEPTH), held.Y, scorer.label_frequencies_)
