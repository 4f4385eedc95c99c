"""The runs on the dataset, best first, what is under way on top; refreshed while the page is open."""

from __future__ import annotations

from html import escape

import streamlit as st
from xcwork_app import caches, dialogs, navigation, state, widgets
from xcwork_app.components.label_list import LabelGroup, LabelRow, show_label_list
from xcwork_app.panels.shared import row_menu
from xcwork_app.panels.train import run_list
from xcwork_app.sources import Source
from xcwork_app.views import run_progress, selection

from xcwork.runs import Run
from xcwork.runs.status import name_state

REFRESH_SECONDS = 2  # between two looks at the run folders while something is under way
IDLE_REFRESH_SECONDS = 10
ALL_RUNS = "home.all_runs"  # keys of the session
LIMIT = "home.limit"
ROWS_AT_ONCE = 100  # redrawn every few seconds


def show() -> None:
    """Show the card. It refreshes itself, so runs started in a shell or another tab appear here too."""
    active = tuple(run_progress.list_active())
    st.fragment(_show_card, run_every=REFRESH_SECONDS if active else IDLE_REFRESH_SECONDS)(active)


def _show_card(before: tuple[str, ...]) -> None:
    if tuple(run_progress.list_active()) != before:
        dialogs.refresh_page()  # something began or ended: the best run, the steps and the pace of this card follow
    source, n_runs = selection.get_source(), len(caches.list_runs())
    shows_all = bool(st.session_state.get(ALL_RUNS))
    groups, n_left = list_groups(None if shows_all else source, st.session_state.get(LIMIT, ROWS_AT_ONCE))
    with st.container(border=True, key="home_runs"):
        where = "on all datasets" if shows_all else f"on {escape(source.title)}"
        st.html(f'<div class="home-card-head"><b>Runs</b><span>{where}</span><span>P@1, of 100</span></div>')
        chosen = show_label_list(
            groups,
            key="home_run_list",
            label="Runs",
            selected=state.view().run or (run.id if (run := selection.get_run()) else ""),
            on_menu=row_menu.ask_about_run,
            is_compact=True,
            empty="No run on this dataset yet.",
            height="stretch",
            more=f"Show {min(n_left, ROWS_AT_ONCE):,} more" if n_left else "",
            on_more=_show_more,
        )
        with st.container(horizontal=True, horizontal_alignment="distribute", key="home_runs_foot"):
            everything = f"All {n_runs:,} runs" if n_runs > 1 else "The only run" if n_runs else "No runs"
            other = f"Only {source.title}" if shows_all else everything
            st.button(other, key="home.all", type="tertiary", on_click=_turn, disabled=not n_runs)
            if st.button("Compare", key="home.compare", type="tertiary", disabled=not n_runs):
                navigation.go_to("compare")
    row_menu.refresh_if_asked()
    if chosen is not None and (run := caches.find_run(chosen)) is not None:
        run_list.make_current(run)


def _turn() -> None:
    st.session_state[ALL_RUNS] = not st.session_state.get(ALL_RUNS, False)


def _show_more() -> None:
    st.session_state[LIMIT] = st.session_state.get(LIMIT, ROWS_AT_ONCE) + ROWS_AT_ONCE


def list_groups(source: Source | None, limit: int) -> tuple[list[LabelGroup], int]:
    """Return the best runs of a dataset, or of all, and how many of all there are no rows for.

    P@1 is compared within a dataset only, so each of them is a group.
    """
    active = run_progress.list_active()
    under_way = [run for name in active if (run := caches.find_run(name)) is not None]
    rows = [_describe_active(run, place) for place, run in enumerate(under_way)]
    groups = [LabelGroup(rows)] if rows else []
    if len(rows) > 1:
        groups = [LabelGroup(rows, title="Under way", note=_describe_queue(under_way))]
    n_left = 0
    for each in [source] if source is not None else caches.list_sources_of_runs():
        over = [run for run in selection.list_runs(each) if run.id not in active]
        if over:
            best = [_describe(run) for run in _rank(over)[:limit]]
            groups.append(LabelGroup(best, title=each.title if source is None else ""))
            n_left += len(over) - len(best)
    if broken := caches.list_unreadable_runs():
        groups.append(LabelGroup([_describe(run) for run in broken[:limit]], title="Unreadable"))
    return groups, n_left


def _rank(runs: list[Run]) -> list[Run]:
    """Return runs by P@1; of equal ones the newest first."""
    scores = [-seen.record["metrics"].get("P@1", -1.0) for seen in caches.glance_at(runs)]
    return [runs[at] for at in sorted(range(len(runs)), key=scores.__getitem__)]


def _describe_queue(runs: list[Run]) -> str:
    """Return how long all runs under way take together, where that is known."""
    times = [run_progress.estimate_left(run, caches.glance(run).status) for run in runs]
    if None in times:
        return f"{len(runs)} runs, one at a time"
    return f"{len(runs)} runs, about {widgets.shorten_seconds(sum(filter(None, times)))} left"


def _describe(run: Run) -> LabelRow:
    """Return the row of a run that is over."""
    seen = caches.glance(run)
    record, actions = seen.record, row_menu.list_run_actions(run)
    precision = record["metrics"].get("P@1")
    if seen.source is None:
        return LabelRow(run.id, run.name, note="unreadable", below=record["message"], run=seen.number, menu=actions)
    if seen.status.state == "finished" and precision is not None:
        return LabelRow(
            run.id,
            record["name"],
            share=precision / 100,
            value=f"{precision:.1f}",
            run=seen.number,
            menu=actions,
        )
    return LabelRow(run.id, record["name"], note=name_state(seen.status.state), run=seen.number, menu=actions)


def _describe_active(run: Run, place: int) -> LabelRow:
    """Return the row of a run that is being trained or waits."""
    seen = caches.glance(run)
    status, share = seen.status, run_progress.get_share(seen.status)
    word = "training" if status.state == "running" else name_state(status.state)
    actions = row_menu.list_run_actions(run)
    if status.state == "queued":
        waits = "next in line" if place <= 1 else f"number {place} in line"
        return LabelRow(run.id, seen.record["name"], note=f"queued, {waits}", run=seen.number, menu=actions)
    left = run_progress.estimate_time_left(run, status)
    return LabelRow(
        run.id,
        seen.record["name"],
        note=f"{word}, {100 * share:.0f} %" if status.total else word,
        share=share if status.total else None,
        value=f"{widgets.shorten_seconds(left)} left" if left is not None else "…" if status.total else "",
        run=seen.number,
        menu=actions,
    )
