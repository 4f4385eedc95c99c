"""Label map: what did it learn about the labels? Labels that are alike lie together; a lasso shows who misses them."""

from __future__ import annotations

import streamlit as st
from xcwork_app import state, widgets
from xcwork_app.panels.label_map import map_view, method_view
from xcwork_app.panels.shared import label_tables
from xcwork_app.panels.shared.finished_run import require_finished_run
from xcwork_app.views import run_findings, selection

run = require_finished_run("Label map")
widgets.show_header("Label map", f"Labels that {widgets.plain(run.name)} treats alike lie close together.")
structure = method_view.get_title(run)
views = {"map": "Map"} | ({} if structure is None else {"structure": structure})
section = widgets.choose_field("View", "section", views, key="label_map.section", hidden=True)
found = run_findings.get_findings(
    run, selection.get_source(), k=state.view().k, bands=run_findings.get_band_definition()
)
with st.container(), widgets.catch_errors():
    if section == "structure":
        method_view.show(found)
    else:
        label, ids = map_view.show(found)
        if label is not None:
            widgets.show_section(f"Nearest to {widgets.plain(found.dataset.labels.names[label])}")
            label_tables.show_nearest_labels(label, found, key="label_map.nearest")
        map_view.show_selection(found, ids)
