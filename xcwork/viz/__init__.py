"""Figures: plain Plotly objects made from numbers, shared by the dashboard, notebooks and reports.

Colours are the Okabe-Ito set without its yellow, which vanishes on white; a second sign (dash, marker or hatching)
always tells series apart without colour. Text from outside goes through `plain`, because Plotly reads some HTML.
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import plotly.graph_objects as go

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
MARKERS = ("circle", "square", "diamond", "cross", "x", "triangle-up", "star")
HATCHES = ("", "/", ".", "x", "-", "\\", "+")
NAME_LENGTH = 60


def plain(text: object) -> str:
    """Text from outside, safe and short enough to stand in a figure."""
    shown = str(text)
    shown = shown if len(shown) <= NAME_LENGTH else shown[: NAME_LENGTH - 1] + "…"
    return html.escape(shown, quote=False)


def styled(figure: go.Figure, *, title: str, x: str, y: str, **layout: Any) -> go.Figure:
    """The look all figures share: title, labelled axes, a legend below."""
    return figure.update_layout(
        title={"text": title, "x": 0, "xanchor": "left"}, xaxis_title=x, yaxis_title=y, template="plotly_white",
        legend={"orientation": "h", "y": -0.25}, margin={"l": 60, "r": 20, "t": 60, "b": 60}, height=420,
        font={"size": 14}, **layout,
    )  # fmt: skip
