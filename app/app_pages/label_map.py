"""Label map: what did it learn about the labels? Labels that are alike lie together; a lasso shows who misses them."""

from __future__ import annotations

import streamlit as st

from app import shell, state, ui
from app.panels import findings, label_lens, map_view, method_view

run = shell.require_run("Label map")
ui.header("Label map", f"Labels that {ui.plain(run.name)} treats alike lie close together.")
structure = method_view.title(run)
views = {"map": "Map"} | ({} if structure is None else {"structure": structure})
section = ui.choice("View", "section", views, key="label_map.section", hidden=True)
found = findings.find(run, shell.source(), k=state.view().k, bands=findings.bands_in_use())
with st.container(), ui.guarded():
    if section == "structure":
        method_view.show(found)
    else:
        label, ids = map_view.show(found)
        if label is not None:
            ui.section(f"Nearest to {ui.plain(found.dataset.labels.names[label])}")
            label_lens.near(label, found, key="label_map.nearest")
        map_view.selection(found, ids)
