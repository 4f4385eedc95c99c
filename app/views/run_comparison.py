"""Runs chosen for a comparison, and what is computed about them, kept between reruns."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import caches, sidebar, state, widgets
from xcwork_app.sources import Source

from xcwork.paths import home
from xcwork.runs import Run

if TYPE_CHECKING:
    import pandas as pd

    from xcwork.analysis.agreement import Changes
    from xcwork.analysis.comparison import ComparisonTable, Entry

PREDICTIONS = "topk.npz"
USUAL, MOST = 8, 20  # runs chosen at first, and at most
NONE = "none"  # as `View.runs`: nothing is chosen, which is not the same as the usual choice


@dataclass(frozen=True)
class Compared:
    """Measured runs on one dataset, best first, with the times of their files: the key to all tables about them."""

    folders: tuple[str, ...]
    stamps: tuple[int, ...]
    source: Source
    home: str
    changed: str  # the stamp of the dataset

    @property
    def runs(self) -> list[Run]:
        return [Run(folder) for folder in self.folders]

    @property
    def names(self) -> dict[str, str]:
        """What each run is called here, by its id."""
        return {run.id: entry.name for run, entry in zip(self.runs, entries(self), strict=True)}


def measured(source: Source) -> list[Run]:
    """The runs on a dataset that have results, the best first."""
    runs = [run for run in sidebar.runs_of(source) if caches.record(run)["metrics"] and _is_complete(run)]
    return sorted(runs, key=lambda run: -caches.record(run)["metrics"].get("P@1", 0.0))


def say_what_is_left_out(source: Source) -> None:
    """Name the runs whose folders were copied by half, so that nobody looks for them in vain."""
    broken = [run for run in sidebar.runs_of(source) if caches.record(run)["metrics"] and not _is_complete(run)]
    if broken:
        names = ", ".join(widgets.plain(run.name) for run in broken)
        st.warning(
            f"Left out, because their predictions are missing from the run folder: {names}. Copy the folder "
            "again, or train again.",
            icon=":material/warning:",
        )


def _is_complete(run: Run) -> bool:
    return (run.folder / "eval" / PREDICTIONS).is_file()


def usual_runs(source: Source) -> list[str]:
    """Return the ids of the runs that are compared unless somebody chooses others: the best ones."""
    return [run.id for run in measured(source)][:USUAL]


def choose(source: Source) -> Compared:
    """The runs of the comparison, of those in `measured`; perhaps none."""
    offered = {run.id: run for run in measured(source)}
    titles = {name: sidebar.run_title(run) for name, run in offered.items()}
    st.session_state["compare.runs"] = _wanted(offered, usual_runs(source))
    chosen = st.multiselect(
        "Runs",
        list(offered),
        format_func=titles.__getitem__,
        max_selections=MOST,
        key="compare.runs",
        on_change=lambda: state.update(runs=",".join(st.session_state["compare.runs"]) or NONE),
    )
    runs = [offered[name] for name in offered if name in chosen]
    stamps = tuple(caches.stamp(run.folder / "eval") for run in runs)
    return Compared(tuple(str(run.folder) for run in runs), stamps, source, str(home()), source.stamp())


def _wanted(offered: Collection[str], usual: list[str]) -> list[str]:
    """The runs that the view names; those that are gone are left out, and a note says so."""
    named = state.view().runs
    if named in ("", NONE):
        return [] if named else usual
    found = [name for name in dict.fromkeys(named.split(",")) if name in offered][:MOST]
    if len(found) < len(named.split(",")) and state.asks_for("runs", named):
        gone = ", ".join(state.quote(name) for name in named.split(",")[:MOST] if name not in found)
        instead = "the others are compared" if found else "the best ones are compared instead"
        state.fall_back("runs", ",".join(found), f"Not among the runs with results here: {gone}; {instead}.")
    return found or usual


def choose_reference(chosen: Compared) -> str | None:
    """The run that the others are compared with; None, with the reason, when fewer than two can be."""
    usable = comparable(chosen)
    if len(usable) < 2:
        widgets.empty("Choose two or more runs that were measured on the dataset as it is now.")
        return None
    current = sidebar.current_run()
    usual = current.id if current is not None and current.id in usable else usable[0]
    st.session_state["compare.reference"] = state.one_of("reference", usable, usual, chosen.names[usual])
    return st.selectbox(
        "Reference",
        usable,
        format_func=chosen.names.__getitem__,
        key="compare.reference",
        width=300,
        help="The run that the others are compared with.",
        on_change=lambda: state.update(reference=st.session_state["compare.reference"]),
    )


def choose_other(chosen: Compared, reference: str) -> str:
    """Return the run whose documents are compared with those of the reference."""
    others = [run for run in comparable(chosen) if run != reference]
    st.session_state["compare.against"] = state.one_of("against", others, others[0], chosen.names[others[0]])
    return st.selectbox(
        "Run",
        others,
        format_func=chosen.names.__getitem__,
        key="compare.against",
        width=300,
        on_change=lambda: state.update(against=st.session_state["compare.against"]),
    )


@st.cache_resource(max_entries=4, show_spinner=False)
def entries(chosen: Compared) -> list[Entry]:
    from xcwork.analysis.comparison import entries_of

    return entries_of(chosen.runs)


@st.cache_resource(max_entries=8, show_spinner="Testing the differences.")
def table(chosen: Compared, scope: str, published: bool) -> ComparisonTable:
    from xcwork.analysis.comparison import comparison_table

    return comparison_table(entries(chosen), caches.dataset(chosen.source), scope=scope, published=published)


def comparable(chosen: Compared) -> list[str]:
    """The ids of the runs that were measured on the dataset as it is now."""
    from xcwork.analysis.comparison import comparable

    return [chosen.runs[at].id for at in comparable(entries(chosen), caches.dataset(chosen.source))[0]]


@st.cache_resource(max_entries=8, show_spinner="Testing the differences.")
def deltas(chosen: Compared, reference: str) -> pd.DataFrame:
    """Every other run minus the reference."""
    from xcwork.analysis.comparison import deltas

    at = [run.id for run in chosen.runs].index(reference)
    return deltas(entries(chosen), at, caches.dataset(chosen.source))


@st.cache_resource(max_entries=8, show_spinner=False)
def changes(chosen: Compared, run: str, reference: str, k: int) -> Changes:
    """The documents on which a run and the reference find different labels."""
    from xcwork.analysis.agreement import fixed_and_broken

    found = {each.id: entry.topk for each, entry in zip(chosen.runs, entries(chosen), strict=True)}
    return fixed_and_broken(found[run], found[reference], caches.dataset(chosen.source), k=k)
