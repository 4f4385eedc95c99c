"""From the map of a run to what is drawn: names, regions, colours of the palette, and what does not fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.support.topics import make_topics
from xcwork.analysis.map_colours import LabelClasses, LabelShares, ShareKind
from xcwork.analysis.map_selection import RegionScore
from xcwork.analysis.map_structures import StructureEdges, StructureGrid, StructureHull, StructureLayers
from xcwork.core.dataset import Dataset
from xcwork.errors import DataError
from xcwork.export.palette import DARK, LIGHT, SERIES
from xcwork.layout.label_layout import LabelLayout
from xcwork.layout.regions import LabelRegion, LabelRegions
from xcwork.methods import registry
from xcwork.runs.run_map import RunMap
from xcwork.viz.map_assembly import add_structure, make_map_data, map_labels, paint_layer


@pytest.fixture(scope="module")
def data() -> Dataset:
    return make_topics()


def lay_out(data: Dataset, ids: list[int]) -> RunMap:
    places = np.linspace(-0.9, 0.9, 2 * len(ids), dtype=np.float32).reshape(-1, 2)
    layout = LabelLayout(np.array(ids), places, "pca", len(data.labels), len(ids), "made up")
    regions = (LabelRegion(0, "all", 0, 0, len(ids)), LabelRegion(1, "part", 0, 0, 1, 0))
    return RunMap(layout, LabelRegions(regions, np.zeros((2, len(ids)), np.int32)))


def test_labels_without_a_place_keep_the_ids_of_the_others(data: Dataset) -> None:
    ids = [label for label in range(len(data.labels)) if label != 1]
    shares = LabelShares("Share", np.linspace(0, 1, len(ids), dtype=np.float32))
    made = make_map_data(lay_out(data, ids), data, [shares])
    assert made.ids.tolist() == ids
    assert list(made.names) == [data.labels.names[label] for label in ids]
    assert made.sizes.tolist() == data.train.label_frequencies[ids].tolist()
    assert made.n_labels == len(ids) + 1
    assert "1 of them without a place" in made.caption


def test_weak_regions_have_their_share(data: Dataset) -> None:
    ids = list(range(len(data.labels)))
    shares = LabelShares("Share", np.zeros(len(ids), np.float32))
    scores = [RegionScore(0, 3, 4, 2, 0.75, 0.5, 0.9, True), RegionScore(1, 0, 0, 0, np.nan, 0, 1, False)]
    all_labels, part = make_map_data(lay_out(data, ids), data, [shares], scores).regions
    assert (all_labels.found_share, all_labels.is_weak) == (0.75, True)
    assert (part.found_share, part.is_weak, part.parent) == (None, False, 0)


def test_a_map_of_other_labels_is_refused(data: Dataset) -> None:
    run_map = lay_out(data, [0, 1])
    other = replace(run_map, layout=replace(run_map.layout, n_labels=len(data.labels) + 1))
    with pytest.raises(DataError, match="the map was made for"):
        make_map_data(other, data, [LabelShares("Share", np.zeros(2, np.float32))])


def test_classes_have_the_colours_of_the_palette() -> None:
    codes = np.zeros(3, np.uint16)
    found = paint_layer(
        LabelClasses("Found", codes, ("never", "up to half", "mostly", "always", "not in the test split"), 4)
    )
    assert tuple(entry.light for entry in found.entries) == LIGHT.map_found
    assert tuple(entry.dark for entry in found.entries) == DARK.map_found
    assert [entry.scale < 1 for entry in found.entries] == [False] * 4 + [True]
    for names in (("head", "torso", "tail", "zero-shot"), ("many-shot", "few-shot", "zero-shot")):
        bands = paint_layer(LabelClasses("Frequency", codes, names))
        assert [entry.light for entry in bands.entries[:-1]] == list(LIGHT.bands[: len(names) - 1])
        assert len({entry.light for entry in bands.entries}) == len(names)
    many = paint_layer(LabelClasses("Region", codes, (*map(str, range(40)), "in no region"), 40))
    assert len(many.entries) == 41
    assert many.entries[-1].scale < 1


def test_a_trained_method_is_shown_by_one_call(data: Dataset) -> None:
    method = registry.create("tfidf").fit(data.train)
    view = map_labels(method, data, kind="pca", k=3, colour="Region")
    assert [layer.title for layer in view.data.colours] == ["Found among the first 3", "Frequency", "Region"]
    assert view.state.colour == 2
    assert view.data.n_placed == len(data.labels)
    other = view.data.replace_colours(view.data.colours[:1])
    assert other.points_part is view.data.points_part, "places and names are not packed again"
    assert len(other.colour_parts) == 1


def test_values_have_colours_by_what_they_mean() -> None:
    values = np.array([0, 0.5, 1], np.float32)
    painted = {kind: paint_layer(LabelShares("Share", values, kind=kind)) for kind in ShareKind}
    quality, amount, difference = (painted[kind] for kind in ShareKind)
    assert quality.light[0] == difference.light[0] == LIGHT.map_found[0]
    assert LIGHT.map_found[0] not in amount.light, "a low amount is nothing to be alarmed about"
    assert difference.light[len(difference.light) // 2] == amount.light[0] == LIGHT.map_found[-1], (
        "no difference is quiet"
    )
    assert (quality.is_signed, amount.is_signed, difference.is_signed) == (False, False, True)


def test_layers_of_a_method_lie_on_the_map(data: Dataset) -> None:
    ids = list(range(len(data.labels)))
    shares = LabelShares("Share", np.zeros(len(ids), np.float32))
    made = make_map_data(lay_out(data, ids), data, [shares])
    corners = np.array([[0, 0], [0.5, 0], [0, 0.5]], np.float32)
    hulls = tuple(StructureHull(f"node {at}", corners, at % 2, at, at) for at in (0, 6, 10**6))
    tree = add_structure(made, StructureLayers("Label tree", hulls=hulls))
    assert tree.points_part is made.points_part
    assert [hull.layer for hull in tree.hulls] == ["Label tree"] * 3
    assert tree.hulls[0].light == tree.hulls[1].light == SERIES[0], "colours repeat"
    assert tree.hulls[2].light not in SERIES
    joined = add_structure(made, StructureLayers("Graph", edges=StructureEdges(np.array([[0, 1]]), np.ones(1))))
    assert [layer.name for layer in joined.edges] == ["Graph"]
    grid = StructureGrid(np.zeros((len(ids), 2), np.float32), ((0.0, "1"),), ())
    heads = add_structure(made, StructureLayers("Head grid", grid=grid))
    assert (heads.regions, heads.grid.columns) == ((), ((0.0, "1"),))
    assert not heads.positions.any()
    assert heads.names_part.id == made.names_part.id
