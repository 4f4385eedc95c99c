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
| `model/`        | the trained method, its `calibration/` and its card, `README.md`                           |
| `eval/`         | `metrics.json`, `topk.npz`, `per_label.csv`, `per_document.csv`, `errors.csv`              |
| `out_of_fold/`  | `topk.npz`: predictions for the training split by models that did not see it, for reviews  |
| `map/`          | the label map: layouts, regions, how far its making is (see `run_map.py`)                  |
| `notes.md`      | the user's name for the run and notes                                                      |
| `identity.json` | the number that gives the run its colour and mark (see `identity.py`)                      |
| `predictions/`  | labels for files of texts, one folder each (see `prediction_jobs.py`)                      |
| `decisions.json`| from which probability on a label is assigned or suggested, if somebody chose              |

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
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xcwork.errors import RunError, XcworkError
from xcwork.export.text import clean_name
from xcwork.paths import find_home
from xcwork.runs import events, identity
from xcwork.runs.config import CONFIG_FILE, make_config, read_config, write_config
from xcwork.runs.locks import FileLock
from xcwork.runs.status import STATUS_FILE, Status, format_now, observe_status, write_status
from xcwork.storage.atomic import find_links_out, write_text

if TYPE_CHECKING:
    from xcwork.core.topk import TopK
    from xcwork.decisions.calibration import Calibration
    from xcwork.decisions.choice import Decisions
    from xcwork.methods.base import Method
    from xcwork.metrics import EvalReport

METRICS_FILE = "metrics.jsonl"
LOG_FILE = "log.txt"
NOTES_FILE = "notes.md"
LOCK_FILE = "lock"
RUN_ID_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
LOG_TAIL_BYTES = 64 * 1024


