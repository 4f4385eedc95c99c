"""Decisions: which labels can be assigned without asking? Thresholds, what they give, and what percentages mean."""

from __future__ import annotations

import streamlit as st
from xcwork_app import widgets
from xcwork_app.page_header import show_page_header
from xcwork_app.panels.decisions import figures, goal_choice, threshold_slider
from xcwork_app.panels.shared import calibration_note
from xcwork_app.panels.shared.finished_run import require_finished_run
from xcwork_app.views import run_decisions, selection

header = show_page_header("decisions")
run = require_finished_run()
source = selection.get_source()
calibration = run_decisions.get_calibration(run)
if calibration is None:
    calibration_note.show_missing(run)
    header.show_command(["calibrate", run.id])
    raise widgets.PageEnd
decisions = run_decisions.get_candidate(run)
summary = run_decisions.get_summary(run, source, decisions)
with st.container(border=True, key="decisions_thresholds", gap="xsmall"):
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("**Test predictions, by how sure the run is**", width="content")
        st.caption(threshold_slider.describe_thresholds(decisions))
        goal_choice.show_goal_popover(run, source)
        threshold_slider.show_store_button(run, decisions)
    threshold_slider.show_bars(run, source, summary, decisions)
    threshold_slider.choose_thresholds(decisions)
figures.show_cards(run, summary, decisions, calibration.n_documents)
left, right = st.columns(2, gap="small")
with left.container(border=True, key="decisions_curve", gap="xxsmall", height="stretch"):
    figures.show_curve(run, source, summary, decisions)
with right.container(border=True, key="decisions_side", gap="xxsmall", height="stretch"):
    figures.show_side(run, source)
with header.actions:
    widgets.show_export_button(
        lambda: run_decisions.get_curve(run, source), key="decisions.export", name=f"thresholds-{run.id}"
    )
if decisions.asked_precision is not None:
    asked = ["--precision", f"{decisions.asked_precision:g}", "--by", decisions.by]
    header.show_command(["decide", run.id, *asked])
elif decisions.goal != "precision":
    header.show_command(["decide", run.id, "--goal", decisions.goal])
else:
    thresholds = ["--assign", f"{decisions.assign:g}", "--suggest", f"{decisions.suggest:g}"]
    header.show_command(["decide", run.id, *thresholds])
