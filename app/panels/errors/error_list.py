"""The list in the middle of the page: labels, documents, pairs of labels, or annotations that look wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import caches, state, tokens, widgets
from xcwork_app.components.label_list import LabelGroup, LabelRow, show_label_list, split_path
from xcwork_app.panels.errors.error_choice import ErrorChoice
from xcwork_app.panels.shared.word_choice import choose_word
from xcwork_app.views import run_findings
from xcwork_app.views.run_findings import Findings

from xcwork.export.text import count_noun

if TYPE_CHECKING:
    import pandas as pd

ROWS_AT_ONCE = 100
SHOWN = "errors.shown"  # key of the session: how many rows the list has now
KINDS = {"Likely missing": "missing", "Likely wrong": "wrong"}
SEPARATOR = ":"  # between the two labels of a pair, or document and label, in the id of a row


def show_labels(found: Findings, choice: ErrorChoice, search: str) -> str:
    """Show the labels, most misses first; return the id of the label to look at, "" for none."""
    from xcwork.analysis.outcomes import list_labels
    from xcwork.analysis.paging import filter_rows

    table = list_labels(found.placement, choice.positions, found.dataset, k=found.k)
    rows = filter_rows(table, search=search, within=["label"])
    wanted = state.view().label
    known = wanted in found.dataset.labels.names
    if wanted and not known and state.asks_for("label", wanted):
        state.fall_back("label", "", f"There is no label {state.quote(wanted)}; the first one is shown instead.")
    chosen = str(found.dataset.labels.names.index(wanted)) if known else _take_first(rows, "label_id")
    _show_rows(
        rows,
        lambda row: LabelRow.from_label(
            str(row.label_id),
            row.label,
            share=row.found / row.test_documents,
            value=f"{row.found:,} of {row.test_documents:,}",
        ),
        found,
        label="Labels",
        noun="label",
        selected=chosen,
        on_choose=lambda name: _choose_label(found, name),
        empty=_explain_empty(found, choice, search),
    )
    _show_foot(rows.drop(columns="label_id"), "labels", "label")
    return chosen


def _choose_label(found: Findings, name: str) -> None:
    if name.isdecimal() and int(name) < len(found.dataset.labels):
        state.update(label=found.dataset.labels.names[int(name)])


def show_documents(found: Findings, choice: ErrorChoice, search: str) -> str:
    """Show the documents, most misses first; return the number of the document to look at, "" for none."""
    import numpy as np

    from xcwork.analysis.outcomes import list_documents, name_selected
    from xcwork.data.browse import find_documents

    rows = list_documents(found.placement, choice.positions, found.dataset, k=found.k)
    if search.strip():
        rows = rows[np.isin(rows["document"], find_documents(found.dataset.test, search=search))]
    wanted = state.view().document
    visible = rows["document"].tolist()[: _count_shown()]
    # The number 0 is also that of a session that has not chosen any, so it counts where it can be seen.
    is_listed = wanted in (set(rows["document"]) if wanted else set(visible))
    chosen = str(wanted) if is_listed else _take_first(rows, "document")
    names = name_selected(found.placement, choice.positions, found.dataset, visible)
    by_document = dict(zip(visible, names, strict=True))
    _show_rows(
        rows,
        lambda row: LabelRow.from_label(
            str(row.document),
            run_findings.name_document(found, row.document),
            below=", ".join(split_path(name)[1] for name in by_document[row.document]),
            share=row.found / row.true_labels,
            value=f"{row.found:,} of {row.true_labels:,}",
        ),
        found,
        label="Documents",
        noun="document",
        selected=chosen,
        on_choose=lambda name: state.update(document=int(name), label="") if name.isdecimal() else None,
        empty=_explain_empty(found, choice, search),
    )
    every = rows["document"].tolist()
    _show_foot(
        rows,
        "documents",
        "document",
        lambda: rows.assign(
            labels=[" | ".join(each) for each in name_selected(found.placement, choice.positions, found.dataset, every)]
        ),
    )
    return chosen


def show_pairs(found: Findings, choice: ErrorChoice, search: str) -> str:
    """Show which labels are listed in place of which; return the ids of the pair to look at."""
    from xcwork.analysis.paging import filter_rows

    rows = filter_rows(_keep_area(found.pairs, "missed_id", choice), search=search, within=["missed", "listed"])
    view = state.view()
    same = rows[(rows["missed"] == view.label) & (rows["listed"] == view.other)]
    first = same if len(same) else rows
    chosen = f"{first['missed_id'].iloc[0]}{SEPARATOR}{first['listed_id'].iloc[0]}" if len(first) else ""
    _show_rows(
        rows,
        lambda row: LabelRow.from_label(
            f"{row.missed_id}{SEPARATOR}{row.listed_id}",
            row.missed,
            below=f"mistaken for {row.listed}",
            value=f"{row.documents:,} of {row.of:,}",
        ),
        found,
        label="Pairs of labels",
        noun="pair",
        selected=chosen,
        on_choose=lambda name: _choose_pair(found, name),
        empty="No label is listed in place of another." if not search else "No pair matches this search.",
    )
    _show_foot(rows.drop(columns=["missed_id", "listed_id"]), "confused-labels", "pair")
    return chosen


def _choose_pair(found: Findings, name: str) -> None:
    missed, _, listed = name.partition(SEPARATOR)
    names = found.dataset.labels.names
    if missed.isdecimal() and listed.isdecimal() and max(int(missed), int(listed)) < len(names):
        state.update(label=names[int(missed)], other=names[int(listed)])


def choose_kind() -> str:
    """Return which doubtful annotations are listed: "missing" or "wrong"."""
    return KINDS[choose_word("Annotations", KINDS, key="errors.suspicious")]


def show_suspicious(found: Findings, choice: ErrorChoice, kind: str, search: str) -> pd.Series | None:
    """Show annotations that may be wrong, the most doubtful first; return the row to look at."""
    from xcwork.analysis.paging import filter_rows

    table = _keep_area(found.likely_missing if kind == "missing" else found.likely_wrong, "label_id", choice)
    rows = filter_rows(table, search=search, within=[name for name in ("label", "uid") if name in table])
    view = state.view()
    same = rows[(rows["document"] == view.document) & (rows["label"] == view.label)]
    first = same if len(same) else rows
    row = first.iloc[0] if len(first) else None
    how = "confidence" if kind == "missing" else "suspicion"
    _show_rows(
        rows,
        lambda each: LabelRow.from_label(
            f"{each.document}{SEPARATOR}{each.label_id}",
            each.label,
            below=f"for {run_findings.name_document(found, each.document)}",
            share=getattr(each, how) / 100,
        ),
        found,
        label="Suspicious annotations",
        noun="label",
        selected="" if row is None else f"{row['document']}{SEPARATOR}{row['label_id']}",
        on_choose=lambda name: _choose_annotation(found, name),
        empty="Nothing looks doubtful." if not search else "No label matches this search.",
    )
    _show_foot(rows.drop(columns=["label_id", "score"], errors="ignore"), f"labels-likely-{kind}", "label")
    return row


def _choose_annotation(found: Findings, name: str) -> None:
    document, _, label = name.partition(SEPARATOR)
    if document.isdecimal() and label.isdecimal() and int(label) < len(found.dataset.labels):
        state.update(document=int(document), label=found.dataset.labels.names[int(label)])


def _keep_area(table: pd.DataFrame, column: str, choice: ErrorChoice) -> pd.DataFrame:
    """Return the rows about labels that were chosen on the map; all of them where none were."""
    return table if choice.area is None else table[table[column].isin(choice.area.ids)]


def _take_first(rows: pd.DataFrame, column: str) -> str:
    return str(rows[column].iloc[0]) if len(rows) else ""


def _explain_empty(found: Findings, choice: ErrorChoice, search: str) -> str:
    if search.strip():
        return "Nothing matches this search."
    if not found.outcomes.counts.missed:
        return f"All true labels are among the first {found.k}."
    return "Nothing matches these filters." if len(choice.positions) == 0 else "Nothing to show."


def _count_shown() -> int:
    return st.session_state.get(SHOWN, ROWS_AT_ONCE)


def _show_rows(
    rows: pd.DataFrame,
    make_row: Callable[..., LabelRow],
    found: Findings,
    *,
    label: str,
    noun: str,
    selected: str,
    on_choose: Callable[[str], object],
    empty: str,
) -> None:
    shown = min(_count_shown(), len(rows))
    show_label_list(
        [LabelGroup([make_row(row) for row in rows.head(shown).itertuples(index=False)])],
        key="errors_rows",
        label=label,
        selected=selected,
        on_choose=lambda name: (on_choose(name), None)[1],
        choose_on_move=True,
        more=f"Show {min(ROWS_AT_ONCE, len(rows) - shown):,} more {noun}s" if shown < len(rows) else "",
        on_more=lambda: st.session_state.update({SHOWN: shown + ROWS_AT_ONCE}),
        colour=tokens.get_look(caches.glance(found.run).number).colour,
        empty=empty,
        height="stretch",
    )


def _show_foot(rows: pd.DataFrame, name: str, noun: str, export: Callable[[], pd.DataFrame] | None = None) -> None:
    with st.container(key="errors_foot", horizontal=True, vertical_alignment="center"):
        st.caption(count_noun(len(rows), noun))
        st.space("stretch")
        widgets.show_export_button(export or (lambda: rows), key="errors.export", name=name)
