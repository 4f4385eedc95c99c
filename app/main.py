"""The shell: side bar, lesson, and one place where errors become sentences."""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from xcwork_app import caches, dialogs, frame_style, login, navigation, sidebar, state, tokens, widgets
from xcwork_app.components import history_steps
from xcwork_app.panels.shared import lesson, row_menu

LOGO = Path(__file__).parent / "static"
SIDEBAR_PIXELS = 212

# The icon is a file: the browser would fetch one given by name from a host on the internet.
st.set_page_config(
    page_title="xcwork", page_icon=str(LOGO / "mark.svg"), layout="wide", initial_sidebar_state=SIDEBAR_PIXELS
)
st.logo(str(LOGO / "mark.svg"), icon_image=str(LOGO / "mark.svg"))  # the style sheet writes the name beside it
st.html(frame_style.STYLE + frame_style.SCHEMES[tokens.get_scheme()])
login.require_login()
page = st.navigation(list(navigation.make_menu().values()), position="hidden")
name = page.url_path or "home"
caches.look_anew()
dialogs.begin_page()
state.open_page(name)
history_steps.watch_history()
navigation.forget_origin(name)
st.html(frame_style.make_mode(is_large=state.view().lecture, is_wide=state.view().wide))
menu = sidebar.show_sidebar(name)
if not row_menu.open_dialog():  # Streamlit shows one dialog at a time
    lesson.open_lesson(name)
row_menu.show_undo()
note = st.empty()
with sidebar.finish_page(note, menu), widgets.catch_errors():
    page.run()
