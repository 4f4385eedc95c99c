"""What surrounds every page: the side bar with menu, dataset, run and device, and the choice of a run for pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NoReturn

import streamlit as st
from xcwork_app import caches, navigation, state, widgets
from xcwork_app.sources import Source, sources

from xcwork.paths import home
from xcwork.runs import Run

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

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
        _end(title, f"There is no finished run on {widgets.plain(source().title)} yet.")
    if run.state != "finished":
        _end(title, f"The run {widgets.plain(run.name)} is {run.state} and has no results yet.")
    return run


def _end(title: str, sentence: str) -> NoReturn:
    widgets.header(title)
    widgets.empty(sentence, page="train", action="Train a method")
    raise widgets.PageEnd


def resolve() -> None:
    """Take the nearest dataset and run there is where the view names one that is gone, and say so."""
    _resolve_dataset()
    _resolve_run()


def _resolve_dataset() -> None:
    run = next((run for run in caches.runs() if run.id == state.view().run), None)
    owner = None if run is None else caches.source_of(run)
    if owner is None and _is_gone(source()):
        usual, wanted = Source.parse(state.View().data), state.quote(source().title)
        state.fall_back("data", usual.id, f"There is no dataset {wanted}; {usual.title} is shown instead.")
    elif owner not in (None, source()):  # a run has one dataset, so it decides where an address names both
        asked = source()
        note = f"{run.name} is a run on {owner.title}, which is shown instead of {asked.title}."
        state.fall_back("data", owner.id, note if state.asks_for("data", state.view().data) else "")


def _is_gone(wanted: Source) -> bool:
    """Return whether there is nothing to read, nor a run that was trained on it."""
    if wanted.path is None or runs_of(wanted):
        return False
    try:
        return not wanted.path.exists()
    except OSError:  # a name that no file can have, or a folder that is closed to us
        return True


def _resolve_run() -> None:
    wanted, runs = state.view().run, runs_of(source())
    if wanted and wanted not in {run.id for run in runs}:
        best = best_run(runs)
        instead = f"there is none on {source().title}" if best is None else f"{best.name} is shown instead"
        state.fall_back("run", "", f"There is no run {state.quote(wanted)}; {instead}.")


def name_defaults() -> None:
    """Let the address name the run, and on Compare the runs, that are shown unless somebody chooses others."""
    from xcwork_app.views import run_comparison

    chosen = current_run()
    if chosen is not None:
        state.name_defaults(run=chosen.id)
    if usual := run_comparison.usual_runs(source()):
        state.name_defaults("compare", runs=",".join(usual))


@contextmanager
def completed(note: DeltaGenerator, menu: DeltaGenerator) -> Iterator[None]:
    """When a page is complete, say what its address asked for in vain, and bring address and links up to date.

    Not so when the script begins anew: then the next run does it, and the browser's history gets one entry, not two.
    """
    with suppress(widgets.PageEnd):
        yield
    if sentences := state.notes():
        note.warning(widgets.plain(" ".join(sentences)), icon=":material/link_off:")
    state.share()
    show_menu(menu)


def show_menu(place: DeltaGenerator) -> None:
    """Links to all pages. Streamlit's own menu would drop the address, and with it what Back should return to."""
    with place.container():
        for name, page in navigation.menu().items():
            st.page_link(page, query_params=state.address_of(name))


def sidebar() -> DeltaGenerator:
    """Menu, dataset, run, guided mode, device. Returns the place of the menu."""
    with st.sidebar:
        menu = st.empty()
        with widgets.guarded():
            resolve()
            _choose_dataset()
            _choose_run()
            name_defaults()
        show_menu(menu)
        _switch_guide()
        st.caption(widgets.plain(caches.device_line()))
        st.caption(f"Home: {widgets.plain(home().name)}", help=f"Data and runs are in {widgets.plain(home())}")
    return menu


def _choose_dataset() -> None:
    used = [found for run in caches.runs() if (found := caches.source_of(run)) is not None]
    offered = [each.id for each in sources(*used, source())]
    st.session_state["shell.data"] = source().id
    st.selectbox(
        "Dataset",
        offered,
        key="shell.data",
        format_func=lambda identity: Source.parse(identity).title,
        on_change=lambda: state.update(data=st.session_state["shell.data"]),
    )


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
        "Run",
        list(runs),
        key="shell.run",
        index=None,
        placeholder="choose one",
        format_func=lambda identity: titles.get(identity, identity),
        on_change=lambda: state.update(run=st.session_state["shell.run"] or ""),
    )


def run_title(run: Run) -> str:
    """The name of a run with what matters most: its P@1, or its state."""
    facts = caches.record(run)
    precision = facts["metrics"].get("P@1")
    return f"{facts['name']} · " + (facts["state"] if precision is None else f"P@1 {precision:.1f}")


def _switch_guide() -> None:
    st.session_state["shell.guided"] = state.view().guided
    st.toggle(
        "Guided mode",
        key="shell.guided",
        help="Explains every page beside it, with a question to check yourself.",
        on_change=lambda: state.update(guided=st.session_state["shell.guided"]),
    )
