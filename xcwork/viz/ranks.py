"""Where true labels stand in the predicted lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xcwork.viz import apply_style, clean_caption, style_series

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

MAX_SINGLE_TICKS = 5  # documents up to which every whole number is a tick


def draw_rank_histogram(histogram: pd.DataFrame, *, title: str = "Where the true labels stand") -> go.Figure:
    """Draw bars of `xcwork.analysis.label_details.count_ranks`; what is not in the list is hatched."""
    import plotly.graph_objects as go

    absent = histogram["rank"] == "not listed"
    figure = go.Figure()
    for position, (name, rows) in enumerate((("listed", histogram[~absent]), ("not listed", histogram[absent]))):
        figure.add_bar(
            x=rows["rank"].tolist(),
            y=rows["documents"].tolist(),
            name=name,
            hovertemplate="rank %{x}: %{y:,}<extra></extra>",
            marker=style_series(position).bar,
        )
    counts = histogram["documents"]
    first, lost = int(counts.iloc[0]) if len(counts) else 0, int(counts[absent].sum())
    return apply_style(
        figure,
        title=clean_caption(title),
        x="rank",
        y="documents",
        showlegend=False,
        table=histogram,
        bargap=0.2,
        barmode="stack",
        xaxis={"type": "category", "categoryarray": histogram["rank"].tolist()},
        yaxis={"dtick": 1} if len(counts) and counts.max() <= MAX_SINGLE_TICKS else {},
        alt=f"Of {int(counts.sum()):,} true labels {first:,} stand first and {lost:,} are not listed.",
    )
