"""What choosing a run in a list does."""

from __future__ import annotations

import streamlit as st
from xcwork_app import caches, state

from xcwork.runs import Run


def make_current(run: Run) -> None:
    """Let all pages look at a run, and at the dataset it was trained on."""
    source = caches.get_source(run)
    if source is not None and (state.view().run, state.view().data) != (run.id, source.id):
        state.update(data=source.id, run=run.id)
        st.rerun()
