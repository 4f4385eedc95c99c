"""Errors: where does it fail? Bands, documents, missed labels, one label, and truth that may itself be wrong."""

from __future__ import annotations

import streamlit as st
from xcwork_app import sidebar, widgets
from xcwork_app.panels.errors import bands, documents_of_run, label_hints, label_lens, report, triage
from xcwork_app.views import run_findings

SECTIONS = {"documents": "Documents", "missed": "Missed labels", "label": "One label", "hints": "Label hints"}
PANELS = {"documents": documents_of_run, "missed": triage, "label": label_lens, "hints": label_hints}

run = sidebar.require_run("Errors")
widgets.header(
    "Errors", f"Which labels {widgets.plain(run.name)} misses, whether they are rare, and where they were lost."
)
with st.container(horizontal=True, vertical_alignment="bottom"):
    scheme = run_findings.choose_bands("errors.bands")
    k = run_findings.choose_length("errors.k")
    st.space("stretch")
    report.button([run], key="errors.report")
found = run_findings.find(run, sidebar.source(), k=k, bands=scheme)
bands.facts(found)
left, right = st.columns(2, gap="large")
with left:
    bands.recall(found)
with right:
    bands.losses(found)
bands.table(found)

widgets.section("Look closer")
section = widgets.choice("Look closer", "section", SECTIONS, key="errors.section", hidden=True)
with st.container(), widgets.guarded():
    PANELS[section].show(found)
widgets.command(["report", run.id])
