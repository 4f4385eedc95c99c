"""Compare: which method is better? Runs as the papers print them, and what their differences consist of."""

from __future__ import annotations

import streamlit as st

from app import shell, ui
from app.panels import compared, run_difference, run_figures, run_table

SECTIONS = {
    "differences": "Differences", "changes": "Documents fixed and broken", "curves": "Curves", "by_band": "Bands",
    "metrics": "Metrics",
}  # fmt: skip
SCOPES = {"metrics": "All labels", "seen": "Seen in training", "unseen": "Unseen"}

source = shell.source()
ui.header("Compare", f"Runs on {ui.plain(source.title)} side by side, and whether a difference is more than chance.")
compared.say_what_is_left_out(source)
if not compared.measured(source):
    ui.empty(f"There is no run with results on {ui.plain(source.title)} yet.", page="train", action="Train a method")
    raise ui.PageEnd
chosen = compared.choose(source)
if not chosen.folders:
    ui.empty("Choose at least one run.")
    raise ui.PageEnd
with st.container(horizontal=True, vertical_alignment="bottom"):
    scope = ui.choice(
        "Labels that count", "scope", SCOPES, key="compare.scope",
        help="Seen and unseen: only labels with, or without, a training document compete, and only they count.",
    )  # fmt: skip
    published = ui.toggle(
        "Published results",
        key="compare.published",
        usual=True,
        help="What papers report for this dataset, where it is known.",
    )
run_table.show(chosen, scope, published=published)

ui.section("Look closer")
section = ui.choice("Look closer", "section", SECTIONS, key="compare.section", hidden=True)
with st.container(), ui.guarded():
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
ui.command(["compare", *ids] if len(ids) > 1 else ["report", *ids])
