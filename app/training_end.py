"""What is said when a training ends, on whatever page: a toast, and in the side bar the three next steps."""

from __future__ import annotations

from urllib.parse import urlencode

import streamlit as st
from xcwork_app import caches, navigation, state, tokens, widgets
from xcwork_app.views import run_comparison, run_progress, selection

from xcwork.runs import Run
from xcwork.runs.status import tell_state

ACTIVE = "shell.active"  # key of the session: ids of the runs that were under way when it last looked
ENDED = "shell.ended"  # key of the session: id of the run whose next steps are shown
NEXT_STEPS = {"predict": "Try it", "errors": "See errors", "compare": "Compare"}


def has_ended() -> bool:
    """Return whether a training that was under way has ended since this session last looked."""
    return bool(st.session_state.get(ACTIVE, frozenset()) - run_progress.list_active().keys())


def announce_ends() -> None:
    """Say which trainings have ended since this session last looked."""
    active = frozenset(run_progress.list_active())
    ended = st.session_state.get(ACTIVE, frozenset()) - active
    st.session_state[ACTIVE] = active
    for run in filter(None, map(caches.find_run, sorted(ended))):
        _announce(run)


def _announce(run: Run) -> None:
    record = caches.get_record(run)
    name = widgets.escape_text(record["name"])
    if record["state"] == "finished":
        st.session_state[ENDED] = run.id
        links = " · ".join(f"[{word}]({_make_link(page, run)})" for page, word in NEXT_STEPS.items())
        st.toast(f"**{name}** has finished{_name_result(run)}  \n{links}", icon=":material/check:", duration="long")
    elif record["state"] != "cancelled":
        why = f"[See why]({_make_link('train', run)})"
        st.toast(f"**{name}** {tell_state(record['state'])}  \n{why}", icon=":material/error:", duration="long")


def _name_result(run: Run) -> str:
    precision = caches.get_record(run)["metrics"].get("P@1")
    return "" if precision is None else f": P@1 {precision:.1f}"


def _make_address(page: str, run: Run) -> state.Address:
    """Return the address of a page on a run; Compare shows it beside the best ones."""
    source = caches.get_source(run)
    changes = {} if source is None else {"data": source.id}
    if page == "compare" and source is not None:
        usual = run_comparison.list_usual_runs(source)
        changes |= {} if run.id in usual else {"runs": ",".join([*usual, run.id])}
    return state.get_address_of(page, run=run.id, **changes)


def _make_link(page: str, run: Run) -> str:
    return f"{page}?{urlencode(_make_address(page, run), doseq=True)}"


def show_next_steps(page: str) -> None:
    """Show the next steps after the training that ended last, until one of them is taken."""
    ended = st.session_state.get(ENDED)
    run = caches.find_run(ended) if ended else None
    if run is None:
        return
    shown = selection.get_run()
    if page in NEXT_STEPS and shown is not None and shown.id == run.id:
        del st.session_state[ENDED]
        return
    name = widgets.escape_text(caches.get_record(run)["name"])
    with st.container(key="shell_next", gap=None):
        st.html(tokens.make_mark(caches.glance(run).number))
        st.caption(f"{name} has finished{_name_result(run)}")
        with st.container(horizontal=True, gap="small"):
            for step, word in NEXT_STEPS.items():
                st.page_link(navigation.FOLDER / f"{step}.py", label=word, query_params=_make_address(step, run))
