"""All runs with their states and metrics, refreshed while the page is open; choosing one makes it the current run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st
from xcwork_app import caches, state, widgets

from xcwork.runs import Run, get_figure

REFRESH_SECONDS = 2  # between two looks at the run folders while something is under way
IDLE_REFRESH_SECONDS = 10
METRICS = ("P@1", "P@3", "P@5", "nDCG@5", "PSP@5")


def show() -> None:
    """Show the table. It refreshes itself, so runs started in a shell or another tab appear here too."""
    active = is_active(caches.list_runs())
    st.fragment(_show_table, run_every=REFRESH_SECONDS if active else IDLE_REFRESH_SECONDS)(active)


def is_active(runs: list[Run]) -> bool:
    return any(caches.glance(run).status.is_active for run in runs)


def sort_runs(runs: list[Run]) -> list[Run]:
    """Return what is being trained, then what is over, newest first, and last what waits, in the order of the queue."""
    seen = {run.id: caches.glance(run).status for run in runs}
    waiting = sorted((run for run in runs if seen[run.id].state == "queued"), key=lambda run: seen[run.id].queued or "")
    others = [run for run in reversed(runs) if seen[run.id].state != "queued"]
    return sorted(others, key=lambda run: not seen[run.id].is_active) + waiting


def make_row(run: Run) -> dict[str, Any]:
    """Return a run as one line of the table."""
    seen = caches.glance(run)
    facts, status = seen.record, seen.status
    steps = f" {status.step:,}/{status.total:,}" if status.total else ""
    doing = f": {status.phase}{steps}" if status.is_active and status.phase and status.state != "queued" else ""
    return {
        "run": facts["name"],
        "method": facts.get("method"),
        "data": Path(str(facts.get("data", ""))).name,
        "state": status.state + doing,
        **{metric: facts["metrics"].get(metric) for metric in METRICS},
        "unseen P@5": get_figure(facts, "unseen", "P@5"),
        "training, s": status.train_seconds,
        "message": facts["message"],
    }


def _show_table(was_active: bool) -> None:
    import pandas as pd

    runs = sort_runs(caches.list_runs())
    if not runs:
        widgets.show_empty(
            "No runs yet. Train a method here, or start the demo runs with `xcwork app --demo`.",
            page="train",
            action="Train a method",
        )
        return
    frame = pd.DataFrame([make_row(run) for run in runs])
    if not frame["message"].any():
        frame = frame.drop(columns="message")
    under_way = is_active(runs)
    columns = {"training, s": st.column_config.NumberColumn(format="%.1f")}
    if under_way:  # the phase and its steps are what one wants to read then
        columns["state"] = st.column_config.TextColumn(width=230)
    chosen = widgets.show_table(
        frame,
        key="home.runs",
        name="runs",
        alt=f"{len(runs)} runs with their states and metrics",
        select="single-row",
        columns=columns,
    )
    st.caption(
        f"{len(runs)} run{'s' if len(runs) != 1 else ''}{', some under way' if under_way else ''}. "
        "Choose a row to work with that run on the other pages."
    )
    if (row_chosen := widgets.take_new_choice(chosen, "home.runs")) is not None:
        make_current(runs[row_chosen])
    if under_way != was_active:
        st.rerun()  # the pace of the refresh is fixed when the page is built


def make_current(run: Run) -> None:
    """Let all pages look at a run, and at the dataset it was trained on."""
    source = caches.get_source(run)
    if source is not None and (state.view().run, state.view().data) != (run.id, source.id):
        state.update(data=source.id, run=run.id)
        st.rerun()
