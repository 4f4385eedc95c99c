"""What a method makes of the labels: the graph of landmarks, the label tree, the grid of two heads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from xcwork.viz import COLOUR_SCALE, COLOURS, apply_style, clean_caption, join_phrases, pick_colour, pick_marker

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from xcwork.methods.landmarks.graph import LandmarkGraph

MAX_CELLS_PER_SIDE = 200  # of a grid
MAX_NAMED_LANDMARKS = 15


def draw_landmark_graph(graph: LandmarkGraph) -> go.Figure:
    """Draw landmarks, the labels that hang on them and how strongly; solid lines add, dotted lines take away."""
    import plotly.graph_objects as go

    nodes, edges, figure = graph.nodes, graph.edges, go.Figure()
    place = nodes.set_index("label_id")[["x", "y"]]
    for position, (name, dashes, chosen) in enumerate(
        (("adds", "solid", edges[edges["weight"] >= 0]), ("takes away", "dot", edges[edges["weight"] < 0]))
    ):
        ends = [place.loc[chosen[end].to_numpy()].to_numpy() for end in ("source", "target")]
        gap = np.full((len(chosen), 2), np.nan)
        path = np.stack([*ends, gap], axis=1).reshape(-1, 2)  # (3 * n_edges, 2): a break after every line
        figure.add_scatter(
            x=path[:, 0],
            y=path[:, 1],
            mode="lines",
            name=name,
            hoverinfo="skip",
            line={"color": COLOURS[6] if position == 0 else COLOURS[1], "width": 1, "dash": dashes},
        )
    for position, (kind, rows) in enumerate(nodes.groupby("kind", sort=False)):
        figure.add_scatter(
            x=rows["x"],
            y=rows["y"],
            mode="markers",
            name=clean_caption(kind),
            customdata=rows["label_id"],
            text=[
                f"{clean_caption(row.name)}<br>{row.documents:,} documents, {row.labels:,} labels hang on it"
                for row in rows[["name", "documents", "labels"]].itertuples(index=False)
            ],
            hovertemplate="%{text}<extra>%{fullData.name}</extra>",
            marker={
                "symbol": pick_marker(position),
                "color": pick_colour(position),
                "size": 14 if kind == "landmark" else 8,
            },
        )
    largest = nodes[nodes["kind"] == "landmark"].nlargest(MAX_NAMED_LANDMARKS, "labels")
    for row in largest[["name", "x", "y"]].itertuples(index=False):
        figure.add_annotation(x=row.x, y=row.y, text=clean_caption(row.name, 24), showarrow=False, yshift=14)
    told = [f"{row.name} ({row.labels:,} labels)" for row in largest[["name", "labels"]].itertuples(index=False)]
    return apply_style(
        figure,
        title=clean_caption(graph.caption, 120),
        x="",
        y="",
        showlegend=True,
        height=640,
        hovermode="closest",
        alt=f"Graph of {graph.caption}. Most labels hang on {join_phrases(told)}.",
        table=nodes.drop(columns=["x", "y"]),
        xaxis={"visible": False},
        yaxis={"visible": False},
    )


def draw_head_grid(
    grid: np.ndarray,
    *,
    title: str = "Labels as pairs of codes",
    value: str = "value",
    rows: str = "code of head 1",
    columns: str = "code of head 2",
) -> go.Figure:
    """Draw a heat map with one cell per pair of codes of two heads; codes that no label uses are NaN and stay empty.

    Of a grid with more than two hundred rows or columns, cells are averaged over blocks.
    """
    import pandas as pd
    import plotly.graph_objects as go

    values, (high, wide) = _average_blocks(np.asarray(grid, float))
    figure = go.Figure()
    figure.add_heatmap(
        z=values,
        colorscale=COLOUR_SCALE,
        colorbar={"title": {"text": clean_caption(value)}},
        hoverongaps=False,
        y=(np.arange(values.shape[0]) * high).tolist(),
        x=(np.arange(values.shape[1]) * wide).tolist(),
        hovertemplate=f"{clean_caption(rows)} %{{y}}, {clean_caption(columns)} %{{x}}: %{{z:.3g}}<extra></extra>",
    )
    used = int(np.isfinite(grid).sum())
    spread = f", from {np.nanmin(grid):.3g} to {np.nanmax(grid):.3g}" if used else ""
    at = np.argwhere(np.isfinite(values))
    table = pd.DataFrame(
        {rows: at[:, 0] * high, columns: at[:, 1] * wide, value: values[np.isfinite(values)]}
    ).sort_values(value, ascending=False, kind="stable")
    return apply_style(
        figure,
        title=clean_caption(title),
        x=clean_caption(columns),
        y=clean_caption(rows),
        height=520,
        table=table,
        alt=f"A grid of {grid.shape[0]:,} by {grid.shape[1]:,} codes of which {used:,} are used; {value}{spread}.",
        yaxis_autorange="reversed",
    )


def _average_blocks(grid: np.ndarray) -> tuple[np.ndarray, tuple[int, int]]:
    """Return (the grid, averaged over blocks where it is too large to draw; rows and columns of a block)."""
    size = tuple(-(-length // MAX_CELLS_PER_SIDE) for length in grid.shape)
    if size == (1, 1):
        return grid, size
    padding = [(0, -length % step) for length, step in zip(grid.shape, size, strict=True)]
    padded = np.pad(grid, padding, constant_values=np.nan)
    blocks = padded.reshape(padded.shape[0] // size[0], size[0], padded.shape[1] // size[1], size[1])
    counts = np.isfinite(blocks).sum(axis=(1, 3))
    means = np.divide(np.nansum(blocks, axis=(1, 3)), counts, out=np.full(counts.shape, np.nan), where=counts > 0)
    return means, size
