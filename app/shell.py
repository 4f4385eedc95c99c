"""What surrounds every page: the side bar with dataset, run and device, and the choice of a run for pages."""

from __future__ import annotations

from typing import NoReturn

import streamlit as st

from app import caches, state, ui
from app.catalog import Source, sources
from xcwork.home import home
from xcwork.runs import Run

STYLE = """
<style>
[data-testid="stMainBlockContainer"] { padding-left: 3rem; padding-right: 3rem; max-width: 100rem; }
</style>
"""


def source() -> Source:
    """The dataset this session looks at."""
    return Source.parse(state.view().data)


def runs_of(chosen: Source) -> list[Run]:
    """The runs on a dataset, newest first."""
    return [run for run in reversed(caches.runs()) if caches.source_of(run) == chosen]


def current_run() -> Run | None:
    """The chosen run, or the best finished one on the dataset."""
    runs = runs_of(source())
    wanted = state.view().run
    chosen = next((run for run in runs if run.id == wanted), None)
    return chosen or best_run(runs)


def best_run(runs: list[Run]) -> Run | None:
    """The finished run with the highest P@1."""
    finished = [run for run in runs if caches.record(run)["state"] == "finished"]
    return max(finished, key=lambda run: caches.record(run)["metrics"].get("P@1", 0.0), default=None)


def require_run(title: str) -> Run:
    """The run that the page `title` works on; without a finished one the page says what to do and ends."""
    run = current_run()
    if run is None:
        _stop(title, f"There is no finished run on {ui.plain(source().title)} yet.")
    if run.state != "finished":
        _stop(title, f"The run {ui.plain(run.name)} is {run.state} and has no results yet.")
    return run


def _stop(title: str, sentence: str) -> NoReturn:
    ui.header(title)
    ui.empty(sentence, page="train", action="Train a method")
    st.stop()


def sidebar() -> None:
    """Dataset, run, guided mode, device."""
    with st.sidebar:
        with ui.guarded():
            _choose_dataset()
            _choose_run()
        _switch_guide()
        st.caption(ui.plain(caches.device_line()))
        st.caption(f"Home: {ui.plain(home().name)}", help=f"Data and runs are in {ui.plain(home())}")


def _choose_dataset() -> None:
    used = [found for run in caches.runs() if (found := caches.source_of(run)) is not None]
    offered = [each.id for each in sources(*used, source())]
    st.session_state["shell.data"] = source().id
    st.selectbox(
        "Dataset", offered, key="shell.data", format_func=lambda identity: Source.parse(identity).title,
        on_change=lambda: state.update(data=st.session_state["shell.data"]),
    )  # fmt: skip


def _choose_run() -> None:
    runs = {run.id: run for run in runs_of(source())}
    if not runs:
        st.selectbox("Run", [], placeholder="none yet", disabled=True, key="shell.no_run")
        return
    chosen = current_run()
    # Fixed before they are drawn: a run may change its state while somebody chooses.
    titles = {name: run_title(run) for name, run in runs.items()}
    st.session_state["shell.run"] = None if chosen is None else chosen.id
    st.selectbox(
        "Run", list(runs), key="shell.run", index=None, placeholder="choose one",
        format_func=lambda identity: titles.get(identity, identity),
        on_change=lambda: state.update(run=st.session_state["shell.run"] or ""),
    )  # fmt: skip


def run_title(run: Run) -> str:
    """The name of a run with what matters most: its P@1, or its state."""
    facts = caches.record(run)
    precision = facts["metrics"].get("P@1")
    return f"{facts['name']} · " + (facts["state"] if precision is None else f"P@1 {precision:.1f}")


def _switch_guide() -> None:
    st.session_state["shell.guided"] = state.view().guided
    st.toggle(
        "Guided mode", key="shell.guided", help="Explains every page beside it, with a question to check yourself.",
        on_change=lambda: state.update(guided=st.session_state["shell.guided"]),
    )  # fmt: skip
