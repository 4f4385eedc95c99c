"""Pieces of the card on the right: headings, lines with a figure, who finds a label, why another one won."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

import numpy as np
import streamlit as st
from xcwork_app import caches, tokens, widgets
from xcwork_app.components.label_list import split_path
from xcwork_app.views import run_findings, selection
from xcwork_app.views.run_findings import Findings

from xcwork.errors import XcworkError

MAX_RUNS = 2  # that are named as finding a label
MAX_TEXT_CHARACTERS = 400


def render_title(name: str, below: str) -> str:
    """Return the name of what the card is about, its last part large, with a muted line below it."""
    path, last = split_path(name)
    place = f"{path.removesuffix('.')}, " if path else ""
    return f'<div class="errors-name">{escape(last)}</div><div class="errors-muted">{escape(place + below)}</div>'


def render_lines(title: str, lines: Iterable[tuple[str, str]]) -> str:
    """Return a heading and lines of a name and a figure; nothing without lines. Names are HTML already."""
    rows = "".join(f'<div class="errors-line"><span>{name}</span><span>{figure}</span></div>' for name, figure in lines)
    return f'<div class="errors-part">{escape(title)}</div>{rows}' if rows else ""


def render_warning(sentence: str) -> str:
    """Return a sentence on the ground of warnings."""
    return f'<div class="errors-warning">{escape(sentence)}</div>'


def render_text(text: str) -> str:
    """Return the beginning of a document, four lines of it."""
    shown = text if len(text) <= MAX_TEXT_CHARACTERS else text[:MAX_TEXT_CHARACTERS] + "…"
    return f'<div class="errors-text">{escape(shown)}</div>'


def find_finders(found: Findings, positions: np.ndarray) -> list[tuple[str, str]]:
    """Return which other runs have some true labels among the first k, as lines, the best first."""
    counted = [
        (int((ranks[positions] <= found.k).sum()), run)
        for run, ranks in run_findings.list_other_ranks(found, selection.get_source())
    ]
    best = sorted((pair for pair in counted if pair[0]), key=lambda pair: -pair[0])[:MAX_RUNS]
    figure = "finds it" if len(positions) == 1 else f"of {len(positions):,}"
    return [
        (
            tokens.make_mark(caches.glance(run).number) + escape(caches.get_record(run)["name"]),
            figure if len(positions) == 1 else f"{n:,} {figure}",
        )
        for n, run in best
    ]


def render_finders(found: Findings, positions: np.ndarray) -> str:
    """Return who does find these true labels."""
    return render_lines("Who does find it?", find_finders(found, positions)) or (
        '<div class="errors-part">Who does find it?</div><div class="errors-muted">None of the other runs.</div>'
    )


def show_reason(found: Findings, document: int, winner: int, missed: int) -> None:
    """Say why another label stands before the missed one; the model is read for this, so it comes last."""
    names = found.dataset.labels.names
    try:
        reasons = run_findings.explain_winner(found, document, winner, missed)
    except XcworkError as problem:
        st.html(f'<div class="errors-muted">{escape(str(problem))}</div>')
        return
    about = "" if reasons.exact else " (approximate)"
    first = split_path(names[winner])[1]
    whole = run_findings.name_document(found, document)
    name = whole if split_path(whole)[1] == first else split_path(whole)[1]
    st.html(
        f'<div class="errors-part">Why {escape(first)} won in {escape(name)}</div>'
        f'<div class="errors-reason">{escape(reasons.sentence)}{about}</div>'
    )


def escape_name(name: str, beside: str = "") -> str:
    """Return the last part of a name as HTML, with all of it to be seen when the mouse rests on it.

    Where that is also the last part of the name `beside` it, all of it is shown.
    """
    last = split_path(name)[1]
    shown = name if last == split_path(beside)[1] else last
    return f'<span title="{escape(name)}">{escape(shown)}</span>'


def say_nothing_chosen() -> None:
    """Fill the card where there is nothing to look at."""
    st.html(
        f'<div class="errors-muted">{widgets.escape_text("The list is empty, so there is nothing to look at.")}</div>'
    )
