"""From the map of a run to what is drawn: places, names and regions, and the colours of `export/palette.py`.

>>> from xcwork.viz.map_assembly import map_labels
>>> map_labels(method, dataset)  # the last line of a cell of a notebook shows it

`xcwork.analysis.map_colours` says what a label map can be coloured by; here each class and each value gets its colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from xcwork.analysis.map_colours import (
    FOUND_NAMES,
    LabelClasses,
    LabelShares,
    ShareKind,
    colour_by_band,
    colour_by_found,
    colour_by_region,
)
from xcwork.analysis.map_selection import MapFacts, RegionScore
from xcwork.analysis.map_structures import MAX_CLASSES, StructureHull, StructureLayers
from xcwork.core.bands import Bands, make_absolute_bands
from xcwork.core.dataset import Dataset
from xcwork.core.topk import TopK
from xcwork.errors import DataError
from xcwork.export.palette import DARK, LIGHT, SERIES, Palette
from xcwork.layout.label_layout import compute_label_layout
from xcwork.layout.label_vectors import LabelVectors
from xcwork.layout.regions import find_regions
from xcwork.methods.base import Method
from xcwork.runs.run_map import RunMap
from xcwork.viz.map_data import CategoryColours, ColourEntry, MapData, MapRegion, MapState, ValueColours
from xcwork.viz.map_layers import MapEdges, MapGrid, MapHull
from xcwork.viz.map_view import HEIGHT_PIXELS, LabelMapView

BACKGROUND_SCALE = 0.6  # size of labels that a colour says nothing about
N_SERIES = 6  # colours for classes without an order; the last one of SERIES is grey
BANDS_LIGHT = (*LIGHT.bands, LIGHT.evidence_bar)
BANDS_DARK = (*DARK.bands, DARK.evidence_bar)


def map_labels(
    method: Method,
    dataset: Dataset,
    topk: TopK | None = None,
    *,
    kind: str = "umap",
    k: int = 5,
    colour: int | str = 0,
    height: int = HEIGHT_PIXELS,
    seed: int = 0,
) -> LabelMapView:
    """Return the map of a trained method's labels to look at; `topk` are its predictions for the test split."""
    vectors = LabelVectors.from_method(method, dataset.labels)
    layout = compute_label_layout(vectors, dataset.train.label_frequencies, kind=kind, seed=seed)
    run_map = RunMap(layout, find_regions(layout, dataset, seed=seed))
    predicted = method.predict(dataset.test, k) if topk is None else topk
    facts = MapFacts.from_predictions(predicted, dataset, k=k)
    scores = facts.rate_regions(run_map.regions, layout)
    data = make_map_data(run_map, dataset, make_usual_layers(facts, run_map), scores)
    return LabelMapView(data, MapState(colour=data.find_colour(colour)), height=height)


def make_map_data(
    run_map: RunMap,
    dataset: Dataset,
    layers: Sequence[LabelClasses | LabelShares],
    scores: Sequence[RegionScore] = (),
) -> MapData:
    """Return what the map draws; with `scores`, one per region, weak regions are written with their share."""
    layout = run_map.layout
    if layout.n_labels != len(dataset.labels):
        raise DataError(
            f"the map was made for {layout.n_labels:,} labels, but the dataset has {len(dataset.labels):,}",
            remedy="make the map again with `xcwork map --again`",
        )
    names = dataset.labels.names
    everyone = len(layout.ids) == len(names)
    return MapData(
        positions=layout.positions,
        sizes=dataset.train.label_frequencies[layout.ids],
        names=names if everyone else [names[label] for label in layout.ids.tolist()],
        ids=None if everyone else layout.ids,
        n_labels=layout.n_labels,
        colours=tuple(paint_layer(layer) for layer in layers),
        regions=_describe_regions(run_map, scores),
        caption=f"Map of {layout.caption}",
    )


