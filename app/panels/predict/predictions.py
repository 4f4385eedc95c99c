"""The labels a model suggests for one document, with the true ones where they are known."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import state, widgets
from xcwork_app.panels.predict.document_choice import ChosenDocument

if TYPE_CHECKING:
    import pandas as pd

    from xcwork.core.dataset import Dataset
    from xcwork.core.topk import TopK
    from xcwork.methods.base import Method

DEPTH = 100  # labels ranked, so that a missed one can be given its rank
COLUMNS = ("sign", "rank", "label", "score", "band", "train_documents", "reason")


def list_labels(chosen: ChosenDocument, predicted: TopK, dataset: Dataset, k: int) -> pd.DataFrame:
    """Return the first k labels and the missed ones, each with what is known about it."""
    from xcwork.analysis.document_table import document_labels

    if chosen.row is None:
        frame = predicted.head(k).to_frame().drop(columns="document")
        return frame.assign(train_documents=dataset.train.label_frequencies[frame["label_id"]])
    alone = replace(dataset, test=dataset.test.take([chosen.row]))
    return document_labels(predicted, alone, 0, k=k)


def show(chosen: ChosenDocument, model: Method, dataset: Dataset) -> pd.DataFrame:
    """Show the table and return all rows; choosing a row makes it the label that is explained."""
    from xcwork.analysis.unknown_text import describe_unknown_text

    k = state.view().k
    predicted = model.predict(chosen.document, min(max(k, DEPTH), len(model.labels_)))
    table = list_labels(chosen, predicted, dataset, k)
    n_suggested = len(predicted.head(k).row(0))
    if note := describe_unknown_text(model, chosen.document, n_suggested=n_suggested):
        (st.warning if n_suggested else st.info)(note, icon=":material/info:")
    if not len(table):
        return table
    shown = table[[column for column in COLUMNS if column in table]]
    highest = float(table["score"].max())
    # One key per document: a selection belongs to the list it was made in.
    rows = widgets.show_table(
        shown,
        key=f"predict.labels.{hash((chosen.row, chosen.text, k))}",
        name="predictions",
        select="single-row",
        alt=_describe_table(table),
        columns={
            "sign": st.column_config.TextColumn("", width=30, help="✓ right, ✗ wrong, ○ missed"),
            "rank": st.column_config.NumberColumn(width=50),
            "score": _make_score_column(highest, float(table["score"].min())),
            "train_documents": st.column_config.NumberColumn("in training", help="Training documents with this label"),
            "label": st.column_config.TextColumn(width=200),
        },
    )
    if (row := widgets.take_new_choice(rows, "predict.labels")) is not None:
        state.update(label=str(table["label"].iloc[row]))
    return table


def _make_score_column(highest: float, lowest: float) -> object:
    if lowest < 0 or not highest > 0:
        return st.column_config.NumberColumn(format="%.4f", width=80)
    return st.column_config.ProgressColumn(format="%.3f", width=130, min_value=0.0, max_value=highest)


def _describe_table(table: pd.DataFrame) -> str:
    if "state" not in table:
        return f"{len(table)} suggested labels, best first"
    counts = table["state"].value_counts()
    return (
        f"{counts.get('hit', 0)} right, {counts.get('false positive', 0)} wrong and {counts.get('miss', 0)} missed "
        "labels of this document"
    )


def choose_list_length() -> None:
    """Ask how many labels to list."""
    st.session_state["predict.k"] = state.view().k
    st.number_input(
        "Labels listed",
        1,
        100,
        key="predict.k",
        width=140,
        on_change=lambda: state.update(k=int(st.session_state["predict.k"])),
    )
