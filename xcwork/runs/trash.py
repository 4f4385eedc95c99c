"""Deleted runs and datasets wait in a trash for a day, so that a deletion by mistake can be undone.

What was deleted together lies in two folders of one name, `<home>/runs/.trash/<id>` and `<home>/data/.trash/<id>`:
each on the disk where it was before, so that a deletion is one renaming per entry and needs no room. Nothing else is
stored: to put things back, every entry of these folders returns to the folder above `.trash`.
"""

from __future__ import annotations

import os
import shutil
import time
import uuid
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from xcwork.data import data_folder
from xcwork.errors import DataError, RunError
from xcwork.runs import identity, jobs
from xcwork.runs.config import read_config
from xcwork.runs.manage import find_runs_on, hold_at_rest
from xcwork.runs.map_job import cancel_map
from xcwork.runs.store import Run, RunStore

TRASH_FOLDER = ".trash"
PLACES = ("runs", "data")  # folders of the home that have a trash
MAX_TRASH_SECONDS = 86_400
CANCEL_SECONDS = 30.0  # that a worker may take to stop


@dataclass(frozen=True)
class Discarded:
    """What was deleted together and can be put back."""

    id: str
    home: Path
    title: str  # for people
    n_runs: int
    has_dataset: bool = False


def discard_run(run: Run) -> Discarded:
    """Move a run to the trash; one that is under way is cancelled first."""
    store = RunStore(run.home)
    title = run.name
    stop_run(run)
    entry = _open_entry(store, title, n_runs=1)
    with hold_at_rest(run):
        _move(run.folder, entry)
    return entry


def discard_dataset(name: str | Path, store: RunStore) -> Discarded:
    """Move a dataset of the data folder and all runs on it to the trash; trainings on it are cancelled first."""
    dataset = data_folder.find_dataset(name, store.home)
    runs = find_runs_on(dataset, store)
    for run in runs:
        stop_run(run)
    entry = replace(_open_entry(store, dataset.name, n_runs=len(runs)), has_dataset=True)
    with ExitStack() as locks:  # so that no worker starts on it meanwhile
        for run in runs:
            locks.enter_context(hold_at_rest(run))
        target = _find_folder(entry, "data")
        target.mkdir(parents=True)
        data_folder.move_dataset(dataset, target, store.home)
        for run in runs:
            _move(run.folder, entry)
    return entry


def stop_run(run: Run) -> None:
    """Cancel a run that is under way, and what is being made of it, and wait until its worker has stopped."""
    cancel_map(run)
    if not run.status.is_active:
        return
    with suppress(RunError):  # it was over before it could be cancelled
        jobs.cancel(run)
    if not jobs.wait(run, timeout=CANCEL_SECONDS).is_over:
        raise RunError(f"run {run.id} is being cancelled, which takes a while; delete it when it has stopped")


def put_back(entry: Discarded) -> None:
    """Return to its place what was deleted; a run whose colour was given away meanwhile gets another one."""
    folders = {place: folder for place in PLACES if (folder := _find_folder(entry, place)).is_dir()}
    if not folders:
        raise DataError(f"{entry.title} is no longer in the trash", remedy="it was kept there for a day")
    moves = [
        (inside, entry.home / place / inside.name) for place, folder in folders.items() for inside in folder.iterdir()
    ]
    if taken := next((target for _, target in moves if os.path.lexists(target)), None):
        raise DataError(
            f"there is something called {taken.name!r} again", remedy="rename it first, then put this one back"
        )
    for inside, target in sorted(moves, key=lambda move: move[0].parent != folders.get("data")):  # data before runs
        if (folder := target.parent) == entry.home / "runs":
            with identity.hold_numbers(folder):
                _replace_number(inside, RunStore(entry.home))
                inside.rename(target)
        else:
            inside.rename(target)
    for folder in folders.values():
        shutil.rmtree(folder, ignore_errors=True)


def clear_trash(home: Path, *, older_than: float = MAX_TRASH_SECONDS) -> None:
    """Delete for good what was deleted more than `older_than` seconds ago."""
    for place in PLACES:
        trash = home / place / TRASH_FOLDER
        for folder in list(trash.iterdir()) if trash.is_dir() and not trash.is_symlink() else ():
            with suppress(OSError):  # another process was faster
                if time.time() - folder.stat().st_mtime >= older_than:
                    shutil.rmtree(folder, ignore_errors=True)


def _open_entry(store: RunStore, title: str, *, n_runs: int) -> Discarded:
    """Return a new entry, of which nothing is on the disk yet; what has waited for a day goes."""
    clear_trash(store.home)
    return Discarded(uuid.uuid4().hex[:12], store.home, title, n_runs)


def _move(folder: Path, entry: Discarded) -> None:
    target = _find_folder(entry, "runs")
    target.mkdir(parents=True, exist_ok=True)
    folder.rename(target / folder.name)


def _find_folder(entry: Discarded, place: str) -> Path:
    return entry.home / place / TRASH_FOLDER / entry.id


def _replace_number(folder: Path, store: RunStore) -> None:
    """Give a run that returns another number if a new run of its dataset has its own by now."""
    try:
        config = read_config(folder)
    except RunError:  # damaged: nobody knows its dataset
        return
    number = identity.read_number(folder)
    others = [run.folder for run in store.list()]
    if number is None or number in identity.list_taken(config, others):
        identity.write_number(folder, identity.choose_number(config, others))
