"""Errors: where does it fail? Bands, documents, missed labels, one label, and truth that may itself be wrong."""

from __future__ import annotations

import streamlit as st
from xcwork_app import widgets
from xcwork_app.panels.errors import bands, documents_of_run, label_details, label_hints, triage
from xcwork_app.panels.shared import label_bands, report_button
from xcwork_app.panels.shared.finished_run import require_finished_run
from xcwork_app.views import run_findings, selection

SECTIONS = {"documents": "Documents", "missed": "Missed labels", "label": "One label", "hints": "Label hints"}
PANELS = {"documents": documents_of_run, "missed": triage, "label": label_details, "hints": label_hints}

run = require_finished_run("Errors")
widgets.show_header(
    "Errors", f"Which labels {widgets.plain(run.name)} misses, whether they are rare, and where they were lost."
)
with st.container(horizontal=True, vertical_alignment="bottom"):
    scheme = label_bands.choose_bands("errors.bands")
    k = label_bands.choose_list_length("errors.k")
    st.space("stretch")
    report_button.show_report_button([run], key="errors.report")
found = run_findings.get_findings(run, selection.get_source(), k=k, bands=scheme)
label_bands.warn_about_changed_data(found)
bands.show_facts(found)
left, right = st.columns(2, gap="large")
with left:
    bands.show_recall(found)
with right:
    bands.show_losses(found)
bands.show_table(found)

widgets.show_section("Look closer")
section = widgets.choose_field("Look closer", "section", SECTIONS, key="errors.section", hidden=True)
with st.container(), widgets.catch_errors():
    PANELS[section].show(found)
widgets.show_command(["report", run.id])
