"""What lies below the points of a label map: hulls around labels, lines between them, a grid.

They are a part of their own for the browser, so that a map that is looked at stays as it is when a layer comes or goes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xcwork.viz.map_parts import MapPart, pack_part


@dataclass(frozen=True, eq=False)
class MapHull:
    """A polygon around labels that belong together; `layer` is the name by which it is shown or hidden."""

    name: str  # written on the map, unless it is empty
    points: np.ndarray  # (m, 2)
    layer: str = "hulls"
    level: int = 0  # level 0 is the outermost; level k is drawn from zoom 2^(k - 1) on
    light: str = "#5C7186"
    dark: str = "#9DB0C2"


@dataclass(frozen=True, eq=False)
class MapEdges:
    """Pairs of labels joined by lines, the strongest first; the first label of a pair is marked."""

    name: str
    pairs: np.ndarray  # (m, 2) label ids


@dataclass(frozen=True)
class MapGrid:
    """Lines across the map with captions: (place, caption) of each column and row."""

    columns: tuple[tuple[float, str], ...] = ()
    rows: tuple[tuple[float, str], ...] = ()


def pack_layers(
    hulls: Sequence[MapHull],
    edges: Sequence[MapEdges],
    grid: MapGrid | None,
    find_places: Callable[[np.ndarray], np.ndarray],
) -> MapPart:
    """Return the layers as a part for the browser; `find_places` gives the row of each label id, or -1."""
    arrays = {}
    for at, layer in enumerate(edges):
        places = find_places(layer.pairs.reshape(-1, 2))
        arrays[f"edges_{at}"] = places[(places >= 0).all(axis=1)].astype(np.uint32)
    header = {
        "hulls": [vars(hull) | {"points": np.round(hull.points.astype(float), 5).tolist()} for hull in hulls],
        "edges": [{"name": layer.name} for layer in edges],
        "grid": _describe_grid(grid),
    }
    return pack_part(header, arrays, compressed=set(arrays))


def _describe_grid(grid: MapGrid | None) -> dict[str, Any] | None:
    if grid is None:
        return None
    lines = {"columns": grid.columns, "rows": grid.rows}
    return {kind: [{"at": at, "name": name} for at, name in each] for kind, each in lines.items()}
