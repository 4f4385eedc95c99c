"""What lists show of runs, kept in one file, so that a store of thousands of runs opens as fast as one of a few.

A summary is made of the files in a run folder and holds as long as their times do not change: three calls of the
system tell, and after any change it is made again. `<home>/runs/.summaries.json` is a copy of the summaries of runs
that are over; it may be missing, old or damaged, and may be deleted at any time.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import xcwork
from xcwork.runs.status import STATUS_FILE, Status, read_status
from xcwork.runs.store import NOTES_FILE, Run
from xcwork.storage.atomic import DAMAGE_ERRORS, write_bytes

SUMMARIES_FILE = ".summaries.json"
FORMAT = 1  # raised whenever a summary says other things
# Entries whose times tell whether a run has changed: its folder ("") changes when anything in it is replaced, as all
# of it is but notes, which people may edit, and a status that somebody mends by hand.
WATCHED = ("", f"/{STATUS_FILE}", f"/{NOTES_FILE}")
MIN_AGE_NANOSECONDS = 2 * 10**9  # of a file whose time can be trusted: clocks of file systems tick slowly
Stamps = tuple[int, ...]


@dataclass(frozen=True)
class RunSummary:
    """What lists show of a run."""

    status: Status
    record: dict[str, Any]  # as `xcwork runs --json` gives it
    number: int  # gives it its colour and mark
    data_options: dict[str, Any] | None  # None: the folder cannot be read
    measured: dict[str, Any]  # what its worker noted about the dataset; nothing before it has read it


def read_stamps(folder: str) -> Stamps:
    """Return numbers that change when the run does."""
    return tuple([_read_time(folder + entry) for entry in WATCHED])


def _read_time(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116 - thousands of them: making a Path takes longer than this
    except OSError:
        return 0


def summarise_run(run: Run) -> RunSummary:
    """Read the summary of a run from its folder."""
    record = run.to_dict()
    config = run.config if "data" in record else {}
    options = config["data_options"] if config else None
    return RunSummary(read_status(run.folder), record, run.number, options, config.get("dataset") or {})


def read_summaries(folder: Path) -> dict[str, tuple[Stamps, RunSummary]]:
    """Return what is kept of the runs in a folder, by their ids; nothing where it cannot be read."""
    try:
        content = json.loads((folder / SUMMARIES_FILE).read_text("utf-8"))
        if (content["format"], content["xcwork"]) != (FORMAT, xcwork.__version__):
            return {}
        return {
            run_id: (tuple(stamps), RunSummary(**{**kept, "status": Status.from_dict(kept["status"])}))
            for run_id, (stamps, kept) in content["runs"].items()
        }
    except DAMAGE_ERRORS:
        return {}


def write_summaries(folder: Path, found: Mapping[str, tuple[Stamps, RunSummary]]) -> None:
    """Keep the summaries of the runs that are over; a folder that cannot be written has none."""
    newest = time.time_ns() - MIN_AGE_NANOSECONDS
    kept = {
        run_id: (stamps, vars(summary) | {"status": summary.status.to_dict()})
        for run_id, (stamps, summary) in found.items()
        if summary.status.is_over and max(stamps) <= newest
    }
    content = {"format": FORMAT, "xcwork": xcwork.__version__, "runs": kept}
    with suppress(OSError, ValueError, TypeError):
        write_bytes(folder / SUMMARIES_FILE, json.dumps(content).encode("ascii"))
