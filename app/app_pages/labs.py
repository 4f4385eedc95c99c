"""Labs: how does the theory behave? Small experiments of the papers, answered in seconds."""

from __future__ import annotations

import streamlit as st

from app import ui
from app.panels import lab_codes, lab_groups, lab_theorems

LABS = {
    "groups": ("Aggregated labels", lab_groups.show),
    "codes": ("Label codes", lab_codes.show),
    "regret": ("Regret bound", lab_theorems.regret),
    "rank": ("Low rank", lab_theorems.low_rank),
}

ui.header("Labs", "Small experiments from the papers. Change a setting and see what the theory says, and what happens.")
chosen = ui.choice("Lab", "section", {name: title for name, (title, _) in LABS.items()}, key="labs.lab", hidden=True)
with st.container(), ui.guarded():
    LABS[chosen][1]()
