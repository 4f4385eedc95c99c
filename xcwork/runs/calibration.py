"""The calibration of a run: learned once its model is stored, kept beside it, and learned again on request."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from xcwork.errors import ConfigError, DataError, RunError
from xcwork.progress import Callback, listen
from xcwork.runs.config import read_calibration_choice

if TYPE_CHECKING:
    from xcwork.core.dataset import Dataset
    from xcwork.decisions.calibration import Calibration
    from xcwork.decisions.held_out_documents import HoldingOut
    from xcwork.methods.base import Method
    from xcwork.metrics import EvalReport
    from xcwork.runs.store import Run

logger = logging.getLogger(__name__)


def plan_run(config: Mapping[str, Any], dataset: Dataset) -> HoldingOut:
    """Return which training documents are held out for the calibration of a run; the same for every attempt."""
    return _plan(read_calibration_choice(config), config, dataset)


def _plan(choice: str, config: Mapping[str, Any], dataset: Dataset) -> HoldingOut:
    from xcwork.decisions.held_out_documents import plan_holding_out
    from xcwork.methods.names import count_refits

    seed, refits = config["params"].get("seed", 0), count_refits(config["method"])
    return plan_holding_out(choice, dataset.train, dataset.test, seed=seed, refits=refits)


def require_calibration(run: Run) -> Calibration:
    """Return the calibration of a run; one that has none says what can be done about it."""
    calibration = run.read_calibration()
    if calibration is None:
        raise RunError(
            f"run {run.id} has no calibration, so it gives no probabilities; {explain_missing_calibration(run)}"
        )
    return calibration


def explain_missing_calibration(run: Run) -> str:
    """Return what keeps a run from having a calibration, or how it gets one."""
    return find_obstacle(run) or f"train again or run `xcwork calibrate {run.id} DATA`"


def find_obstacle(run: Run) -> str:
    """Return why a run cannot be calibrated on the dataset it was trained on; nothing if it can."""
    from xcwork.decisions.held_out_documents import MIN_TRAINING_DOCUMENTS

    n = (run.config["dataset"] or {}).get("n_train", MIN_TRAINING_DOCUMENTS)
    if n >= MIN_TRAINING_DOCUMENTS:
        return ""
    wanted = f"at least {MIN_TRAINING_DOCUMENTS} are needed"
    return f"{n:,} training documents are too few to learn probabilities from, {wanted}"


def calibrate_run(run: Run, method: Method, dataset: Dataset, plan: HoldingOut) -> None:
    """Learn and store the calibration unless it is there; a run that cannot be calibrated says why in its log."""
    from xcwork.decisions.held_out_documents import NONE

    if method.calibration_ is not None:
        return
    if plan.way == NONE:
        logger.info("not calibrated: %s", plan.reason)
        return
    from xcwork.methods.calibrating import calibrate

    try:
        method.set_calibration(calibrate(method, dataset.train, plan))
    except (DataError, ConfigError) as problem:
        logger.warning("not calibrated: %s", problem)
        return
    method.save_calibration(run.folder / "model")


def recalibrate_run(run: Run, dataset: Dataset, *, callbacks: Iterable[Callback] = ()) -> EvalReport:
    """Learn the calibration of a trained run again, store it with its model and measure it on the test split.

    The model stays as it is. One that was trained without the documents of its plan scores them itself; any other is
    refitted, because the documents it was trained on would make it look surer than it is. The evaluation is stored if
    `dataset` is the one the run was trained on.
    """
    from xcwork.decisions.held_out_documents import HELD_OUT, NONE, REFIT
    from xcwork.methods.calibrating import calibrate
    from xcwork.metrics import evaluate
    from xcwork.runs import card, evaluation
    from xcwork.runs.manage import hold_at_rest

    with hold_at_rest(run), listen(callbacks):
        config, method = run.config, run.load_model()
        if len(dataset.train) == 0:
            raise DataError("the dataset has no training split to learn probabilities from", remedy="use another one")
        if method.labels_.names[: len(dataset.labels)] != dataset.labels.names:
            raise DataError(
                f"the model was trained on other labels than those of {dataset.name}",
                remedy="calibrate it on the dataset it was trained on",
            )
        plan = plan_run(config, dataset)
        is_own = dataset.recognises((config["dataset"] or {}).get("fingerprint"))
        if plan.way != HELD_OUT or not is_own:
            plan = _plan(REFIT, config, dataset)
        if plan.way == NONE:
            raise DataError(f"run {run.id} cannot be calibrated: {plan.reason}")
        method.set_calibration(calibrate(method, dataset.train, plan))
        method.save_calibration(run.folder / "model")
        if not is_own:
            return evaluate(method, dataset)
        report, labels = evaluation.evaluate_run(run.folder / "eval", method, dataset)
        card.write_card(run, report, labels, run.status)
        return report
