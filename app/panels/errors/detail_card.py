"""The card on the right: one label, one document, one pair of labels or one doubtful annotation in detail."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from xcwork_app import navigation, state
from xcwork_app.components.label_list import LabelGroup, LabelRow, show_label_list, split_path
from xcwork_app.panels.errors import detail_parts as parts
from xcwork_app.panels.errors.error_list import SEPARATOR
from xcwork_app.views import run_findings
from xcwork_app.views.run_findings import Findings

from xcwork.core.topk import MISSING
from xcwork.data.browse import get_document_text
from xcwork.export.text import count_noun

if TYPE_CHECKING:
    import pandas as pd

MAX_LISTED = 2  # labels that are listed instead
MAX_DOCUMENTS = 3
MAX_MISSED_SEEN = 3  # missed labels of a document before they scroll
MISSED_PIXELS = 118


def show_label(found: Findings, chosen: str) -> None:
    """Show how one label is missed, what is listed instead, and who finds it."""
    from xcwork.analysis.outcomes import describe_ranks

    if not chosen:
        parts.say_nothing_chosen()
        return
    label = int(chosen)
    page = run_findings.get_label_page(found, label)
    positions = np.flatnonzero(found.placement.truth.indices == label)
    ranks = found.placement.ranks[positions]
    n = page.train_documents
    below = "no training document" if not n else count_noun(n, "training document")
    instead = page.confusable[page.confusable["instead"] > 0].head(MAX_LISTED)
    lines = [(parts.escape_name(row.label, page.name), _count_times(row.instead)) for row in instead.itertuples()]
    body = parts.render_title(page.name, below)
    body += parts.render_warning(describe_ranks(ranks, found.k, found.topk.k))
    body += parts.render_lines("Listed instead", lines)
    if page.test_documents:
        body += parts.render_finders(found, positions)
    st.html(body)
    missing = page.misses.head(MAX_DOCUMENTS)
    if len(missing):
        _show_missing_documents(found, missing, page.name, len(page.misses))
    reason = st.container(key="errors_reason")
    document = int(missing["document"].iloc[0]) if len(missing) else None
    _show_ways_on(document, page.name)
    if document is not None:
        with reason:
            _show_winner(found, document, label)


def _show_missing_documents(found: Findings, missing: pd.DataFrame, label: str, total: int) -> None:
    note = f"{len(missing)} of {total:,}" if total > len(missing) else ""
    documents = missing["document"].tolist()
    names = [run_findings.name_document(found, document) for document in documents]
    rows = [
        LabelRow(str(document), short, hint=name, value=f"rank {rank}" if rank else "not listed")
        for document, name, short, rank in zip(
            documents, names, shorten_apart(names), missing["rank"].fillna(0).tolist(), strict=True
        )
    ]
    chosen = show_label_list(
        [LabelGroup(rows, title="Documents that miss it", note=note)],
        key="errors_missing",
        label="Documents that miss it",
        is_compact=True,
    )
    if chosen is not None and chosen.isdecimal():
        navigation.open_test_document(int(chosen), label=label)


def shorten_apart(names: Sequence[str]) -> list[str]:
    """Return the last parts of names; the whole names of those that have the same."""
    lasts = [split_path(name)[1] for name in names]
    return [name if lasts.count(last) > 1 else last for name, last in zip(names, lasts, strict=True)]


def show_document(found: Findings, chosen: str) -> None:
    """Show one document with its missed labels; one of them is looked at."""
    if not chosen:
        parts.say_nothing_chosen()
        return
    document, placement, names = int(chosen), found.placement, found.dataset.labels.names
    start, end = placement.truth.indptr[document : document + 2]
    ranks, labels = placement.ranks[start:end], placement.truth.indices[start:end]
    order = np.lexsort((labels, ranks))
    missed = [at for at in order.tolist() if ranks[at] > found.k]
    name = run_findings.name_document(found, document)
    text = get_document_text(found.dataset.test, document)
    n_found = len(labels) - len(missed)
    st.html(parts.render_title(name, f"{n_found:,} of {len(labels):,} labels found") + parts.render_text(text))
    if not missed:
        _show_ways_on(document, names[int(labels[order[0]])])
        return
    wanted = state.view().label
    at = next((at for at in missed if names[int(labels[at])] == wanted), missed[0])
    show_label_list(
        [
            LabelGroup(
                [
                    LabelRow(
                        str(labels[each]),
                        split_path(names[int(labels[each])])[1],
                        hint=names[int(labels[each])],
                        value=f"rank {ranks[each]}" if ranks[each] <= found.topk.k else "not listed",
                    )
                    for each in missed
                ],
                title="Missed labels",
            )
        ],
        key="errors_missed",
        label="Missed labels",
        selected=str(labels[at]),
        on_choose=lambda row: (
            state.update(label=names[int(row)]) if row.isdecimal() and int(row) < len(names) else None
        ),
        height=MISSED_PIXELS if len(missed) > MAX_MISSED_SEEN else "content",
        is_compact=True,
    )
    listed = [label for label in found.topk.head(found.k).ids[document].tolist() if label != MISSING]
    wrong = [label for label in listed if label not in set(labels.tolist())][:MAX_LISTED]
    missing_label = names[int(labels[at])]
    lines = [
        (parts.escape_name(_name_label(found, each), missing_label), f"rank {listed.index(each) + 1}") for each in wrong
    ]
    st.html(parts.render_lines("Listed instead", lines) + parts.render_finders(found, np.array([start + at])))
    reason = st.container(key="errors_reason")
    _show_ways_on(document, missing_label)
    with reason:
        _show_winner(found, document, int(labels[at]))


def show_pair(found: Findings, chosen: str) -> None:
    """Show a label and the one that is listed in its place."""
    from xcwork.analysis.confused_pairs import find_pair_documents

    if not chosen:
        parts.say_nothing_chosen()
        return
    missed, listed = (int(each) for each in chosen.split(SEPARATOR))
    names = found.dataset.labels.names
    documents = find_pair_documents(found.topk, found.dataset, missed, listed, k=found.k)
    positions = np.flatnonzero(found.placement.truth.indices == missed)
    row = found.pairs[(found.pairs["missed_id"] == missed) & (found.pairs["listed_id"] == listed)].iloc[0]
    times = f"{row['lift']:.0f} times as often as by chance" if row["lift"] >= 2 else "about as often as by chance"
    st.html(
        parts.render_title(names[missed], f"mistaken for {names[listed]}")
        + parts.render_warning(f"{names[listed]} is listed instead {times}.")
        + parts.render_finders(found, positions)
    )
    shown = documents[:MAX_DOCUMENTS].tolist()
    rows = [LabelRow(str(each), split_path(run_findings.name_document(found, each))[1]) for each in shown]
    note = f"{len(shown)} of {len(documents):,}" if len(documents) > len(shown) else ""
    opened = show_label_list(
        [LabelGroup(rows, title="Documents", note=note)],
        key="errors_missing",
        label="Documents with this mistake",
        is_compact=True,
    )
    if opened is not None and opened.isdecimal():
        navigation.open_test_document(int(opened), label=names[missed])
    reason = st.container(key="errors_reason")
    _show_ways_on(shown[0], names[missed])
    with reason:
        parts.show_reason(found, shown[0], listed, missed)


def show_annotation(found: Findings, row: pd.Series | None, kind: str) -> None:
    """Show why an annotation looks wrong, and the way to answer it in Review."""
    if row is None:
        parts.say_nothing_chosen()
        return
    document, label = int(row["document"]), int(row["label_id"])
    name = run_findings.name_document(found, document)
    if kind == "missing":
        told = f"Not annotated, although {row['confidence']:.0f} of 100 such predictions are right."
    else:
        elsewhere = f"found in {row['found_elsewhere']:.0f} % of its other documents"
        told = f"Annotated, but not among the first {found.k} here, and {elsewhere}."
    st.html(
        parts.render_title(str(row["label"]), f"for {name}")
        + parts.render_warning(told)
        + parts.render_text(get_document_text(found.dataset.test, document))
        + '<div class="errors-muted">A hint to look at, not a verdict.</div>'
    )
    with st.container(key="errors_ways", horizontal=True):
        if st.button("Answer in Review", key="errors.review", type="primary"):
            navigation.open_from_list(
                "review", queue="" if kind == "missing" else kind, item=f"test:{document}:{label}"
            )
        if st.button("Why?", key="errors.why"):
            navigation.open_test_document(document, label=str(row["label"]))


def _show_winner(found: Findings, document: int, missed: int) -> None:
    """Say why the first label of a document stands before a missed one."""
    winner = int(found.topk.ids[document, 0]) if found.topk.k else MISSING
    if winner != MISSING and winner < len(found.dataset.labels):
        parts.show_reason(found, document, winner, missed)


def _show_ways_on(document: int | None, label: str) -> None:
    with st.container(key="errors_ways", horizontal=True):
        if document is not None and st.button(
            "Why not?", key="errors.why_not", type="primary", help="Open a document on Predict, at the missed label"
        ):
            navigation.open_test_document(document, label=label)
        if navigation.has_page("label_map") and st.button("Show on the map", key="errors.map"):
            navigation.show_label_on_map(label)


def _count_times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _name_label(found: Findings, label: int) -> str:
    space = found.dataset.labels if found.topk.labels is None else found.topk.labels
    return escape(space.names[label]) if label < len(space.names) else str(label)
