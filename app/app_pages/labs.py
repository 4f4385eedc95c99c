"""Labs: how does the theory behave? Small experiments of the papers, one per screen, answered in seconds."""

from __future__ import annotations

import streamlit as st
from xcwork_app import widgets
from xcwork_app.page_header import show_page_header
from xcwork_app.panels.labs import bounds, codes, groups, theorems
from xcwork_app.panels.labs.lab import show_lab

LABS = groups.LABS | codes.LABS | theorems.LABS | bounds.LABS

show_page_header("labs")
titles = {name: lab.title for name, lab in LABS.items()}
chosen = widgets.choose_field("Lab", "section", titles, key="labs.lab", hidden=True)
with st.container(), widgets.catch_errors():
    show_lab(chosen, LABS[chosen])
