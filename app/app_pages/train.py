"""Train: how do I make a model? Method, settings, what it will cost; then the queue and the run as it goes."""

from __future__ import annotations

import streamlit as st
from xcwork_app import caches, widgets
from xcwork_app.panels.train import launcher, method_card, run_monitor, settings_form
from xcwork_app.views import selection

source = selection.get_source()
widgets.show_header(
    "Train", f"A run on {widgets.plain(source.title)}. It works in the background: close the tab and come back."
)
card = caches.get_card(source)
left, right = st.columns([3, 2], gap="large")
with left:
    method = method_card.choose()
    method_card.show(method)
    params = settings_form.show(method, source, card)
with right:
    with st.container(border=True), widgets.catch_errors():
        launcher.show(method, params, source, card)
    with widgets.catch_errors():
        run_monitor.show()
