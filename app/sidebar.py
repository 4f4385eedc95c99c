"""What surrounds every page: the side bar with menu, dataset, run and device, and the note about a failed link."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import caches, navigation, state, widgets
from xcwork_app.sources import Source, list_sources
from xcwork_app.views import selection

from xcwork.paths import home

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

STYLE = """
<style>
[data-testid="stMainBlockContainer"] { padding-left: 3rem; padding-right: 3rem; max-width: 100rem; }
</style>
"""


@contextmanager
def finish_page(note: DeltaGenerator, menu: DeltaGenerator) -> Iterator[None]:
    """Say what the address asked for in vain when a page is complete, and bring address and links up to date.

    Not so when the script begins anew: then the next run does it, and the browser's history gets one entry, not two.
    """
    with suppress(widgets.PageEnd):
        yield
    if sentences := state.list_notes():
        note.warning(widgets.plain(" ".join(sentences)), icon=":material/link_off:")
    state.share()
    show_menu(menu)


def show_menu(place: DeltaGenerator) -> None:
    """Show links to all pages. Streamlit's own menu would drop the address, and with it what Back should return to."""
    with place.container():
        for name, page in navigation.make_menu().items():
            st.page_link(page, query_params=state.get_address_of(name))


def show_sidebar() -> DeltaGenerator:
    """Show menu, dataset, run, guided mode and device; return the place of the menu."""
    with st.sidebar:
        menu = st.empty()
        with widgets.catch_errors():
            selection.resolve_dataset()
            selection.resolve_run()
            _choose_dataset()
            _choose_run()
            navigation.name_defaults()
        show_menu(menu)
        _switch_guide()
        st.caption(widgets.plain(caches.describe_device()))
        st.caption(f"Home: {widgets.plain(home().name)}", help=f"Data and runs are in {widgets.plain(home())}")
    return menu


def _choose_dataset() -> None:
    used = [found for run in caches.list_runs() if (found := caches.get_source(run)) is not None]
    offered = [each.id for each in list_sources(*used, selection.get_source())]
    st.session_state["shell.data"] = selection.get_source().id
    st.selectbox(
        "Dataset",
        offered,
        key="shell.data",
        format_func=lambda identity: Source.from_id(identity).title,
        on_change=lambda: state.update(data=st.session_state["shell.data"]),
    )


def _choose_run() -> None:
    runs = {run.id: run for run in selection.list_runs(selection.get_source())}
    if not runs:
        st.selectbox("Run", [], placeholder="none yet", disabled=True, key="shell.no_run")
        return
    chosen = selection.get_run()
    # Fixed before they are drawn: a run may change its state while somebody chooses.
    titles = {name: selection.describe_run(run) for name, run in runs.items()}
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


def _switch_guide() -> None:
    st.session_state["shell.guided"] = state.view().guided
    st.toggle(
        "Guided mode",
        key="shell.guided",
        help="Explains every page beside it, with a question to check yourself.",
        on_change=lambda: state.update(guided=st.session_state["shell.guided"]),
    )
