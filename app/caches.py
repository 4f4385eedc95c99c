"""What is kept between reruns, shared by all sessions and never modified: a few datasets, models and run records.

Keys are ids and the time of the files, so a changed dataset or a resumed run is read again. Everything is bounded.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from xcwork_app.sources import Source

from xcwork.paths import find_home
from xcwork.runs import Run, RunStore, summaries
from xcwork.runs.status import Status

if TYPE_CHECKING:
    from xcwork.core.dataset import Dataset
    from xcwork.core.topk import TopK
    from xcwork.data.card import Card
    from xcwork.methods.base import Method
    from xcwork.metrics import EvalReport

MIN_READ = 50  # runs over whose facts are read before they are stored for the next start


def get_dataset(source: Source) -> Dataset:
    """Return the dataset of a source, read once."""
    return _load_dataset(source.id, str(find_home()), source.make_stamp())


@st.cache_resource(max_entries=3, show_spinner="Reading the dataset. The first time takes a while.")
def _load_dataset(identity: str, folder: str, stamp: str) -> Dataset:
    from xcwork.data.load import load_dataset

    source = Source.from_id(identity)
    return load_dataset(source.data, home=Path(folder), **source.load_options())


def get_card(source: Source) -> Card:
    """Return what is in the dataset and what is wrong with it."""
    return _make_card(source.id, str(find_home()), source.make_stamp())


@st.cache_resource(max_entries=20, show_spinner=False)
def _make_card(identity: str, folder: str, stamp: str) -> Card:
    from xcwork.data.card import describe

    return describe(_load_dataset(identity, folder, stamp))


def get_model(run: Run) -> Method:
    """Return the trained method of a run. Copy it before `add_labels`: the cached one belongs to everybody."""
    return _load_model(str(run.folder), get_stamp(run.folder / "model"))


def _release(_: Any) -> None:
    """Give the memory of an evicted model back, on the accelerator too."""
    gc.collect()
    if (torch := sys.modules.get("torch")) is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()


@st.cache_resource(max_entries=3, show_spinner="Loading the model.", on_release=_release)
def _load_model(folder: str, stamp: int) -> Method:
    return Run(folder).load_model()


def get_topk(run: Run) -> TopK:
    """Return the stored predictions of a run for the test split."""
    return _read_topk(str(run.folder), get_stamp(run.folder / "eval"))


@st.cache_resource(max_entries=8, show_spinner=False)
def _read_topk(folder: str, stamp: int) -> TopK:
    return Run(folder).read_topk()


def get_report(run: Run) -> EvalReport:
    """Return what was measured about a run on the test split."""
    return _read_report(str(run.folder), get_stamp(run.folder / "eval"))


@st.cache_resource(max_entries=24, show_spinner=False)
def _read_report(folder: str, stamp: int) -> EvalReport:
    return Run(folder).read_report()


@dataclass
class Look:
    """What was seen of the runs while a page is drawn: all are looked at once, although many parts of a page ask."""

    run_of_script: object = None
    glances: dict[str, Glance] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)  # that there were when the next two were made
    by_source: dict[Source | None, list[Run]] = field(default_factory=dict)
    active: list[Run] = field(default_factory=list)


_thread = threading.local()  # a page is drawn by one thread


def look_anew() -> None:
    """Forget what was seen of the runs: callbacks have run, and the page is about to be drawn."""
    _thread.look = Look()


def _get_look() -> Look:
    """Return what this run of the script has seen; every run of a script or a fragment has cursors of its own."""
    current = getattr(get_script_run_ctx(suppress_warning=True), "cursors", None)
    look: Look = getattr(_thread, "look", Look())
    if current is None or look.run_of_script is not current:
        look = _thread.look = Look(current)
    return look


def list_runs() -> list[Run]:
    """Return all runs of the home folder, oldest first."""
    return list(_find_runs().values())


def find_run(run_id: str) -> Run | None:
    """Return a run by its id; None if there is none."""
    return _find_runs().get(run_id)


def list_runs_on(source: Source) -> list[Run]:
    """Return the runs on a dataset, newest first."""
    return list(_sort_runs().by_source.get(source, []))


def list_sources_of_runs() -> list[Source]:
    """Return the datasets that runs were trained on, that of the newest run first."""
    return [source for source in _sort_runs().by_source if source is not None]


def list_unreadable_runs() -> list[Run]:
    """Return the runs whose folders cannot be read, newest first."""
    return [run for run in _sort_runs().by_source.get(None, []) if not glance(run).status.is_active]


def list_active_runs() -> list[Run]:
    """Return the runs under way or waiting, oldest first."""
    return list(_sort_runs().active)


def _sort_runs() -> Look:
    """Return what was seen, with all runs by their dataset and those under way."""
    look, runs = _get_look(), _find_runs()
    if look.run_of_script is None or look.runs is not runs:
        look.runs, look.by_source = runs, {}
        listed = list(runs.values())
        seen = glance_at(listed)
        for run, each in zip(reversed(listed), reversed(seen), strict=True):
            look.by_source.setdefault(each.source, []).append(run)
        look.active = [run for run, each in zip(listed, seen, strict=True) if each.status.is_active]
        _open_runs(str(find_home())).store(runs)
    return look


def _find_runs() -> dict[str, Run]:
    """Return all runs by their ids, oldest first."""
    home = find_home()
    try:
        facts = RunStore(home).folder.stat()
    except OSError:
        return {}
    # The number of subfolders as well: two runs may begin within one tick of the file system's clock.
    return _list_runs(str(home), facts.st_mtime_ns, facts.st_nlink)


@lru_cache(maxsize=2)
def _list_runs(home: str, stamp: int, n_folders: int) -> dict[str, Run]:
    return {run.id: run for run in RunStore(home).list()}


@dataclass(frozen=True)
class Glance:
    """What a look at a run folder shows."""

    status: Status
    record: dict[str, Any]  # as `xcwork runs --json` gives it
    source: Source | None  # the dataset it was trained on; None when the folder cannot be read
    number: int  # gives it its colour and mark
    measured: dict[str, Any]  # what its worker noted about the dataset; nothing before it has read it


class SeenRuns:
    """What was seen of the runs of a home folder, each with the times of its files, and which of it is stored."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.summaries = summaries.read_summaries(folder)
        self.glances: dict[str, tuple[summaries.Stamps, Glance]] = {}
        self.n_read = 0  # since the summaries were stored

    def look_at(self, run: Run) -> Glance:
        """Return what a run shows; it is read again only when its files have changed."""
        stamps = summaries.read_stamps(str(run.folder))
        known = self.glances.get(run.id)
        if known is not None and known[0] == stamps:
            return known[1]
        kept = self.summaries.get(run.id)
        if kept is None or kept[0] != stamps:
            kept = self.summaries[run.id] = stamps, summaries.summarise_run(run)
            self.n_read += kept[1].status.is_over
        summary = kept[1]
        options = summary.data_options
        source = None if options is None else Source.from_data(summary.record["data"], options)
        seen = Glance(summary.status, summary.record, source, summary.number, summary.measured)
        self.glances[run.id] = stamps, seen
        return seen

    def store(self, ids: Collection[str]) -> None:
        """Store the summaries of these runs when many were read, and forget those of others."""
        if self.n_read < MIN_READ:
            return
        self.n_read = 0
        for kept in (self.summaries, self.glances):
            for gone in [run_id for run_id in list(kept) if run_id not in ids]:
                kept.pop(gone, None)
        summaries.write_summaries(self.folder, dict(self.summaries))


