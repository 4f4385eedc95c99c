"""Where runs live: `<home>/runs/<run-id>/`, one folder each, readable without xcwork.

| file            | content                                                                                    |
| --------------- | ------------------------------------------------------------------------------------------ |
| `config.json`   | method, all parameters, data and its fingerprint, seed, device, versions                   |
| `status.json`   | state, phase, step, heartbeat, process, attempt, message (see `status.py`)                 |
| `metrics.jsonl` | one object per event, appended: attempt, phase, step, seconds, memory and reported values  |
| `log.txt`       | what the worker wrote                                                                      |
| `cancel`        | a flag anyone may create                                                                   |
| `lock`          | locked by the one process that may change the run                                          |
| `checkpoint/`   | the newest complete state of an unfinished training                                        |
| `model/`        | the trained method and its card, `README.md`                                               |
| `eval/`         | `metrics.json`, `topk.npz`, `per_label.csv`, `per_document.csv`, `errors.csv`              |
| `notes.md`      | the user's name for the run and remarks                                                    |

A run id is the UTC time, microseconds as four base-36 digits, and the method: ids sort by age, and renaming the
finished folder into place decides who got an id when two processes want the same one.
"""

from __future__ import annotations

import os
import re
import shutil
import uuid
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xcwork.errors import RunError, XcworkError
from xcwork.export.text import clean_name
from xcwork.paths import home as default_home
from xcwork.runs import events
from xcwork.runs.config import CONFIG_FILE, new_config, read_config, write_config
from xcwork.runs.locks import FileLock
from xcwork.runs.status import STATUS_FILE, Status, now, observe, write_status
from xcwork.storage.atomic import links_out, write_text

if TYPE_CHECKING:
    from xcwork.core.topk import TopK
    from xcwork.methods.base import Method
    from xcwork.metrics import EvalReport

METRICS_FILE = "metrics.jsonl"
LOG_FILE = "log.txt"
NOTES_FILE = "notes.md"
LOCK_FILE = "lock"
RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
TAIL_BYTES = 64 * 1024


class Run:
    """One run folder. Everything is read when asked for, so a `Run` never shows stale content."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder).absolute()

    def __repr__(self) -> str:
        return f"Run({self.id!r}, {self.state})"

    @property
    def id(self) -> str:
        return self.folder.name

    @property
    def home(self) -> Path:
        """The folder whose `runs/` holds this run."""
        return self.folder.parent.parent

    @property
    def config(self) -> dict[str, Any]:
        """What was asked for; written once, completed by the worker when it knows the data."""
        return read_config(self.folder)

    def check(self) -> None:
        """Raise the `RunError` that explains why this folder cannot be worked on, if there is one."""
        refuse_links(self.folder)
        self.config  # noqa: B018 - reading it is the check

    def complete_config(self, **facts: Any) -> None:
        """Add what only the worker knows, such as the fingerprint of the data."""
        write_config(self.folder, self.config | facts)

    @property
    def status(self) -> Status:
        """The run at this moment, with `lost` and `cancelling` worked out."""
        return observe(self.folder)

    @property
    def state(self) -> str:
        return self.status.state

    def lock(self) -> FileLock:
        """Return the lock held by whoever may change the run: its worker, or briefly a launcher."""
        return FileLock(self.folder / LOCK_FILE)

    def next_attempt(self, ended: Status) -> Status:
        """Return a queued status for the attempt after `ended`; events count too, in case the status file was lost."""
        seen = [event.get("attempt") for event in self.events()]
        last = max([ended.attempt, *(attempt for attempt in seen if isinstance(attempt, int))])
        return replace(ended, attempt=last).next_attempt()

    @property
    def name(self) -> str:
        """The first heading of the notes, or the id."""
        headings = (line[2:].strip() for line in self.notes().split("\n") if line.startswith("# "))
        return next(headings, "") or self.id

    def rename(self, name: str) -> None:
        """Replace the first heading of the notes, or begin them with one."""
        heading = f"# {clean_name(name)}"
        if heading == "# ":
            raise RunError("a run cannot have an empty name; give it one")
        lines = self.notes().split("\n")
        at = next((at for at, line in enumerate(lines) if line.startswith("# ")), None)
        if at is None:
            lines.insert(0, heading)
        else:
            lines[at] = heading
        self.write_notes("\n".join(lines))

    def notes(self) -> str:
        return self._read_text(NOTES_FILE)

    def write_notes(self, text: str) -> None:
        write_text(self.folder / NOTES_FILE, text)

    def events(self) -> list[dict[str, Any]]:
        """Return the events of `metrics.jsonl` in order; a line cut short by a kill is left out."""
        return events.read(self.folder / METRICS_FILE)

    def log(self, lines: int | None = None) -> str:
        """Return the log, or only its last `lines`."""
        if lines is None:
            return self._read_text(LOG_FILE)
        try:
            with (self.folder / LOG_FILE).open("rb") as file:
                file.seek(0, 2)
                file.seek(max(0, file.tell() - TAIL_BYTES))
                tail = file.read().decode("utf-8", "replace")
        except FileNotFoundError:
            return ""
        return "\n".join(tail.splitlines()[-lines:]) if lines > 0 else ""

    def model(self) -> Method:
        """Return the trained method."""
        from xcwork.methods.base import Method

        self._require("model", "trained model")
        return Method.load(self.folder / "model")

    def report(self) -> EvalReport:
        """Return the evaluation on the test split."""
        from xcwork.runs import evaluation

        self._require("eval", "evaluation")
        return evaluation.read_report(self.folder / "eval")

    def topk(self) -> TopK:
        """Return the stored predictions for the test split."""
        from xcwork.runs import evaluation

        self._require("eval", "evaluation")
        return evaluation.read_topk(self.folder / "eval")

    def to_dict(self) -> dict[str, Any]:
        """Return the record scripts rely on; a damaged run gives what can still be read."""
        status = self.status
        record: dict[str, Any] = {"run": self.id, "name": self.name, "state": status.state, "message": status.message}
        try:
            config = self.config
            record |= {"method": config["method"], "data": config.get("data"), "params": config["params"]}
            scores = self.report() if (self.folder / "eval").is_dir() else None
        except XcworkError as damage:
            record["message"], scores = str(damage), None
        for part in ("metrics", "seen", "unseen", "notes"):
            record[part] = {} if scores is None else dict(getattr(scores, part) or {})
        figures = ("train_seconds", "predict_ms_per_document", "peak_memory_mb", "model_bytes", "attempt", "started")
        return record | {name: getattr(status, name) for name in figures}

    def _require(self, part: str, what: str) -> None:
        refuse_links(self.folder)
        if not (self.folder / part).is_dir():
            raise RunError(f"run {self.id} is {self.state} and has no {what} yet; resume it or wait for it to finish")

    def _read_text(self, file: str) -> str:
        try:
            return (self.folder / file).read_text("utf-8", "replace")
        except FileNotFoundError:
            return ""


def get_figure(record: dict[str, Any], part: str, metric: str) -> float | None:
    """Return a figure of a run's record; None where a note says that there was nothing to measure (0 is a result)."""
    return None if part in record["notes"] else record[part].get(metric)


