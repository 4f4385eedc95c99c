"""Answers leave the page: as a CSV file, or as a corrected copy of the dataset under a new name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import navigation, widgets

from xcwork.paths import find_home

if TYPE_CHECKING:
    from xcwork.review.session import RunReview
    from xcwork.review.verdicts import VerdictLog

COPIED = "review.copied"


def suggest_name(review: RunReview) -> str:
    """Return a name for the corrected copy."""
    from xcwork.data.data_folder import clean_name

    return f"{clean_name(review.dataset.name)}-corrected"


def show_export(review: RunReview, verdicts: VerdictLog) -> None:
    """Offer both exports behind one button."""
    from xcwork.review.session import tabulate_answers

    with st.popover("Export answers", icon=":material/download:", key="review.export"):
        widgets.show_export_button(
            lambda: tabulate_answers(review.dataset, review.read_verdicts()),
            key="review.csv",
            name=f"answers-{review.run}",
            label=f"Answers as CSV ({len(verdicts.answers):,})",
        )
        key = "review.copy_name"
        st.session_state.setdefault(key, suggest_name(review))
        name = st.text_input("Corrected copy of the dataset", key=key, max_chars=100, help="Its name on the page Data")
        if not verdicts.answers:
            st.caption("There are no answers yet, so there is nothing to correct.")
        if st.button("Write the copy", key="review.copy", disabled=not verdicts.answers):
            st.session_state.pop(COPIED, None)
            with widgets.catch_errors():
                _write_copy(review, verdicts, name)
        if (copied := st.session_state.get(COPIED)) is not None:
            st.success(widgets.escape_text(copied[1]))
            if st.button("Open it", key="review.open_copy"):
                navigation.go_to("data", data=copied[0])


def _write_copy(review: RunReview, verdicts: VerdictLog, name: str) -> None:
    from xcwork.data.data_folder import choose_place
    from xcwork.review.correction import write_corrected_dataset

    folder = find_home() / "data"
    folder.mkdir(parents=True, exist_ok=True)
    place = choose_place(folder / "new", name)
    with st.spinner("Writing the corrected dataset."):
        counts = write_corrected_dataset(review.dataset, verdicts, place)
    noun = "label" if counts.added == 1 else "labels"
    said = f"{place.name}: {counts.added:,} {noun} added, {counts.removed:,} removed. Train on it as on any dataset."
    st.session_state[COPIED] = (place.name, said)
