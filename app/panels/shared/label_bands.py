"""How many labels of a list count, and how labels are put into bands of frequency."""

from __future__ import annotations

import streamlit as st
from xcwork_app import state, widgets
from xcwork_app.views.run_findings import BANDS, Findings

ALL_BANDS = "all bands"


def warn_about_changed_data(found: Findings) -> None:
    """Say so where the dataset has changed since the run was measured."""
    if found.is_outdated:
        st.warning(
            "The dataset has changed since this run was measured, so the numbers here may differ from its report.",
            icon=":material/warning:",
        )


def choose_bands(key: str) -> str:
    """Return the definition of bands to use."""
    return widgets.choose_field(
        "Bands of labels",
        "bands",
        BANDS,
        key=key,
        help="By count: head, torso and tail have more than 50, 6 to 50 and 1 to 5 training documents. By share: each "
        "has about a third of all training positives. By shots: many-shot, few-shot (1 to 3) and zero-shot.",
    )


def choose_list_length(key: str) -> int:
    """Return how many labels of each list count as predicted."""
    st.session_state[key] = state.view().k
    return st.number_input(
        "First k labels",
        1,
        state.MAX_LENGTH,
        key=key,
        width=140,
        help="A true label beyond the first k counts as missed.",
        on_change=lambda: state.update(k=int(st.session_state[key])),
    )


def choose_band(found: Findings, key: str) -> str | None:
    """Return one band to look at; None for all."""
    st.session_state[key] = state.pick_option("band", found.bands.names, ALL_BANDS, f"“{ALL_BANDS}”")
    chosen = st.selectbox(
        "Band",
        [ALL_BANDS, *found.bands.names],
        key=key,
        width=160,
        on_change=lambda: state.update(band="" if st.session_state[key] == ALL_BANDS else st.session_state[key]),
    )
    return None if chosen == ALL_BANDS else chosen
