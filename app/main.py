"""The shell: navigation, side bar, guided rail, and one place where errors become sentences."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from app import access, navigation, shell, state, ui
from app.panels import guide

LOGO = Path(__file__).parent / "static"

# The icon is a file: the browser would fetch one given by name from a host on the internet.
st.set_page_config(page_title="xcwork", page_icon=str(LOGO / "mark.svg"), layout="wide")
st.logo(str(LOGO / "logo.svg"), icon_image=str(LOGO / "mark.svg"), size="large")
st.html(shell.STYLE)
access.gate()
state.begin()
menu = navigation.menu()
page = st.navigation(list(menu.values()))
state.turn_to(page.url_path)
shell.sidebar()

if state.view().guided:
    body, rail = st.columns([3, 1], gap="large")
    with rail:
        guide.show(page.url_path or "home")
else:
    body = st.container()
try:
    with body, ui.guarded():
        page.run()
finally:  # also where a page has nothing more to show and stops
    state.share()
