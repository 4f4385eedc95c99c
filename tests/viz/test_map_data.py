"""What the label map is given: checked once, packed for the browser without loss, and named by its content."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.map_samples import FOUND, make_map
from tests.support.paths import ROOT
from xcwork.errors import ConfigError, DataError
from xcwork.viz.map_component import SCRIPT_FILES, THEMES, read_script, read_style
from xcwork.viz.map_data import (
    MAX_OUTLINED_LABELS,
    CategoryColours,
    ColourEntry,
    MapData,
    MapRegion,
    MapState,
    ValueColours,
)
from xcwork.viz.map_layers import MapEdges, MapGrid, MapHull
from xcwork.viz.map_parts import MapPart, pack_names
from xcwork.viz.map_view import LabelMapView, describe_state


def unpack(part: MapPart) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return header and arrays as `parts.js` reads them."""
    length = int.from_bytes(part.content[:4], "little")
    header = json.loads(part.content[4 : 4 + length])
    start = -(-(4 + length) // 8) * 8
    arrays = {}
    for section in header["sections"]:
        content = part.content[start + section["offset"] :][: section["bytes"]]
        content = gzip.decompress(content) if section["is_compressed"] else content
        arrays[section["name"]] = np.frombuffer(content, section["type"])
    return header, arrays


@pytest.fixture(scope="module")
def data() -> MapData:
    return make_map(500)


def test_points_come_back_as_they_were(data: MapData) -> None:
    header, arrays = unpack(data.points_part)
    assert np.array_equal(arrays["positions"].reshape(-1, 2), data.positions)
    assert np.array_equal(arrays["sizes"], data.sizes)
    assert header["n_labels"] == 520
    assert header["id"] == data.points_part.id
    assert [region["name"] for region in header["regions"]] == [region.name for region in data.regions]


def test_names_keep_every_letter_and_lose_line_breaks() -> None:
    names = ["ä · 中文", "", "two\nlines", "<script>"]
    _, arrays = unpack(pack_names(names))
    assert arrays["names"].tobytes().decode() == "ä · 中文\n\ntwo lines\n<script>\n"
    assert unpack(pack_names([]))[1]["names"].size == 0


def test_a_name_that_is_no_text_does_not_stop_the_rest() -> None:
    _, arrays = unpack(pack_names(["bad \ud800 sign", "good"]))
    assert arrays["names"].tobytes().decode() == "bad ? sign\ngood\n"


def test_edges_of_labels_without_a_place_are_left_out(data: MapData) -> None:
    ids = np.arange(500) * 2 + 10
    edges = (MapEdges("graph", np.array([[10, 12], [11, 12], [1008, 10], [1010, 10]])),)
    joined = replace(data, ids=ids, edges=edges)
    _, arrays = unpack(joined.layers_part)
    assert arrays["edges_0"].reshape(-1, 2).tolist() == [[0, 1], [499, 0]]
    assert unpack(joined.points_part)[1]["ids"].tolist() == ids.tolist()


def test_layers_come_and_go_without_the_points(data: MapData) -> None:
    hull = MapHull("node", np.array([[0, 0], [1, 0], [0, 1]], np.float32), "tree", 1)
    other = data.replace_layers(hulls=(hull,), grid=MapGrid(((0.5, "column"),)))
    assert other.points_part is data.points_part
    assert other.names_part is data.names_part
    header, arrays = unpack(other.layers_part)
    assert header["hulls"][0] | {"points": 0} == vars(hull) | {"points": 0}
    assert header["hulls"][0]["points"] == hull.points.tolist()
    assert (header["grid"]["columns"], header["edges"], arrays) == ([{"at": 0.5, "name": "column"}], [], {})
    assert other.has_layers
    assert not data.replace_layers().has_layers
    assert data.replace_colours(data.colours[:1]).colour_parts[0] is data.colour_parts[0], "packed once"


def test_a_part_is_named_by_its_content(data: MapData) -> None:
    assert make_map(500).points_part.id == data.points_part.id
    moved = data.positions.copy()
    moved[0, 0] /= 2
    assert replace(data, positions=moved).points_part.id != data.points_part.id
    assert replace(data, positions=moved).names_part.id == data.names_part.id


def test_values_become_steps_and_unknown_has_its_own(data: MapData) -> None:
    layer = ValueColours("recall", np.array([0, 0.5, 1, np.nan]), ("#000000", "#FFFFFF"), ("#000000", "#FFFFFF"))
    layer.check(4)
    header, arrays = unpack(layer.pack())
    assert arrays["codes"].tolist() == [0, 127, 254, 255]
    assert header["layer"]["has_unknown"] is True


def test_many_categories_need_two_bytes() -> None:
    entries = tuple(ColourEntry(str(at), "#010203", "#040506") for at in range(300))
    layer = CategoryColours("cluster", np.array([0, 299]), entries)
    layer.check(2)
    _, arrays = unpack(layer.pack())
    assert arrays["codes"].dtype == np.uint16
    assert arrays["codes"].tolist() == [0, 299]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"positions": np.full((500, 2), 1.5, np.float32)}, "outside"),
        ({"positions": np.full((500, 2), np.nan, np.float32)}, "finite"),
        ({"sizes": np.ones(3, int)}, "as many sizes"),
        ({"sizes": np.full(500, -1)}, "negative"),
        ({"names": ["one"]}, "as many sizes and names"),
        ({"ids": np.zeros(500, int)}, "ascending"),
        ({"colours": ()}, "at least one colour"),
        ({"colours": (CategoryColours("c", np.full(500, 5), FOUND),)}, "without an entry"),
        ({"colours": (CategoryColours("c", np.full(499, 0), FOUND),)}, "one whole number per label"),
        ({"colours": (ValueColours("v", np.full(500, 2.0), ("#000000",) * 2, ("#000000",) * 2),)}, "between 0 and 1"),
        ({"colours": (ValueColours("v", np.full(500, 0.5), ("#000000",), ("#000000",)),)}, "two colours"),
        ({"regions": (MapRegion(0, "r", 0, 0, 1, parent=3),)}, "does not exist"),
    ],
)
def test_what_cannot_be_drawn_is_an_error(data: MapData, changes: dict[str, Any], message: str) -> None:
    with pytest.raises((DataError, ConfigError), match=message):
        replace(data, **changes)


