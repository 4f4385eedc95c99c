"""What a method makes of the labels, as a layer of its map: landmark graph, label tree, head grid."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st
from xcwork_app import caches
from xcwork_app.views.map_content import ContentKey, MapContent

from xcwork.runs import Run

HEAD_GRID = "Head grid"
TITLES = {
    "landmarks": "Landmark graph",
    "label_tree": "Label tree",
    "mhc": HEAD_GRID,
    "mhs": HEAD_GRID,
    "mhp": HEAD_GRID,
}
COLOURS = {"Landmark graph": "Landmark", "Label tree": "Tree node", HEAD_GRID: "Head"}
COLOUR = "structure"  # what the colour by landmark, tree node or head is called in the address


def get_title(run: Run) -> str | None:
    """Return what the layer of a run is called; None for most methods."""
    return TITLES.get(caches.get_record(run).get("method", ""))


def add_colour(content: MapContent) -> MapContent:
    """Return the map with a colour per landmark, tree node or head."""
    return _add_colour(content.key, caches.get_stamp(content.run.folder / "model"), content)


def add_layer(content: MapContent) -> MapContent:
    """Return the map with the layer of its method; a head grid has places of its own and no regions."""
    return _add_layer(content.key, caches.get_stamp(content.run.folder / "model"), content)


@st.cache_resource(max_entries=4, show_spinner="Reading the model.")
def _add_colour(key: ContentKey, stamp: int, _content: MapContent) -> MapContent:
    from xcwork.analysis.map_structures import colour_by_structure
    from xcwork.viz.map_assembly import paint_layer

    layer = colour_by_structure(caches.get_model(_content.run), _content.run_map.layout.ids)
    assert layer is not None  # by the name of the method, see `TITLES`
    data = _content.data.replace_colours((*_content.data.colours, paint_layer(layer)))
    return replace(_content, data=data, colours=(*_content.colours, COLOUR))


@st.cache_resource(max_entries=4, show_spinner="Reading the model.")
def _add_layer(key: ContentKey, stamp: int, _content: MapContent) -> MapContent:
    from xcwork.analysis.map_structures import find_structure_layers
    from xcwork.viz.map_assembly import add_structure

    content = _add_colour(key, stamp, _content)
    layers = find_structure_layers(caches.get_model(_content.run), _content.run_map.layout)
    assert layers is not None
    return replace(content, data=add_structure(content.data, layers))
