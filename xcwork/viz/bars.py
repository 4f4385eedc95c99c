"""Bars for a handful of numbers side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from xcwork.viz import apply_style, clean_caption, join_phrases, shorten, style_series

if TYPE_CHECKING:
    import plotly.graph_objects as go


def draw_grouped_bars(
    series: Mapping[str, Sequence[float]], names: Sequence[str], *, title: str, x: str = "", y: str = "value"
) -> go.Figure:
    """Draw one group of bars for each of `names`, one bar per series."""
    import pandas as pd
    import plotly.graph_objects as go

    figure = go.Figure()
    for position, (name, values) in enumerate(series.items()):
        figure.add_bar(
            x=[clean_caption(each) for each in names],
            y=list(values),
            name=clean_caption(name),
            # Above the bars: inside a hatched one nothing can be read.
            text=[_write_value(value) for value in values],
            textposition="outside",
            textangle=0,
            cliponaxis=False,
            marker=style_series(position).bar,
            hovertemplate="%{x}: %{y:.2f}<extra>%{fullData.name}</extra>",
        )
    first = next(iter(series), "")
    told = [f"{shorten(name)} {_write_value(value)}" for name, value in zip(names, series.get(first, ()), strict=False)]
    return apply_style(
        figure,
        title=clean_caption(title),
        x=clean_caption(x),
        y=clean_caption(y),
        barmode="group",
        bargap=0.4,
        showlegend=len(series) > 1,
        alt=f"{shorten(title)}, {shorten(first)}: {join_phrases(told, 8)}.",
        table=pd.DataFrame({"": list(names), **{name: list(values) for name, values in series.items()}}),
    )


def _write_value(value: float) -> str:
    """Return a count as it is, and any other number with one decimal."""
    return f"{value:,}" if isinstance(value, int) else f"{value:.1f}"
