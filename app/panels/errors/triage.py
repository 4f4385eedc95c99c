"""Where each missed label was lost: outranked, not retrieved, unseen or filtered, with its rank and what won."""

from __future__ import annotations

import streamlit as st
from xcwork_app import navigation, state, widgets
from xcwork_app.panels.shared import paged_table
from xcwork_app.panels.shared.label_bands import choose_band
from xcwork_app.views.run_findings import Findings

ANYWHERE = "anywhere"
COLUMNS = {
    "document": st.column_config.NumberColumn(width=80),
    "label": st.column_config.TextColumn(width="large"),
    "train_documents": st.column_config.NumberColumn("training documents", width="small"),
    "state": st.column_config.TextColumn("lost", width="small"),
    "rank": st.column_config.NumberColumn(width=70, help="In the stored list; empty when it is not listed"),
    "score": st.column_config.NumberColumn(format="%.3f", width=90),
    "top_label": st.column_config.TextColumn("first label instead", width="large"),
    "top_score": st.column_config.NumberColumn("its score", format="%.3f", width=90),
}


def show(found: Findings) -> None:
    """Show the missed labels, near misses first."""
    from xcwork.analysis.errors import STATES
    from xcwork.analysis.paging import filter_rows

    state.link("errors.missed.search")
    state.link("errors.missed.state", ANYWHERE, (ANYWHERE, *STATES))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        search = st.text_input("Search", key="errors.missed.search", placeholder="a label, a document", width=260)
        lost = st.selectbox("Lost", [ANYWHERE, *STATES], key="errors.missed.state", width=180, persist_state="session")
        band = choose_band(found, "errors.missed.band")
    where = ({} if lost == ANYWHERE else {"state": [lost]}) | ({} if band is None else {"band": [band]})
    columns = [column for column in ("label", "uid", "top_label") if column in found.missed]
    rows = filter_rows(found.missed, search=search, within=columns, where=where)
    if not len(rows):
        widgets.show_empty("No missed label fits this search and these filters.")
        return
    rows = rows.sort_values(["rank", "document"], na_position="last", kind="stable")
    chosen = paged_table.show(
        rows,
        key="errors.missed",
        name="missed-labels",
        columns=COLUMNS,
        alt=f"{len(rows):,} missed labels with their ranks and where they were lost",
        shape=lambda some: some.drop(columns=["label_id", "uid"], errors="ignore"),
        hint="Choose a row to see on the Predict page the evidence for the missed label.",
    )
    if chosen is not None:
        navigation.open_test_document(chosen["document"], label=str(chosen["label"]))
