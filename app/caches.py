"""What is kept between reruns, shared by all sessions and never modified: a few datasets, models and run records.

Keys are ids and the time of the files, so a changed dataset or a resumed run is read again. Everything is bounded.
"""

from __future__ import annotations

import gc
import sys
import threading
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from xcwork_app.sources import Source

from xcwork.paths import find_home
from xcwork.runs import Run, RunStore
from xcwork.runs.status import Status, read_status

if TYPE_CHECKING:
    from xcwork.core.dataset import Dataset
    from xcwork.core.topk import TopK
    from xcwork.data.card import Card
    from xcwork.methods.base import Method
    from xcwork.metrics import EvalReport

FILES = ("status.json", "notes.md", "eval", "config.json")
MAX_GLANCES = 10_000  # runs whose facts are kept


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
    runs: tuple[Run, ...] = ()  # that there were when the next two were made
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
    return list(_find_runs())


def list_runs_on(source: Source) -> list[Run]:
    """Return the runs on a dataset, newest first."""
    return list(_sort_runs().by_source.get(source, []))


def list_active_runs() -> list[Run]:
    """Return the runs under way or waiting, oldest first."""
    return list(_sort_runs().active)


def _sort_runs() -> Look:
    """Return what was seen, with all runs by their dataset and those under way."""
    look, runs = _get_look(), _find_runs()
    if look.run_of_script is None or look.runs is not runs:
        look.runs, look.by_source = runs, {}
        for run in reversed(runs):
            look.by_source.setdefault(get_source(run), []).append(run)
        look.active = [run for run in runs if glance(run).status.is_active]
    return look


def _find_runs() -> tuple[Run, ...]:
    home = find_home()
    try:
        facts = RunStore(home).folder.stat()
    except OSError:
        return ()
    # The number of subfolders as well: two runs may begin within one tick of the file system's clock.
    return _list_runs(str(home), facts.st_mtime_ns, facts.st_nlink)


@lru_cache(maxsize=2)
def _list_runs(home: str, stamp: int, n_folders: int) -> tuple[Run, ...]:
    return tuple(RunStore(home).list())


@dataclass(frozen=True)
class Glance:
    """What a look at a run folder shows."""

    status: Status
    record: dict[str, Any]  # as `xcwork runs --json` gives it
    source: Source | None  # the dataset it was trained on; None when the folder cannot be read
    number: int  # gives it its colour and mark
    measured: dict[str, Any]  # what its worker noted about the dataset; nothing before it has read it


def glance(run: Run) -> Glance:
    """Return the state and the facts of a run. A run that is over is read again only when its files changed."""
    folder, look = str(run.folder), _get_look()
    if folder in look.glances:
        return look.glances[folder]
    seen = _read_glance(folder, tuple(get_stamp(run.folder / name) for name in FILES))
    if seen.status.is_active:
        status = run.status  # whether its worker lives cannot be seen in the files
        seen = replace(seen, status=status, record=seen.record | {"state": status.state, "message": status.message})
    if look.run_of_script is not None:
        look.glances[folder] = seen
    return seen


@lru_cache(maxsize=MAX_GLANCES)
def _read_glance(folder: str, stamps: tuple[int, ...]) -> Glance:
    run = Run(folder)
    facts = run.to_dict()
    config = run.config if "data" in facts else {}
    source = Source.from_data(facts["data"], config["data_options"]) if config else None
    return Glance(read_status(run.folder), facts, source, run.number, config.get("dataset") or {})


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