@lru_cache(maxsize=2)
def _open_runs(home: str) -> SeenRuns:
    return SeenRuns(RunStore(home).folder)


def glance(run: Run) -> Glance:
    """Return the state and the facts of a run. A run that is over is read again only when its files changed."""
    folder, look = str(run.folder), _get_look()
    if folder in look.glances:
        return look.glances[folder]
    seen = _open_runs(str(run.home)).look_at(run)
    if seen.status.is_active:
        status = run.status  # whether its worker lives cannot be seen in the files
        seen = replace(seen, status=status, record=seen.record | {"state": status.state, "message": status.message})
    if look.run_of_script is not None:
        look.glances[folder] = seen
    return seen


def glance_at(runs: Iterable[Run]) -> list[Glance]:
    """Return what `glance` does, for thousands of runs."""
    seen = _get_look().glances
    return [seen.get(str(run.folder)) or glance(run) for run in runs]


def get_record(run: Run) -> dict[str, Any]:
    """Return the facts of a run: name, method, data, params, state, metrics, seen, unseen, costs."""
    return glance(run).record


def get_source(run: Run) -> Source | None:
    """Return the dataset a run was trained on; None when its folder cannot be read."""
    return glance(run).source


def get_stamp(path: Path) -> int:
    """Return a number that changes when the file or the content of the folder does."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
