"""Compare: which method is better, and is it more than chance? A table of runs, figures, and two runs in detail."""

from __future__ import annotations

import streamlit as st
from xcwork_app import caches, widgets
from xcwork_app.page_header import show_page_header
from xcwork_app.panels.compare import run_charts, run_choice, run_difference, run_table
from xcwork_app.panels.shared import report_button
from xcwork_app.views import run_comparison, selection

source = selection.get_source()
header = show_page_header("compare")
measured, incomplete = run_comparison.split_measured_runs(source)
run_choice.warn_about_incomplete_runs(incomplete)
if not measured:
    widgets.show_empty(
        f"There is no run with results on {widgets.escape_text(source.title)} yet.",
        page="train",
        action="Train a method",
    )
    raise widgets.PageEnd
with st.container(key="compare_bar", horizontal=True, vertical_alignment="center"):
    chosen = run_choice.choose_runs(source, measured)
    reference = run_choice.choose_reference(chosen) if chosen.folders else ""
    if chosen.folders:
        scope = run_choice.choose_scope()
        run_table.show_published(chosen)
        st.space("stretch")
        st.caption(widgets.escape_text(run_comparison.describe_chance(chosen, reference)), width="content")
if not chosen.folders:
    widgets.show_empty("Choose at least one run.")
    raise widgets.PageEnd
table = run_comparison.make_table(chosen, scope)
with header.actions:
    run_table.show_exports(table)
    report_button.show_report_button(chosen.runs, key="compare.report")
ids = [run.id for run in chosen.runs]
header.show_command(["compare", *ids] if len(ids) > 1 else ["report", *ids])
against = run_choice.resolve_other(chosen, reference) if reference else ""
numbers = {run.id: caches.glance(run).number for run in chosen.runs}
run_table.show_table(table, chosen, numbers, reference=reference, against=against)
with st.container(key="compare_columns", horizontal=True):
    run_charts.show_charts(chosen, table, reference)
    if reference:
        with widgets.catch_errors():
            run_difference.show_difference(chosen, reference)
