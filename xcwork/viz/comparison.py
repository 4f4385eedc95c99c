"""Runs compared: dots for their metrics, and differences to a reference with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xcwork.viz import COLOURS, apply_style, clean_caption, join_phrases, pick_colour, pick_marker, shorten

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


ROW_PIXELS = 30


def draw_delta_dots(
    deltas: pd.DataFrame, *, reference: str, metrics: Sequence[str] = ("P@1", "P@5", "PSP@5")
) -> go.Figure:
    """Draw differences to the reference run with their 95 % intervals; a hollow dot may be chance."""
    import plotly.graph_objects as go

    shown = deltas[deltas["metric"].isin(list(metrics))]
    runs = list(dict.fromkeys(shown["run"]))
    figure = go.Figure()
    for position, metric in enumerate(metrics):
        rows = shown[shown["metric"] == metric]
        symbol = pick_marker(position)
        figure.add_scatter(
            x=rows["difference"].tolist(),
            name=clean_caption(metric),
            mode="markers",
            y=[runs.index(run) + 0.22 * (position - (len(metrics) - 1) / 2) for run in rows["run"]],
            error_x={
                "type": "data",
                "symmetric": False,
                "array": (rows["high"] - rows["difference"]).tolist(),
                "arrayminus": (rows["difference"] - rows["low"]).tolist(),
            },
            marker={
                "size": 10,
                "color": pick_colour(position),
                "symbol": [symbol if significant else f"{symbol}-open" for significant in rows["significant"]],
            },
            hovertemplate="%{x:+.2f}<extra>%{fullData.name}</extra>",
        )
    figure.add_vline(x=0, line={"color": COLOURS[6], "dash": "dot"})
    told = [
        f"{shorten(row.run)} {row.difference:+.2f} in {row.metric}"
        + ("" if row.significant else ", which may be chance")
        for row in shown.itertuples()
    ]
    return apply_style(
        figure,
        title=f"Difference to {clean_caption(reference)}",
        x="points (filled: significant at 95 %)",
        y="",
        showlegend=True,
        alt=f"Compared with {shorten(reference)}: {join_phrases(told, 6)}.",
        table=shown,
        height=180 + 3 * ROW_PIXELS * len(runs),
        yaxis={
            "autorange": "reversed",
            "tickvals": list(range(len(runs))),
            "ticktext": [clean_caption(run) for run in runs],
            "automargin": True,
        },
    )
