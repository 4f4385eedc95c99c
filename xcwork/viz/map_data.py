"""What the label map shows: labels with a place, their colours, regions with names, and layers below them.

`MapData` holds what stays while a person looks at one layout. It is checked once and packed once, into parts that the
browser reads as typed arrays: the points, the names, the layers below the points, and one part per colour layer.
`MapState` holds what changes from one look to the next (selection, highlighted labels, the shown layer); it is small
and travels as JSON.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from xcwork.errors import ConfigError, DataError
from xcwork.viz.map_layers import MapEdges, MapGrid, MapHull, pack_layers
from xcwork.viz.map_parts import MapPart, pack_names, pack_part

MAX_CATEGORIES = 1 << 16
MAX_OUTLINED_LABELS = 5000  # a larger selection is shown by its outline
UNKNOWN_CODE = 255
TOOLS = ("lasso", "box", "move")


def check_colour(colour: str) -> None:
    """Raise an error unless the colour is written as #RRGGBB."""
    if len(colour) != 7 or colour[0] != "#" or not all(sign in "0123456789abcdefABCDEF" for sign in colour[1:]):
        raise ConfigError(f"a colour of the label map is written as #RRGGBB, got {colour!r}")


@dataclass(frozen=True)
class ColourEntry:
    """One colour of a legend, for a light and for a dark page."""

    name: str
    light: str  # "#RRGGBB"
    dark: str
    scale: float = 1.0  # size of the points; below 1 they also lie beneath the others

    def __post_init__(self) -> None:
        for colour in (self.light, self.dark):
            check_colour(colour)
        if not 0 < self.scale < 2:
            raise ConfigError(f"the points of {self.name!r} need a scale between 0 and 2, got {self.scale}")


UNKNOWN_ENTRY = ColourEntry("unknown", "#D3DAE1", "#3A4652", 0.6)


class ColourLayer(ABC):
    """What every colour layer has: a check of its length, and a part for the browser."""

    @abstractmethod
    def check(self, n: int) -> None:
        """Raise an error unless the layer fits `n` labels."""

    @abstractmethod
    def pack(self) -> MapPart:
        """Return the layer as a part for the browser."""

    @cached_property
    def part(self) -> MapPart:
        """The packed layer, made once."""
        return self.pack()


@dataclass(frozen=True, eq=False)
class CategoryColours(ColourLayer):
    """A colour layer with one of several named colours per label."""

    title: str
    codes: np.ndarray  # (n,) indices into `entries`
    entries: tuple[ColourEntry, ...]

    def check(self, n: int) -> None:
        """Raise an error unless there is a code per label and an entry per code."""
        if not 0 < len(self.entries) <= MAX_CATEGORIES:
            raise DataError(
                f"the colours {self.title!r} have {len(self.entries):,} entries, from 1 to 65,536 are possible"
            )
        if self.codes.shape != (n,) or not np.issubdtype(self.codes.dtype, np.integer):
            raise DataError(f"the colours {self.title!r} need one whole number per label, got shape {self.codes.shape}")
        if n and not 0 <= self.codes.min() <= self.codes.max() < len(self.entries):
            raise DataError(f"the colours {self.title!r} have a code without an entry")

    def pack(self) -> MapPart:
        """Return the layer as a part for the browser."""
        width = np.uint8 if len(self.entries) <= 256 else np.uint16
        layer = {"title": self.title, "entries": [vars(entry) for entry in self.entries]}
        return pack_part({"layer": layer}, {"codes": self.codes.astype(width)}, compressed={"codes"})


