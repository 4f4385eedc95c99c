"""Data: what did I load? Choose, upload, point to or generate a dataset; then its card, its curve, its documents."""

from __future__ import annotations

import streamlit as st

from app import caches, navigation, shell, ui
from app.panels import dataset_card, dataset_sources, documents, groups, upload

WAYS = {"choose": "Choose", "upload": "Upload", "path": "Path", "generate": "Generate"}
PANELS = {
    "choose": dataset_sources.choose, "upload": upload.show, "path": dataset_sources.path,
    "generate": dataset_sources.generate,
}  # fmt: skip

ui.header("Data", "What is in it, what is wrong with it, and how rare its labels are.")
way = ui.choice("Where from", "section", WAYS, key="data.way", hidden=True)
with st.container(), ui.guarded():  # a place of its own, so that what follows stays where it is
    PANELS[way]()

source = shell.source()
with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
    ui.section(ui.plain(source.title))
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

ui.section("Documents")
with ui.guarded():
    documents.show(source)

ui.section("Aggregated labels")
with ui.guarded():
    groups.show(source)
ui.command(["describe", *source.arguments()])
