"""The runs that wait: in their order, with the time until each begins, and one button that cancels all."""

from __future__ import annotations

from contextlib import suppress

import streamlit as st
from xcwork_app import caches, state, widgets
from xcwork_app.components.label_list import LabelGroup, LabelRow, show_label_list
from xcwork_app.views import run_progress

from xcwork.errors import XcworkError
from xcwork.runs import Run, jobs
from xcwork.runs.status import Status


def show_queue(active: dict[str, Status], watched: Run) -> None:
    """Show what is under way beside the watched run, in the order of the queue."""
    runs = {name: run for name in active if (run := caches.find_run(name)) is not None}
    others = {name: status for name, status in active.items() if name in runs and name != watched.id}
    if not others:
        return
    starts = run_progress.estimate_starts(active)
    places = {name: place for place, name in enumerate(active, start=1)}
    rows = [make_row(runs[name], status, places[name], starts.get(name)) for name, status in others.items()]
    waiting = f"{len(others)} other run{'s' if len(others) > 1 else ''} under way, one at a time"
    chosen = show_label_list(
        [LabelGroup(rows, title="Queue", note=waiting)],
        key="train_queue",
        label="Queue",
        on_choose=_watch_run,
    )
    if chosen is not None:
        st.rerun()  # the whole page: side bar and address follow the choice
    st.button(
        "Cancel all",
        key="train.cancel_all",
        type="tertiary",
        icon=":material/stop:",
        on_click=_cancel_all,
        args=([runs[name] for name in active if name in runs],),
    )


def make_row(run: Run, status: Status, place: int, start: float | None) -> LabelRow:
    """Return a run of the queue as a row: its place, its name and when it begins."""
    seen = caches.glance(run)
    if status.state != "queued":
        when = status.state
    else:
        when = "waiting" if start is None else f"in {widgets.shorten_seconds(start)}"
    return LabelRow(run.id, f"{place}. {seen.record['name']}", value=when, run=seen.number)


def _watch_run(run_id: str) -> None:
    run = caches.find_run(run_id)
    source = None if run is None else caches.get_source(run)
    if source is not None:
        state.update(data=source.id, run=run_id)


def _cancel_all(runs: list[Run]) -> None:
    """Cancel from the end of the queue, so that none begins because an earlier one went."""
    for run in reversed(runs):
        with suppress(XcworkError, OSError):  # it was over already
            jobs.cancel(run)