@dataclass(frozen=True, eq=False)
class ValueColours(ColourLayer):
    """A colour layer with a value from 0 to 1 per label, on a ramp of colours; NaN is unknown."""

    title: str
    values: np.ndarray  # (n,)
    light: tuple[str, ...]  # colours from low to high
    dark: tuple[str, ...]
    low: str = "0 %"
    high: str = "100 %"
    unknown: ColourEntry = UNKNOWN_ENTRY
    is_signed: bool = False  # 0.5 is no difference; said of a label from −100 % to +100 %

    def check(self, n: int) -> None:
        """Raise an error unless there is a value from 0 to 1, or NaN, per label."""
        if self.values.shape != (n,):
            raise DataError(f"the colours {self.title!r} need one value per label, got shape {self.values.shape}")
        known = self.values[~np.isnan(self.values)]
        if known.size and not (known.min() >= 0 and known.max() <= 1):
            raise DataError(f"the colours {self.title!r} have a value that is not between 0 and 1")
        if min(len(self.light), len(self.dark)) < 2:
            raise ConfigError(f"the ramp of {self.title!r} needs at least two colours")
        for colour in (*self.light, *self.dark):
            check_colour(colour)

    def pack(self) -> MapPart:
        """Return the layer as a part for the browser: 255 steps, and a code for unknown."""
        codes = np.rint(np.nan_to_num(self.values, nan=0) * (UNKNOWN_CODE - 1)).astype(np.uint8)
        codes[np.isnan(self.values)] = UNKNOWN_CODE
        layer = {
            "title": self.title,
            "ramp": {"light": self.light, "dark": self.dark},
            "low": self.low,
            "high": self.high,
            "is_signed": self.is_signed,
            "unknown": vars(self.unknown),
            "has_unknown": bool((codes == UNKNOWN_CODE).any()),
        }
        return pack_part({"layer": layer}, {"codes": codes}, compressed={"codes"})


@dataclass(frozen=True)
class MapRegion:
    """A group of labels with a name that is written on the map."""

    level: int  # 0 is the coarsest; level k is named from zoom 2^k on
    name: str
    x: float
    y: float
    n_labels: int
    found_share: float | None = None  # written beside the name of a weak region
    is_weak: bool = False
    parent: int = -1  # index of the region that it divides


@dataclass(frozen=True, eq=False)
class MapData:
    """All labels of a map with everything that does not change while it is looked at.

    Parameters
    ----------
    positions : float array, shape (n, 2), in [-1, 1]; y points up
    sizes : int array, shape (n,), training documents per label
    names : n texts
    colours : at least one layer; the first is shown first
    ids : int array, shape (n,), ascending label ids; 0 to n - 1 by default
    n_labels : labels of the dataset, with those that have no place; n by default
    """

    positions: np.ndarray
    sizes: np.ndarray
    names: Sequence[str]
    colours: tuple[CategoryColours | ValueColours, ...]
    ids: np.ndarray | None = None
    n_labels: int | None = None
    regions: tuple[MapRegion, ...] = ()
    hulls: tuple[MapHull, ...] = ()
    edges: tuple[MapEdges, ...] = ()
    grid: MapGrid | None = None
    caption: str = ""

    def __post_init__(self) -> None:
        n = len(self.positions)
        if self.positions.shape != (n, 2) or not np.isfinite(self.positions).all():
            raise DataError("the positions of a label map must be finite and have two columns")
        if n and np.abs(self.positions).max() > 1:
            raise DataError("a position of the label map is outside [-1, 1]", remedy="scale the layout first")
        if self.sizes.shape != (n,) or len(self.names) != n:
            raise DataError(
                f"{n:,} positions need as many sizes and names, got {len(self.sizes):,} and {len(self.names):,}"
            )
        if n and self.sizes.min() < 0:
            raise DataError("a label of the map has a negative number of training documents")
        if self.ids is not None and (self.ids.shape != (n,) or (np.diff(self.ids) <= 0).any()):
            raise DataError("the ids of a label map must be ascending, one per position")
        if not self.colours:
            raise ConfigError("a label map needs at least one colour layer")
        for layer in self.colours:
            layer.check(n)
        for region in self.regions:
            if not -1 <= region.parent < len(self.regions) or region.level < 0:
                raise DataError(f"the region {region.name!r} has a parent or a level that does not exist")

    @property
    def n_placed(self) -> int:
        """Labels with a place on the map."""
        return len(self.positions)

    @property
    def has_layers(self) -> bool:
        """Whether anything can be drawn below the points."""
        return bool(self.hulls or self.edges or self.grid)

    def find_places(self, ids: np.ndarray | Sequence[int]) -> np.ndarray:
        """Return the row of each label id; -1 for labels without a place."""
        wanted = np.asarray(ids, np.int64)
        known = np.arange(self.n_placed) if self.ids is None else self.ids
        rows = np.minimum(np.searchsorted(known, wanted), max(self.n_placed - 1, 0))
        return np.where(known[rows] == wanted, rows, -1) if self.n_placed else np.full(wanted.shape, -1)

    def find_colour(self, colour: int | str) -> int:
        """Return the index of a colour layer given by its index or title."""
        titles = [layer.title for layer in self.colours]
        if isinstance(colour, str) and colour in titles:
            return titles.index(colour)
        if isinstance(colour, int) and 0 <= colour < len(titles):
            return colour
        raise ConfigError(f"the map can be coloured by {', '.join(titles)}, got {colour!r}")

    def replace_colours(self, colours: tuple[CategoryColours | ValueColours, ...]) -> MapData:
        """Return the same map in other colours; what was packed of places, names and layers is not packed again."""
        other = replace(self, colours=colours)
        parts = {"points_part": self.points_part, "names_part": self.names_part, "layers_part": self.layers_part}
        vars(other).update(parts)
        return other

    def replace_layers(
        self, *, hulls: tuple[MapHull, ...] = (), edges: tuple[MapEdges, ...] = (), grid: MapGrid | None = None
    ) -> MapData:
        """Return the same map with other layers below its points, which are not packed again."""
        other = replace(self, hulls=hulls, edges=edges, grid=grid)
        vars(other).update(points_part=self.points_part, names_part=self.names_part)
        return other

    @cached_property
    def points_part(self) -> MapPart:
        """The part with positions, sizes and regions."""
        arrays = {"positions": self.positions.astype(np.float32), "sizes": self.sizes.astype(np.uint32)}
        if self.ids is not None:
            arrays["ids"] = self.ids.astype(np.uint32)
        header = {
            "n_labels": self.n_placed if self.n_labels is None else self.n_labels,
            "caption": self.caption or f"Map of {self.n_placed:,} labels",
            "regions": [vars(region) for region in self.regions],
        }
        return pack_part(header, arrays, compressed=set(arrays) - {"positions"})

    @cached_property
    def names_part(self) -> MapPart:
        """The part with all names."""
        return pack_names(self.names)

    @cached_property
    def layers_part(self) -> MapPart:
        """The part with hulls, edges and the grid."""
        return pack_layers(self.hulls, self.edges, self.grid, self.find_places)

    @property
    def colour_parts(self) -> tuple[MapPart, ...]:
        """One part per colour layer."""
        return tuple(layer.part for layer in self.colours)


