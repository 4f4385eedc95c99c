"""The first documents of an upload as they will be read, what was found about them, and four figures."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from xcwork.data.readers.markup import has_markup, strip_markup

if TYPE_CHECKING:
    from xcwork_app.panels.data.table_choices import TableReading

N_DOCUMENTS = 3
MAX_TITLE_CHARACTERS = 160
MAX_TEXT_CHARACTERS = 400
MAX_LABELS = 12


def show_documents(reading: TableReading) -> None:
    """Show the first documents with their labels as chips, and the most frequent labels."""
    seen, summary = reading.seen, reading.summary
    first = min(N_DOCUMENTS, len(seen.texts))
    total = f"{summary.n_documents:,}{'' if reading.is_complete else ' or more'}"
    counted = f"1 to {first} of {total}" if first else ""
    strips = has_markup(seen.texts)
    shown = "".join(
        _draw_document(strip_lines(text, strips), labels)
        for text, labels in zip(seen.texts[:first], seen.labels[:first], strict=False)
    )
    frequent = " · ".join(f"{escape(name)} {count:,}" for name, count in summary.frequent_labels)
    st.html(
        '<div class="data-preview"><div class="head"><b>The first documents, as they will be read</b>'
        f"<span>{counted}</span></div>"
        + (f'<div class="documents">{shown}</div>' if shown else "")
        + (f'<div class="frequent">Most frequent: {frequent}</div>' if frequent else "")
        + "</div>"
    )


def strip_lines(text: str, strips: bool) -> str:
    """Return a text as it will be read; its first line stays one."""
    return "\n".join(strip_markup(line) for line in text.split("\n")) if strips else text


def _draw_document(text: str, labels: list[str]) -> str:
    title, _, body = text.strip().partition("\n")
    if len(title) > MAX_TITLE_CHARACTERS:
        title, body = "", text
    chips = "".join(f"<i>{escape(name)}</i>" for name in labels[:MAX_LABELS])
    more = f"<small>and {len(labels) - MAX_LABELS} more</small>" if len(labels) > MAX_LABELS else ""
    lead = f"<b>{escape(title)}</b>" if title else ""
    rest = f"<p>{escape(body[:MAX_TEXT_CHARACTERS])}</p>" if body.strip() else ""
    return f"<div>{lead}{rest}{chips}{more}</div>"


def show_findings(reading: TableReading) -> None:
    """Show what looks right and what does not, a line each."""
    lines = [
        (":green[:material/check:]" if finding.is_good else ":orange[:material/warning:]") + f" {finding.sentence}"
        for finding in reading.summary.findings
    ]
    if reading.error is None and reading.seen.texts:
        st.markdown("  \n".join(lines))
    if reading.encoding_note:
        st.warning(reading.encoding_note, icon=":material/translate:")


def show_figures(reading: TableReading | None, obstacle: str) -> None:
    """Show four figures, or why there is nothing to add."""
    cells = ""
    if reading is not None and reading.error is None:
        summary = reading.summary
        more = "" if reading.is_complete else "+"
        figures = (
            ("Documents", f"{summary.n_documents:,}{more}"),
            ("Labels", f"{summary.n_labels:,}{more}"),
            ("Labels per document", f"{summary.labels_per_document:.1f}"),
            ("Used only once", f"{summary.n_used_once:,}"),
        )
        cells = "".join(f"<div><span>{name}</span><b>{value}</b></div>" for name, value in figures)
    reason = f'<p role="status">{escape(obstacle)}</p>' if obstacle else ""
    st.html(f'<div class="data-sum">{cells}{reason}</div>')
