"""What thresholds give: three cards, the curve of all thresholds, and whether percentages can be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import caches, tokens, widgets
from xcwork_app.chart_style import draw_once
from xcwork_app.sources import Source
from xcwork_app.views import run_decisions

from xcwork.analysis.decision_view import (
    MIN_CERTAIN_DOCUMENTS,
    MIN_LABEL_CASES,
    DecisionGroup,
    DecisionSummary,
    list_labels_reaching,
)
from xcwork.decisions.choice import ASSIGN, SUGGEST, Decisions
from xcwork.runs import Run

if TYPE_CHECKING:
    import plotly.graph_objects as go

CHART_PIXELS = 252
USUAL_WANTED_PERCENT = 90
SIDES = {"trust": "Can the percentages be trusted?", "label": "By label"}


def show_cards(run: Run, summary: DecisionSummary, decisions: Decisions, n_held_out: int) -> None:
    """Show what happens with each of the three groups, in the colour that its bars have."""
    colour = tokens.get_look(caches.glance(run).number).colour
    st.html(f"<style>:root{{--run:{colour}}}</style>")
    assigned, suggested = summary.groups[ASSIGN], summary.groups[SUGGEST]
    documents = 100 * assigned.n_documents / max(summary.n_documents, 1)
    per_document = suggested.n / max(summary.n_documents, 1)
    missed = summary.missed_share
    from_percent = f"{100 * decisions.suggest:.3g} %"
    cards = (
        (
            "assign",
            "Assign without asking",
            _count_labels(assigned.n),
            f"{_say_right(assigned, n_held_out)}, for {documents:.0f} % of the documents",
        ),
        (
            "suggest",
            "Suggest to a person",
            _count_labels(suggested.n),
            f"{_say_right(suggested, n_held_out)}, about {per_document:.1f} for each document",
        ),
        (
            "leave",
            "Leave out",
            "–" if missed is None else f"{missed:.0f} %",
            f"of the true labels are below {from_percent}",
        ),
    )
    for column, (name, title, figure, sentence) in zip(st.columns(3, gap="small"), cards, strict=True):
        with column.container(border=True, key=f"decisions_{name}", gap="xxsmall"):
            st.markdown(f"**{title}**")
            st.html(f'<div class="figure">{figure}</div>')
            st.caption(sentence)


def _count_labels(n: int) -> str:
    return f"{n:,} label" + ("" if n == 1 else "s")


def _say_right(group: DecisionGroup, n_held_out: int) -> str:
    """Return the share that is right, as a range where it rests on few documents."""
    if group.share_right is None:
        return "none"
    if n_held_out < MIN_CERTAIN_DOCUMENTS:
        return f"**{group.low:.0f} to {group.high:.0f} % right**"
    return f"**{group.share_right:.0f} % right**"


def show_curve(run: Run, source: Source, summary: DecisionSummary, decisions: Decisions) -> None:
    """Show the share that is right against the documents that get a label."""
    from xcwork.viz.decisions import draw_threshold_curve

    outcome = summary.outcome
    is_one = decisions.by == "one" and decisions.goal == "precision"
    name = f"from {100 * decisions.assign:.3g} %" if is_one else "this choice"
    current = None if outcome.precision is None else (name, outcome.automation_share, outcome.precision)
    traced, colour = run_decisions.get_curve(run, source), _pick_colour(run)
    drawn = draw_once(
        lambda: draw_threshold_curve(traced, current, colour=colour, height=CHART_PIXELS),
        *("curve", colour, *run_decisions.list_facts(run, source, decisions)),
    )
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.markdown("**What another threshold gives**")
        st.caption("right, by documents that get a label", width="content")
    _show_chart(drawn, key="decisions.curve")


def show_side(run: Run, source: Source) -> None:
    """Show what percentages say against what happens, or the labels that can be trusted on their own."""
    side = widgets.choose_field("Shown here", "by", SIDES, key="decisions.by", hidden=True)
    if side == "label":
        show_labels(run, source)
        return
    from xcwork.viz.decisions import draw_reliability

    rows, colour = run_decisions.get_reliability(run, source), _pick_colour(run)
    drawn = draw_once(
        lambda: draw_reliability(rows, colour=colour, height=CHART_PIXELS),
        *("reliability", colour, *run_decisions.list_facts(run, source)),
    )
    _show_chart(drawn, key="decisions.reliability")


def show_labels(run: Run, source: Source) -> None:
    """List the labels that reach a wanted precision on their own."""
    calibration = run_decisions.get_calibration(run)
    assert calibration is not None  # the page has ended without one
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption("Labels that reach this precision, %", width="content")
        wanted = st.number_input(
            "Wanted precision, %",
            1,
            100,
            USUAL_WANTED_PERCENT,
            key="decisions.wanted",
            bind="query-params",
            width=110,
            label_visibility="collapsed",
        )
    names = list(caches.get_dataset(source).labels.names)
    table = list_labels_reaching(calibration.evidence, wanted / 100, names)
    if not len(table):
        st.info(f"No label with at least {MIN_LABEL_CASES} held-out cases reaches {wanted} % on its own.")
        return
    percent = st.column_config.NumberColumn(format="%.0f %%")
    widgets.show_table(
        table,
        key="decisions.labels",
        name="labels-by-precision",
        alt=f"{len(table)} labels that reach {wanted} % on held-out documents, most cases first",
        columns=dict.fromkeys(("assign from", "right", "low", "high"), percent),
        height=CHART_PIXELS - 80,
    )


def _pick_colour(run: Run) -> str:
    return tokens.get_palette().pick_run(caches.glance(run).number)


def _show_chart(drawn: go.Figure, *, key: str) -> None:
    from xcwork.viz import get_alt_text

    st.plotly_chart(drawn, alt=get_alt_text(drawn), key=key, config={"displayModeBar": False}, height="stretch")
