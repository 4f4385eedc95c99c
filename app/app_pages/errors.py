"""Errors: where does it fail? Bands, documents, missed labels, one label, and truth that may itself be wrong."""

from __future__ import annotations

import streamlit as st

from app import shell, ui
from app.panels import bands, documents_of_run, findings, label_hints, label_lens, report, triage

SECTIONS = {"documents": "Documents", "missed": "Missed labels", "label": "One label", "hints": "Label hints"}
PANELS = {"documents": documents_of_run, "missed": triage, "label": label_lens, "hints": label_hints}

run = shell.require_run("Errors")
ui.header("Errors", f"Which labels {ui.plain(run.name)} misses, whether they are rare, and where they were lost.")
with st.container(horizontal=True, vertical_alignment="bottom"):
    scheme = findings.choose_bands("errors.bands")
    k = findings.choose_length("errors.k")
    st.space("stretch")
    report.button([run], key="errors.report")
found = findings.find(run, shell.source(), k=k, bands=scheme)
bands.facts(found)
left, right = st.columns(2, gap="large")
with left:
    bands.recall(found)
with right:
    bands.losses(found)
bands.table(found)

ui.section("Look closer")
section = ui.choice("Look closer", "section", SECTIONS, key="errors.section", hidden=True)
with st.container(), ui.guarded():
    PANELS[section].show(found)
ui.command(["report", run.id])
