"""Figures: plain Plotly objects made from numbers, shared by the dashboard, notebooks and reports.

Colours are in `xcwork.export.palette`. A run has its own (`style_run`); other series have the Okabe-Ito set, with grey
for its black and without its yellow, so that all can be seen on a white and on a dark page (`style_series`). A second
sign (dash, marker or hatching) always tells series apart without colour. No text colour is set, so that the dashboard's
theme can choose one. Text from outside goes through `clean_caption`, because Plotly reads some HTML.

Every figure says in a sentence what it shows and has its numbers as a table, for people who cannot see it:
`get_alt_text(figure)` and `read_table(figure)`. Both travel in the figure's `layout.meta`.
"""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xcwork.export.palette import LIGHT, MARKS, SERIES, Palette, pick_mark
from xcwork.extras import require_package

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

require_package("plotly", "a figure")  # once here, for all modules that draw

COLOURS = SERIES
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
MARKERS = ("circle", "square", "diamond", "cross", "x", "triangle-up", "star")
HATCHES = ("", "/", ".", "x", "-", "\\", "+")
MARK_SYMBOLS = {"disc": "circle", "ring": "circle-open", "square": "square"}
COLOUR_SCALE = "Cividis"  # made to look the same with any colour vision
MAX_NAME_CHARACTERS = 60
HEIGHT_PIXELS = 420
LEGEND_BELOW_PIXELS = 75
MAX_TABLE_ROWS = 1000  # of a figure's table; a figure with more points has a page of its own for them


@dataclass(frozen=True)
class SeriesStyle:
    """How a line or a row of bars looks."""

    colour: str
    dash: str
    marker: str
    hatch: str

    @property
    def line(self) -> dict[str, str]:
        """The line, as Plotly takes it."""
        return {"color": self.colour, "dash": self.dash}

    @property
    def bar(self) -> dict[str, Any]:
        """The marker of bars, as Plotly takes it."""
        return {"color": self.colour, "pattern": {"shape": self.hatch}}


def style_series(position: int) -> SeriesStyle:
    """Return the look of the series at `position` of a figure."""
    return SeriesStyle(pick_colour(position), pick_dash(position), pick_marker(position), pick_hatch(position))


def style_run(number: int, palette: Palette = LIGHT) -> SeriesStyle:
    """Return the look of the run with this number: its colour, and a dash and a hatching that follow its mark."""
    mark = pick_mark(number)
    at = MARKS.index(mark)
    return SeriesStyle(palette.pick_run(number), DASHES[at], MARK_SYMBOLS[mark], HATCHES[at])


def clean_caption(text: object, length: int = MAX_NAME_CHARACTERS) -> str:
    """Return text from outside, safe and short enough to stand in a figure."""
    return html.escape(shorten(text, length), quote=False)


def shorten(text: object, length: int = MAX_NAME_CHARACTERS) -> str:
    """Return text cut at `length`."""
    shown = str(text)
    return shown if len(shown) <= length else shown[: length - 1] + "…"


def apply_style(
    figure: go.Figure, *, title: str, x: str, y: str, alt: str, table: pd.DataFrame | None = None, **layout: Any
) -> go.Figure:
    """Give a figure the look that all share: title, labelled axes, a legend below; and what it shows, in words."""
    attach_description(figure, alt, table)
    margin = {"l": 60, "r": 20, "t": 60, "b": 60} | layout.pop("margin", {})
    height = layout.pop("height", HEIGHT_PIXELS)
    inside = max(height - margin["t"] - margin["b"], 1)  # pixels of the plot, in which the legend's place is measured
    return figure.update_layout(
        title={"text": title, "x": 0, "xanchor": "left"},
        xaxis_title=x,
        yaxis_title=y,
        template="plotly_white",
        legend={"orientation": "h", "y": -LEGEND_BELOW_PIXELS / inside},
        margin=margin,
        height=height,
        font={"size": 14},
        **layout,
    )


def attach_description(figure: go.Figure, alt: str, table: pd.DataFrame | None = None) -> go.Figure:
    """Attach the sentence and the first rows of the table that say what the figure shows."""
    meta: dict[str, Any] = {"alt": alt}
    if table is not None:
        rows = [
            [_to_json_value(cell) for cell in row]
            for row in table.head(MAX_TABLE_ROWS).itertuples(index=False, name=None)
        ]
        meta["table"] = {"columns": [str(column) for column in table.columns], "rows": rows, "total": len(table)}
    return figure.update_layout(meta=meta)


def get_alt_text(figure: go.Figure) -> str:
    """Return what the figure shows, as a sentence made from its data."""
    return str((figure.layout.meta or {}).get("alt", ""))


def read_table(figure: go.Figure) -> pd.DataFrame:
    """Return the numbers of the figure (at most a thousand rows); empty for a figure without any."""
    import pandas as pd

    table = (figure.layout.meta or {}).get("table") or {"columns": [], "rows": []}
    return pd.DataFrame(list(table["rows"]), columns=list(table["columns"]))


def pick_colour(position: int) -> str:
    """Return the colour of the series at `position`."""
    return COLOURS[position % len(COLOURS)]


def pick_dash(position: int) -> str:
    """Return the dash of the line at `position`."""
    return DASHES[position % len(DASHES)]


def pick_marker(position: int) -> str:
    """Return the marker of the series at `position`."""
    return MARKERS[position % len(MARKERS)]


def pick_hatch(position: int) -> str:
    """Return the hatching of the bars at `position`."""
    return HATCHES[position % len(HATCHES)]


def join_phrases(parts: list[str], limit: int = 4) -> str:
    """Return some phrases as one; beyond `limit` the rest is counted."""
    shown = parts[:limit] + ([f"{len(parts) - limit} more"] if len(parts) > limit else [])
    return ", ".join(shown[:-1]) + (" and " if len(shown) > 1 else "") + shown[-1] if shown else "nothing"


def _to_json_value(cell: Any) -> Any:
    """Return a cell as JSON can hold it."""
    import pandas as pd

    if hasattr(cell, "item"):
        cell = cell.item()
    if cell is None or isinstance(cell, bool | int | str):
        return cell
    if isinstance(cell, float):
        return cell if math.isfinite(cell) else None
    return None if pd.isna(cell) else str(cell)


def shorten_middle(text: object, length: int = MAX_NAME_CHARACTERS) -> str:
    """Return text of at most `length` characters, cut in the middle: the end often tells names apart."""
    shown, n_last = str(text), (length - 1) // 2
    return shown if len(shown) <= length else f"{shown[: length - 1 - n_last]}…{shown[-n_last:]}"
