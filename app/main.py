"""The shell: navigation, side bar, guided rail, and one place where errors become sentences."""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from xcwork_app import login, navigation, sidebar, state, widgets
from xcwork_app.panels.shared import guide

LOGO = Path(__file__).parent / "static"

# The icon is a file: the browser would fetch one given by name from a host on the internet.
st.set_page_config(page_title="xcwork", page_icon=str(LOGO / "mark.svg"), layout="wide")
st.logo(str(LOGO / "logo.svg"), icon_image=str(LOGO / "mark.svg"), size="large")
st.html(sidebar.STYLE)
login.require_login()
page = st.navigation(list(navigation.make_menu().values()), position="hidden")
name = page.url_path or "home"
state.open_page(name)
menu = sidebar.show_sidebar()

if state.view().guided:
    body, rail = st.columns([3, 1], gap="large")
    with rail:
        guide.show(name)
else:
    body = st.container()
with body:
    note = st.empty()
    with sidebar.finish_page(note, menu), widgets.catch_errors():
        page.run()
