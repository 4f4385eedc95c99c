"""How many labels of a list count, and how labels are put into bands of frequency."""

from __future__ import annotations

import streamlit as st
from xcwork_app import state
from xcwork_app.views.run_findings import BANDS, Findings

LENGTHS = (1, 3, 5, 10)


def warn_about_changed_data(found: Findings) -> None:
    """Say so where the dataset has changed since the run was measured."""
    if found.is_outdated:
        st.warning(
            "The dataset has changed since this run was measured, so the numbers here may differ from its report.",
            icon=":material/warning:",
        )


def choose_bands(key: str) -> str:
    """Return the definition of bands to use."""
    usual = next(iter(BANDS))
    st.session_state[key] = state.pick_option("bands", BANDS, usual, f"“{BANDS[usual]}”")
    chosen = st.selectbox(
        "Frequency",
        list(BANDS),
        key=key,
        format_func=BANDS.__getitem__,
        label_visibility="collapsed",
        width=118,
        help="By count: frequent, medium and rare labels have more than 50, 6 to 50 and 1 to 5 training documents. "
        "In thirds: each has about a third of all training labels. By shots: more than 3, 1 to 3 and none.",
        on_change=lambda: state.update(
            bands="" if st.session_state[key] == usual else st.session_state[key], band="", outcome=""
        ),
    )
    return chosen or usual


def choose_list_length(key: str) -> int:
    """Return how many labels of each list count as predicted; a link may ask for another length than the usual ones."""
    st.session_state[key] = state.view().k
    with st.container(
        key=f"{key.replace('.', '_')}_choice", horizontal=True, vertical_alignment="center", width="content"
    ):
        st.caption("First", width="content")
        chosen = st.segmented_control(
            "First",
            sorted({*LENGTHS, state.view().k}),
            required=True,
            key=key,
            label_visibility="collapsed",
            on_change=lambda: state.update(k=int(st.session_state[key]), outcome=""),
        )
    return int(chosen or state.view().k)
