"""Predict: what does it predict, and why? The text, its labels and the reasons side by side, with one selection."""

from __future__ import annotations

import streamlit as st
from xcwork_app import caches, navigation, state, widgets
from xcwork_app.page_header import show_page_header
from xcwork_app.panels.predict import (
    document_choice,
    file_of_texts,
    label_column,
    page_command,
    side_by_side,
    text_column,
    what_if,
    why_column,
)
from xcwork_app.panels.shared.finished_run import require_finished_run
from xcwork_app.views import document_prediction, review_requests, selection

from xcwork.analysis.unknown_text import describe_unknown_text

WHY = "Why"
OTHER_RUNS = "Other runs"
NEW_LABEL = "New label"
WHAT_IF = "What if"
VIEWS = (WHY, OTHER_RUNS, NEW_LABEL, WHAT_IF)

header = show_page_header("predict")
run = require_finished_run()
dataset, model = caches.get_dataset(selection.get_source()), caches.get_model(run)
with st.container(key="predict_bar", horizontal=True, vertical_alignment="center"):
    where = document_choice.choose_place()
    chosen = None
    if where == document_choice.TEST_DOCUMENT:
        chosen = document_choice.take_test_document(run, dataset)
        if chosen is not None and chosen.row is not None:
            document_choice.show_position(chosen.row, len(dataset.test))
            document_choice.show_search(dataset)
    elif where == document_choice.OWN_TEXT and model.features_.vectorizer is not None:
        chosen = document_choice.take_own_text(dataset)
    st.space("stretch")
    document_choice.show_thresholds(run, model)
if where == document_choice.FILE_OF_TEXTS:
    file_of_texts.show(run, model)
    page_command.show_file_command(header, run, model)
    raise widgets.PageEnd
if where == document_choice.OWN_TEXT and model.features_.vectorizer is None:
    widgets.show_empty(document_choice.NO_TEXTS)
    raise widgets.PageEnd
if chosen is None and where == document_choice.TEST_DOCUMENT:
    raise widgets.PageEnd

with st.container(key="predict_columns", horizontal=True):
    left = st.container(key="predict_left")
    middle = st.container(key="predict_middle")
    right = st.container(key="predict_right")
with right:
    view = st.segmented_control(
        "View", VIEWS, default=WHY, required=True, key="predict.view", bind="query-params", label_visibility="collapsed"
    )
predicted, label, reasons, new = None, None, None, None
if chosen is not None:
    decisions = run.read_decisions()
    topk = document_prediction.predict_document(run, model, chosen)
    shown = state.view()
    predicted = document_prediction.list_labels(topk, chosen, model, decisions, k=shown.k, more=shown.more)
    offered = [each.name for each in predicted.labels]
    with right, widgets.catch_errors():
        label = why_column.resolve_label(model.labels_, offered)
        reasons = None if label is None else document_prediction.explain_document(run, model, chosen, label)
        if view == NEW_LABEL and (new := what_if.read_new_label(chosen, model)) is not None:
            reasons = document_prediction.group_reasons(model, chosen.text, new.explanation)
        if reasons is not None:
            why_column.resolve_choice(reasons)
with left:
    if where == document_choice.OWN_TEXT:
        text_column.show_own_text(chosen, reasons, dataset)
    elif chosen is not None:
        text_column.show_test_text(chosen, reasons, model)
with middle:
    if chosen is None or predicted is None:
        label_column.show_none()
    else:
        note = describe_unknown_text(model, chosen.document, n_suggested=len(predicted.topk.get_row(0)))
        question = None
        if chosen.row is not None:
            with widgets.catch_errors():
                question = review_requests.find_question(
                    selection.get_source(), chosen.row, predicted.labels, None if new is not None else label
                )
        label_column.show_labels(predicted, run, model, decisions, label, note, question)
with right, st.container(key="predict_why"), widgets.catch_errors():
    if chosen is None or predicted is None:
        why_column.show_nothing("Type or paste a text: its labels and their reasons appear here.")
    elif view == OTHER_RUNS:
        side_by_side.show(chosen, run, dataset)
    elif view == NEW_LABEL:
        what_if.show_new_label(model, new, reasons)
    elif view == WHAT_IF:
        what_if.show_edit(chosen, model, label)
    elif reasons is None:
        why_column.show_nothing("This run suggests no label for this text, so there is nothing to explain.")
    else:
        why_column.show_why(reasons, model, predicted.topk)
if chosen is not None and predicted is not None:
    if chosen.row is not None:
        with header.actions:
            if st.button(
                "On the map",
                key="predict.show_on_map",
                icon=":material/map:",
                help="Show its labels on the label map",
            ):
                navigation.show_on_map(chosen.row)
    page_command.show_command(header, run, model, chosen, max(predicted.n_listed, 1))
