"""The datasets that are here, each with its menu, and the button that adds one."""

from __future__ import annotations

import streamlit as st
from xcwork_app import state, widgets
from xcwork_app.components.label_list import LabelGroup, LabelRow, show_label_list
from xcwork_app.panels.shared import row_menu
from xcwork_app.sources import Source
from xcwork_app.views import home_facts

from xcwork.export.text import count_noun


def show(current: Source) -> None:
    """Show the list; choosing a dataset makes it the one of this session."""
    facts = home_facts.list_dataset_facts(current)
    order = {"yours": 0, "on this machine": 1, "built in": 2}
    facts = sorted(facts, key=lambda each: (order[each.origin], each.source.title.lower()))
    rows = [
        LabelRow(
            each.source.id,
            each.source.title,
            below=each.sizes,
            note=each.origin if each.origin != "yours" else "",
            value=count_noun(each.n_runs, "run") if each.n_runs else "",
            menu=row_menu.list_dataset_actions(each.source),
        )
        for each in facts
    ]
    with st.container(border=True, key="data_list"):
        widgets.show_section("Datasets")
        show_label_list(
            [LabelGroup(rows)],
            key="data_sources",
            label="Datasets",
            selected=current.id,
            on_choose=_choose,
            on_menu=row_menu.ask_about_dataset,
            height="stretch",
        )
        if all(each.origin == "built in" for each in facts):
            st.caption("Your own: a CSV with a text and a labels column")
        st.button(
            "Add a dataset",
            key="data.add",
            icon=":material/add:",
            width="stretch",
            on_click=state.update,
            kwargs={"add": "file"},
        )


def _choose(identity: str) -> None:
    if identity != state.view().data:
        state.update(data=identity)
