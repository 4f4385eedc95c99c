"""The answer at a glance: how many true labels are found, outranked and not listed, as one bar that filters."""

from __future__ import annotations

import streamlit as st
from xcwork_app import caches, tokens
from xcwork_app.panels.errors.error_choice import OUTCOMES, ErrorChoice, choose
from xcwork_app.panels.shared import label_bands
from xcwork_app.panels.shared.segment_bar import HATCHED, OUTRANKED, BarPart, show_segment_bar
from xcwork_app.views.run_findings import Findings

from xcwork.analysis.outcomes import OutcomeCounts, Outcomes, round_parts


def show_outcomes(found: Findings, choice: ErrorChoice) -> None:
    """Show the sentence, the bar and what its parts mean."""
    outcomes = found.outcomes
    with st.container(key="errors_outcomes", border=True):
        with st.container(key="errors_sentence", horizontal=True, vertical_alignment="center"):
            st.html(_render_sentence(outcomes))
            label_bands.choose_list_length("errors.k")
        show_segment_bar(
            make_segments(found, outcomes.counts),
            key="errors_all",
            chosen="" if choice.band else choice.segment,
            on_choose=lambda name: choose(OUTCOMES[name]),
        )
        st.html(_render_legend(found))


def make_segments(found: Findings, counts: OutcomeCounts, of: str = "All labels") -> list[BarPart]:
    """Return the three parts of a bar; what is found has the colour of the run."""
    return [
        BarPart("found", f"{of}: found", counts.found, tokens.get_look(caches.glance(found.run).number).colour),
        BarPart("outranked", f"{of}: outranked", counts.outranked, OUTRANKED),
        BarPart("not_listed", f"{of}: not listed", counts.not_listed, HATCHED),
    ]


def _render_sentence(outcomes: Outcomes) -> str:
    counts, k = outcomes.counts, outcomes.k
    first = "first" if k == 1 else f"among the first {k}"
    precision = f"P@{k} is {outcomes.precision:.1f} of at most {outcomes.highest_precision:.1f}."
    return (
        f'<div class="errors-sentence"><b>{counts.found:,} of {counts.total:,}</b> true labels are {first}. '
        f'<span class="errors-muted">{precision}</span>'
        f'<span class="errors-spoken">{outcomes.sentence}</span></div>'
    )


def _render_legend(found: Findings) -> str:
    outcomes = found.outcomes
    counts, k = outcomes.counts, outcomes.k
    if not counts.total:
        return '<div class="errors-legend">No test document has a label.</div>'
    shares = [f"{part / 10:.1f} %" for part in round_parts((counts.found, counts.outranked, counts.not_listed), 1000)]
    looks = [each.colour for each in make_segments(found, counts)]
    words = ["found", _phrase_outranked(outcomes), "not listed at all"]
    parts = [
        f'<div><i style="background:{look}"></i><div><b>{share}</b><span>{word}</span></div></div>'
        for look, share, word in zip(looks, shares, words, strict=True)
    ]
    plural = "" if k == 1 else "s"
    if outcomes.cannot_fit:
        told = f"cannot fit: documents with more than {k} label{plural}"
        parts.append(f'<div class="errors-last"><div><b>{outcomes.cannot_fit:,}</b><span>{told}</span></div></div>')
    return f'<div class="errors-legend">{"".join(parts)}</div>'


def _phrase_outranked(outcomes: Outcomes) -> str:
    """Return the word with what is nearest to being found, where that says something."""
    if not outcomes.ranks or not outcomes.counts.outranked:
        return "outranked"
    nearest = outcomes.ranks[0]
    return (
        f"outranked; most of these {outcomes.counts.outranked:,} stand at {nearest.name}"
        if (2 * nearest.count > outcomes.counts.outranked)
        else f"outranked: {outcomes.counts.outranked:,} stand below rank {outcomes.k}"
    )
