"""Train: which method, and what will it cost? Recommendations, all methods, the chosen one, and the run as it goes."""

from __future__ import annotations

import streamlit as st
from xcwork_app import state, widgets
from xcwork_app.page_header import show_page_header
from xcwork_app.panels.train import chosen_method, method_table, recommended, run_card
from xcwork_app.views import selection, training_plan

source = selection.get_source()
header = show_page_header("train")
found = training_plan.get_recommendation(source)
facts = training_plan.list_method_facts(source)
method = state.pick_option("method", facts, *training_plan.choose_usual_method(found, facts))
with st.container(key="train_columns", horizontal=True):
    with st.container(key="train_left"):
        recommended.show_recommended(source, found, method, facts)
        st.html(f'<div class="train-section">All {len(facts)} methods</div>')
        method_table.show_methods(method, facts)
    with st.container(key="train_right"):
        choice = st.container(border=True, key="train_choice")
        with widgets.catch_errors():
            run_card.show_run()
        # Drawn last: the chosen method is imported for it, which may take seconds the first time.
        with choice, widgets.catch_errors():
            header.show_command(chosen_method.show_chosen(method, source, facts[method].obstacle))
