"""Delete and rename runs and datasets. What a training works on is left alone, and so is everything else.

A run keeps its id for ever; its name is the heading of its notes. A run refers to its dataset by path or name, so a
renamed dataset takes its runs along. The runs of a deleted dataset stay readable: their metrics, predictions and models
are in their own folders.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from xcwork.data import data_folder
from xcwork.errors import DataError, RunError, XcworkError
from xcwork.runs.config import write_config
from xcwork.runs.map_job import cancel_map
from xcwork.runs.store import Run, RunStore
from xcwork.storage.atomic import remove_entry


def delete_run(run: Run) -> None:
    """Delete a run that nobody works on, with its model and its evaluation; a map that is being made is given up."""
    cancel_map(run)
    with hold_at_rest(run):
        remove_entry(run.folder)


def rename_run(run: Run, name: str) -> None:
    """Give a run that nobody works on another name, in its notes and on the card of its model."""
    from xcwork.runs import card

    with hold_at_rest(run):
        run.rename(name)
        if (run.folder / "model").is_dir():
            with suppress(XcworkError):  # without an evaluation there is no card to write
                card.rewrite_card(run)


def find_runs_on(dataset: Path, store: RunStore) -> list[Run]:
    """Return the runs whose documents or labels are read from this file or folder of the data folder."""
    return [run for run in store.list() if _is_trained_on(run, dataset)]


def delete_dataset(name: str | Path, store: RunStore) -> list[Run]:
    """Delete a dataset of the data folder that no training uses; returns the runs that were trained on it."""
    dataset = data_folder.find_dataset(name, store.home)
    runs = find_runs_on(dataset, store)
    _refuse_in_use(dataset, runs)
    with ExitStack() as locks:  # so that no worker starts on it meanwhile
        for run in runs:
            locks.enter_context(hold_at_rest(run))
        data_folder.remove_dataset(dataset, store.home)
    return runs


def rename_dataset(name: str | Path, new_name: str, store: RunStore) -> tuple[Path, list[Run]]:
    """Rename a dataset of the data folder that no training uses; returns its new place and the runs it takes along.

    The runs come first and the files last: a renaming that was killed is completed by doing it once more.
    """
    dataset = data_folder.find_dataset(name, store.home)
    place = data_folder.choose_place(dataset, new_name)
    runs = find_runs_on(dataset, store)
    _refuse_in_use(dataset, runs)
    changed: list[tuple[Run, dict[str, Any]]] = []
    try:
        for run in runs:
            with hold_at_rest(run):
                config = run.config
                changed.append((run, config))
                write_config(run.folder, _rename_in_config(config, dataset, place.name))
        data_folder.rename_dataset(dataset, place, store.home)
    except BaseException:
        if not os.path.lexists(place):
            for run, config in changed:
                write_config(run.folder, config)
        raise
    return place, runs


@contextmanager
def hold_at_rest(run: Run) -> Iterator[None]:
    """Hold the lock of a run, so that no worker starts on it; one that is in use is refused."""
    with run.open_lock() as lock:
        if not lock.acquire(holder="manage") or run.status.is_active:
            raise RunError(f"run {run.id} is in use ({run.state}); wait for it, or cancel it first")
        yield


def _refuse_in_use(dataset: Path, runs: list[Run]) -> None:
    for run in runs:
        if run.status.is_active:
            problem = f"{dataset.name} is the data of run {run.id}, which is in use ({run.state})"
            raise DataError(problem, remedy="wait for it, or cancel it first")


def _is_trained_on(run: Run, dataset: Path) -> bool:
    try:
        config = run.config
    except RunError:  # damaged: nobody knows what it was trained on
        return False
    files = [value for option, value in config["data_options"].items() if option.endswith("_file")]
    return any(_split_at(dataset, path) is not None for path in (config["data"], *files))


def _rename_in_config(config: dict[str, Any], dataset: Path, new_name: str) -> dict[str, Any]:
    """Return a run's configuration with `new_name` wherever it refers to `dataset`."""

    def rename_path(path: Any) -> Any:
        around = _split_at(dataset, path)
        return path if around is None else str(around[0] / new_name / around[1])

    options = config["data_options"]
    files = {option: rename_path(value) for option, value in options.items() if option.endswith("_file")}
    return config | {"data": rename_path(config["data"]), "data_options": options | files}


def _split_at(dataset: Path, path: Any) -> tuple[Path, Path] | None:
    """Return what comes before and after `dataset` in a path that a run refers to; None if it leads elsewhere."""
    given = Path(str(path))
    try:
        real = (dataset.parent / given).resolve()  # a relative path starts in the data folder
    except ValueError:  # characters that no path can have
        return None
    for way in (given, real):
        for part in (way, *way.parents):
            if part.name == dataset.name and (dataset.parent / part).parent.resolve() == dataset.parent:
                return part.parent, way.relative_to(part)
    return None
