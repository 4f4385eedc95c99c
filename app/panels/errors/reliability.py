"""Whether the percentages of a run mean what they say: reliability, calibration error and Brier score by band."""

from __future__ import annotations

import streamlit as st
from xcwork_app import caches, tokens, widgets
from xcwork_app.panels.shared import calibration_note
from xcwork_app.views.run_findings import Findings

COLUMNS = {
    "Brier score": st.column_config.NumberColumn(
        "Brier score × 100", help="Mean of (probability − right)²; 0 is perfect, 25 is what always saying 50 % gives"
    )
}
FIGURE_PIXELS = 280
POPOVER_PIXELS = 620


def show_popover(found: Findings) -> None:
    """Offer the reliability of the percentages, computed when somebody opens it."""
    popover = st.popover(
        "Reliability", icon=":material/percent:", key="errors.reliable", on_change="rerun", width="content"
    )
    if popover.open:
        with popover, st.container(width=POPOVER_PIXELS), widgets.catch_errors():
            show_reliability(found)


def show_reliability(found: Findings) -> None:
    """Show what percentages say against what happens on the test split."""
    import pandas as pd

    from xcwork.viz.decisions import draw_reliability

    figures = caches.get_report(found.run).calibration
    if not figures:
        calibration_note.show_missing(found.run)
        return
    help = "Mean distance between what the first {} labels of a document say and what share of them is right, in points"
    widgets.show_metrics([(f"ECE@{k}", f"{value:.2f}", help.format(k)) for k, value in figures["ece"].items()])
    left, right = st.columns([3, 2], gap="large")
    with left:
        colour = tokens.get_palette().pick_run(caches.glance(found.run).number)
        widgets.show_figure(
            draw_reliability(figures["reliability"], colour=colour, height=FIGURE_PIXELS),
            key="errors.reliability",
            name="reliability",
        )
        st.caption("The first ten labels of every test document; lines are 95 % intervals.")
    with right:
        widgets.show_table(
            pd.DataFrame(list(figures["brier"].items()), columns=["band", "Brier score"]),
            key="errors.brier",
            name="brier",
            columns=COLUMNS,
            alt="Brier score of the first five labels, by band of label frequency",
        )
