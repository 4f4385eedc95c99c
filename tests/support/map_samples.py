"""Label maps of any size with known structure: groups inside groups, rare labels, names of regions on three levels."""

from __future__ import annotations

import numpy as np

from xcwork.viz.map_data import (
    CategoryColours,
    ColourEntry,
    MapData,
    MapRegion,
    ValueColours,
)
from xcwork.viz.map_layers import MapEdges, MapGrid, MapHull

SIZES = (3_400, 41_218, 148_730, 1_000_000)  # three datasets and what a map must bear
FOUND = (
    ColourEntry("never", "#B5310B", "#FF7F50"),
    ColourEntry("up to half", "#E38B50", "#E8A871"),
    ColourEntry("mostly", "#C4B08B", "#B9A98A"),
    ColourEntry("always", "#7EA2BE", "#6F9DC0"),
    ColourEntry("not in the test split", "#D3DAE1", "#3A4652", 0.6),
)
HUES = ("#0072B2", "#D55E00", "#009E73", "#C4689B", "#3527B0", "#7F2A12", "#56B4E9", "#B57F00")
FIRST = [
    "graph",
    "signal",
    "spline",
    "index",
    "sparse",
    "random",
    "matrix",
    "kernel",
    "fourier",
    "date",
    "array",
    "text",
    "image",
    "bessel",
    "tree",
    "cluster",
]
SECOND = [
    "filter",
    "cut",
    "series",
    "window",
    "sample",
    "gradient",
    "shift",
    "merge",
    "plot",
    "product",
    "sort",
    "view",
    "fit",
    "root",
    "node",
    "bound",
]
CHILDREN = 4  # groups inside a group


def make_map(n: int, seed: int = 0) -> MapData:
    """Return a map of `n` labels in groups of unequal size and spread."""
    rng = np.random.default_rng(seed)
    n_coarse = min(24, max(2, n // 20))
    centres, parents = _place_groups(rng, n_coarse)
    finest = np.flatnonzero(np.arange(len(centres)) >= len(centres) - n_coarse * CHILDREN**2)
    weights = rng.pareto(1.5, len(finest)) + 0.3
    groups = finest[rng.choice(len(finest), n, p=weights / weights.sum())]
    spread = 0.03 + 0.02 * rng.random(len(centres))[groups]
    positions = centres[groups] + spread[:, None] * rng.standard_normal((n, 2)) * rng.gamma(1.0, 0.9, (n, 1)) ** 0.5
    positions = np.clip(positions / 1.25, -1, 1).astype(np.float32)
    sizes = np.minimum(rng.zipf(1.7, n), 20_000).astype(np.uint32)
    regions = _name_regions(positions, groups, centres, parents, rng)
    middle = n // 2
    return MapData(
        positions=positions,
        sizes=sizes,
        names=_make_names(n, groups, rng),
        colours=(
            CategoryColours("Found among the first 5", _draw_outcomes(n, groups, rng), FOUND),
            ValueColours(
                "Frequency", (np.log1p(sizes) / np.log1p(sizes.max())).astype(np.float32), *_make_ramps(), "1", "most"
            ),
            CategoryColours(
                "Region",
                groups % len(HUES),
                tuple(ColourEntry(f"family {at}", hue, hue) for at, hue in enumerate(HUES)),
            ),
        ),
        n_labels=n + 20,
        regions=regions,
        hulls=tuple(MapHull(f"group {at}", _make_ring(centres[at] / 1.25, 0.16), "groups") for at in range(n_coarse)),
        edges=(MapEdges("neighbours", np.column_stack([np.arange(middle), np.arange(middle) + n - middle])[:4000]),),
        grid=MapGrid(tuple((x, f"head {at}") for at, x in enumerate((-0.5, 0.0, 0.5))), ((0.0, "group 0"),)),
        caption=f"Map of {n:,} labels in {n_coarse} groups",
    )


def _place_groups(rng: np.random.Generator, n_coarse: int) -> tuple[np.ndarray, np.ndarray]:
    """Return centres and parents of groups on three levels, the coarsest first."""
    turns = np.arange(n_coarse) * 2.39996
    level = np.sqrt((np.arange(n_coarse) + 0.5) / n_coarse)[:, None] * np.column_stack([np.cos(turns), np.sin(turns)])
    centres, parents = [level + 0.05 * rng.standard_normal((n_coarse, 2))], [np.full(n_coarse, -1)]
    first = 0
    for reach in (0.13, 0.05):
        above = centres[-1]
        centres.append(np.repeat(above, CHILDREN, axis=0) + reach * rng.standard_normal((len(above) * CHILDREN, 2)))
        parents.append(np.repeat(np.arange(len(above)), CHILDREN) + first)
        first += len(above)
    return np.concatenate(centres), np.concatenate(parents)


def _name_regions(
    positions: np.ndarray, groups: np.ndarray, centres: np.ndarray, parents: np.ndarray, rng: np.random.Generator
) -> tuple[MapRegion, ...]:
    levels = np.zeros(len(centres), int)
    for at in np.flatnonzero(parents >= 0):
        levels[at] = levels[parents[at]] + 1
    counts = np.bincount(groups, minlength=len(centres))
    for at in reversed(np.flatnonzero(parents >= 0)):
        counts[parents[at]] += counts[at]
    shares = rng.beta(6, 2, len(centres))
    pairs = rng.permutation(len(FIRST) * len(SECOND))
    return tuple(
        MapRegion(
            level=int(levels[at]),
            name=f"{FIRST[pairs[at % len(pairs)] // 16]} · {SECOND[pairs[at % len(pairs)] % 16]}"
            + (f" {at}" if at >= 256 else ""),
            x=float(np.clip(centres[at, 0] / 1.25, -1, 1)),
            y=float(np.clip(centres[at, 1] / 1.25, -1, 1)),
            n_labels=int(counts[at]),
            found_share=float(shares[at]),
            is_weak=bool(shares[at] < 0.55),
            parent=int(parents[at]),
        )
        for at in range(len(centres))
    )


def _draw_outcomes(n: int, groups: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return how well each label is found: some groups are worse than others, half the labels are never asked for."""
    luck = rng.beta(3, 1.2, groups.max() + 1)[groups]
    drawn = np.digitize(np.clip(luck + 0.25 * rng.standard_normal(n), 0, 1), (0.35, 0.55, 0.7))
    return np.where(rng.random(n) < 0.5, 4, drawn).astype(np.uint8)


def _make_names(n: int, groups: np.ndarray, rng: np.random.Generator) -> list[str]:
    words = rng.integers(16, size=(n, 2)).tolist()
    return [
        f"{FIRST[group % 16]}.{SECOND[a]}_{FIRST[b]}_{at}"
        for at, (group, (a, b)) in enumerate(zip(groups.tolist(), words, strict=True))
    ]


def _make_ramps() -> tuple[tuple[str, ...], tuple[str, ...]]:
    return ("#C9D6E2", "#5C7186", "#22303C"), ("#3A4652", "#9DB0C2", "#F2F5F8")


def _make_ring(centre: np.ndarray, radius: float) -> np.ndarray:
    turns = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    return np.clip(centre + radius * np.column_stack([np.cos(turns), np.sin(turns)]), -1, 1)
