"""Add a dataset: a dialog with three ways, a file, a path on this machine, made-up data. Its errors stay inside it."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st
from xcwork_app import dialogs, state, widgets
from xcwork_app.panels.data import add_file, add_path, made_up, staging
from xcwork_app.panels.shared import row_menu

WAYS: dict[str, tuple[str, Callable[[], None]]] = {
    "file": ("A file", add_file.show),
    "path": ("On this machine", add_path.show),
    "made-up": ("Made-up data", made_up.show),
}
WIDTH_PIXELS = 900


def open_dialog() -> None:
    """Open the dialog if the address asks for it; Streamlit shows one dialog at a time."""
    way = state.pick_option("add", ["", *WAYS], "", "no dialog")
    if way and not state.view().lesson and not row_menu.is_asked():
        dialogs.make_dialog("Add a dataset", width=WIDTH_PIXELS, on_dismiss=_close)(_show)()


def _close() -> None:
    staging.discard()
    state.update(add="")


def _show() -> None:
    with st.container(key="data_add"):
        ways = st.empty()
        if not staging.is_staged():
            with ways.container():
                _choose_way()
        with widgets.catch_errors():
            WAYS[state.view().add or "file"][1]()
        if staging.is_staged():  # the file is chosen, and the steps say how it goes on
            ways.empty()


def _choose_way() -> None:
    st.session_state["data.add.way"] = state.view().add or "file"
    st.segmented_control(
        "Where from",
        list(WAYS),
        format_func=lambda way: WAYS[way][0],
        key="data.add.way",
        required=True,
        label_visibility="collapsed",
        on_change=lambda: state.update(add=st.session_state["data.add.way"]),
    )
