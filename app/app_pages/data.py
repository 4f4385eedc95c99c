"""Data: what did I load? The datasets on the left; on the right one of them: figures, verdict, labels, documents."""

from __future__ import annotations

import streamlit as st
from xcwork_app import caches, dialogs, widgets
from xcwork_app.page_header import show_page_header
from xcwork_app.panels.data import add_dialog, card, dataset_list, documents, group_builder, label_view
from xcwork_app.views import home_facts, selection

VIEWS = {"Labels": label_view.show, "Documents": documents.show, "Groups": group_builder.show}

header = show_page_header("data")
source = selection.get_source()
add_dialog.open_dialog()
with st.container(key="data_row", horizontal=True):
    with st.container(key="data_left"):
        dataset_list.show(source)
    with st.container(key="data_right", border=True), widgets.catch_errors():
        found = caches.get_card(source)
        if home_facts.remember_sizes(source, found):
            dialogs.refresh_page()  # the list knows its sizes now
        card.show_head(source, found, card.get_profile(source))
        with st.container(key="data_views", horizontal=True, horizontal_alignment="distribute"):
            view = st.segmented_control(
                "View",
                list(VIEWS),
                default="Labels",
                key="data.view",
                bind="query-params",
                required=True,
                label_visibility="collapsed",
            )
            if view == "Labels":
                label_view.choose_bands()
        with widgets.catch_errors():
            VIEWS[view or "Labels"](source)
header.show_command(["describe", *source.list_arguments()])
