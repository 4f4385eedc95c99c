"""Figures of studies: how cost grows with size, repeated simulations, label embeddings that are images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from xcwork.errors import ConfigError
from xcwork.viz import (
    COLOUR_SCALE,
    apply_style,
    clean_caption,
    join_phrases,
    pick_colour,
    pick_dash,
    pick_marker,
    shorten,
)

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

MAX_IMAGES = 100
GAP_PIXELS = 2  # between two images


def fit_growth_exponent(sizes: Sequence[float], values: Sequence[float]) -> tuple[float, float]:
    """Return (e, c) of the power law value = c * size^e that fits best: a straight line through the logarithms."""
    across = np.asarray(sizes, float)
    up = np.asarray(values, float)
    if len(np.unique(across)) < 2 or (across <= 0).any() or (up <= 0).any():
        raise ConfigError("a growth curve needs positive values at two or more different sizes")
    exponent, start = np.polyfit(np.log(across), np.log(up), 1)
    return float(exponent), float(np.exp(start))


def draw_growth_curves(
    series: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    title: str = "Growth",
    x: str = "labels",
    y: str = "seconds",
) -> go.Figure:
    """Draw one line per series on two logarithmic axes, each with its fitted power law and exponent."""
    import pandas as pd
    import plotly.graph_objects as go

    figure, told, rows = go.Figure(), [], []
    for position, (name, (sizes, values)) in enumerate(series.items()):
        exponent, factor = fit_growth_exponent(sizes, values)
        ends = [min(sizes), max(sizes)]
        figure.add_scatter(
            x=list(sizes),
            y=list(values),
            name=clean_caption(name),
            mode="markers",
            legendgroup=str(position),
            marker={"symbol": pick_marker(position), "color": pick_colour(position), "size": 10},
            hovertemplate="%{x:,}: %{y:.4g}<extra>%{fullData.name}</extra>",
        )
        figure.add_scatter(
            x=ends,
            y=[factor * end**exponent for end in ends],
            mode="lines",
            legendgroup=str(position),
            name=f"size^{exponent:.2f}",
            line={"color": pick_colour(position), "dash": pick_dash(position)},
            hoverinfo="skip",
        )
        told.append(f"{shorten(name)} grows like size to the power of {exponent:.2f}")
        rows += [(name, size, value, exponent) for size, value in zip(sizes, values, strict=True)]
    return apply_style(
        figure,
        title=clean_caption(title),
        x=clean_caption(x),
        y=clean_caption(y),
        xaxis_type="log",
        yaxis_type="log",
        showlegend=True,
        alt=f"{shorten(y)} against {shorten(x)}: {join_phrases(told)}.",
        table=pd.DataFrame(rows, columns=["series", x, y, "exponent"]),
    )


def draw_simulation_curves(
    series: Mapping[str, pd.DataFrame], *, title: str = "Simulation", x: str = "parameter", y: str = "value"
) -> go.Figure:
    """Draw one line per series with a band around it. Each frame has the columns x, mean, low and high."""
    import pandas as pd
    import plotly.graph_objects as go

    figure, told = go.Figure(), []
    for position, (name, points) in enumerate(series.items()):
        across = points["x"].tolist()
        figure.add_scatter(
            x=across + across[::-1],
            y=points["high"].tolist() + points["low"].tolist()[::-1],
            fill="toself",
            fillcolor=_make_faint(pick_colour(position)),
            line={"width": 0},
            hoverinfo="skip",
            showlegend=False,
            legendgroup=str(position),
            mode="lines",
        )
        figure.add_scatter(
            x=across,
            y=points["mean"].tolist(),
            name=clean_caption(name),
            mode="lines+markers",
            legendgroup=str(position),
            line={"color": pick_colour(position), "dash": pick_dash(position)},
            marker={"symbol": pick_marker(position), "size": 8},
            customdata=points[["low", "high"]].to_numpy(),
            hovertemplate="%{y:.4g} (%{customdata[0]:.4g} to %{customdata[1]:.4g})<extra>%{fullData.name}</extra>",
        )
        if len(points):
            first, last = points.iloc[0], points.iloc[-1]
            told.append(
                f"{shorten(name)} from {first['mean']:.3g} at {first['x']:.3g} to {last['mean']:.3g} at {last['x']:.3g}"
            )
    tables = [points[["x", "mean", "low", "high"]].assign(series=name) for name, points in series.items()]
    return apply_style(
        figure,
        title=clean_caption(title),
        x=clean_caption(x),
        y=clean_caption(y),
        showlegend=True,
        alt=f"{shorten(y)} against {shorten(x)}: {join_phrases(told)}.",
        table=pd.concat(tables)[["series", "x", "mean", "low", "high"]] if tables else None,
    )


def draw_points_on_a_line(points: np.ndarray, classes: np.ndarray, angle: float, *, title: str) -> go.Figure:
    """Draw points of the plane by class, and the line on which a unit that looks in the direction `angle` sees them."""
    import pandas as pd
    import plotly.graph_objects as go

    figure = go.Figure()
    for name in np.unique(classes).tolist():
        of_class = points[classes == name]
        figure.add_scatter(
            x=of_class[:, 0],
            y=of_class[:, 1],
            mode="markers",
            name=f"class {name + 1}",
            marker={"color": pick_colour(name), "symbol": pick_marker(name), "size": 7},
        )
    reach = float(np.abs(points).max(initial=1.0)) * np.sqrt(2)
    across, up = reach * np.cos(angle), reach * np.sin(angle)
    figure.add_scatter(
        x=[-across, across], y=[-up, up], mode="lines", name="what the unit sees", line={"dash": "dash", "width": 3}
    )
    seen = points @ np.array([np.cos(angle), np.sin(angle)])
    return apply_style(
        figure,
        title=clean_caption(title),
        x="first feature",
        y="second feature",
        yaxis_scaleanchor="x",
        xaxis_constrain="domain",
        showlegend=True,
        alt=f"{len(points):,} points of {len(np.unique(classes))} classes in the plane, and a line through the middle "
        f"at {np.degrees(angle):.0f} degrees, on which one unit sees them.",
        table=pd.DataFrame({"class": classes + 1, "first": points[:, 0], "second": points[:, 1], "seen at": seen}),
    )


def draw_image_grid(
    images: np.ndarray, names: Sequence[str], *, columns: int = 5, title: str = "Label embeddings as images"
) -> go.Figure:
    """Draw label embeddings that are images, (n, height, width), side by side with their names; at most a hundred."""
    import pandas as pd
    import plotly.graph_objects as go

    images = np.asarray(images, float)
    if images.ndim != 3 or len(images) != len(names):
        raise ConfigError(
            f"there must be one (height, width) image per name, got {images.shape} and {len(names)} names"
        )
    images, names = images[:MAX_IMAGES], list(names)[:MAX_IMAGES]
    (n, height, width), columns = images.shape, max(1, min(columns, len(images)))
    n_rows = -(-n // columns)
    # Room above each image is for its name.
    room = max(3, height // 4)
    mosaic = np.full((n_rows * (height + room + GAP_PIXELS), columns * (width + GAP_PIXELS)), np.nan)
    figure = go.Figure()
    for at, (image, name) in enumerate(zip(images, names, strict=True)):
        top, left = (at // columns) * (height + room + GAP_PIXELS) + room, (at % columns) * (width + GAP_PIXELS)
        # Each image by its own range: an embedding has no scale of its own.
        low, high = image.min(), image.max()
        mosaic[top : top + height, left : left + width] = (image - low) / (high - low if high > low else 1.0)
        figure.add_annotation(x=left + width / 2, y=top - room / 2, text=clean_caption(name, 20), showarrow=False)
    figure.add_heatmap(z=mosaic, colorscale=COLOUR_SCALE, showscale=False, hoverinfo="skip")
    table = pd.DataFrame(
        {
            "label": names,
            "smallest": images.min(axis=(1, 2)),
            "largest": images.max(axis=(1, 2)),
            "mean": images.mean(axis=(1, 2)),
        }
    )
    return apply_style(
        figure,
        title=clean_caption(title),
        x="",
        y="",
        height=max(260, 60 + 150 * n_rows),
        table=table,
        alt=f"{n} label embeddings drawn as images of {width} by {height} pixels: "
        f"{join_phrases(list(map(str, names)), 10)}.",
        xaxis={"visible": False},
        yaxis={"visible": False, "autorange": "reversed", "scaleanchor": "x"},
    )


def _make_faint(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, 0.2)"
