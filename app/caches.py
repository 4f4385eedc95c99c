"""What is kept between reruns, shared by all sessions and never modified: a few datasets, models and run records.

Keys are ids and the time of the files, so a changed dataset or a resumed run is read again. Everything is bounded.
"""

from __future__ import annotations

import gc
import sys
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st
from xcwork_app.sources import Source

from xcwork.paths import home
from xcwork.runs import Run, RunStore
from xcwork.runs.status import Status, read_status

if TYPE_CHECKING:
    from xcwork.core.dataset import Dataset
    from xcwork.core.topk import TopK
    from xcwork.data.card import Card
    from xcwork.methods.base import Method
    from xcwork.metrics import EvalReport

FILES = ("status.json", "notes.md", "eval", "config.json")


def dataset(source: Source) -> Dataset:
    """The dataset of a source, read once."""
    return _dataset(source.id, str(home()), source.stamp())


@st.cache_resource(max_entries=3, show_spinner="Reading the dataset. The first time takes a while.")
def _dataset(identity: str, folder: str, stamp: str) -> Dataset:
    from xcwork.data.load import load_dataset

    source = Source.parse(identity)
    return load_dataset(source.data, home=Path(folder), **source.load_options())


def card(source: Source) -> Card:
    """What is in the dataset and what is wrong with it."""
    return _card(source.id, str(home()), source.stamp())


@st.cache_resource(max_entries=20, show_spinner=False)
def _card(identity: str, folder: str, stamp: str) -> Card:
    from xcwork.data.card import describe

    return describe(_dataset(identity, folder, stamp))


def model(run: Run) -> Method:
    """The trained method of a run. Copy it before `add_labels`: the cached one belongs to everybody."""
    return _model(str(run.folder), stamp(run.folder / "model"))


def _release(_: Any) -> None:
    """Give the memory of an evicted model back, on the accelerator too."""
    gc.collect()
    if (torch := sys.modules.get("torch")) is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()


@st.cache_resource(max_entries=3, show_spinner="Loading the model.", on_release=_release)
def _model(folder: str, stamp: int) -> Method:
    return Run(folder).model()


def topk(run: Run) -> TopK:
    """The stored predictions of a run for the test part."""
    return _topk(str(run.folder), stamp(run.folder / "eval"))


@st.cache_resource(max_entries=8, show_spinner=False)
def _topk(folder: str, stamp: int) -> TopK:
    return Run(folder).topk()


def report(run: Run) -> EvalReport:
    """What was measured about a run on the test part."""
    return _report(str(run.folder), stamp(run.folder / "eval"))


@st.cache_resource(max_entries=24, show_spinner=False)
def _report(folder: str, stamp: int) -> EvalReport:
    return Run(folder).report()


def runs() -> list[Run]:
    """All runs of the home folder, oldest first."""
    return RunStore().list()


@dataclass(frozen=True)
class Glance:
    """What a look at a run folder shows."""

    status: Status
    record: dict[str, Any]  # as `xcwork runs --json` gives it
    source: Source | None  # the dataset it was trained on; None when the folder cannot be read


def glance(run: Run) -> Glance:
    """The state and the facts of a run. A run that is over is read again only when its files changed."""
    seen = _glance(str(run.folder), tuple(stamp(run.folder / name) for name in FILES))
    if not seen.status.is_active:
        return seen
    status = run.status  # whether its worker lives cannot be seen in the files
    return replace(seen, status=status, record=seen.record | {"state": status.state, "message": status.message})


@lru_cache(maxsize=1000)
def _glance(folder: str, stamps: tuple[int, ...]) -> Glance:
    run = Run(folder)
    facts = run.to_dict()
    source = Source.of(facts["data"], run.config["data_options"]) if "data" in facts else None
    return Glance(read_status(run.folder), facts, source)


def record(run: Run) -> dict[str, Any]:
    """The facts of a run: name, method, data, params, state, metrics, seen, unseen, costs."""
    return glance(run).record


def source_of(run: Run) -> Source | None:
    """The dataset a run was trained on; None when its folder cannot be read."""
    return glance(run).source


@st.cache_resource(show_spinner=False)
def device_line() -> str:
    """The device that training would use, found without loading torch into this process."""
    from xcwork.compute import device

    return device.glance()


def stamp(path: Path) -> int:
    """Changes when the file or the content of the folder does."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
