"""In place of a map: why there is none, and the runs on the same labels that have one."""

from __future__ import annotations

import streamlit as st
from xcwork_app import caches, state, widgets
from xcwork_app.components.label_list import LabelGroup, LabelRow, show_label_list
from xcwork_app.views import map_content, run_comparison, selection

from xcwork.runs import Run

SENTENCE = "This run has no label vectors, so nothing says which labels are alike."


def show(run: Run) -> None:
    """Say that a run has no label vectors, and offer the runs that have them."""
    others = [each for each in run_comparison.list_measured_runs(selection.get_source()) if each.id != run.id]
    mapped = [each for each in others if any(map_content.has_labels(each, kind) for kind in map_content.KINDS)]
    if not mapped:
        widgets.show_empty(f"{SENTENCE} No other run has them yet.", page="train", action="Train another method")
        return
    widgets.show_empty(f"{SENTENCE} These runs have them:")
    rows = [LabelRow(each.id, caches.get_record(each)["name"], run=caches.glance(each).number) for each in mapped]
    with st.container(border=True):
        show_label_list(
            [LabelGroup(rows)],
            key="map_other_runs",
            label="Runs with label vectors",
            on_choose=lambda chosen: state.update(run=chosen),
        )
