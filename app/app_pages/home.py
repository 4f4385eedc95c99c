"""Home: where am I, and what comes next? The best run, next steps, datasets, the runs as they are now."""

from __future__ import annotations

import streamlit as st
from xcwork_app import caches, widgets
from xcwork_app.page_header import show_page_header
from xcwork_app.panels.home import best_run, card_buttons, run_card, step_list
from xcwork_app.views import home_facts, next_steps, selection

show_page_header("home")
source = selection.get_source()
run = home_facts.find_shown_run(source)
owner = None if run is None else caches.get_source(run)
with st.container(key="home_row", horizontal=True):
    with st.container(key="home_left"):
        with widgets.catch_errors():
            if run is None or owner is None:
                best_run.show_without_run()
            else:
                best_run.show(run, owner)
        steps = st.container(key="home_steps_place")
        with widgets.catch_errors():
            card_buttons.show_datasets(home_facts.list_dataset_facts(source))
    with st.container(key="home_right"):
        run_card.show()
card_buttons.show_starts()
with steps:  # last, because they are computed the longest
    step_list.show(next_steps.list_next_steps(source, run if owner == source else None))
