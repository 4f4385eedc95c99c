"""Charts as the page shows them: type of 13 px at least, in the inks of the theme."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import state, tokens

if TYPE_CHECKING:
    import plotly.graph_objects as go

FONT_PIXELS = 13  # the smallest that a page has
DIMMED = 0.15  # opacity of the series of which none is spoken
LECTURE_SCALE = 1.2


def get_scale() -> float:
    """Return by which factor type is larger than usual."""
    return LECTURE_SCALE if state.view().lecture else 1.0


def match_page(drawn: go.Figure) -> go.Figure:
    """Give a chart the type and the inks of the page; Streamlit's own are smaller and paler."""
    ink, size = tokens.get_palette(), FONT_PIXELS * get_scale()
    muted, strong = {"size": size, "color": ink.muted}, {"size": size, "color": ink.text}
    axis = {"tickfont": muted, "title_font": muted, "gridcolor": ink.fine_line, "zerolinecolor": ink.line}
    drawn.update_xaxes(separatethousands=True, **axis).update_yaxes(separatethousands=True, **axis)
    drawn.update_layout(legend_font=strong)
    drawn.update_traces(textfont=strong, selector={"type": "scatter"})
    # Half of an interval lies on its bar, half on the ground: of the inks of a dark page one that is seen on both.
    interval = ink.outranked if tokens.get_scheme() == "dark" else ink.text
    drawn.update_traces(outsidetextfont=strong, error_y_color=interval, selector={"type": "bar"})
    return drawn.update_annotations(font=strong)


def draw_once(draw: Callable[[], go.Figure], *facts: Hashable) -> go.Figure:
    """Return a chart that matches the page, drawn when nobody has seen it yet: drawing takes longer than the rest.

    `facts` say what is in it: what it is called, what it shows and its colours. All sessions share it, so it must not
    be modified.
    """
    return _draw_kept(facts, tokens.get_scheme(), get_scale(), draw)


@st.cache_resource(max_entries=100, show_spinner=False)
def _draw_kept(facts: tuple[Hashable, ...], scheme: str, scale: float, _draw: Callable[[], go.Figure]) -> go.Figure:
    return match_page(_draw())


def mark_series(drawn: go.Figure, rows: Mapping[str, str]) -> go.Figure:
    """Give each series the id of its row, of a list with `lights`, by which the list finds it.

    `rows` are ids of rows by the names of series.
    """
    for trace in drawn.data:
        trace.meta = rows.get(trace.name)
    return drawn


def light_series(drawn: go.Figure, *, key: str) -> str:
    """Return the style that dims all other series while the mouse or the keyboard is on one, or on its row.

    The series know their rows; `key` is that of the chart.
    """
    places: dict[str, list[int]] = {}
    for at, trace in enumerate(drawn.data, start=1):
        if trace.meta is not None:
            places.setdefault(trace.meta, []).append(at)
    chart = f".st-key-{key.replace('.', '-')}"
    rules = []
    for row, own in places.items():
        lit = f":root[data-lit={_quote(row)}] {chart}"
        others = "".join(f":not(:nth-child({at}))" for at in own)
        rules.append(f"{lit} :is(.scatterlayer > .trace, .legend .traces){others}{{opacity:{DIMMED}!important}}")
    return f"<style>{''.join(rules)}</style>"


def _quote(text: str) -> str:
    """Return a text as a string of a style sheet; only letters, digits and a few signs stay as they are."""
    return '"' + "".join(each if each.isalnum() or each in "-_." else f"\\{ord(each):x} " for each in text) + '"'
