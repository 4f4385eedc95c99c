"""The card of a dataset: sizes, the label-frequency curve with its bands, and the health checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import caches, widgets
from xcwork_app.sources import Source

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from xcwork.data.card import Card

BANDS = {"count": "by count", "share": "by share"}


def show_facts(card: Card) -> None:
    """Show the sizes, in one row."""
    unseen = f"{card.unseen_share_of_test:.1f} % of the test positives belong to them"
    figures = (
        ("Training documents", f"{card.n_train:,}", None),
        ("Test documents", f"{card.n_test:,}", None),
        ("Labels", f"{card.n_labels:,}", None),
        ("Unseen labels", f"{card.n_unseen_labels:,}", f"Labels that no training document has; {unseen}."),
        ("Labels per document", f"{card.labels_per_document:.1f}", None),
        ("Features", f"{card.n_features:,}", None),
    )
    widgets.show_metrics(figures)
    if card.source:
        st.caption(widgets.plain(card.source))
    for note in card.notes:
        st.caption(widgets.plain(note[:1].upper() + note[1:] + "."))


def choose_bands() -> str:
    """Return which definition of head, torso and tail is shown."""
    return widgets.choose_field(
        "Bands of labels",
        "bands",
        BANDS,
        key="data.bands",
        help="Head, torso and tail by fixed counts (more than 50, 6 to 50, 1 to 5 training documents), or so that each "
        "has about a third of all training positives.",
    )


def show_frequencies(source: Source, bands: str) -> None:
    """Show the rank-frequency curve with the bands of labels."""
    widgets.show_figure(_draw_curve(source, source.stamp(), bands), key="data.frequencies", name="label-frequencies")


@st.cache_resource(max_entries=20, show_spinner=False)
def _draw_curve(source: Source, stamp: str, bands: str) -> go.Figure:
    from xcwork.viz.frequencies import label_frequencies

    return label_frequencies(caches.get_card(source), bands=bands)


def show_band_table(card: Card, bands: str) -> None:
    """Show labels and positives of each band."""
    import pandas as pd

    rows = [{"band": band, **counts} for band, counts in card.bands[bands].items()]
    frame = pd.DataFrame(rows).rename(columns={"share": "share of positives, %"})
    widgets.show_table(
        frame, key="data.band_table", name="bands", alt="Labels and share of the training positives of each band"
    )


def show_health_checks(card: Card) -> None:
    """Show what was checked, and what is wrong."""
    st.markdown("**Health checks**")
    for problem in card.problems:
        st.warning(widgets.plain(problem[:1].upper() + problem[1:] + "."), icon=":material/warning:")
    sound = [name for name, fine in _list_checks(card).items() if fine]
    if sound:
        st.markdown("  \n".join(f":green[:material/check:] {name}" for name in sound))
    constants = card.propensity
    st.caption(
        f"Propensity for PSP@k: A = {constants['A']}, B = {constants['B']} ({widgets.plain(constants['source'])}). "
        f"In memory: {widgets.format_megabytes(card.memory_bytes / 1e6)}."
    )


def _list_checks(card: Card) -> dict[str, bool]:
    return {
        "every document has features": not any(card.empty_documents.values()),
        "every document has labels": not any(card.unlabelled_documents.values()),
        "no document occurs twice": not any(card.duplicate_documents.values()),
        "no test document occurs in training": not card.overlapping_documents,
        "every label occurs somewhere": not card.orphan_labels,
        "label names differ": not card.duplicate_label_names,
        "every label has a text": card.missing_label_texts == 0,
    }
