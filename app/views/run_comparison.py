"""Runs to compare, and the tables about them, kept between reruns."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import caches
from xcwork_app.sources import Source
from xcwork_app.views import selection

from xcwork.paths import find_home
from xcwork.runs import Run

if TYPE_CHECKING:
    import pandas as pd

    from xcwork.analysis.agreement import Changes
    from xcwork.analysis.comparison import Entry
    from xcwork.analysis.run_table import RunTable

PREDICTIONS = "topk.npz"
MAX_USUAL_RUNS = 6


@dataclass(frozen=True)
class ComparedRuns:
    """Measured runs on one dataset, best first, with their names and the times of their files: what tables rest on."""

    folders: tuple[str, ...]
    stamps: tuple[int, ...]
    source: Source
    find_home: str
    changed: str  # the stamp of the dataset
    titles: tuple[str, ...]  # a run may be renamed

    @classmethod
    def from_runs(cls, runs: list[Run], source: Source) -> ComparedRuns:
        folders = tuple(str(run.folder) for run in runs)
        stamps = tuple(caches.get_stamp(run.folder / "eval") for run in runs)
        titles = tuple(caches.get_record(run)["name"] for run in runs)
        return cls(folders, stamps, source, str(find_home()), source.make_stamp(), titles)

    @property
    def runs(self) -> list[Run]:
        return [Run(folder) for folder in self.folders]

    def find_run(self, name: str) -> Run:
        """Return the run with this id."""
        return next(run for run in self.runs if run.id == name)

    @property
    def names(self) -> dict[str, str]:
        """The name of each run in the comparison, by its id."""
        return {run.id: entry.name for run, entry in zip(self.runs, read_entries(self), strict=True)}


def list_measured_runs(source: Source) -> list[Run]:
    """Return the runs on a dataset that have results, the best first."""
    return [run for run in _rank_measured_runs(source) if _is_complete(run)]


def split_measured_runs(source: Source) -> tuple[list[Run], list[Run]]:
    """Return these, and those whose predictions are missing, because their folders were copied by half."""
    complete: list[Run] = []
    incomplete: list[Run] = []
    for run in _rank_measured_runs(source):
        (complete if _is_complete(run) else incomplete).append(run)
    return complete, incomplete


def _rank_measured_runs(source: Source) -> list[Run]:
    runs = selection.list_runs(source)
    found = [(seen.record["metrics"], run) for run, seen in zip(runs, caches.glance_at(runs), strict=True)]
    found = [each for each in found if each[0]]
    found.sort(key=lambda each: -each[0].get("P@1", 0.0))
    return [run for _, run in found]


def _is_complete(run: Run) -> bool:
    return os.path.isfile(f"{run.folder}/eval/{PREDICTIONS}")  # noqa: PTH113 - thousands of them: a Path takes longer


def list_usual_runs(source: Source) -> list[str]:
    """Return the ids of the runs that are compared unless somebody chooses others: the best ones."""
    return [run.id for run in islice(filter(_is_complete, _rank_measured_runs(source)), MAX_USUAL_RUNS)]


@st.cache_resource(max_entries=4, show_spinner=False)
def read_entries(chosen: ComparedRuns) -> list[Entry]:
    """Read numbers and predictions of the runs."""
    from xcwork.analysis.comparison import make_entries

    return make_entries(chosen.runs)


@st.cache_resource(max_entries=8, show_spinner="Testing the differences.")
def make_table(chosen: ComparedRuns, scope: str) -> RunTable:
    """Return quality and costs of the runs, the best values marked."""
    from xcwork.analysis.run_table import make_run_table

    return make_run_table(read_entries(chosen), caches.get_dataset(chosen.source), scope=scope)


def describe_chance(chosen: ComparedRuns, reference: str) -> str:
    """Return which differences to the reference at P@1 are more than chance, in one sentence."""
    if not reference:
        if len(chosen.folders) == 1:
            return "Choose a second run to compare."
        return "Fewer than two of these runs were tested on the dataset as it is now."
    deltas = compute_differences(chosen, reference)
    unsure = deltas[(deltas["metric"] == "P@1") & ~deltas["significant"].astype(bool)]["run"].tolist()
    if not unsure:
        return "Every difference at P@1 is more than chance."
    names = unsure[0] if len(unsure) == 1 else f"{len(unsure)} runs"
    return f"{names} may be as good at P@1."


def list_comparable_runs(chosen: ComparedRuns) -> list[str]:
    """Return the ids of the runs that were measured on the dataset as it is now."""
    from xcwork.analysis.comparison import find_comparable

    return [chosen.runs[at].id for at in find_comparable(read_entries(chosen), caches.get_dataset(chosen.source))[0]]


@st.cache_resource(max_entries=8, show_spinner="Testing the differences.")
def compute_differences(chosen: ComparedRuns, reference: str) -> pd.DataFrame:
    """Return every other run minus the reference, with intervals."""
    from xcwork.analysis.comparison import compute_deltas

    at = [run.id for run in chosen.runs].index(reference)
    return compute_deltas(read_entries(chosen), at, caches.get_dataset(chosen.source))


@st.cache_resource(max_entries=8, show_spinner=False)
def find_changes(chosen: ComparedRuns, run: str, reference: str, k: int) -> Changes:
    """Return the documents on which a run and the reference find different labels."""
    from xcwork.analysis.agreement import find_better_and_worse

    found = {each.id: entry.topk for each, entry in zip(chosen.runs, read_entries(chosen), strict=True)}
    predicted, expected = found[run], found[reference]
    assert predicted is not None  # entries are read with their predictions
    assert expected is not None
    return find_better_and_worse(predicted, expected, caches.get_dataset(chosen.source), k=k)