def make_usual_layers(
    facts: MapFacts, run_map: RunMap, bands: Bands | None = None
) -> tuple[LabelClasses, LabelClasses, LabelClasses]:
    """Return the three colours that every map has: found, frequency and region."""
    ids = run_map.layout.ids
    bands = make_absolute_bands(facts.dataset.train.label_frequencies) if bands is None else bands
    return colour_by_found(facts, ids), colour_by_band(bands, ids), colour_by_region(run_map.regions)


def paint_layer(layer: LabelClasses | LabelShares) -> CategoryColours | ValueColours:
    """Return a layer with the colours of light and dark pages."""
    if isinstance(layer, LabelShares):
        light, dark = (_pick_ramp(layer.kind, palette) for palette in (LIGHT, DARK))
        is_signed = layer.kind is ShareKind.difference
        return ValueColours(layer.title, layer.values, light, dark, layer.low, layer.high, is_signed=is_signed)
    return CategoryColours(layer.title, layer.codes, _pick_entries(layer))


def _pick_ramp(kind: ShareKind, palette: Palette) -> tuple[str, ...]:
    """Return colours from low to high; those of quality are the ones of labels that are found never to always."""
    never, up_to_half, _, always, quiet = palette.map_found
    if kind is ShareKind.amount:
        return quiet, always, palette.primary.ground
    if kind is ShareKind.difference:
        return never, up_to_half, quiet, always, palette.primary.ground
    return palette.map_found[:4]


def add_structure(data: MapData, layers: StructureLayers) -> MapData:
    """Return the map with the layers of a method; on a head grid the labels stand in their cells instead."""
    if layers.grid is not None:
        grid = MapGrid(layers.grid.columns, layers.grid.rows)
        return replace(data, positions=layers.grid.positions, regions=(), hulls=(), edges=(), grid=grid)
    edges = () if layers.edges is None else (MapEdges(layers.title, layers.edges.pairs),)
    return data.replace_layers(hulls=tuple(_paint_hull(hull, layers.title) for hull in layers.hulls), edges=edges)


def _paint_hull(hull: StructureHull, layer: str) -> MapHull:
    """Return a hull in the colour that labels have when they are coloured by tree node."""
    if hull.family >= MAX_CLASSES:
        return MapHull(hull.name, hull.points, layer, hull.level)
    colour = SERIES[hull.family % N_SERIES]
    return MapHull(hull.name, hull.points, layer, hull.level, colour, colour)


def _pick_entries(layer: LabelClasses) -> tuple[ColourEntry, ...]:
    n = len(layer.names)
    if layer.names == FOUND_NAMES:
        pairs = list(zip(LIGHT.map_found, DARK.map_found, strict=True))
    elif layer.background is None and n <= len(BANDS_LIGHT):  # bands, of which the last is unseen in training
        pairs = [*zip(BANDS_LIGHT[: n - 1], BANDS_DARK[: n - 1], strict=True), (BANDS_LIGHT[-1], BANDS_DARK[-1])]
    else:
        pairs = [(SERIES[at % N_SERIES], SERIES[at % N_SERIES]) for at in range(n)]
    entries = [ColourEntry(name, *pair) for name, pair in zip(layer.names, pairs, strict=True)]
    if layer.background is not None:
        quiet = (LIGHT.map_found[-1], DARK.map_found[-1])
        entries[layer.background] = ColourEntry(layer.names[layer.background], *quiet, BACKGROUND_SCALE)
    return tuple(entries)


def _describe_regions(run_map: RunMap, scores: Sequence[RegionScore]) -> tuple[MapRegion, ...]:
    regions = run_map.regions.regions
    shares = [score.share if np.isfinite(score.share) else None for score in scores] or [None] * len(regions)
    weak = [score.is_weak for score in scores] or [False] * len(regions)
    return tuple(
        MapRegion(each.level, each.name, each.x, each.y, each.n_labels, share, is_weak, each.parent)
        for each, share, is_weak in zip(regions, shares, weak, strict=True)
    )
