"""Predict: what does it say about this text, and why? Suggested labels, active pairs, other runs, what if."""

from __future__ import annotations

import streamlit as st
from xcwork_app import caches, state, widgets
from xcwork_app.panels.predict import document_choice, explanation, predictions, side_by_side, what_if
from xcwork_app.panels.shared.finished_run import require_finished_run
from xcwork_app.views import selection

SHORT = 400  # characters of a text that still fits on a command line
WHY = "why"
RUNS = "runs"
NEW = "new"
EDITED = "edited"
VIEWS = {WHY: "Why this label", RUNS: "Other runs", NEW: "A new label", EDITED: "What an edit changes"}

run = require_finished_run("Predict")
widgets.show_header("Predict", f"What {widgets.plain(run.name)} suggests, and the evidence for it.")
dataset, model = caches.get_dataset(selection.get_source()), caches.get_model(run)
left, right = st.columns([5, 6], gap="large")
with left:
    chosen = document_choice.choose(dataset, model)
    place = st.container()
if chosen is None:
    raise widgets.PageEnd
with right:
    predictions.choose_list_length()
    table = predictions.show(chosen, model, dataset)
offered = [str(name) for name in table["label"]] if len(table) else []

view = widgets.choose_field("Look closer", "section", VIEWS, key="predict.view", hidden=True)
label, reasons = None, None
if view in (WHY, EDITED):
    with widgets.catch_errors():
        label = explanation.choose_label(model, offered)
        reasons = None if label is None else model.explain(chosen.document, label)
with place:
    explanation.show_text(chosen, reasons, model)
with widgets.catch_errors():
    if view == WHY and reasons is not None:
        explanation.show(reasons)
    elif view == RUNS:
        side_by_side.show(chosen, run, dataset)
    elif view == NEW:
        what_if.show_new_label(chosen, model)
    elif view == EDITED:
        what_if.show_edit(chosen, model, label)
row = chosen.original_row if chosen.row is None else chosen.row
document = [] if row is None else ["--document", str(row)]
length = ["-k", str(state.view().k)]
if chosen.row is not None:
    widgets.show_command(["predict", run.id, *document, *length])
elif len(chosen.text) <= SHORT:
    widgets.show_command(["predict", run.id, *document, "--text", chosen.text, *length])
else:
    label = "The same in a shell, with the text in document.txt"
    widgets.show_command(["predict", run.id, *document, "--text", "-", *length], stdin="document.txt", label=label)
