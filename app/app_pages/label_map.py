"""Label map: what did it learn about the labels? Labels that are alike lie together; a lasso shows who misses them."""

from __future__ import annotations

import streamlit as st
from xcwork_app import sidebar, state, widgets
from xcwork_app.panels.errors import label_lens
from xcwork_app.panels.label_map import map_view, method_view
from xcwork_app.views import run_findings

run = sidebar.require_run("Label map")
widgets.header("Label map", f"Labels that {widgets.plain(run.name)} treats alike lie close together.")
structure = method_view.title(run)
views = {"map": "Map"} | ({} if structure is None else {"structure": structure})
section = widgets.choice("View", "section", views, key="label_map.section", hidden=True)
found = run_findings.find(run, sidebar.source(), k=state.view().k, bands=run_findings.bands_in_use())
with st.container(), widgets.guarded():
    if section == "structure":
        method_view.show(found)
    else:
        label, ids = map_view.show(found)
        if label is not None:
            widgets.section(f"Nearest to {widgets.plain(found.dataset.labels.names[label])}")
            label_lens.near(label, found, key="label_map.nearest")
        map_view.selection(found, ids)