class Run:
    """One run folder. Everything is read when asked for, so a `Run` never shows stale content."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder).absolute()

    def __repr__(self) -> str:
        return f"Run({self.id!r}, {self.state})"

    @cached_property
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
        return observe_status(self.folder)

    @property
    def state(self) -> str:
        return self.status.state

    def open_lock(self) -> FileLock:
        """Return the lock held by whoever may change the run: its worker, or briefly a launcher."""
        return FileLock(self.folder / LOCK_FILE)

    def make_next_attempt(self, ended: Status) -> Status:
        """Return a queued status for the attempt after `ended`; events count too, in case the status file was lost."""
        seen = [event.get("attempt") for event in self.read_events()]
        last = max([ended.attempt, *(attempt for attempt in seen if isinstance(attempt, int))])
        return replace(ended, attempt=last).make_next_attempt()

    @property
    def name(self) -> str:
        """The first heading of the notes, or the id."""
        headings = (line[2:].strip() for line in self.read_notes().split("\n") if line.startswith("# "))
        return next(headings, "") or self.id

    @property
    def number(self) -> int:
        """What gives the run its colour and mark; a run of an older version gets one now, as do its neighbours."""
        if (number := identity.read_number(self.folder)) is not None:
            return number
        try:
            with identity.hold_numbers(self.folder.parent):
                identity.assign_numbers(run.folder for run in RunStore(self.home).list())
        except OSError:  # a home folder that can only be read
            return identity.guess_number(self.id)
        number = identity.read_number(self.folder)
        return identity.guess_number(self.id) if number is None else number

    def rename(self, name: str) -> None:
        """Replace the first heading of the notes, or begin them with one."""
        heading = f"# {clean_name(name)}"
        if heading == "# ":
            raise RunError("a run cannot have an empty name; give it one")
        lines = self.read_notes().split("\n")
        at = next((at for at, line in enumerate(lines) if line.startswith("# ")), None)
        if at is None:
            lines.insert(0, heading)
        else:
            lines[at] = heading
        self.write_notes("\n".join(lines))

    def read_notes(self) -> str:
        """Return the text of `notes.md`; nothing where there is none."""
        return self._read_text(NOTES_FILE)

    def write_notes(self, text: str) -> None:
        """Replace the notes in one step."""
        write_text(self.folder / NOTES_FILE, text)

    def read_events(self) -> list[dict[str, Any]]:
        """Return the events of `metrics.jsonl` in order; a line cut short by a kill is left out."""
        return events.read_events(self.folder / METRICS_FILE)

    def read_log(self, lines: int | None = None) -> str:
        """Return the log, or only its last `lines`."""
        if lines is None:
            return self._read_text(LOG_FILE)
        try:
            with (self.folder / LOG_FILE).open("rb") as file:
                file.seek(0, 2)
                file.seek(max(0, file.tell() - LOG_TAIL_BYTES))
                tail = file.read().decode("utf-8", "replace")
        except FileNotFoundError:
            return ""
        return "\n".join(tail.splitlines()[-lines:]) if lines > 0 else ""

    def load_model(self) -> Method:
        """Return the trained method."""
        from xcwork.methods.base import Method

        self._require("model", "trained model")
        return Method.load(self.folder / "model")

    def read_calibration(self) -> Calibration | None:
        """Return what turns scores into probabilities, read without the model; None if there is none."""
        from xcwork.decisions.stored_calibration import read_calibration

        self._require("model", "trained model")
        return read_calibration(self.folder / "model")

    def read_decisions(self) -> Decisions:
        """Return the thresholds stored with the run, or the usual ones."""
        from xcwork.decisions.choice import read_decisions

        refuse_links(self.folder)
        return read_decisions(self.folder)

    def read_report(self) -> EvalReport:
        """Return the evaluation on the test split."""
        from xcwork.runs import evaluation

        self._require("eval", "evaluation")
        return evaluation.read_report(self.folder / "eval")

    def read_topk(self) -> TopK:
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
            record["preset"] = config.get("preset")
            scores = self.read_report() if (self.folder / "eval").is_dir() else None
        except XcworkError as damage:
            record["message"], scores = str(damage), None
        for part in ("metrics", "seen", "unseen", "notes"):
            record[part] = {} if scores is None else dict(getattr(scores, part) or {})
        figures = ("train_seconds", "predict_ms_per_document", "peak_memory_mb", "model_bytes", "attempt", "started")
        return record | {name: getattr(status, name) for name in figures}

    def _require(self, part: str, what: str) -> None:
        refuse_links(self.folder)
        if not (self.folder / part).is_dir():
            if self.state == "failed":
                raise RunError(f"run {self.id} failed and has no {what}; `xcwork resume {self.id}` tries again")
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
    """Reject a run that leads out of its folder: it is not read, and above all never written to."""
    if folder.is_dir() and (out := find_links_out(folder)):
        raise RunError(f"{out[0]} is a link out of the run, which is not followed; copy the file instead")


class RunStore:
    """The runs of one home folder."""

    def __init__(self, home: str | Path | None = None) -> None:
        self.home = find_home() if home is None else Path(home).absolute()
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
        calibration: str = "auto",
        label_map: bool = True,
        preset: str | None = None,
    ) -> Run:
        """Create a run, queued but not started (`jobs.launch` starts it). All of it is validated here.

        `cluster` is the address of a Dask cluster; if it is not given, that of XCWORK_CLUSTER. `ranks` are processes
        that share the labels of a neural method. `calibration` says which training documents probabilities are learned
        on (`xcwork.decisions.held_out_documents`). `label_map` says whether its map is made when it is finished.
        `preset` names the settings that hold where `params` say nothing, and is stored with the run.
        """
        cluster = os.environ.get("XCWORK_CLUSTER", "") if cluster is None else cluster
        config = make_config(
            method,
            params or {},
            data,
            data_options or {},
            home=self.home,
            cluster=cluster,
            ranks=ranks,
            calibration=calibration,
            label_map=label_map,
            preset=preset,
        )
        self.folder.mkdir(parents=True, exist_ok=True)
        draft = self.folder / f".new-{uuid.uuid4().hex[:8]}"
        draft.mkdir()
        try:
            write_config(draft, config)
            write_status(draft, Status(message="not started yet", updated=format_now()))
            if name.strip():
                write_text(draft / NOTES_FILE, f"# {clean_name(name)}\n")
            with identity.hold_numbers(self.folder):
                identity.write_number(draft, identity.choose_number(config, (run.folder for run in self.list())))
                return Run(self._publish(draft, method))
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def _publish(self, draft: Path, method: str) -> Path:
        """Move a complete draft to a new id; the file system refuses an id that is already taken."""
        while True:
            folder = self.folder / make_run_id(method)
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
        if not RUN_ID_PATTERN.fullmatch(run_id):
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
        if not RUN_ID_PATTERN.fullmatch(entry.name) or entry.is_symlink() or not entry.is_dir():
            return False
        return (entry / CONFIG_FILE).is_file() or (entry / STATUS_FILE).is_file()


def make_run_id(method: str) -> str:
    """Return a run id for this microsecond."""
    moment = datetime.now(UTC)
    digits, rest = "", moment.microsecond
    while len(digits) < 4:
        rest, digit = divmod(rest, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return f"{moment:%Y%m%d-%H%M%S}-{digits}-{method}"
