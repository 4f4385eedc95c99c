"""Data: what did I load? Choose, upload, point to or generate a dataset; then its card, its curve, its documents."""

from __future__ import annotations

import streamlit as st
from xcwork_app import caches, navigation, sidebar, widgets
from xcwork_app.panels.data import card as dataset_card
from xcwork_app.panels.data import documents, group_builder, sources_list, upload

WAYS = {"choose": "Choose", "upload": "Upload", "path": "Path", "generate": "Generate"}
PANELS = {
    "choose": sources_list.choose,
    "upload": upload.show,
    "path": sources_list.path,
    "generate": sources_list.generate,
}

widgets.header("Data", "What is in it, what is wrong with it, and how rare its labels are.")
way = widgets.choice("Where from", "section", WAYS, key="data.way", hidden=True)
with st.container(), widgets.guarded():  # a place of its own, so that what follows stays where it is
    PANELS[way]()

source = sidebar.source()
with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
    widgets.section(widgets.plain(source.title))
    if st.button("Train on it", icon=":material/arrow_forward:", key="data.train"):
        navigation.go("train")
card = caches.card(source)
dataset_card.facts(card)
left, right = st.columns([3, 2], gap="large")
with right:
    dataset_card.health(card)
    bands = dataset_card.choose_bands()
    dataset_card.band_table(card, bands)
with left:
    dataset_card.frequencies(source, bands)

widgets.section("Documents")
with widgets.guarded():
    documents.show(source)

widgets.section("Aggregated labels")
with widgets.guarded():
    group_builder.show(source)
widgets.command(["describe", *source.arguments()])
