"""The queue and one run as it goes: state, phase, progress, curves, log, cancel and resume.

A fragment looks at the run folder every second while something is under way. It only reads files, so any number of
tabs may watch, and a training does not notice when they are closed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import streamlit as st
from xcwork_app import caches, state, widgets
from xcwork_app.panels.train import run_list
from xcwork_app.views import selection

from xcwork.errors import XcworkError
from xcwork.runs import Run, jobs
from xcwork.runs.status import RESUMABLE, Status

REFRESH_SECONDS = 1  # between two looks while something is under way
IDLE_REFRESH_SECONDS = 10
LOG_LINES = 200
REFUSED = "train.refused"  # key of the session
MAX_QUEUE_ROWS = 4  # runs of the queue that are always in sight


def show() -> None:
    """Show the runs under way, and the current run in detail."""
    active = _list_active()
    st.fragment(_watch, run_every=REFRESH_SECONDS if active else IDLE_REFRESH_SECONDS)(tuple(active))


def _list_active() -> dict[str, Status]:
    seen = {run.id: caches.glance(run).status for run in caches.list_runs()}
    waiting = {name: status for name, status in seen.items() if status.is_active}
    return dict(sorted(waiting.items(), key=lambda item: (item[1].state == "queued", item[1].queued or "", item[0])))


def _watch(before: tuple[str, ...]) -> None:
    active = _list_active()
    if tuple(active) != before:
        st.rerun()  # something began or ended: the whole page, and the pace of this fragment, follow
    run = _find_watched_run(active)
    if run is None:
        st.caption("No run on this dataset yet. Choose the settings and press Train.")
        return
    with st.container(border=True):
        _show_detail(run)
    if set(active) - {run.id}:
        _show_queue(active)


def _find_watched_run(active: dict[str, Status]) -> Run | None:
    """Return the run that was chosen, else one under way, else the best one."""
    runs = {run.id: run for run in caches.list_runs()}
    wanted = state.view().run
    return runs.get(wanted) or next((runs[name] for name in active if name in runs), None) or selection.get_run()


def _show_queue(active: dict[str, Status]) -> None:
    st.markdown(f"**Queue** · {len(active)} run{'s' if len(active) > 1 else ''}, one at a time")
    runs = {run.id: run for run in caches.list_runs()}
    waiting = [(runs[name], status) for name, status in active.items() if name in runs]
    for place, (run, status) in enumerate(waiting[:MAX_QUEUE_ROWS], start=1):
        _show_queued(place, run, status)
    if len(waiting) > MAX_QUEUE_ROWS:
        with st.expander("Later", key="train.later"):
            for place, (run, status) in enumerate(waiting[MAX_QUEUE_ROWS:], start=MAX_QUEUE_ROWS + 1):
                _show_queued(place, run, status)


def _show_queued(place: int, run: Run, status: Status) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"{place}\\. {widgets.plain(run.name)} · {status.state}", width="stretch")
        if st.button("Watch", key=f"train.watch.{run.id}", type="tertiary"):
            run_list.make_current(run)


def _show_detail(run: Run) -> None:
    status = run.status
    st.markdown(f"**{widgets.plain(run.name)}** · {status.state}")
    if status.is_active:
        _show_progress(run, status)
    elif status.state == "finished":
        _show_result(run, status)
    elif status.message:
        st.warning(widgets.plain(status.message), icon=":material/warning:")
    with widgets.catch_errors():
        _show_buttons(run, status)
    with widgets.catch_errors():
        _show_curves(run)
    with st.expander("Log"):
        st.code(run.log(LOG_LINES) or "nothing yet", language=None, height=240)
        st.caption(widgets.plain(f"{run.id}, attempt {status.attempt}"))


def _show_progress(run: Run, status: Status) -> None:
    share = min(status.step / status.total, 1.0) if status.total else 0.0
    steps = f" · {status.step:,} of {status.total:,}" if status.total else ""
    st.progress(share, text=widgets.plain(f"{status.phase or 'waiting for a worker'}{steps}"))
    if status.message:
        st.caption(widgets.plain(status.message))
    shown = [f"{widgets.format_seconds(status.train_seconds)} of training so far"] if status.train_seconds else []
    left = estimate_time_left(run, status)
    shown += [] if left is None else [f"{widgets.format_estimate(left)} left in this phase"]
    shown += [f"{widgets.format_megabytes(status.peak_memory_mb)} at most"] if status.peak_memory_mb else []
    st.caption(" · ".join(shown))


def estimate_time_left(run: Run, status: Status) -> float | None:
    """Return seconds until the phase ends, from the pace since this session first saw it."""
    if not status.total or status.step >= status.total:
        return None
    now = time.monotonic()
    seen: dict[str, Any] = st.session_state.setdefault("train.pace", {})
    phase, begun, first = seen.get(run.id, ("", 0.0, 0))
    if phase != status.phase or status.step < first:
        seen.clear()  # one phase of one run is enough to remember
        seen[run.id] = (status.phase, now, status.step)
        return None
    done = status.step - first
    return (now - begun) / done * (status.total - status.step) if done else None


def _show_result(run: Run, status: Status) -> None:
    scores = caches.get_record(run)["metrics"]
    shown = ("P@1", "P@5", "PSP@5")
    widgets.show_metrics([(metric, f"{scores[metric]:.1f}" if metric in scores else "–", None) for metric in shown])
    speed = status.predict_ms_per_document
    figures = [
        f"{widgets.format_seconds(status.train_seconds)} of training",
        f"{widgets.format_megabytes(status.peak_memory_mb)} at most",
    ]
    figures += [] if speed is None else [f"{speed:.2f} ms per document"]
    figures += [] if status.model_bytes is None else [f"model {widgets.format_megabytes(status.model_bytes / 1e6)}"]
    st.caption(" · ".join(figures))


def _show_buttons(run: Run, status: Status) -> None:
    if (refusal := st.session_state.pop(REFUSED, None)) is not None:
        raise refusal
    # Callbacks, because this fragment may rerun the page before it comes to a button that was just pressed.
    if status.is_active:
        label = "Cancelling" if status.state == "cancelling" else "Cancel"
        st.button(
            label,
            key=f"train.cancel.{run.id}",
            disabled=label == "Cancelling",
            icon=":material/stop:",
            on_click=_ask,
            args=(jobs.cancel, run),
        )
    elif status.state in RESUMABLE:
        st.button(
            "Resume", key=f"train.resume.{run.id}", icon=":material/play_arrow:", on_click=_ask, args=(jobs.resume, run)
        )


def _ask(verb: Callable[[Run], object], run: Run) -> None:
    """Cancel or resume; a refusal is shown where the button is."""
    try:
        verb(run)
    except (XcworkError, OSError) as refusal:
        st.session_state[REFUSED] = refusal


def _show_curves(run: Run) -> None:
    """Show what the training reported, one value at a time."""
    from xcwork.viz.curves import training_curves, training_series

    events = run.events()
    series = {key: points for key, points in training_series(events).items() if len(points) > 1}
    names = list(dict.fromkeys(name for _, name in series))
    if not names:
        return
    value = st.selectbox("Curve", names, key=f"train.curve.{run.id}") if len(names) > 1 else names[0]
    figure = training_curves(events, value=value).update_layout(height=280)
    widgets.show_figure(figure, key=f"train.curves.{run.id}", name=f"{run.id}-{value}")
