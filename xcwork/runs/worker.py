"""The process that trains one run: `python -m xcwork.runs.worker RUN_FOLDER`.

    wait for the turn → load the data → train (or resume from the checkpoint) → store → evaluate → finished

It writes only inside its run folder. Whatever is complete on disk is not done again, so a worker that starts on the
folder of a killed one ends with the same model and the same metrics. SIGTERM and Ctrl-C mean cancel. However the
attempt ends, the status says why in one sentence; a traceback goes to the log.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from xcwork.compute import cluster, ranks
from xcwork.errors import Cancelled, RunError, XcworkError
from xcwork.progress import listening
from xcwork.runs import processes, rank_worker
from xcwork.runs.config import read_place
from xcwork.runs.locks import FileLock
from xcwork.runs.queue import take_turn
from xcwork.runs.reporter import Reporter
from xcwork.runs.status import TERMINAL, Status, is_abandoned, now, read_status
from xcwork.runs.store import LOG_FILE, METRICS_FILE, Run

if TYPE_CHECKING:
    from xcwork.core.dataset import Dataset
    from xcwork.methods.base import Method

logger = logging.getLogger(__name__)

LOCK_SECONDS = 10.0  # a launcher holds the lock for a moment while it starts the worker
LOCK_POLL_SECONDS = 0.05
LITTER = re.compile(r"\.(model|eval|config\.json|status\.json|README\.md|\d{6})\.\w+\.(tmp|old)")
DETAIL_LINES = 20  # of the log, in the status of a run that failed
# torch and Python's threads tell of missing memory with a RuntimeError; compiled code may lose the error on its way,
# which Python then reports as a SystemError in the last of these words.
MEMORY_WORDS = (
    "OutOfMemoryError",
    "can't allocate memory",
    "can't start new thread",
    "bad_alloc",
    "return without exception set",
)


def main(folder: str | Path) -> int:
    """Work on the run in `folder` until it is over; 0 when it finished or was cancelled as asked, else 2."""
    run = Run(folder)
    return rank_worker.work_as_rank(run, _work_on) if ranks.count_torchrun_ranks() > 1 else _work_on(run)


def _work_on(run: Run) -> int:
    """Be the worker of a run, or the first of its ranks."""
    try:
        run.check()
        with _Signals() as signals, run.lock() as lock:
            return _make_attempt(run, _take_run(run, lock), signals)
    except (RunError, OSError, MemoryError) as refusal:
        # Not a RunError: not even the status can be written, as on a full disk or in a folder that became read-only.
        with suppress(OSError):  # standard error is the log, which may be on the same full disk
            sys.stderr.write(f"{_explain_error(refusal)}\n")
            sys.stderr.flush()
        return 2


def _take_run(run: Run, lock: FileLock) -> Status:
    """Lock the run and return the status that this worker starts with."""
    deadline = time.monotonic() + LOCK_SECONDS
    while not lock.acquire(holder=f"{processes.host()} {os.getpid()}"):
        status = read_status(run.folder)
        theirs = status.is_active and status.pid not in (None, os.getpid(), os.getppid()) and not is_abandoned(status)
        if theirs or time.monotonic() > deadline:
            raise RunError(f"another worker is at work on run {run.id}; wait for it or cancel it")
        time.sleep(LOCK_POLL_SECONDS)
    status = read_status(run.folder)
    if status.state in TERMINAL:
        raise RunError(f"run {run.id} is {status.state} already; `xcwork resume` opens another attempt")
    if status.state != "queued":  # nobody else holds the lock, so whoever wrote this is gone
        status = run.next_attempt(replace(status, state="lost"))
    pid = os.getpid()
    return replace(
        status,
        message="",
        queued=status.queued or now(),
        started=now(),
        pid=pid,
        process=processes.identity(pid) or "",
        host=processes.host(),
    )


def _make_attempt(run: Run, status: Status, signals: _Signals) -> int:
    """Do the work and write how it ended."""
    with _log_to(run.folder / LOG_FILE), Reporter(run.folder, status, run.folder / METRICS_FILE) as reporter:
        signals.tell(reporter.ask_to_stop)
        outcome = _Outcome()
        with outcome:
            _do_attempt(run, reporter)
    # Only now, with the heartbeat stopped, so that nothing is written after the last state.
    details = run.log(DETAIL_LINES) if outcome.state == "failed" else ""
    reporter.update(state=outcome.state, message=outcome.message, details=details, ended=now())
    return 2 if outcome.state == "failed" else 0


def _do_attempt(run: Run, reporter: Reporter) -> None:
    """Do everything that belongs to an attempt; leaving without an error means finished."""
    from xcwork.methods import registry

    _remove_litter(run.folder)
    config = run.config
    method = registry.create(config["method"], **config["params"])
    device = _choose_device(method, config)
    logger.info("run %s, attempt %d, method %s, device %s", run.id, reporter.status.attempt, config["method"], device)
    reporter.update(device=device, phase="waiting")
    with take_turn(run, reporter, device), listening([reporter]):
        reporter.update(state="running", phase="loading data", message="", step=0, total=None)
        dataset = _load_data(run, config)
        reporter.update(phase="training", step=0, total=None)
        reporter.stop_if_cancelled()
        method = _train(run, method, dataset, read_place(config)[0], reporter)
        reporter.update(state="evaluating", phase="evaluating", step=0, total=None)
        reporter.stop_if_cancelled()
        with ranks.alone():
            _evaluate(run, method, dataset, reporter)


def _choose_device(method: Method, config: dict[str, Any]) -> str:
    """Return where this method will really run; torch is only asked when the method can use more than the CPU."""
    if not method.capabilities.gpu:
        return "cpu"
    from xcwork.compute.device import resolve_kind

    return resolve_kind(config["device"])


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


def _train(run: Run, method: Method, dataset: Dataset, address: str, reporter: Reporter) -> Method:
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
    with reporter.training(), cluster.using(address):
        method.fit(dataset.train, checkpoint=Checkpoint(run.folder / "checkpoint"))
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


class _Outcome:
    """Turns the way the block ended into the last state of the attempt: the one place where every error is met."""

    state, message = "finished", ""

    def __enter__(self) -> _Outcome:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if error is not None:
            self.state = "cancelled" if isinstance(error, Cancelled) else "failed"
            self.message = _explain_error(error)
            logger.info("%s: %s", self.state, self.message)
            if not isinstance(error, XcworkError):
                logger.error("the traceback", exc_info=error)
        return True


def _explain_error(error: BaseException) -> str:
    """Return what happened, for a user."""
    if isinstance(error, XcworkError):
        return str(error)
    if isinstance(error, MemoryError) or any(words in f"{type(error).__name__} {error}" for words in MEMORY_WORDS):
        return f"there was not enough memory ({error}); use a smaller dataset, smaller parameters or a bigger machine"
    if isinstance(error, OSError):
        return f"{error}; check the disk space and the permissions of the files"
    last = traceback.format_exception_only(error)[-1].strip()
    return f"unexpected error, see log.txt: {last}"


def _remove_litter(folder: Path) -> None:
    """Remove what a killed worker left half written; nothing else uses these names."""
    hidden = [entry for part in ("", "model", "checkpoint") for entry in (folder / part).glob(".*")]
    for entry in hidden:
        if LITTER.fullmatch(entry.name):
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


class _Signals:
    """SIGTERM and Ctrl-C ask for a clean stop, from the first line of the worker to the last status it writes."""

    def __init__(self) -> None:
        self._asked = False
        self._listener: Callable[[], None] | None = None
        self._before: dict[int, Any] = {}

    def tell(self, listener: Callable[[], None]) -> None:
        """Call `listener` when a signal comes, or now if one came before there was anybody to tell."""
        self._listener = listener
        if self._asked:
            listener()

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._asked = True
        if self._listener is not None:
            self._listener()

    def __enter__(self) -> _Signals:
        if threading.current_thread() is threading.main_thread():  # Python lets only this one say what signals do
            self._before = {number: signal.signal(number, self._stop) for number in (signal.SIGTERM, signal.SIGINT)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


@contextmanager
def _log_to(path: Path) -> Iterator[None]:
    """Send everything that xcwork logs to the file."""
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger("xcwork")
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
        with suppress(OSError):  # lines that found no room on the disk must not hide how the run ended
            handler.close()


if __name__ == "__main__":
    # Under its own name rather than as `__main__`, so that its logger is one of xcwork's.
    from xcwork.runs import worker

    sys.exit(worker.main(sys.argv[1]))
