"""Figures about probabilities: how many predictions are how sure, what a threshold gives, and what percentages mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from xcwork.export.palette import LIGHT, Palette
from xcwork.viz import apply_style, clean_caption, join_phrases

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

GROUP_WORDS = ("leave", "suggest", "assign")  # from the bottom of a bar to its top
SUGGEST_OPACITY = 0.58
CURVE_MARGIN_POINTS = 8.0  # below the lowest point of the curve
PERCENT_AXIS: dict[str, Any] = {"ticksuffix": " %", "automargin": False}  # without a title, the margin is enough
CURVE_MARGIN = {"l": 50, "r": 24, "t": 20, "b": 26}
MAX_BAR_SHARE = 1.22  # of the highest bar, so that numbers fit above it


def draw_probability_bars(
    bars: Mapping[str, Sequence[int]], *, colour: str, palette: Palette = LIGHT, height: int = 120
) -> go.Figure:
    """Draw how many predictions lie in each tenth of the probability, by what is done with them.

    The first tenth holds nearly all of them, so its number is written instead of drawn.
    """
    import pandas as pd
    import plotly.graph_objects as go

    n_bins = len(next(iter(bars.values())))
    width = 100.0 / n_bins
    totals = [sum(bars[word][at] for word in GROUP_WORDS) for at in range(n_bins)]
    looks: dict[str, dict[str, Any]] = {
        "leave": {"color": palette.bands[2]},
        "suggest": {"color": colour, "opacity": SUGGEST_OPACITY},
        "assign": {"color": colour},
    }
    figure = go.Figure()
    for word in GROUP_WORDS:
        figure.add_bar(
            x=[width * (at + 0.5) for at in range(1, n_bins)],
            y=list(bars[word][1:]),
            width=0.95 * width,
            name=word,
            marker=looks[word],
            customdata=[[width * at, width * (at + 1)] for at in range(1, n_bins)],
            hovertemplate="%{customdata[0]:.0f} to %{customdata[1]:.0f} %: %{y:,} " + word + "<extra></extra>",
        )
    highest = max([*totals[1:], 1])
    for at in range(1, n_bins):
        figure.add_annotation(
            x=width * (at + 0.5), y=totals[at], text=f"{totals[at]:,}", showarrow=False, yanchor="bottom"
        )
    figure.add_annotation(x=width / 2, y=0, text=f"{totals[0]:,} below", showarrow=False, yanchor="bottom")
    rows = [
        (f"{width * at:.0f} to {width * (at + 1):.0f} %", *(bars[word][at] for word in GROUP_WORDS), totals[at])
        for at in range(n_bins)
    ]
    told = [f"{total:,} from {width * at:.0f} to {width * (at + 1):.0f} %" for at, total in enumerate(totals)]
    apply_style(
        figure,
        title="",
        x="",
        y="",
        alt=f"Predictions by probability: {join_phrases(told, n_bins)}.",
        table=pd.DataFrame(rows, columns=["probability", "left out", "suggested", "assigned", "all"]),
        barmode="stack",
        showlegend=False,
        height=height,
        margin={"l": 0, "r": 0, "t": 0, "b": 0},
    )
    figure.update_xaxes(range=[0, 100], visible=False, fixedrange=True)
    figure.update_yaxes(range=[0, MAX_BAR_SHARE * highest], visible=False, fixedrange=True)
    return figure


def draw_threshold_curve(
    traced: pd.DataFrame, current: tuple[str, float, float] | None, *, colour: str, height: int = 260
) -> go.Figure:
    """Draw the share of assigned labels that is right against the documents that get one, threshold by threshold.

    `current` is the choice in use: what it is called, its documents and its share, in percent.
    """
    import plotly.graph_objects as go

    figure = go.Figure()
    figure.add_scatter(
        x=traced["documents"].tolist(),
        y=traced["right"].tolist(),
        mode="lines+markers",
        line={"color": colour, "width": 2.5},
        marker={"size": 4},
        customdata=traced[["from", "low", "high", "labels"]].to_numpy().tolist(),
        hovertemplate="from %{customdata[0]} %: %{y:.1f} % right (%{customdata[1]:.1f} to %{customdata[2]:.1f}), "
        "%{customdata[3]:,} labels, %{x:.1f} % of the documents<extra></extra>",
    )
    for percent in (20, 50):
        for row in traced[traced["from"] == percent].itertuples():
            figure.add_annotation(
                x=row.documents,
                y=row.right,
                text=f"from {percent} %",
                showarrow=False,
                xanchor="right",
                xshift=-10,
                yshift=-10,
            )
    named = traced[traced["from"].isin([20, 50])]
    figure.add_scatter(
        x=named["documents"].tolist(),
        y=named["right"].tolist(),
        mode="markers",
        marker={"size": 9, "symbol": "circle-open", "color": colour, "line": {"width": 2.5}},
        cliponaxis=False,
        hoverinfo="skip",
    )
    lowest = [float(traced["right"].min())] if len(traced) else []
    told = [
        f"{row.right:.0f} % right for {row.documents:.0f} % of the documents from {row[1]:.0f} % on"
        for row in traced[traced["from"].isin([20, 50, 80])].itertuples()
    ]
    if current is not None:
        name, documents, right = current
        figure.add_scatter(
            x=[documents],
            y=[right],
            mode="markers+text",
            text=[f"<b>{clean_caption(name)}</b>"],
            textposition="top right",
            marker={"size": 14, "color": colour},
            cliponaxis=False,
            hovertemplate=f"{clean_caption(name)}: %{{y:.1f}} % right, %{{x:.1f}} % of the documents<extra></extra>",
        )
        lowest.append(right)
    bottom = max(0.0, min([*lowest, 90.0]) - CURVE_MARGIN_POINTS)
    apply_style(
        figure,
        title="",
        x="",
        y="",
        alt=f"Share of assigned labels that is right: {join_phrases(told)}.",
        table=traced,
        showlegend=False,
        height=height,
        margin=CURVE_MARGIN,
    )
    figure.update_xaxes(range=[0, 100], **PERCENT_AXIS, dtick=25)
    figure.update_yaxes(range=[bottom, 103], **PERCENT_AXIS, nticks=5)
    return figure


def draw_reliability(rows: Sequence[Mapping[str, float]], *, colour: str, height: int = 260) -> go.Figure:
    """Draw for each tenth of the probability what share is right, with its 95 % interval, against what it says."""
    import pandas as pd
    import plotly.graph_objects as go

    figure = go.Figure()
    figure.add_bar(
        x=[row["said"] for row in rows],
        y=[row["right"] for row in rows],
        width=7.5,
        marker={"color": colour},
        opacity=0.86,
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [row["high"] - row["right"] for row in rows],
            "arrayminus": [row["right"] - row["low"] for row in rows],
            "thickness": 1.2,
            "width": 3,
        },
        customdata=[[row["n"], row["low"], row["high"]] for row in rows],
        hovertemplate="says %{x:.1f} %: %{y:.1f} % right (%{customdata[1]:.1f} to %{customdata[2]:.1f}) of "
        "%{customdata[0]:,}<extra></extra>",
    )
    figure.add_scatter(
        x=[0, 100],
        y=[0, 100],
        mode="lines",
        line={"dash": "dash", "width": 1.5},
        marker_color="grey",
        hoverinfo="skip",
    )
    below = [row["high"] for row in rows if 10 <= row["said"] <= 60]  # the words stand above these bars
    figure.add_annotation(x=34, y=min(max([58, *below]) + 8, 97), text="dashed: what it says", showarrow=False)
    told = [f"of {row['n']:,} that say {row['said']:.0f} %, {row['right']:.0f} % are right" for row in rows]
    apply_style(
        figure,
        title="",
        x="",
        y="",
        alt=f"Predictions by what they say: {join_phrases(told, len(told) or 1)}.",
        table=pd.DataFrame(list(rows)),
        showlegend=False,
        height=height,
        margin=CURVE_MARGIN,
    )
    figure.update_xaxes(range=[0, 100], **PERCENT_AXIS, dtick=25)
    figure.update_yaxes(range=[0, 103], **PERCENT_AXIS, nticks=5)
    return figure
