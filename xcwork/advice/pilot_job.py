"""A pilot in a process of its own: `python -m xcwork.advice.pilot_job REQUEST_FILE`, started by the Train page.

The request lies beside the recommendation that it will make, in the cache of the data folder. Only files connect the
work with whoever waits for it: the progress file says how far it is, at most twice a second, and a flag stops it.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from xcwork.data.load import DatasetSource, load_dataset, make_cache_prefix, resolve_source
from xcwork.progress import Callback
from xcwork.runs import jobs, processes
from xcwork.runs.background import Signals, log_to_file
from xcwork.runs.outcome import AttemptOutcome
from xcwork.storage.atomic import write_json

INTERVAL_SECONDS = 0.5
RUNNING = "running"


@dataclass(frozen=True)
class PilotProgress:
    """How far a pilot is."""

    state: str = RUNNING  # or finished, cancelled, failed, stopped (its process is gone)
    phase: str = "reading the data"
    budget_seconds: float = 0.0
    started: float = 0.0  # seconds since the epoch
    message: str = ""
    pid: int = 0
    process: str = ""
    is_stopping: bool = False  # somebody cancelled it, and it has not come to its next step yet

    @property
    def is_running(self) -> bool:
        return self.state == RUNNING

    @property
    def elapsed_seconds(self) -> float:
        """How long it has been at work; a step of a method may take minutes, so this is not read from a file."""
        return max(0.0, time.time() - self.started)

    @property
    def share(self) -> float:
        """The share of the budget that is used up, from 0 to 1."""
        return min(1.0, self.elapsed_seconds / self.budget_seconds) if self.budget_seconds > 0 else 0.0


def locate_file(source: DatasetSource, kind: str) -> Path:
    """Return a file of the pilot of a dataset: its request, progress, log or the flag that cancels it."""
    prefix = source.name if source.path is None else make_cache_prefix(source.path)
    return source.home / "data" / ".cache" / f"{prefix}-pilot-{kind}"


def read_progress(source: DatasetSource) -> PilotProgress | None:
    """Return how far the pilot of a dataset is; None when there was none."""
    try:
        content = json.loads(locate_file(source, "progress.json").read_text("utf-8"))
        progress = PilotProgress(**{field.name: content[field.name] for field in fields(PilotProgress)})
    except (OSError, ValueError, TypeError, KeyError):
        return None
    if progress.is_running and not processes.is_alive(progress.pid, progress.process):
        return replace(progress, state="stopped", message="The pilot stopped unexpectedly; start it again.")
    return replace(progress, is_stopping=progress.is_running and locate_file(source, "cancel").exists())


def start_pilot(source: DatasetSource, *, minutes: float, seed: int = 0) -> None:
    """Try methods on a sample of a dataset in a process of its own, unless one is at work already."""
    progress = read_progress(source)
    if progress is not None and progress.is_running:
        return
    request = locate_file(source, "request.json")
    request.parent.mkdir(parents=True, exist_ok=True)
    locate_file(source, "cancel").unlink(missing_ok=True)
    options = dict(source.options) | ({} if source.groups is None else {"groups": source.groups})
    asked = {"data": source.location, "options": options, "home": str(source.home), "minutes": minutes, "seed": seed}
    write_json(request, asked)
    process = jobs.spawn_module(["xcwork.advice.pilot_job", str(request)], locate_file(source, "log.txt"), source.home)
    born = processes.identify_process(process.pid) or ""
    _write_progress(
        source, PilotProgress(budget_seconds=60 * minutes, started=time.time(), pid=process.pid, process=born)
    )
    # Somebody has to collect the exit code, or the process stays in the process table.
    threading.Thread(target=process.wait, name=f"reaper pilot {source.name}", daemon=True).start()


def cancel_pilot(source: DatasetSource) -> None:
    """Ask the pilot of a dataset to stop at its next step."""
    progress = read_progress(source)
    if progress is not None and progress.is_running:
        locate_file(source, "cancel").touch()


class PilotReporter(Callback):
    """Writes which methods are being tried, and hears the wish to stop."""

    def __init__(self, source: DatasetSource, budget_seconds: float) -> None:
        pid = os.getpid()
        born = processes.identify_process(pid) or ""
        self.progress = PilotProgress(budget_seconds=budget_seconds, started=time.time(), pid=pid, process=born)
        self._source, self._written = source, 0.0
        self._asked_to_stop = False

    def ask_to_stop(self) -> None:
        """Stop at the next step."""
        self._asked_to_stop = True

    def on_phase(self, phase: str, total: int | None) -> None:
        if phase.startswith("trying "):  # the phases of the methods themselves come and go too fast to be read
            self.progress = replace(self.progress, phase=phase)
            self.write()

    def on_step(self, phase: str, step: int, total: int | None) -> bool:
        if time.monotonic() - self._written >= INTERVAL_SECONDS:
            self.write()
        return self._asked_to_stop or locate_file(self._source, "cancel").exists()

    def write(self) -> None:
        """Write the progress file."""
        self._written = time.monotonic()
        _write_progress(self._source, self.progress)


def _write_progress(source: DatasetSource, progress: PilotProgress) -> None:
    write_json(locate_file(source, "progress.json"), asdict(progress))


def main(request: str | Path) -> int:
    """Do what the request file asks for; 0 when that was done or cancelled as asked, else 2."""
    asked = json.loads(Path(request).read_text("utf-8"))
    home, options = Path(asked["home"]), asked["options"]
    source = resolve_source(asked["data"], home=home, **options)
    reporter = PilotReporter(source, 60 * asked["minutes"])
    outcome = AttemptOutcome()
    with Signals() as signals, log_to_file(locate_file(source, "log.txt")):
        signals.tell(reporter.ask_to_stop)
        with outcome:
            _work(source, home, asked, reporter)
        message = "" if outcome.state in ("finished", "cancelled") else outcome.message
        _write_progress(source, replace(reporter.progress, state=outcome.state, message=message))
    return 2 if outcome.state == "failed" else 0


def _work(source: DatasetSource, home: Path, asked: dict[str, object], reporter: PilotReporter) -> None:
    from xcwork.advice.recommending import recommend
    from xcwork.advice.storing import list_measurements, write_recommendation

    reporter.write()
    minutes, seed = float(str(asked["minutes"])), int(str(asked["seed"]))
    dataset = load_dataset(source.location, home=home, **dict(asked["options"]))  # type: ignore[call-overload]
    found = recommend(dataset, minutes=minutes, known=list_measurements(home), seed=seed, callbacks=[reporter])
    write_recommendation(source, found)


if __name__ == "__main__":
    # Under its own name rather than as `__main__`, so that its logger is one of xcwork's.
    from xcwork.advice import pilot_job

    sys.exit(pilot_job.main(sys.argv[1]))
