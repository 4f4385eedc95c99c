"""Train: how do I make a model? Method, settings, what it will cost; then the queue and the run as it goes."""

from __future__ import annotations

import streamlit as st
from xcwork_app import caches, sidebar, widgets
from xcwork_app.panels.train import launcher, method_card, run_monitor, settings_form

source = sidebar.source()
widgets.header(
    "Train", f"A run on {widgets.plain(source.title)}. It works in the background: close the tab and come back."
)
card = caches.card(source)
left, right = st.columns([3, 2], gap="large")
with left:
    method = method_card.choose()
    method_card.show(method)
    params = settings_form.show(method, source, card)
with right:
    with st.container(border=True), widgets.guarded():
        launcher.show(method, params, source, card)
    with widgets.guarded():
        run_monitor.show()
