"""The label map: labels in two dimensions to search, colour and lasso; then the documents that miss what was chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st
from xcwork_app import caches, navigation, widgets
from xcwork_app.panels.shared import label_choice, label_tables, paged_table
from xcwork_app.panels.shared.label_bands import choose_bands
from xcwork_app.views.label_vectors import get_label_vectors
from xcwork_app.views.run_findings import Findings

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from xcwork.analysis.label_projection import LabelMap
    from xcwork.analysis.neighbours import LabelVectors

LAYOUTS = {"pca": "PCA", "umap": "UMAP"}
COLOURS = {"band": "Band", "recall": "Recall", "cluster": "Cluster"}
WAITING = {
    "pca": "Laying out the labels.",
    "umap": "Laying out the labels. UMAP takes a minute or more the first time.",
}
DOCUMENTS = {
    "document": st.column_config.NumberColumn(width=80),
    "n_missed": st.column_config.NumberColumn("missed", width=80),
    "best_rank": st.column_config.NumberColumn("best rank", width=90, help="The highest place of a missed label"),
    "missed_labels": st.column_config.TextColumn("○ missed labels", width="medium"),
    "text": st.column_config.TextColumn(width="large"),
}


@dataclass(frozen=True)
class MapKey:
    """Everything a map depends on."""

    folder: str
    stamp: int  # of the model
    data: str  # the fingerprint of the dataset
    layout: str
    label: int | None
    k: int
    bands: str


def show(found: Findings) -> tuple[int | None, list[int]]:
    """Show the map; return the label that is looked for, and the ids of the labels in the lasso."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        with st.container(width=220):
            label = label_choice.choose_label(found.dataset.labels, key="label_map.label")
        layout = widgets.choose_field(
            "Layout",
            "layout",
            LAYOUTS,
            key="label_map.layout",
            help="PCA is fast and shows the widest directions; UMAP keeps neighbourhoods.",
        )
        colour = widgets.choose_field("Colour", "colour", COLOURS, key="label_map.colour")
        choose_bands("label_map.bands")
    folder = found.run.folder
    view = MapKey(
        str(folder),
        caches.get_stamp(folder / "model"),
        found.dataset.fingerprint,
        layout,
        label,
        found.k,
        found.bands.definition,
    )
    vectors = get_label_vectors(found)
    with st.spinner(WAITING[layout]):
        drawn = _lay_out_map(view, vectors, found)
    event = widgets.show_figure(
        _draw_map(view, colour, drawn),
        key=f"label_map.chart.{found.run.id}",
        name="label-map",
        on_select="rerun",
        selection_mode=("lasso", "box", "points"),
    )
    widgets.show_export_button(
        lambda: drawn.points, key="label_map.export", name="label-map", label="CSV of all drawn labels"
    )
    return label, read_selected_labels(event, len(found.dataset.labels))


@st.cache_resource(max_entries=12, show_spinner=False)
def _lay_out_map(view: MapKey, _vectors: LabelVectors, _found: Findings) -> LabelMap:
    from xcwork.analysis.label_projection import label_map

    return label_map(
        _vectors,
        _found.dataset,
        kind=view.layout,
        chosen=[] if view.label is None else [view.label],
        recall=_found.labels[f"recall@{view.k}"].to_numpy(),
        bands=_found.bands,
        folder=_found.run.folder / "maps",
    )


@st.cache_resource(max_entries=12, show_spinner=False)
def _draw_map(view: MapKey, colour: str, _drawn: LabelMap) -> go.Figure:
    from xcwork.viz.label_map import label_map_figure

    lit = _drawn.points.loc[_drawn.points["chosen"], "label_id"].tolist()
    return label_map_figure(_drawn, colour=colour, highlight=lit)


def read_selected_labels(event: Mapping[str, Any], n_labels: int) -> list[int]:
    """Return the label ids in a selection, each once."""
    ids = [point.get("customdata") for point in event["selection"]["points"]]
    ids = [each[0] if isinstance(each, list | tuple) else each for each in ids]
    return [int(each) for each in dict.fromkeys(ids) if each is not None and 0 <= int(each) < n_labels]


def show_selection(found: Findings, ids: list[int]) -> None:
    """Show the labels in the lasso, and the documents that miss them."""
    widgets.show_section("Chosen labels")
    if not ids:
        st.caption(
            "Draw a lasso or a box on the map, or click a label. Its labels and the documents that miss them "
            "appear here."
        )
        return
    table = found.labels[found.labels["label_id"].isin(ids)].sort_values("missed", ascending=False, kind="stable")
    missed = int(table["missed"].sum())
    total = int(table["test_documents"].sum())
    st.markdown(
        f"**{len(table):,} label{'s' if len(table) != 1 else ''}**, missed {missed:,} of {total:,} times "
        f"among the first {found.k}."
    )
    shown = ["label_id", "label", "band", "train_documents", "test_documents", "missed", f"recall@{found.k}"]
    label_tables.show_labels(table[shown], key="label_map.labels", name="chosen-labels")
    _show_documents(found, ids)


def _show_documents(found: Findings, ids: list[int]) -> None:
    from xcwork.analysis.document_table import add_texts, misses_by_document

    widgets.show_section("Documents that miss them")
    rows = misses_by_document(found.missed, ids)
    if not len(rows):
        st.caption("No test document misses one of these labels.")
        return
    row = paged_table.show(
        rows,
        key="label_map.documents",
        name="documents-that-miss-them",
        columns=DOCUMENTS,
        alt=f"{len(rows):,} documents that miss a chosen label, most missed labels first",
        shape=lambda some: add_texts(some, found.dataset.test),
    )
    if row is not None:
        navigation.open_test_document(row["document"])
