"""Maps made in the background: `python -m xcwork.runs.map_job RUN_FOLDER`, or a worker whose run is finished.

Only files connect the work with whoever waits for it: `map/progress.json` says how far it is, at most twice a second,
and `map/cancel` asks it to stop at the next step. The run is finished all the while; whatever happens to its map, that
stays, and the log says why there is none.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from xcwork.errors import RunError
from xcwork.progress import Callback, listen
from xcwork.runs import jobs, processes
from xcwork.runs.background import Signals, log_to_file
from xcwork.runs.outcome import AttemptOutcome
from xcwork.runs.run_map import MAP_FOLDER, make_map
from xcwork.runs.store import LOG_FILE, Run, refuse_links
from xcwork.storage.atomic import remove_drafts, write_json

if TYPE_CHECKING:
    from xcwork.core.dataset import Dataset
    from xcwork.methods.base import Method

PROGRESS_FILE = "progress.json"
CANCEL_FLAG = "cancel"
INTERVAL_SECONDS = 0.5
RUNNING = "running"

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class MapProgress:
    """How far the making of a map is."""

    state: str = RUNNING  # or finished, cancelled, failed, stopped (its process is gone)
    phase: str = "starting"
    step: int = 0
    total: int | None = None
    message: str = ""
    pid: int = 0
    process: str = ""

    @property
    def is_running(self) -> bool:
        return self.state == RUNNING


def read_map_progress(run: Run) -> MapProgress | None:
    """Return how far the map of a run is; None when nobody began to make one."""
    try:
        content = json.loads((run.folder / MAP_FOLDER / PROGRESS_FILE).read_text("utf-8"))
        progress = MapProgress(**{field.name: content[field.name] for field in fields(MapProgress)})
    except (OSError, ValueError, TypeError, KeyError):
        return None
    if progress.is_running and not processes.is_alive(progress.pid, progress.process):
        return replace(progress, state="stopped", message="the map was interrupted; start it again to continue")
    return progress


def start_map(run: Run) -> None:
    """Make the map of a finished run in a process of its own, unless one is at work already."""
    refuse_links(run.folder)
    if not (run.folder / "model").is_dir():
        raise RunError(f"run {run.id} is {run.state} and has no trained model yet; wait for it to finish")
    progress = read_map_progress(run)
    if progress is not None and progress.is_running:
        return
    (run.folder / MAP_FOLDER).mkdir(exist_ok=True)
    (run.folder / MAP_FOLDER / CANCEL_FLAG).unlink(missing_ok=True)
    process = jobs.spawn_module(["xcwork.runs.map_job", str(run.folder)], run.folder / LOG_FILE, run.home)
    _write_progress(run, MapProgress(pid=process.pid, process=processes.identify_process(process.pid) or ""))
    threading.Thread(target=process.wait, name=f"reaper map {run.id}", daemon=True).start()


def cancel_map(run: Run) -> None:
    """Ask whoever makes the map of a run to stop at the next step; what it computed so far is kept."""
    progress = read_map_progress(run)
    if progress is not None and progress.is_running:
        (run.folder / MAP_FOLDER / CANCEL_FLAG).touch()


def work_on_map(
    run: Run,
    dataset: Dataset | None = None,
    method: Method | None = None,
    *,
    tell: Callable[[Callable[[], None]], None] | None = None,
) -> MapProgress:
    """Make the map in this process and write how that goes; errors end in the log, never at the caller.

    `tell` is given a function that stops the work, for signals.
    """
    (run.folder / MAP_FOLDER).mkdir(exist_ok=True)
    (run.folder / MAP_FOLDER / CANCEL_FLAG).unlink(missing_ok=True)
    remove_drafts(run.folder / MAP_FOLDER / PROGRESS_FILE)
    reporter = MapReporter(run)
    if tell is not None:
        tell(reporter.ask_to_stop)
    outcome = AttemptOutcome()
    began = time.monotonic()
    with outcome, listen([reporter]):
        reporter.write_now()
        made = make_map(run, dataset, method)
        logger.info("map of %s in %.1f s", made.layout.caption, time.monotonic() - began)
    if outcome.state != "finished":
        logger.warning("run %s has no map: %s", run.id, outcome.message)
    ended = replace(reporter.progress, state=outcome.state, message=outcome.message)
    if run.folder.is_dir():
        _write_progress(run, ended)
    return ended


class MapReporter(Callback):
    """Writes the steps of a layout, and hears the wish to stop."""

    def __init__(self, run: Run) -> None:
        pid = os.getpid()
        self.progress = MapProgress(pid=pid, process=processes.identify_process(pid) or "")
        self._run = run
        self._asked_to_stop = False
        self._written = 0.0

    def ask_to_stop(self) -> None:
        """Stop at the next step."""
        self._asked_to_stop = True

    def write_now(self) -> None:
        """Write the progress file."""
        _write_progress(self._run, self.progress)
        self._written = time.monotonic()

    def on_phase(self, phase: str, total: int | None) -> None:
        self.on_step(phase, 0, total)

    def on_step(self, phase: str, step: int, total: int | None) -> bool:
        self.progress = replace(self.progress, phase=phase, step=step, total=total)
        if not self._run.folder.is_dir():  # deleted meanwhile
            return True
        if time.monotonic() - self._written >= INTERVAL_SECONDS:
            self.write_now()
        return self._asked_to_stop or (self._run.folder / MAP_FOLDER / CANCEL_FLAG).exists()


def _write_progress(run: Run, progress: MapProgress) -> None:
    write_json(run.folder / MAP_FOLDER / PROGRESS_FILE, asdict(progress))


def main(folder: str | Path) -> int:
    """Make the map of the run in `folder`; 0 when it was made or cancelled as asked, else 2."""
    run = Run(folder)
    run.check()
    with Signals() as signals, log_to_file(run.folder / LOG_FILE):
        return 2 if work_on_map(run, tell=signals.tell).state == "failed" else 0


if __name__ == "__main__":
    # Under its own name rather than as `__main__`, so that its logger is one of xcwork's.
    from xcwork.runs import map_job

    sys.exit(map_job.main(sys.argv[1]))
