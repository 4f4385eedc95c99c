"""Figures of studies: how cost grows with size, repeated simulations, label embeddings that are images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from xcwork.errors import ConfigError
from xcwork.viz import SCALE, colour, dash, listed, marker, plain, shortened, styled

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

MOST_IMAGES = 100
GAP = 2  # empty pixels between two images


def growth_exponent(sizes: Sequence[float], values: Sequence[float]) -> tuple[float, float]:
    """(e, c) of the power law value = c * size^e that fits best: a straight line through the logarithms."""
    sizes, values = np.asarray(sizes, float), np.asarray(values, float)
    if len(np.unique(sizes)) < 2 or (sizes <= 0).any() or (values <= 0).any():
        raise ConfigError("a growth curve needs positive values at two or more different sizes")
    exponent, start = np.polyfit(np.log(sizes), np.log(values), 1)
    return float(exponent), float(np.exp(start))


def growth_curves(
    series: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    title: str = "Growth",
    x: str = "labels",
    y: str = "seconds",
) -> go.Figure:
    """One line a series on two logarithmic axes, each with its fitted power law and exponent."""
    import pandas as pd
    import plotly.graph_objects as go

    figure, told, rows = go.Figure(), [], []
    for position, (name, (sizes, values)) in enumerate(series.items()):
        exponent, factor = growth_exponent(sizes, values)
        ends = [min(sizes), max(sizes)]
        figure.add_scatter(
            x=list(sizes),
            y=list(values),
            name=plain(name),
            mode="markers",
            legendgroup=str(position),
            marker={"symbol": marker(position), "color": colour(position), "size": 10},
            hovertemplate="%{x:,}: %{y:.4g}<extra>%{fullData.name}</extra>",
        )
        figure.add_scatter(
            x=ends,
            y=[factor * end**exponent for end in ends],
            mode="lines",
            legendgroup=str(position),
            name=f"size^{exponent:.2f}",
            line={"color": colour(position), "dash": dash(position)},
            hoverinfo="skip",
        )
        told.append(f"{shortened(name)} grows like size to the power of {exponent:.2f}")
        rows += [(name, size, value, exponent) for size, value in zip(sizes, values, strict=True)]
    return styled(
        figure,
        title=plain(title),
        x=plain(x),
        y=plain(y),
        xaxis_type="log",
        yaxis_type="log",
        showlegend=True,
        alt=f"{shortened(y)} against {shortened(x)}: {listed(told)}.",
        table=pd.DataFrame(rows, columns=["series", x, y, "exponent"]),
    )


def simulation_curves(
    series: Mapping[str, pd.DataFrame], *, title: str = "Simulation", x: str = "parameter", y: str = "value"
) -> go.Figure:
    """One line a series with a band around it. Each frame has the columns x, mean, low and high."""
    import pandas as pd
    import plotly.graph_objects as go

    figure, told = go.Figure(), []
    for position, (name, points) in enumerate(series.items()):
        across = points["x"].tolist()
        figure.add_scatter(
            x=across + across[::-1],
            y=points["high"].tolist() + points["low"].tolist()[::-1],
            fill="toself",
            fillcolor=_faint(colour(position)),
            line={"width": 0},
            hoverinfo="skip",
            showlegend=False,
            legendgroup=str(position),
            mode="lines",
        )
        figure.add_scatter(
            x=across,
            y=points["mean"].tolist(),
            name=plain(name),
            mode="lines+markers",
            legendgroup=str(position),
            line={"color": colour(position), "dash": dash(position)},
            marker={"symbol": marker(position), "size": 8},
            customdata=points[["low", "high"]].to_numpy(),
            hovertemplate="%{y:.4g} (%{customdata[0]:.4g} to %{customdata[1]:.4g})<extra>%{fullData.name}</extra>",
        )
        if len(points):
            first, last = points.iloc[0], points.iloc[-1]
            told.append(
                f"{shortened(name)} from {first['mean']:.3g} at {first['x']:.3g} to {last['mean']:.3g} at "
                f"{last['x']:.3g}"
            )
    tables = [points[["x", "mean", "low", "high"]].assign(series=name) for name, points in series.items()]
    return styled(
        figure,
        title=plain(title),
        x=plain(x),
        y=plain(y),
        showlegend=True,
        alt=f"{shortened(y)} against {shortened(x)}: {listed(told)}.",
        table=pd.concat(tables)[["series", "x", "mean", "low", "high"]] if tables else None,
    )


def image_grid(
    images: np.ndarray, names: Sequence[str], *, columns: int = 5, title: str = "Label embeddings as images"
) -> go.Figure:
    """Label embeddings that are images, (n, height, width), side by side with their names; at most a hundred."""
    import pandas as pd
    import plotly.graph_objects as go

    images = np.asarray(images, float)
    if images.ndim != 3 or len(images) != len(names):
        raise ConfigError(f"there must be one (height, width) image a name, got {images.shape} and {len(names)} names")
    images, names = images[:MOST_IMAGES], list(names)[:MOST_IMAGES]
    (n, height, width), columns = images.shape, max(1, min(columns, len(images)))
    n_rows = -(-n // columns)
    # Room above each image is for its name.
    room = max(3, height // 4)
    mosaic = np.full((n_rows * (height + room + GAP), columns * (width + GAP)), np.nan)
    figure = go.Figure()
    for at, (image, name) in enumerate(zip(images, names, strict=True)):
        top, left = (at // columns) * (height + room + GAP) + room, (at % columns) * (width + GAP)
        # Each image by its own range: an embedding has no scale of its own.
        low, high = image.min(), image.max()
        mosaic[top : top + height, left : left + width] = (image - low) / (high - low if high > low else 1.0)
        figure.add_annotation(x=left + width / 2, y=top - room / 2, text=plain(name, 20), showarrow=False)
    figure.add_heatmap(z=mosaic, colorscale=SCALE, showscale=False, hoverinfo="skip")
    table = pd.DataFrame(
        {
            "label": names,
            "smallest": images.min(axis=(1, 2)),
            "largest": images.max(axis=(1, 2)),
            "mean": images.mean(axis=(1, 2)),
        }
    )
    return styled(
        figure,
        title=plain(title),
        x="",
        y="",
        height=max(260, 60 + 150 * n_rows),
        table=table,
        alt=f"{n} label embeddings drawn as images of {width} by {height} pixels: {listed(list(map(str, names)), 10)}.",
        xaxis={"visible": False},
        yaxis={"visible": False, "autorange": "reversed", "scaleanchor": "x"},
    )


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, 0.2)"
