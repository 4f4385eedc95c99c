"""A chart with one menu beside it: its numbers as a table and as CSV. The bar of the chart saves its picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import widgets

if TYPE_CHECKING:
    import plotly.graph_objects as go


def show_chart(drawn: go.Figure, *, key: str) -> None:
    """Show a chart of `draw_once` with its sentence for people who cannot see it."""
    from xcwork.viz import get_alt_text

    st.plotly_chart(drawn, alt=get_alt_text(drawn), key=key, config=widgets.CHART, height="stretch")


def show_menu(drawn: go.Figure, *, key: str, name: str) -> None:
    """Offer the numbers of a chart."""
    from xcwork.viz import get_alt_text, read_table

    menu = st.popover("⋯", key=f"{key}.menu", help="Table and CSV", on_change="rerun")
    if menu.open:
        with menu:
            widgets.show_table(read_table(drawn), key=f"{key}.table", name=name, alt=get_alt_text(drawn))


def show_titled_chart(drawn: go.Figure, *, key: str, name: str, title: str) -> None:
    """Show a chart of `draw_once` below its title, with its menu."""
    from xcwork.viz import get_alt_text, read_table

    alt = get_alt_text(drawn)
    with st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", key=f"{key}_head"
    ):
        widgets.show_section(title)
        menu = st.popover("⋯", type="tertiary", key=f"{key}.menu", help="Table", on_change="rerun")
        if menu.open:
            told = f"The numbers of the chart: {alt}"
            with menu:
                widgets.show_table(read_table(drawn), key=f"{key}.table", name=name, alt=told)
    st.plotly_chart(drawn, alt=alt, key=key, config=widgets.CHART, height="stretch")