def test_colours_are_written_in_one_way() -> None:
    with pytest.raises(ConfigError, match="#RRGGBB"):
        ColourEntry("red", "red", "#FF0000")


def test_a_layer_is_found_by_title_or_index(data: MapData) -> None:
    assert data.find_colour("Frequency") == data.find_colour(1) == 1
    with pytest.raises(ConfigError, match="Frequency"):
        data.find_colour("Size")


def test_the_state_is_plain_json(data: MapData) -> None:
    state = MapState(label=np.int64(3), highlight=np.array([1, 2]), lasso=[(0.5, np.float32(0.25))], links=[(1, 2)])  # type: ignore[arg-type]
    written = json.loads(json.dumps(describe_state(data, state, height="9px", search=False)))
    assert written["label"] == 3
    assert written["highlight"] == [1, 2]
    assert written["lasso"] == [[0.5, 0.25]]
    assert MapState(selection=range(MAX_OUTLINED_LABELS + 1)).to_json()["selection"] == []
    with pytest.raises(ConfigError, match="tool"):
        MapState(tool="hammer")


def test_the_script_has_every_file_and_needs_no_other() -> None:
    folder = ROOT / "xcwork" / "viz" / "map_component"
    assert sorted(SCRIPT_FILES) == sorted(path.name for path in folder.glob("*.js"))
    assert re.findall(r"https?://(?!www\.w3\.org)|\bimport\b|\beval\b|innerHTML|</script", read_script()) == []
    used = set(re.findall(r"var\(--xc-([\w-]+)\)", read_style())) | set(re.findall(r"theme\.(\w+)", read_script()))
    assert used - {"name", "font"} <= set(THEMES["light"]) == set(THEMES["dark"])


def test_names_cannot_leave_the_script_of_a_page(data: MapData, tmp_path: Path) -> None:
    hostile = "</script><script>window.hit = 1</script>"
    caption = replace(data, caption=hostile, regions=(MapRegion(0, hostile, 0, 0, 1),))
    page = LabelMapView(caption).write_html(tmp_path / "map.html").read_text("utf-8")
    assert page.count("<script") == page.count("</script") == 1
    assert "&lt;/script&gt;" in page  # the title
    assert "Content-Security-Policy" in page


def test_a_notebook_gets_the_map_with_its_data(data: MapData) -> None:
    view = LabelMapView(data)
    shown = view._repr_html_()
    assert "showInPage" in shown
    assert repr(view) == "Map of 500 labels in 24 groups"
    assert re.findall(r'id="([^"]+)"', shown) != re.findall(r'id="([^"]+)"', view._repr_html_())
