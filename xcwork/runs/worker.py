"""The process that trains one run: `python -m xcwork.runs.worker RUN_FOLDER`.

    wait for the turn → load the data → train (or resume from the checkpoint) → store → calibrate → evaluate → finished
    → label map

It writes only inside its run folder. Whatever is complete on disk is not done again, so a worker that starts on the
folder of a killed one ends with the same model and the same metrics. SIGTERM and Ctrl-C mean cancel. However the
attempt ends, the status says why in one sentence; a traceback goes to the log.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from xcwork.compute import cluster, ranks
from xcwork.errors import RunError, XcworkError
from xcwork.progress import listen
from xcwork.runs import processes, rank_worker
from xcwork.runs.background import Signals, log_to_file
from xcwork.runs.calibration import calibrate_run, plan_run
from xcwork.runs.config import read_place, wants_map
from xcwork.runs.locks import FileLock
from xcwork.runs.outcome import AttemptOutcome, explain_error
from xcwork.runs.queue import take_turn
from xcwork.runs.reporter import Reporter
from xcwork.runs.status import ENDED_STATES, Status, format_now, is_abandoned, read_status
from xcwork.runs.store import LOG_FILE, METRICS_FILE, Run

if TYPE_CHECKING:
    from xcwork.core.dataset import Dataset
    from xcwork.core.split import Split
    from xcwork.methods.base import Method

logger = logging.getLogger(__name__)

LOCK_SECONDS = 10.0  # a launcher holds the lock for a moment while it starts the worker
LOCK_POLL_SECONDS = 0.05
LITTER = re.compile(
    r"\.(model|eval|calibration|decisions\.json|config\.json|status\.json|README\.md|\d{6})\.\w+\.(tmp|old)"
)
DETAIL_LINES = 20  # of the log, in the status of a run that failed


class Attempt(NamedTuple):
    """How an attempt ended, and what it trained on which data."""

    state: str
    trained: tuple[Method, Dataset] | None


def main(folder: str | Path) -> int:
    """Work on the run in `folder` until it is over; 0 when it finished or was cancelled as asked, else 2."""
    run = Run(folder)
    return rank_worker.work_as_rank(run, _work_on) if ranks.count_torchrun_ranks() > 1 else _work_on(run)


def _work_on(run: Run) -> int:
    """Work as the worker of a run, or the first of its ranks."""
    try:
        run.check()
        with Signals() as signals:
            with run.open_lock() as lock:
                attempt = _make_attempt(run, _take_run(run, lock), signals)
            _lay_out_labels(run, attempt, signals)
            return 2 if attempt.state == "failed" else 0
    except (RunError, OSError, MemoryError) as refusal:
        # Not a RunError: not even the status can be written, as on a full disk or in a folder that became read-only.
        with suppress(OSError):  # standard error is the log, which may be on the same full disk
            sys.stderr.write(f"{explain_error(refusal)}\n")
            sys.stderr.flush()
        return 2


def _take_run(run: Run, lock: FileLock) -> Status:
    """Lock the run and return the status that this worker starts with."""
    deadline = time.monotonic() + LOCK_SECONDS
    while not lock.acquire(holder=f"{processes.get_host_name()} {os.getpid()}"):
        status = read_status(run.folder)
        theirs = status.is_active and status.pid not in (None, os.getpid(), os.getppid()) and not is_abandoned(status)
        if theirs or time.monotonic() > deadline:
            raise RunError(f"another worker is running {run.id}; wait for it or cancel it")
        time.sleep(LOCK_POLL_SECONDS)
    status = read_status(run.folder)
    if status.state in ENDED_STATES:
        raise RunError(f"run {run.id} is {status.state} already; `xcwork resume` opens another attempt")
    if status.state != "queued":  # nobody else holds the lock, so whoever wrote this is gone
        status = run.make_next_attempt(replace(status, state="lost"))
    pid = os.getpid()
    return replace(
        status,
        message="",
        queued=status.queued or format_now(),
        started=format_now(),
        pid=pid,
        process=processes.identify_process(pid) or "",
        host=processes.get_host_name(),
    )


def _make_attempt(run: Run, status: Status, signals: Signals) -> Attempt:
    """Do the work and write how it ended."""
    trained: tuple[Method, Dataset] | None = None
    with log_to_file(run.folder / LOG_FILE), Reporter(run.folder, status, run.folder / METRICS_FILE) as reporter:
        signals.tell(reporter.ask_to_stop)
        outcome = AttemptOutcome()
        with outcome:
            trained = _do_attempt(run, reporter)
    # Only now, with the heartbeat stopped, so that nothing is written after the last state.
    details = run.read_log(DETAIL_LINES) if outcome.state == "failed" else ""
    reporter.update(state=outcome.state, message=outcome.message, details=details, ended=format_now())
    return Attempt(outcome.state, trained)


def _lay_out_labels(run: Run, attempt: Attempt, signals: Signals) -> None:
    """Make the label map of a finished run, which is free by now: others may train, read and delete meanwhile."""
    from xcwork.runs.map_job import work_on_map

    if attempt.trained is None or attempt.state != "finished" or not wants_map(run.config):
        return
    method, dataset = attempt.trained
    with log_to_file(run.folder / LOG_FILE), ranks.work_alone():
        work_on_map(run, dataset, method, tell=signals.tell)


def _do_attempt(run: Run, reporter: Reporter) -> tuple[Method, Dataset]:
    """Do everything that belongs to an attempt; leaving without an error means finished."""
    from xcwork.methods import registry

    _remove_litter(run.folder)
    config = run.config
    method = registry.create(config["method"], **config["params"])
    device = _choose_device(method, config)
    logger.info("run %s, attempt %d, method %s, device %s", run.id, reporter.status.attempt, config["method"], device)
    reporter.update(device=device, phase="waiting")
    with take_turn(run, reporter, device), reporter.time_work(), listen([reporter]):
        reporter.update(state="running", phase="loading data", message="", step=0, total=None)
        dataset = _load_data(run, config)
        reporter.update(phase="training", step=0, total=None)
        reporter.stop_if_cancelled()
        plan = plan_run(config, dataset)
        method = _train(run, method, plan.take_training_split(dataset.train), read_place(config)[0], reporter)
        reporter.update(phase="calibrating", step=0, total=None)
        reporter.stop_if_cancelled()
        with ranks.work_alone(), reporter.time_calibration():
            calibrate_run(run, method, dataset, plan)
        reporter.update(state="evaluating", phase="evaluating", step=0, total=None)
        reporter.stop_if_cancelled()
        with ranks.work_alone():
            _evaluate(run, method, dataset, reporter)
    return method, dataset


def _choose_device(method: Method, config: dict[str, Any]) -> str:
    """Return where this method will really run; torch is only asked when the method can use more than the CPU."""
    if not method.capabilities.gpu:
        return "cpu"
    from xcwork.compute.device import resolve_device_kind

    return resolve_device_kind(config["device"])


def _load_data(run: Run, config: dict[str, Any]) -> Dataset:
    """Return the data of the run, which must not have changed since an earlier attempt."""
    from xcwork.data.load import load_dataset

    dataset = load_dataset(config["data"], home=run.home, **config["data_options"])
    known = config["dataset"]
    if known is not None and not dataset.recognises(known.get("fingerprint")):
        raise RunError(f"the data of run {run.id} ({config['data']}) changed since it started; start a new run")
    if known is None:
        run.complete_config(dataset=_describe_data(dataset))
    return dataset


def _describe_data(dataset: Dataset) -> dict[str, Any]:
    """Return what the card says about the data, and the fingerprint that recognises it."""
    return {
        "name": dataset.name,
        "source": dataset.source,
        "fingerprint": dataset.fingerprint,
        "n_train": len(dataset.train),
        "n_test": len(dataset.test),
        "n_features": dataset.features.size,
        "n_labels": len(dataset.labels),
        "n_unseen_labels": len(dataset.unseen_labels),
        "labels_per_document": round(dataset.train.Y.nnz / max(len(dataset.train), 1), 2),
        "takes_text": dataset.features.vectorizer is not None,
        "label_text": dataset.labels.Z is not None,
    }


def _train(run: Run, method: Method, train: Split, address: str, reporter: Reporter) -> Method:
    """Return the stored model when there is a complete one, else train one and store it."""
    from xcwork.methods.base import Method
    from xcwork.methods.common.checkpoints import Checkpoint

    folder = run.folder / "model"
    if folder.is_dir():
        try:
            stored = Method.load(folder)
        except XcworkError as damage:
            logger.warning("the stored model cannot be used, so training starts again: %s", damage)
        else:
            rank_worker.announce_training(trains=False)
            return stored
    rank_worker.announce_training(trains=True)
    with reporter.time_training(), cluster.use_cluster(address):
        method.fit(train, checkpoint=Checkpoint(run.folder / "checkpoint"))
    reporter.update(phase="storing the model")
    method.save(folder)
    logger.info("trained in %.1f s", reporter.status.train_seconds)
    return method


def _evaluate(run: Run, method: Method, dataset: Dataset, reporter: Reporter) -> None:
    """Write metrics and their files, the card, and the figures of the status."""
    from xcwork.runs import card, evaluation

    report, labels = evaluation.evaluate_run(run.folder / "eval", method, dataset)
    for name, values in (("all", report.metrics), ("seen", report.seen), ("unseen", report.unseen)):
        reporter.on_values(f"evaluating {name}", values)
    reporter.update(
        phase="writing the card",
        predict_ms_per_document=round(report.predict_ms_per_document, 3),
        model_bytes=sum(file.stat().st_size for file in (run.folder / "model").rglob("*") if file.suffix != ".md"),
    )
    card.write_card(run, report, labels, reporter.status)
    if (run.folder / "checkpoint").is_dir():  # it may be large: a run that cannot remove it is not finished
        shutil.rmtree(run.folder / "checkpoint")


def _remove_litter(folder: Path) -> None:
    """Remove what a killed worker left half written; nothing else uses these names."""
    hidden = [entry for part in ("", "model", "checkpoint") for entry in (folder / part).glob(".*")]
    for entry in hidden:
        if LITTER.fullmatch(entry.name):
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


if __name__ == "__main__":
    # Under its own name rather than as `__main__`, so that its logger is one of xcwork's.
    from xcwork.runs import worker

    sys.exit(worker.main(sys.argv[1]))
