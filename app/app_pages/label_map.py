"""Label map: which labels does it find, and which not? Every label on a map, and beside it what was chosen there."""

from __future__ import annotations

import streamlit as st
from xcwork_app import state, widgets
from xcwork_app.page_header import show_page_header
from xcwork_app.panels.label_map import map_panel
from xcwork_app.panels.shared.finished_run import require_finished_run
from xcwork_app.views import run_findings, selection

header = show_page_header("label_map")
run = require_finished_run()
found = run_findings.get_findings(
    run, selection.get_source(), k=state.view().k, bands=run_findings.get_band_definition()
)
with st.container(), widgets.catch_errors():
    map_panel.show(found)
header.show_command(["map", run.id], note="Build the map in a shell")
