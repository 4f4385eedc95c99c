"""Labs: how does the theory behave? Small experiments of the papers, answered in seconds."""

from __future__ import annotations

import streamlit as st
from xcwork_app import widgets
from xcwork_app.panels.labs import codes, groups, theorems

LABS = {
    "groups": ("Aggregated labels", groups.show),
    "codes": ("Label codes", codes.show),
    "regret": ("Regret bound", theorems.show_regret),
    "rank": ("Low rank", theorems.show_low_rank),
}

widgets.show_header(
    "Labs", "Small experiments from the papers. Change a setting and see what the theory says, and what happens."
)
chosen = widgets.choose_field(
    "Lab", "section", {name: title for name, (title, _) in LABS.items()}, key="labs.lab", hidden=True
)
with st.container(), widgets.catch_errors():
    LABS[chosen][1]()
