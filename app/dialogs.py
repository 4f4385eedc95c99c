"""Dialogs, and what happens to them when something behind them changes.

Streamlit rebuilds a dialog with every run of the whole page: what is being typed or uploaded in it is lost, and a
dialog that was opened by a click is closed. So what refreshes itself, because a training ended, waits until no dialog
is open; a dialog that is closed runs the page anyway.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import streamlit as st

IS_OPEN = "shell.dialog"  # key of the session


def begin_page() -> None:
    """Begin a run of the whole page, in which no dialog is open yet."""
    st.session_state.pop(IS_OPEN, None)


def make_dialog(
    title: str,
    *,
    width: Literal["small", "medium", "large"] | int = "small",
    position: Literal["center", "left", "right"] = "center",
    on_dismiss: Literal["rerun"] | Callable[[], None] = "rerun",
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return `st.dialog` for a function that is called in this run."""

    def make_opener(show: Callable[..., None]) -> Callable[..., None]:
        shown = st.dialog(title, width=width, position=position, on_dismiss=on_dismiss)(show)

        def open_dialog(*arguments: Any) -> None:
            st.session_state[IS_OPEN] = True
            shown(*arguments)

        return open_dialog

    return make_opener


def refresh_page() -> None:
    """Run the whole page again, from a part of it that refreshes itself; with a dialog open, not now."""
    if not st.session_state.get(IS_OPEN):
        st.rerun()
