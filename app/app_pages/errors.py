"""Errors: where does it fail, and why? One bar of outcomes that filters, a list, and what is chosen in detail."""

from __future__ import annotations

import streamlit as st
from xcwork_app import state, widgets
from xcwork_app.page_header import show_page_header
from xcwork_app.panels.errors import (
    detail_card,
    error_choice,
    error_list,
    frequency_card,
    outcome_card,
    reliability,
)
from xcwork_app.panels.shared import label_bands, report_button
from xcwork_app.panels.shared.finished_run import require_finished_run
from xcwork_app.views import run_findings, selection

SECTIONS = {"labels": "Labels", "documents": "Documents", "pairs": "Pairs", "suspicious": "Suspicious"}

header = show_page_header("errors")
run = require_finished_run()
found = run_findings.get_findings(
    run, selection.get_source(), k=state.view().k, bands=run_findings.get_band_definition()
)
label_bands.warn_about_changed_data(found)
with header.actions:
    reliability.show_popover(found)
    report_button.show_report_button([run], key="errors.report")
header.show_command(["report", run.id])
choice = error_choice.resolve_choice(found)
outcome_card.show_outcomes(found, choice)
with st.container(key="errors_columns", horizontal=True):
    frequency_card.show_frequencies(found, choice)
    middle = st.container(key="errors_list", border=True)
    right = st.container(key="errors_detail", border=True)
with middle:
    with st.container(key="errors_list_bar", horizontal=True, vertical_alignment="center"):
        section = widgets.choose_field("List", "section", SECTIONS, key="errors.section", hidden=True)
        search = st.text_input(
            "Find",
            key="errors.search",
            placeholder="Find",
            label_visibility="collapsed",
            bind="query-params",
            icon=":material/search:",
        )
    with st.container(key="errors_chips", horizontal=True, vertical_alignment="center"):
        kind = error_list.choose_kind() if section == "suspicious" else ""
        if section in ("labels", "documents"):
            error_choice.show_chips(found, choice)
        elif section == "pairs":
            st.caption("A label is missed and another is listed instead", width="content")
        if section in ("pairs", "suspicious"):
            error_choice.show_area_chip(choice)
    if section == "labels":
        chosen = error_list.show_labels(found, choice, search)
    elif section == "documents":
        chosen = error_list.show_documents(found, choice, search)
    elif section == "pairs":
        chosen = error_list.show_pairs(found, choice, search)
    else:
        row = error_list.show_suspicious(found, choice, kind, search)
with right, widgets.catch_errors():
    if section == "labels":
        detail_card.show_label(found, chosen)
    elif section == "documents":
        detail_card.show_document(found, chosen)
    elif section == "pairs":
        detail_card.show_pair(found, chosen)
    else:
        detail_card.show_annotation(found, row, kind)
