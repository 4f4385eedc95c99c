"""Data: what did I load? Choose, upload, point to or generate a dataset; then its card, its curve, its documents."""

from __future__ import annotations

import streamlit as st
from xcwork_app import caches, navigation, widgets
from xcwork_app.panels.data import card as dataset_card
from xcwork_app.panels.data import documents, group_builder, sources_list, upload
from xcwork_app.views import selection

WAYS = {"choose": "Choose", "upload": "Upload", "path": "Path", "generate": "Generate"}
PANELS = {
    "choose": sources_list.choose_dataset,
    "upload": upload.show,
    "path": sources_list.choose_path,
    "generate": sources_list.generate_dataset,
}

widgets.show_header("Data", "What is in it, what is wrong with it, and how rare its labels are.")
way = widgets.choose_field("Where from", "section", WAYS, key="data.way", hidden=True)
with st.container(), widgets.catch_errors():  # a place of its own, so that what follows stays where it is
    PANELS[way]()

source = selection.get_source()
with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
    widgets.show_section(widgets.plain(source.title))
    if st.button("Train on it", icon=":material/arrow_forward:", key="data.train"):
        navigation.go_to("train")
card = caches.get_card(source)
dataset_card.show_facts(card)
left, right = st.columns([3, 2], gap="large")
with right:
    dataset_card.show_health_checks(card)
    bands = dataset_card.choose_bands()
    dataset_card.show_band_table(card, bands)
with left:
    dataset_card.show_frequencies(source, bands)

widgets.show_section("Documents")
with widgets.catch_errors():
    documents.show(source)

widgets.show_section("Aggregated labels")
with widgets.catch_errors():
    group_builder.show(source)
widgets.show_command(["describe", *source.arguments()])
