"""Compare: which method is better? Runs as the papers print them, and what their differences consist of."""

from __future__ import annotations

import streamlit as st
from xcwork_app import sidebar, widgets
from xcwork_app.panels.compare import run_difference, run_figures, run_table
from xcwork_app.views import run_comparison

SECTIONS = {
    "differences": "Differences",
    "changes": "Documents fixed and broken",
    "curves": "Curves",
    "by_band": "Bands",
    "metrics": "Metrics",
}
SCOPES = {"metrics": "All labels", "seen": "Seen in training", "unseen": "Unseen"}

source = sidebar.source()
widgets.header(
    "Compare", f"Runs on {widgets.plain(source.title)} side by side, and whether a difference is more than chance."
)
run_comparison.say_what_is_left_out(source)
if not run_comparison.measured(source):
    widgets.empty(
        f"There is no run with results on {widgets.plain(source.title)} yet.", page="train", action="Train a method"
    )
    raise widgets.PageEnd
chosen = run_comparison.choose(source)
if not chosen.folders:
    widgets.empty("Choose at least one run.")
    raise widgets.PageEnd
with st.container(horizontal=True, vertical_alignment="bottom"):
    scope = widgets.choice(
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

widgets.section("Look closer")
section = widgets.choice("Look closer", "section", SECTIONS, key="compare.section", hidden=True)
with st.container(), widgets.guarded():
    if section == "differences":
        run_difference.deltas(chosen)
    elif section == "changes":
        run_difference.changes(chosen)
    elif section == "curves":
        run_figures.curves(chosen)
    elif section == "by_band":
        run_figures.bands(chosen)
    else:
        run_figures.dots(chosen, scope, published=published)
ids = [run.id for run in chosen.runs]
widgets.command(["compare", *ids] if len(ids) > 1 else ["report", *ids])
