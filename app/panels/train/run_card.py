"""The run below the chosen method: as it goes, as it ended, or why it stopped; with the queue behind it.

A fragment looks at the run folder every second while something is under way. It only reads files, so any number of
tabs may watch, and a training does not notice when they are closed.
"""

from __future__ import annotations

import html
from collections.abc import Callable

import streamlit as st
from xcwork_app import caches, dialogs, navigation, state, tokens, widgets
from xcwork_app.panels.train import live_curve, run_queue
from xcwork_app.views import run_progress, selection, training_plan

from xcwork.errors import XcworkError
from xcwork.runs import Run, jobs
from xcwork.runs.status import RESUMABLE_STATES, Status, name_state

REFRESH_SECONDS = 1  # between two looks while something is under way
IDLE_REFRESH_SECONDS = 10
LAST_LOG_LINES = 10
LOG_LINES = 200
REFUSED = "train.refused"  # key of the session
WISH = "train.wish"  # key of the session: the page that somebody wants to see next
STATE_LOOKS = {"finished": "right", "failed": "wrong", "lost": "wrong", "cancelled": "unsure"}


def show_run() -> None:
    """Show the run under way or the last result, refreshed by itself."""
    active = run_progress.list_active()
    st.fragment(_watch, run_every=REFRESH_SECONDS if active else IDLE_REFRESH_SECONDS)(tuple(active))


def _watch(before: tuple[str, ...]) -> None:
    if (wish := st.session_state.pop(WISH, None)) is not None:
        navigation.go_to(wish[0], **wish[1])
    active = run_progress.list_active()
    if tuple(active) != before:
        dialogs.refresh_page()  # something began or ended: the whole page, and the pace of this fragment, follow
    run = _find_watched_run(active)
    with st.container(border=True, key="train_run"):
        if run is None:
            st.caption("No run on this dataset yet. Choose a method and press Train.")
            return
        with widgets.catch_errors():
            _show_detail(run)
        run_queue.show_queue(active, run)


def _find_watched_run(active: dict[str, Status]) -> Run | None:
    """Return the run that was chosen, else one under way, else the best one."""
    asked = (caches.find_run(name) for name in (state.view().run, *active))
    return next(filter(None, asked), None) or selection.get_run()


def _show_detail(run: Run) -> None:
    seen = caches.glance(run)
    status = seen.status
    words = name_state(status.state)
    look = STATE_LOOKS.get(status.state, "unsure")
    st.html(
        f'<div class="train-run">{tokens.make_mark(seen.number)}<b>{html.escape(seen.record["name"])}</b>'
        f'<span class="train-state {look}">{html.escape(words)}</span></div>'
    )
    if status.is_active:
        _show_progress(run, status)
    elif status.state == "finished":
        _show_result(run)
    else:
        _show_failure(run, status)
    if (refusal := st.session_state.pop(REFUSED, None)) is not None:
        raise refusal


def _show_progress(run: Run, status: Status) -> None:
    steps = f" · {status.step:,} of {status.total:,}" if status.total else ""
    phase = f"{status.phase or 'waiting for a worker'}{steps}"
    st.progress(run_progress.get_share(status), text=widgets.escape_text(phase))
    left = run_progress.estimate_time_left(run, status)
    shown = [f"{100 * run_progress.get_share(status):.0f} %"] if status.total else []
    shown += [f"{widgets.shorten_seconds(status.work_seconds)} so far"] if status.work_seconds else []
    shown += [] if left is None or status.state == "queued" else [f"{widgets.shorten_seconds(left)} left"]
    if status.message:
        shown.append(status.message)
    label = "Cancelling" if status.state == "cancelling" else "Cancel"
    with st.container(key="train_progress", horizontal=True, vertical_alignment="center"):
        st.caption(widgets.escape_text(" · ".join(shown)), width="stretch")
        # A callback, because this fragment may rerun the page before it comes to a button that was just pressed.
        st.button(
            label,
            key=f"train.cancel.{run.id}",
            disabled=label == "Cancelling",
            on_click=ask,
            args=(jobs.cancel, run),
        )
    live_curve.show_curve(run)


def _show_result(run: Run) -> None:
    scores = caches.get_record(run)["metrics"]
    source = caches.get_source(run)
    highest = None if source is None else training_plan.compute_highest_precision(source, 5)
    title = "P@5" if highest is None else f"P@5, at most {highest:.1f}"
    figures = "".join(
        f"<div><span>{name}</span><b>{scores[metric]:.1f}</b></div>"
        for name, metric in (("P@1", "P@1"), (title, "P@5"))
        if metric in scores
    )
    st.html(f'<div class="train-costs">{figures}</div><div class="train-range">{html.escape(describe_rank(run))}</div>')
    best = _find_rival(run)
    with st.container(horizontal=True, key="train_next"):
        label = "Compare with the best run" if best is not None else "Compare runs"
        against = {} if best is None else {"runs": f"{run.id},{best.id}", "reference": best.id}
        _offer_step("See predictions", "predict", {"run": run.id}, key="train.see_predictions")
        _offer_step("See errors", "errors", {"run": run.id}, key="train.see_errors")
        _offer_step(label, "compare", {"run": run.id} | against, key="train.compare")


def _offer_step(label: str, page: str, changes: dict[str, str], *, key: str) -> None:
    """Offer another page; the wish is noted by a callback, because this fragment may rerun before it draws buttons."""
    st.button(label, key=key, on_click=lambda: st.session_state.update({WISH: (page, changes)}))


def _find_rival(run: Run) -> Run | None:
    """Return the best other run on the same dataset."""
    source = caches.get_source(run)
    others = [] if source is None else [other for other in selection.list_runs(source) if other.id != run.id]
    return selection.find_best_run(others)


def describe_rank(run: Run) -> str:
    """Return how a finished run stands against the best other one, in a sentence."""
    rival = _find_rival(run)
    if rival is None:
        return "The first run on this dataset."
    mine, theirs = (caches.get_record(each)["metrics"].get("P@1", 0.0) for each in (run, rival))
    difference = round(mine, 1) - round(theirs, 1)
    if abs(difference) < 0.05:
        return f"The same P@1 as {rival.name}."
    return f"{abs(difference):.1f} {'above' if difference > 0 else 'below'} {rival.name} at P@1."


def _show_failure(run: Run, status: Status) -> None:
    if status.message:
        st.markdown(widgets.escape_text(status.message[:1].upper() + status.message[1:]))
    last = run.read_log(LAST_LOG_LINES)
    if last and status.state != "cancelled":
        st.code(last, language=None, height=120, wrap_lines=True)
    with st.container(horizontal=True):
        if status.state in RESUMABLE_STATES:
            st.button(
                "Resume",
                key=f"train.resume.{run.id}",
                icon=":material/play_arrow:",
                on_click=ask,
                args=(jobs.resume, run),
            )
        with st.popover("Log", key="train.log"):
            st.code(run.read_log(LOG_LINES) or "nothing yet", language=None, height=300)
            st.caption(widgets.escape_text(f"{run.id}, attempt {status.attempt}"))


def ask(verb: Callable[[Run], object], run: Run) -> None:
    """Cancel or resume; a refusal is shown in the card."""
    try:
        verb(run)
    except (XcworkError, OSError) as refusal:
        st.session_state[REFUSED] = refusal
