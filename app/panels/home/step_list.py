"""Up to three next steps, each with its reason and a button that opens its page on the right selection."""

from __future__ import annotations

from html import escape

import streamlit as st
from xcwork_app import navigation, widgets
from xcwork_app.views.next_steps import NextStep


def show(steps: list[NextStep]) -> None:
    """Show the steps; nothing where there are none."""
    if not steps:
        return
    widgets.show_section("Next steps")
    with st.container(border=True, key="home_steps", gap=None):
        for number, step in enumerate(steps, start=1):
            with st.container(horizontal=True, vertical_alignment="center", key=f"home_step_{number}"):
                st.html(
                    f'<div class="home-step"><i>{number}</i><div><b>{escape(step.title)}</b>'
                    f"<span>{escape(step.reason)}</span></div></div>"
                )
                if st.button(step.button, key=f"home.step.{step.page}.{number}"):
                    navigation.go_to(step.page, **step.changes)
