"""The labels of a dataset: the long tail with its bands, labels per document, frequent labels, names written twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import caches, state, tokens, widgets
from xcwork_app.components.label_list import LabelGroup, LabelRow, show_label_list
from xcwork_app.panels.data.card import get_profile
from xcwork_app.panels.shared.chart_menu import show_titled_chart
from xcwork_app.sources import Source

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from xcwork.data.profile import DatasetProfile

BANDS = {"count": "by count", "share": "in thirds"}
MAX_SIMILAR_SHOWN = 20


def show(source: Source) -> None:
    """Show the curve and the histogram on the left, labels by name on the right."""
    profile = get_profile(source)
    scheme = tokens.get_scheme()
    with st.container(key="data_labels"):
        left, right = st.columns([3, 2], gap="small")
    with left:
        show_titled_chart(
            _draw_curve(source, source.make_stamp(), get_bands(), scheme),
            key="data_frequencies",
            name="label-frequencies",
            title="How often labels occur",
        )
        show_titled_chart(
            _draw_histogram(source, source.make_stamp(), scheme),
            key="data_histogram",
            name="labels-per-document",
            title="Labels per document",
        )
    with right:
        widgets.show_section("Most frequent labels")
        _show_frequent(profile)
        _show_similar(profile)


def get_bands() -> str:
    """Return which definition of frequent, medium and rare labels is shown."""
    chosen = state.view().bands
    return chosen if chosen in BANDS else next(iter(BANDS))


def choose_bands() -> None:
    """Let somebody choose the definition of frequent, medium and rare labels."""
    widgets.choose_field(
        "Frequency",
        "bands",
        BANDS,
        key="data.bands",
        help="Frequent, medium and rare labels have more than 50, 6 to 50 and 1 to 5 training documents; or each group "
        "has about a third of all labels of training documents.",
        hidden=True,
    )


@st.cache_resource(max_entries=20, show_spinner=False)
def _draw_curve(source: Source, stamp: str, bands: str, scheme: str) -> go.Figure:
    from xcwork.viz.frequencies import draw_label_frequencies

    drawn = draw_label_frequencies(caches.get_card(source), bands=bands, palette=tokens.get_palette())
    return _fit(drawn.update_yaxes(title_text="documents"))  # "training documents" does not fit beside a low chart


@st.cache_resource(max_entries=20, show_spinner=False)
def _draw_histogram(source: Source, stamp: str, scheme: str) -> go.Figure:
    from xcwork.viz.frequencies import draw_labels_per_document

    counts = get_profile(source).labels_per_document
    return _fit(draw_labels_per_document(counts, palette=tokens.get_palette()))


def _fit(drawn: go.Figure) -> go.Figure:
    """Let a chart take the room that it has here; its title stands above it."""
    return drawn.update_layout(height=None, title=None, margin={"l": 52, "r": 8, "t": 18, "b": 36})


def _show_frequent(profile: DatasetProfile) -> None:
    most = profile.frequent_labels[0].n_documents if profile.frequent_labels else 1
    rows = [
        LabelRow.from_label(str(each.label), each.name, share=each.n_documents / most, value=f"{each.n_documents:,}")
        for each in profile.frequent_labels
    ]
    show_label_list(
        [LabelGroup(rows)],
        key="data_frequent",
        label="Most frequent labels",
        on_choose=lambda label: _find_documents(profile, label),
        colour=tokens.COLOURS["bands_1"],
        empty="No training document has a label.",
        height="stretch",
    )


def _find_documents(profile: DatasetProfile, label: str) -> None:
    """Show the documents that have a label."""
    name = next((each.name for each in profile.frequent_labels if str(each.label) == label), None)
    if name is not None:
        st.session_state["data.search"] = name
        st.session_state["data.view"] = "Documents"


def _show_similar(profile: DatasetProfile) -> None:
    count = profile.n_similar_groups
    if not count:
        st.caption("No two labels have nearly the same name.")
        return
    pairs = "1 group of labels has" if count == 1 else f"{count:,} groups of labels have"
    with st.expander(f"{pairs} nearly the same name"):
        for group in profile.similar_names[:MAX_SIMILAR_SHOWN]:
            st.markdown(" · ".join(widgets.escape_text(name) for name in group))
        if count > MAX_SIMILAR_SHOWN:
            st.caption(f"The first {MAX_SIMILAR_SHOWN} of {count:,}.")
