"""A page with nothing but a label map and what was done on it; `?n=41218` in the address sets its number of labels."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # Streamlit runs this file from any folder

import streamlit as st
from xcwork_app.components.label_map import show_label_map

from tests.support.map_samples import make_map
from xcwork.analysis.polygon import find_inside
from xcwork.viz.map_data import MapData, MapState


@st.cache_resource
def get_map(n: int) -> MapData:
    """Return the same map on every run of the page."""
    return make_map(n)


st.set_page_config(layout="wide")
data = get_map(int(st.query_params.get("n", "3400")))
beside, drawer = st.columns([694, 308])
if drawer.toggle("Other labels"):
    data = get_map(500)
titles = [layer.title for layer in data.colours]
with beside:
    colour = st.segmented_control("Colour", titles, default=titles[0], required=True)
    chosen = st.session_state.get("chosen")
    shown = MapState(
        colour=colour or titles[0],
        highlight=range(0, 50, 5) if drawer.toggle("Light up a document") else (),
        layers=("groups", "neighbours") if drawer.toggle("Layers") else (),
        show_grid=drawer.toggle("Grid"),
        label=chosen.label if chosen else None,
        lasso=chosen.polygon if chosen and chosen.polygon else None,
        region=chosen.region if chosen else None,
        links=[(chosen.label, (chosen.label + step) % data.n_placed) for step in (1, 2, 3)]
        if chosen and chosen.label is not None
        else (),
    )
    event = show_label_map(data, shown, key="map", height=560)
if event:
    st.session_state["chosen"] = event
    st.rerun()
with drawer:
    st.session_state["runs"] = st.session_state.get("runs", 0) + 1
    st.text(f"run {st.session_state['runs']}")
    if chosen:
        st.text(f"{chosen.kind} label={chosen.label} region={chosen.region} n={chosen.n_labels}")
    if chosen and chosen.kind == "lasso":
        st.text(f"found {len(find_inside(data.positions, chosen.polygon))}")