def refuse_links(folder: Path) -> None:
    """Refuse a run that leads out of its folder: it is not read, and above all never written to."""
    if folder.is_dir() and (out := links_out(folder)):
        raise RunError(f"{out[0]} is a link out of the run, which is not followed; copy the file instead")


class RunStore:
    """The runs of one home folder."""

    def __init__(self, home: str | Path | None = None) -> None:
        self.home = default_home() if home is None else Path(home).absolute()
        self.folder = self.home / "runs"

    def create(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        data: str | Path,
        *,
        data_options: Mapping[str, Any] | None = None,
        name: str = "",
        cluster: str | None = None,
        ranks: int = 1,
    ) -> Run:
        """Create a run, queued but not started (`jobs.launch` starts it). All of it is validated here.

        `cluster` is the address of a Dask cluster; if it is not given, that of XCWORK_CLUSTER. `ranks` are processes
        that share the labels of a neural method.
        """
        cluster = os.environ.get("XCWORK_CLUSTER", "") if cluster is None else cluster
        config = new_config(
            method, params or {}, data, data_options or {}, home=self.home, cluster=cluster, ranks=ranks
        )
        self.folder.mkdir(parents=True, exist_ok=True)
        draft = self.folder / f".new-{uuid.uuid4().hex[:8]}"
        draft.mkdir()
        try:
            write_config(draft, config)
            write_status(draft, Status(message="not started yet", updated=now()))
            if name.strip():
                write_text(draft / NOTES_FILE, f"# {clean_name(name)}\n")
            return Run(self._publish(draft, method))
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def _publish(self, draft: Path, method: str) -> Path:
        """Move a complete draft to a new id; the file system refuses an id that is already taken."""
        while True:
            folder = self.folder / make_id(method)
            try:
                return draft.rename(folder)
            except OSError:
                if not folder.is_dir():
                    raise

    def list(self) -> list[Run]:
        """Return all runs, oldest first."""
        if not self.folder.is_dir():
            return []
        names = sorted(entry.name for entry in self.folder.iterdir() if self._holds_run(entry))
        return [Run(self.folder / name) for name in names]

    def open(self, run_id: str) -> Run:
        """Return the run with this id, with an id that starts like this, or the `last` one."""
        runs = self.list()
        if run_id == "last":
            if not runs:
                raise RunError(f"there are no runs below {self.folder} yet; train a method first")
            return runs[-1]
        if not RUN_ID.fullmatch(run_id):
            raise RunError(f"{run_id!r} cannot be a run id; ids are letters, digits, '-', '_' and '.'")
        exact = [run for run in runs if run.id == run_id]
        found = exact or [run for run in runs if run.id.startswith(run_id)]
        if not found:
            raise RunError(f"there is no run {run_id!r} below {self.folder}; `xcwork runs` lists them")
        if len(found) > 1:
            some = ", ".join(run.id for run in found[:5])
            raise RunError(f"{len(found)} runs start with {run_id!r} ({some}); give more of the id")
        return found[0]

    def _holds_run(self, entry: Path) -> bool:
        # A link could lead out of the folder that runs are confined to.
        if not RUN_ID.fullmatch(entry.name) or entry.is_symlink() or not entry.is_dir():
            return False
        return (entry / CONFIG_FILE).is_file() or (entry / STATUS_FILE).is_file()


def make_id(method: str) -> str:
    """Return a run id for this microsecond."""
    moment = datetime.now(UTC)
    digits, rest = "", moment.microsecond
    while len(digits) < 4:
        rest, digit = divmod(rest, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return f"{moment:%Y%m%d-%H%M%S}-{digits}-{method}"
