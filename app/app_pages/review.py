"""Review: is this label right? Queues of doubtful labels, three keys to answer, and what the answers change."""

from __future__ import annotations

import streamlit as st
from xcwork_app import widgets
from xcwork_app.page_header import show_page_header
from xcwork_app.panels.review import answer_export, answering, finished_queue, question, queue_list, reasons
from xcwork_app.panels.shared.finished_run import require_finished_run
from xcwork_app.views import review_state, selection

header = show_page_header("review")
run = require_finished_run()
source = selection.get_source()
header.show_command(
    ["export", *source.list_arguments(), f"{source.title}-corrected", "--with-reviews"],
    note=f"The corrected dataset; `xcwork review {run.id}` lists and answers items",
)
review = review_state.get_review(run, source)
verdicts = review_state.get_verdicts(review)
with header.actions:
    answer_export.show_export(review, verdicts)
with st.container(key="review_bar", horizontal=True, vertical_alignment="center"):
    name = queue_list.choose_queue(review)
    queue = review.queue(name)
    st.space("stretch")
    queue_list.show_progress(queue, verdicts)
    person = answering.choose_person()
finished_queue.show_remarks(review, verdicts)
if not len(queue):
    widgets.show_empty("Nothing looks doubtful.")
    raise widgets.PageEnd
desk = answering.ReviewDesk(review, name, person)
number = queue_list.resolve_item(queue, verdicts)
item = None if number is None else queue.list_items(number, 1)[0]
with st.container(key="review_columns", horizontal=True):
    left = st.container(key="review_left")
    middle = st.container(key="review_middle")
    right = st.container(key="review_right_side")
shown = None
with middle:
    if item is None or number is None:
        finished_queue.show_finished(desk, queue, verdicts)
    else:
        with widgets.catch_errors():
            shown = review_state.describe_item(run, review, item)
        question.show_question(desk, item, shown, verdicts.group_by_item().get(item.place, []))
        question.show_answers(desk, item, number)
with left:
    queue_list.show_queue(review, queue, verdicts, number, person)
with right:
    if item is not None and shown is not None:
        reasons.show_words(shown, item, review.dataset.labels.names[item.label])
        reasons.show_other_runs(review_state.list_other_ranks(run, source, review, item))
        reasons.show_neighbours(shown)
    reasons.show_effect(review, queue, verdicts)
if number is not None and shown is not None:
    review_state.prepare_next(run, review, queue, verdicts, number)
