"""Labels as rows of a table; choosing one makes it the label of the session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import state, widgets
from xcwork_app.views.label_vectors import get_label_vectors
from xcwork_app.views.run_findings import Findings

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = {
    "train_documents": st.column_config.NumberColumn("training documents"),
    "test_documents": st.column_config.NumberColumn("test documents"),
    "shared_documents": st.column_config.NumberColumn("documents with both", help="In the training split"),
    "shared_terms": st.column_config.TextColumn("terms in common"),
    "similarity": st.column_config.ProgressColumn(format="%.2f", min_value=0, max_value=1),
    "instead": st.column_config.NumberColumn("predicted instead", help="Documents that lack this label and have that"),
    "for_it": st.column_config.NumberColumn("missed for it", help="Documents in which this label pushed that one out"),
    "lift": st.column_config.NumberColumn(format="%.1f", help="How many times more often than by chance"),
    "label": st.column_config.TextColumn(width="medium"),
}


def show_labels(table: pd.DataFrame, *, key: str, name: str) -> None:
    """Show some labels with what is known about them."""
    rows = widgets.show_table(
        table.drop(columns="label_id"),
        key=key,
        name=name,
        columns=COLUMNS,
        select="single-row",
        alt=f"{len(table)} labels",
    )
    if (row := widgets.take_new_choice(rows, key)) is not None:
        state.update(label=str(table["label"].iloc[row]))
        st.rerun()


def show_nearest_labels(label: int, found: Findings, *, key: str) -> None:
    """Show the labels nearest to one."""
    from xcwork.analysis.neighbours import nearest_labels

    vectors = get_label_vectors(found)
    table = nearest_labels(vectors, found.dataset, label)
    if not len(table):
        st.caption("This label has no vector, so nothing says what lies near it.")
        return
    show_labels(table, key=f"{key}.{label}", name="nearest-labels")
    st.caption(widgets.plain(f"By {vectors.source}."))
