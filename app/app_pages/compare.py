"""Compare: which method is better? Runs as the papers print them, and what their differences consist of."""

from __future__ import annotations

import streamlit as st
from xcwork_app import widgets
from xcwork_app.panels.compare import run_choice, run_difference, run_figures, run_table
from xcwork_app.views import run_comparison, selection

SECTIONS = {
    "differences": "Differences",
    "changes": "Documents fixed and broken",
    "curves": "Curves",
    "by_band": "Bands",
    "metrics": "Metrics",
}
SCOPES = {"metrics": "All labels", "seen": "Seen in training", "unseen": "Unseen"}

source = selection.get_source()
widgets.show_header(
    "Compare", f"Runs on {widgets.plain(source.title)} side by side, and whether a difference is more than chance."
)
run_choice.warn_about_incomplete_runs(source)
if not run_comparison.list_measured_runs(source):
    widgets.show_empty(
        f"There is no run with results on {widgets.plain(source.title)} yet.", page="train", action="Train a method"
    )
    raise widgets.PageEnd
chosen = run_choice.choose_runs(source)
if not chosen.folders:
    widgets.show_empty("Choose at least one run.")
    raise widgets.PageEnd
with st.container(horizontal=True, vertical_alignment="bottom"):
    scope = widgets.choose_field(
        "Labels that count",
        "scope",
        SCOPES,
        key="compare.scope",
        help="Seen and unseen: only labels with, or without, a training document compete, and only they count.",
    )
    published = widgets.toggle(
        "Published results",
        key="compare.published",
        usual=True,
        help="What papers report for this dataset, where it is known.",
    )
run_table.show(chosen, scope, published=published)

widgets.show_section("Look closer")
section = widgets.choose_field("Look closer", "section", SECTIONS, key="compare.section", hidden=True)
with st.container(), widgets.catch_errors():
    if section == "differences":
        run_difference.show_differences(chosen)
    elif section == "changes":
        run_difference.show_changes(chosen)
    elif section == "curves":
        run_figures.show_curves(chosen)
    elif section == "by_band":
        run_figures.show_bands(chosen)
    else:
        run_figures.show_metric_dots(chosen, scope, published=published)
ids = [run.id for run in chosen.runs]
widgets.show_command(["compare", *ids] if len(ids) > 1 else ["report", *ids])
