"""The state of a run, as its `status.json` says and as the world shows.

    queued → running → evaluating → finished          cancelling → cancelled          failed

Only the holder of the run's lock writes the file: the launcher, then the worker. Two states are seen rather than
written: a run whose worker is gone is **lost**, and a run with a `cancel` flag is **cancelling** until its worker
notices. How an attempt ended is never rewritten: resuming opens the next attempt and keeps the old end in `history`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from xcwork.runs import processes
from xcwork.storage.atomic import write_json

STATUS_FILE = "status.json"
CANCEL_FLAG = "cancel"
ACTIVE_STATES = ("queued", "running", "evaluating", "cancelling")
ENDED_STATES = ("finished", "cancelled", "failed")
RESUMABLE_STATES = ("lost", "cancelled", "failed")
STATES = (*ACTIVE_STATES, *ENDED_STATES, "lost")
STATE_WORDS = {"lost": "stopped unexpectedly"}  # where the name of a state does not speak for itself
STATE_VERBS = {"finished": "has finished", "cancelled": "was cancelled", "failed": "failed"} | STATE_WORDS
MAX_SILENCE_SECONDS = 60.0  # after which a worker that cannot be asked counts as gone
MAX_NUMBER = 2**63  # that a status may hold

_NUMBER = (int, float)
_TEXT = (str, type(None))
_TYPES: dict[str, Any] = {
    "state": str,
    "phase": str,
    "message": str,
    "details": str,
    "process": str,
    "host": str,
    "device": str,
    "step": int,
    "attempt": int,
    "total": (int, type(None)),
    "pid": (int, type(None)),
    "updated": str,
    "queued": _TEXT,
    "started": _TEXT,
    "ended": _TEXT,
    "train_seconds": _NUMBER,
    "work_seconds": _NUMBER,
    "cpu_seconds": _NUMBER,
    "train_cpu_seconds": _NUMBER,
    "calibration_cpu_seconds": _NUMBER,
    "peak_memory_mb": _NUMBER,
    "predict_ms_per_document": (*_NUMBER, type(None)),
    "model_bytes": (int, type(None)),
    "history": (list, tuple),
}


def format_now() -> str:
    """Return the time as status files write it: UTC, sortable as text."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def name_state(state: str) -> str:
    """Return a state in words."""
    return STATE_WORDS.get(state, state)


def tell_state(state: str) -> str:
    """Return a state as it follows the name of a run: "is running", "was cancelled", "stopped unexpectedly"."""
    return STATE_VERBS.get(state, f"is {state}")


def count_seconds_since(moment: str) -> float:
    """Return the seconds from `moment` (as `format_now` writes it) until now; infinite when it is not a time."""
    try:
        return (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()
    except (ValueError, TypeError):
        return float("inf")


@dataclass(frozen=True)
class Status:
    """One moment of a run."""

    state: str = "queued"
    phase: str = ""
    step: int = 0
    total: int | None = None
    message: str = ""  # one sentence for the user
    details: str = ""  # the last lines of the log, when the run failed
    attempt: int = 1
    queued: str | None = None  # when the run was handed to a worker: the order of the queue
    started: str | None = None
    updated: str = ""  # the heartbeat
    ended: str | None = None
    pid: int | None = None
    process: str = ""  # tells a later process with the same pid apart
    host: str = ""
    device: str = ""
    train_seconds: float = 0.0  # over all attempts
    work_seconds: float = 0.0  # from its turn to its end, over all attempts: data, training, calibration, evaluation
    cpu_seconds: float = 0.0  # processor time of that: what other work on the machine does not change much
    train_cpu_seconds: float = 0.0
    calibration_cpu_seconds: float = 0.0
    predict_ms_per_document: float | None = None
    peak_memory_mb: float = 0.0
    model_bytes: int | None = None
    history: tuple[dict[str, Any], ...] = ()

    @property
    def is_active(self) -> bool:
        return self.state in ACTIVE_STATES

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen unless somebody resumes the run."""
        return not self.is_active

    def make_next_attempt(self) -> Status:
        """Return a fresh queued status; what this attempt came to moves to the history."""
        kept = ("attempt", "state", "message", "started", "ended", "host", "train_seconds")
        past = {name: getattr(self, name) for name in kept}
        return Status(
            attempt=self.attempt + 1,
            updated=format_now(),
            train_seconds=self.train_seconds,
            work_seconds=self.work_seconds,
            cpu_seconds=self.cpu_seconds,
            train_cpu_seconds=self.train_cpu_seconds,
            calibration_cpu_seconds=self.calibration_cpu_seconds,
            peak_memory_mb=self.peak_memory_mb,
            history=(*self.history, past),
        )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Status:
        """Return the status in a file; keys of later versions are ignored, anything that cannot be is a ValueError."""
        known = {field.name: content[field.name] for field in fields(cls) if field.name in content}
        for name, value in known.items():
            if not isinstance(value, _TYPES[name]) or isinstance(value, bool):
                raise ValueError(f"{name} is {value!r}")
            if isinstance(value, int) and abs(value) > MAX_NUMBER:
                raise ValueError(f"{name} is larger than anything that is counted")
        if known.get("state") not in STATES:
            raise ValueError(f"state is {known.get('state')!r}")
        return cls(**{**known, "history": tuple(known.get("history", ()))})


def write_status(folder: Path, status: Status) -> None:
    """Replace the status file in one step. The caller holds the lock of the run."""
    write_json(folder / STATUS_FILE, status.to_dict())


def read_status(folder: Path) -> Status:
    """Return what the status file says; a missing or damaged file reads as `lost` with a sentence."""
    try:
        content = json.loads((folder / STATUS_FILE).read_text("utf-8"))
        if not isinstance(content, dict):
            raise ValueError("it is not a JSON object")
        return Status.from_dict(content)
    except FileNotFoundError:
        problem = "is missing"
    except (OSError, ValueError, RecursionError) as damage:
        problem = f"cannot be read ({damage})"
    return Status(state="lost", message=f"{STATUS_FILE} {problem}; resume the run to continue from what it has stored")


def observe_status(folder: Path) -> Status:
    """Return the status as it is now: lost when nobody works on the run, cancelling when somebody asked for it."""
    status = read_status(folder)
    if not status.is_active:
        return status
    if is_abandoned(status):
        # The worker may have finished between our reading and our looking for it.
        latest = read_status(folder)
        if not latest.is_active or not is_abandoned(latest):
            return latest
        return replace(latest, state="lost", message=_explain_loss(latest))
    if (folder / CANCEL_FLAG).exists():
        return replace(status, state="cancelling")
    return status


def is_abandoned(status: Status) -> bool:
    """Return whether the worker of an active status is gone."""
    silent = count_seconds_since(status.updated) > MAX_SILENCE_SECONDS
    if status.pid is None or status.host != processes.get_host_name():
        return silent
    if not processes.is_alive(status.pid, status.process):
        return True
    return silent and not processes.can_identify(status.pid)


def _explain_loss(status: Status) -> str:
    if status.pid is None:
        return "no worker started on this run; resume it to start one"
    during = f" while {status.phase}" if status.phase else ""
    if status.host != processes.get_host_name():
        return f"nothing was heard from {status.host} since {status.updated}{during}; resume the run to continue here"
    return f"the worker stopped without a message{during} (killed, no memory, disk full); resume the run to continue"
