"""Which runs are compared, with which reference, and which one document by document."""

from __future__ import annotations

from collections.abc import Collection

import streamlit as st
from xcwork_app import state, widgets
from xcwork_app.sources import Source
from xcwork_app.views import run_comparison, selection
from xcwork_app.views.run_comparison import ComparedRuns

MAX_RUNS = 20
NONE = "none"  # as `View.runs`: nothing is chosen, which is not the same as the usual choice


def warn_about_incomplete_runs(source: Source) -> None:
    """Name the runs whose folders were copied by half, so that nobody looks for them in vain."""
    incomplete = run_comparison.list_incomplete_runs(source)
    if incomplete:
        names = ", ".join(widgets.plain(run.name) for run in incomplete)
        st.warning(
            f"Left out, because their predictions are missing from the run folder: {names}. Copy the folder "
            "again, or train again.",
            icon=":material/warning:",
        )


def choose_runs(source: Source) -> ComparedRuns:
    """Return the chosen ones of the measured runs; perhaps none."""
    offered = {run.id: run for run in run_comparison.list_measured_runs(source)}
    titles = {name: selection.describe_run(run) for name, run in offered.items()}
    st.session_state["compare.runs"] = _resolve_runs(offered, run_comparison.list_usual_runs(source))
    chosen = st.multiselect(
        "Runs",
        list(offered),
        format_func=titles.__getitem__,
        max_selections=MAX_RUNS,
        key="compare.runs",
        on_change=lambda: state.update(runs=",".join(st.session_state["compare.runs"]) or NONE),
    )
    return ComparedRuns.from_runs([run for name, run in offered.items() if name in chosen], source)


def _resolve_runs(offered: Collection[str], usual: list[str]) -> list[str]:
    """Return the runs that the view names; those that are gone are left out, and a note says so."""
    named = state.view().runs
    if named in ("", NONE):
        return [] if named else usual
    found = [name for name in dict.fromkeys(named.split(",")) if name in offered][:MAX_RUNS]
    if len(found) < len(named.split(",")) and state.asks_for("runs", named):
        gone = ", ".join(state.quote(name) for name in named.split(",")[:MAX_RUNS] if name not in found)
        instead = "the others are compared" if found else "the best ones are compared instead"
        state.fall_back("runs", ",".join(found), f"Not among the runs with results here: {gone}; {instead}.")
    return found or usual


def choose_reference(chosen: ComparedRuns) -> str | None:
    """Return the run that the others are compared with; None, with the reason, when fewer than two can be."""
    usable = run_comparison.list_comparable_runs(chosen)
    if len(usable) < 2:
        widgets.show_empty("Choose two or more runs that were measured on the dataset as it is now.")
        return None
    current = selection.get_run()
    usual = current.id if current is not None and current.id in usable else usable[0]
    st.session_state["compare.reference"] = state.pick_option("reference", usable, usual, chosen.names[usual])
    return st.selectbox(
        "Reference",
        usable,
        format_func=chosen.names.__getitem__,
        key="compare.reference",
        width=300,
        help="The run that the others are compared with.",
        on_change=lambda: state.update(reference=st.session_state["compare.reference"]),
    )


def choose_other(chosen: ComparedRuns, reference: str) -> str:
    """Return the run whose documents are compared with those of the reference."""
    others = [run for run in run_comparison.list_comparable_runs(chosen) if run != reference]
    st.session_state["compare.against"] = state.pick_option("against", others, others[0], chosen.names[others[0]])
    return st.selectbox(
        "Run",
        others,
        format_func=chosen.names.__getitem__,
        key="compare.against",
        width=300,
        on_change=lambda: state.update(against=st.session_state["compare.against"]),
    )
