"""The first row of every page: way back, title, question, and actions on the right.

header = show_page_header("predict")           # title and question are those of `navigation.PLACES`
with header.actions:                           # what only this page offers
    st.download_button("CSV", ...)
header.show_command(["predict", run.id])       # at any time while the page is drawn
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import navigation, state
from xcwork_app.components.copy_link import show_copy_link

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator


@dataclass(frozen=True)
class PageHeader:
    """The places in the header that a page fills."""

    actions: DeltaGenerator  # buttons of the page, left of the ones that all pages have
    command: DeltaGenerator

    def show_command(self, arguments: Iterable[str], *, stdin: str = "", note: str = "") -> None:
        """Offer the command line that does what this page does; it reads the file `stdin` where one is given."""
        source = f" < {shlex.quote(stdin)}" if stdin else ""
        with self.command.popover("Command", icon=":material/terminal:", key="page.command"):
            st.caption(note or "The same in a shell")
            st.code(shlex.join(["xcwork", *arguments]) + source, language="bash", wrap_lines=True)


def show_page_header(page: str) -> PageHeader:
    """Show the header of a page of the menu."""
    place = navigation.get_place(page)
    with st.container(key="page_header", horizontal=True, vertical_alignment="center"):
        if state.view().wide:
            st.button(
                "",
                key="page.side_bar",
                type="tertiary",
                icon=":material/left_panel_open:",
                help="Show the side bar",
                on_click=lambda: state.update(wide=False),
            )
        _show_way_back()
        st.title(place.title, anchor=False, width="content")
        with st.container(key="page_question"):
            st.markdown(place.question)
        with st.container(key="page_actions", horizontal=True, vertical_alignment="center", width="content"):
            actions = st.container(horizontal=True, vertical_alignment="center", width="content")
            show_copy_link(key="page.copy_link")
            command = st.empty()
    return PageHeader(actions, command)


def _show_way_back() -> None:
    origin = navigation.get_origin()
    if origin is None:
        return
    if st.button(
        navigation.get_place(origin.page).title,
        key="page.back",
        type="tertiary",
        icon=":material/chevron_left:",
        help="Back to the list, as it was left",
    ):
        navigation.return_to(origin)
