"""The label map as one cloud of points that can be lassoed.

All points are one WebGL trace and each has its label id in `customdata`: what a lasso returns is read from there,
never from the order of points. Bands differ by marker as well as by colour. A legend would need a trace for every
entry, so the key stands in the title instead.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from xcwork.errors import ConfigError
from xcwork.viz import COLOURS, MARKERS, apply_style, join_phrases, pick_colour, pick_marker, plain

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from xcwork.analysis.label_projection import LabelMap

COLOURINGS = ("band", "recall", "cluster")
SIGNS = dict(zip(MARKERS, "●■◆✚✖▲★", strict=True))
MAX_NAMED_LABELS = 6  # highlighted labels that get their name beside them
POINT_PIXELS = 6
HIGHLIGHTED_PIXELS = 13
BEHIND = "rgba(128, 128, 128, 0.3)"  # behind names, on a white and on a dark page
KEY_ENTRIES = 6  # in a line of the key
# Low, middle and high recall: colours that show on a white and on a dark page, unlike the ends of most scales.
RECALL = (COLOURS[1], COLOURS[3], COLOURS[0])
UNKNOWN = 0.01  # the first hundredth of the scale stands for labels without a recall


def label_map_figure(label_map: LabelMap, *, colour: str = "band", highlight: Collection[int] = ()) -> go.Figure:
    """Draw the map coloured by band, recall or cluster; labels in `highlight` are larger and have their names."""
    import plotly.graph_objects as go

    if colour not in COLOURINGS:
        raise ConfigError(f"the map can be coloured by {', '.join(COLOURINGS)}, got {colour!r}")
    points = label_map.points
    is_lit = np.isin(points["label_id"].to_numpy(), np.array(list(highlight), np.int64))
    bands = {name: position for position, name in enumerate(label_map.band_names)}
    colours, key = _choose_colours(points, colour, label_map.band_names)
    figure = go.Figure()
    figure.add_scattergl(
        x=points["x"].to_numpy(),
        y=points["y"].to_numpy(),
        mode="markers",
        customdata=points["label_id"].to_numpy(),
        text=[_write_hover(row) for row in points.itertuples()],
        hovertemplate="%{text}<extra></extra>",
        marker={
            "symbol": [pick_marker(bands[band]) for band in points["band"]],
            "size": np.where(is_lit, HIGHLIGHTED_PIXELS, POINT_PIXELS),
            "opacity": np.where(is_lit, 1.0, 0.75),
            "line": {"width": np.where(is_lit, 2, 0), "color": COLOURS[1]},
            **colours,
        },
    )
    _add_names(figure, points[is_lit].head(MAX_NAMED_LABELS))
    return apply_style(
        figure,
        title=f"{plain(label_map.caption, 120)}<br><sup>{key}</sup>",
        x="",
        y="",
        showlegend=False,
        alt=_describe_map(label_map, colour),
        table=points.drop(columns=["chosen"]),
        height=640,
        dragmode="lasso",
        margin={"t": 70 + 14 * key.count("<br>"), "l": 20},
        xaxis={"visible": False},
        yaxis={"visible": False, "scaleanchor": "x"},
        hovermode="closest",
    )


def _choose_colours(points: pd.DataFrame, by: str, bands: tuple[str, ...]) -> tuple[dict[str, Any], str]:
    """Return (marker settings, the key to colours and markers)."""
    shapes = [f"{SIGNS[pick_marker(i)]} {plain(band)}" for i, band in enumerate(bands)]
    if by == "recall":
        values = points["recall"].fillna(-100 * UNKNOWN).to_numpy(float)
        places = np.linspace(UNKNOWN, 1, len(RECALL)).tolist()
        scale = [[0, COLOURS[6]], [UNKNOWN, COLOURS[6]], *map(list, zip(places, RECALL, strict=True))]
        bar = {"title": {"text": "recall, %"}, "tickvals": [0, 25, 50, 75, 100]}
        settings = {"color": values, "colorscale": scale, "cmin": -100 * UNKNOWN, "cmax": 100, "colorbar": bar}
        return settings, _join_key([*shapes, "grey: no test document"])
    if by == "band":
        key = [f'<span style="color:{pick_colour(i)}">{shape}</span>' for i, shape in enumerate(shapes)]
        order = {band: i for i, band in enumerate(bands)}
        return {"color": [pick_colour(order[band]) for band in points["band"]]}, _join_key(key)
    clusters = sorted(points["cluster"].unique(), key=lambda name: int(name.partition(":")[0]))
    order = {name: i for i, name in enumerate(clusters)}
    key = [f'<span style="color:{pick_colour(i)}">{plain(name, 30)}</span>' for name, i in order.items()]
    return {"color": [pick_colour(order[name]) for name in points["cluster"]]}, _join_key([*shapes, *key])


def _join_key(entries: list[str]) -> str:
    """Return the key in lines of a few entries each."""
    return "<br>".join("  ".join(entries[at : at + KEY_ENTRIES]) for at in range(0, len(entries), KEY_ENTRIES))


def _write_hover(row: Any) -> str:
    recall = "" if np.isnan(row.recall) else f"<br>recall {row.recall:.0f} %"
    facts = f"{plain(row.band)}, {row.train_documents:,} training documents{recall}<br>cluster {plain(row.cluster)}"
    return f"{plain(row.label)}<br>{facts}"


def _add_names(figure: go.Figure, points: pd.DataFrame) -> None:
    """Put names around the place where the points lie, because labels that are alike lie close together."""
    angles = 2 * np.pi * (np.arange(len(points)) + 0.5) / max(len(points), 1)
    for row, angle in zip(points.itertuples(), angles, strict=True):
        figure.add_annotation(
            x=row.x,
            y=row.y,
            text=plain(row.label, 30),
            showarrow=True,
            arrowhead=0,
            arrowwidth=1,
            bgcolor=BEHIND,
            arrowcolor=COLOURS[6],
            ax=110 * np.cos(angle),
            ay=90 * np.sin(angle),
        )


def _describe_map(label_map: LabelMap, colour: str) -> str:
    points = label_map.points
    counts = points["band"].value_counts()
    told = [f"{counts[band]:,} {band}" for band in label_map.band_names if band in counts]
    text = f"Map of {label_map.caption}: {join_phrases(told)}"
    if colour == "recall" and points["recall"].notna().any():
        means = points.groupby("band")["recall"].mean().dropna()
        said = [f"{means[band]:.0f} % for {band}" for band in label_map.band_names if band in means]
        text += f". Mean recall: {join_phrases(said)}"
    elif colour == "cluster":
        sizes = points["cluster"].value_counts()
        text += f". The largest clusters: {join_phrases([f'{name} ({count:,})' for name, count in sizes.items()], 3)}"
    return f"{text}."