@dataclass(frozen=True)
class MapState:
    """What changes from one look to the next; label ids throughout."""

    colour: int | str = 0  # index or title of the layer
    highlight: Sequence[int] = ()  # lit up, while all other labels fade
    selection: Sequence[int] = ()  # outlined
    lasso: Sequence[Sequence[float]] | None = None  # a polygon; the labels inside are outlined
    label: int | None = None  # ringed and named; the map flies to it
    region: int | None = None
    links: Sequence[tuple[int, int]] = ()  # pairs joined by lines
    layers: Sequence[str] = ()  # names of the edges and hulls that are shown
    show_grid: bool = False
    tool: str = "lasso"
    picture: int = 0  # a picture of the map is saved when this number changes

    def __post_init__(self) -> None:
        if self.tool not in TOOLS:
            raise ConfigError(f"the tool of a label map is one of {', '.join(TOOLS)}, got {self.tool!r}")

    def to_json(self) -> dict[str, Any]:
        """Return plain values; a selection that is too large for outlines is left to the lasso."""
        selection = self.selection if len(self.selection) <= MAX_OUTLINED_LABELS else ()
        return {
            "highlight": [int(label) for label in self.highlight[:MAX_OUTLINED_LABELS]],
            "selection": [int(label) for label in selection],
            "lasso": None if self.lasso is None else [[float(x), float(y)] for x, y in self.lasso],
            "label": None if self.label is None else int(self.label),
            "region": None if self.region is None else int(self.region),
            "links": [[int(one), int(other)] for one, other in self.links],
            "layers": list(self.layers),
            "show_grid": self.show_grid,
            "tool": self.tool,
            "picture": self.picture,
        }
