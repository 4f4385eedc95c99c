"""Whether rare labels are lost more often, and at which ranks the misses stand: bars that filter the list."""

from __future__ import annotations

from html import escape

import numpy as np
import streamlit as st
from xcwork_app.panels.errors.error_choice import OUTCOMES, ErrorChoice, choose
from xcwork_app.panels.errors.outcome_card import make_segments
from xcwork_app.panels.shared import label_bands
from xcwork_app.panels.shared.segment_bar import HATCHED, OUTRANKED, show_segment_bar
from xcwork_app.views.run_findings import Findings, name_band

from xcwork.analysis.errors import NOT_LISTED
from xcwork.analysis.outcomes import OutcomeCounts


def show_frequencies(found: Findings, choice: ErrorChoice) -> None:
    """Show one bar per band, then where the misses stand."""
    with st.container(key="errors_frequencies", border=True):
        with st.container(key="errors_frequency_title", horizontal=True, vertical_alignment="center"):
            st.html('<div class="errors-title">By label frequency</div>')
            label_bands.choose_bands("errors.bands")
        spans = dict(zip(found.bands.names, found.bands.spans, strict=True))
        for band, counts in found.outcomes.bands.items():
            if counts.total:
                _show_band(found, choice, band, spans[band], counts)
        if empty := _describe_empty_bands(found, spans):
            st.html(f'<div class="errors-muted">{escape(empty)}</div>')
        _show_ranks(found, choice)


def _show_band(found: Findings, choice: ErrorChoice, band: str, span: str, counts: OutcomeCounts) -> None:
    share = round(100 * counts.found / counts.total)
    st.html(
        f'<div class="errors-band"><b>{escape(name_band(band))}</b><span>{escape(span)}</span><b>{share} %</b></div>'
    )
    key = f"errors_{band.replace('-', '_')}"
    show_segment_bar(
        make_segments(found, counts, name_band(band)),
        key=key,
        chosen=choice.segment if choice.band == band else "",
        on_choose=lambda name: choose(OUTCOMES[name], band),
    )
    told = f"{counts.found:,} found, {counts.outranked:,} outranked, {counts.not_listed:,} not listed"
    if counts.interval is not None:
        told += f" (95 %: {counts.interval[0]:.0f} to {counts.interval[1]:.0f} %)"
    st.html(f'<div class="errors-muted">{told}</div>')


def _describe_empty_bands(found: Findings, spans: dict[str, str]) -> str:
    """Return which bands have no true label in the test split, a line for all of them."""
    in_training = {found.bands.names[at] for at in np.unique(found.bands.of_label).tolist()}
    told = []
    for band, counts in found.outcomes.bands.items():
        if not counts.total:
            where = (
                "no test document has such a label"
                if band in in_training
                else f"no label has {_phrase_span(spans[band])}"
            )
            told.append(f"{name_band(band)}: {where}.")
    return " ".join(told)


def _phrase_span(span: str) -> str:
    return "no training document" if span == "none" else f"{span} training documents"


def _show_ranks(found: Findings, choice: ErrorChoice) -> None:
    """Show one row per range of ranks; the whole row is the target."""
    outcomes = found.outcomes
    misses = outcomes.counts.missed
    if not misses:
        st.html(f'<div class="errors-title">All true labels are among the first {found.k}.</div>')
        return
    title = "Where the miss stands" if misses == 1 else f"Where the {misses:,} misses stand"
    st.html(f'<div class="errors-title">{title}</div>')
    rows = [(each.id, each.name, each.count, OUTRANKED) for each in outcomes.ranks if each.count]
    if outcomes.counts.not_listed:
        rows.append((NOT_LISTED, "not listed", outcomes.counts.not_listed, HATCHED))
    largest = max(count for _, _, count, _ in rows)
    rules = ""
    with st.container(key="errors_ranks"):
        for at, (outcome, name, count, colour) in enumerate(rows):
            key = f"errors_rank_{at}"
            image = colour if colour == HATCHED else f"linear-gradient({colour},{colour})"
            size = f"calc((100% - 11rem)*{count / largest:.4f}) .7333rem"
            rules += f".st-key-{key} button{{background-image:{image};background-size:{size}}}"
            if choice.outcome == outcome and not choice.band:
                rules += f".st-key-{key} button{{background-color:var(--selected)}}"
            st.button(f"{name} **{count:,}**", key=key, width="stretch", on_click=choose, args=(outcome,))
    st.html(f"<style>{rules}</style>")
