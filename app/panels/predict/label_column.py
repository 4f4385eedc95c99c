"""The middle column: the labels that a run assigns and suggests, and the annotated ones that it ranks lower."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import caches, navigation, state, tokens, widgets
from xcwork_app.components.label_list import LabelGroup, LabelRow, show_label_list, split_path
from xcwork_app.panels.review import answering
from xcwork_app.panels.shared import calibration_note
from xcwork_app.views import review_requests, selection
from xcwork_app.views.document_prediction import N_MORE, DocumentPrediction, ListedLabel
from xcwork_app.views.review_requests import LIKELY, OpenQuestion

from xcwork.decisions.choice import ASSIGN, LEAVE, NEVER_ASSIGN, SUGGEST, Decisions
from xcwork.review.verdicts import REQUESTED
from xcwork.runs import Run

if TYPE_CHECKING:
    import pandas as pd

    from xcwork.methods.base import Method

PUT = "Put it into Review"
OPEN = "Open it there"
WISH = "predict.to_review"  # key of the session: the label that waits in Review is to be opened there


def show_labels(
    predicted: DocumentPrediction,
    run: Run,
    model: Method,
    decisions: Decisions,
    selected: str | None,
    note: str,
    question: OpenQuestion | None = None,
) -> None:
    """Show the list; choosing a row explains it. `note` stands in its place where nothing is listed.

    `question` is the label that nobody has annotated: it can be put into Review.
    """
    n_found, n_annotated = predicted.count_found()
    with st.container(key="predict_labels_head", horizontal=True, vertical_alignment="center"):
        st.markdown("**Labels**", width="content")
        if n_annotated:
            st.caption(f"{n_found} of {n_annotated} annotated found", width="content")
        st.space("stretch")
        if predicted.labels:
            widgets.show_export_button(lambda: make_table(predicted), key="predict.labels_csv", name="predictions")
    if model.calibration_ is None:
        st.caption(calibration_note.describe_missing(run))
    if note and predicted.labels:
        st.info(note, icon=":material/info:")
    left = min(predicted.n_ranked - predicted.n_listed, N_MORE)
    show_label_list(
        make_groups(predicted, model, decisions),
        key="predict_labels",
        label="Labels",
        selected=selected or "",
        on_choose=lambda name: state.update(label=name, word=""),
        choose_on_move=True,
        more=f"Show the next {left} labels" if left > 0 else "",
        on_more=lambda: state.update(more=state.view().more + N_MORE),
        colour=tokens.get_look(caches.glance(run).number).colour,
        has_legend=True,
        empty=note or "This run suggests no label for this text.",
        height="window",
        has_border=True,
        foot="" if question is None else describe_question(question),
        foot_action="" if question is None or question.verdict else OPEN if question.is_waiting else PUT,
        on_foot=None if question is None else lambda: _store_or_open(question, run),
    )
    if question is not None and st.session_state.pop(WISH, False):
        navigation.open_from_list("review", queue=REQUESTED, item=question.item_id)


def describe_question(question: OpenQuestion) -> str:
    """Return what is said about a label that nobody has annotated."""
    name = split_path(question.label.name)[1]
    if question.verdict:
        return f"{name} was answered in Review: {question.verdict}."
    if question.is_waiting:
        return f"{name} waits in Review."
    word = "likely" if (question.label.probability or 0.0) >= LIKELY else "suggested"
    return f"{name} is {word}, but nobody has annotated it."


def _store_or_open(question: OpenQuestion, run: Run) -> None:
    """Put the label into Review; where it waits there already, open it there when the page is drawn."""
    if question.is_waiting:
        st.session_state[WISH] = True
        return
    with widgets.catch_errors("Not stored"):
        review_requests.put_into_review(run, selection.get_source(), question, answering.name_person())


def show_none() -> None:
    """Show the place of the labels while there is no text."""
    with st.container(key="predict_labels_head", horizontal=True, vertical_alignment="center"):
        st.markdown("**Labels**", width="content")
    show_label_list([], key="predict_labels", label="Labels", empty="No text yet.", height="window", has_border=True)


def make_groups(predicted: DocumentPrediction, model: Method, decisions: Decisions) -> list[LabelGroup]:
    """Return the rows by what is done with them."""
    if model.calibration_ is None:
        return [LabelGroup([make_row(each, model) for each in predicted.labels])]
    by_decision = {word: [each for each in predicted.labels if each.decision == word] for word in (ASSIGN, SUGGEST)}
    below = [each for each in predicted.labels if each.decision == LEAVE]
    is_one = decisions.by == "one" and decisions.assign != NEVER_ASSIGN
    assign, suggest = f"{100 * decisions.assign:.3g}", f"{100 * decisions.suggest:.3g}"
    is_missed = bool(below) and all(each.is_annotated for each in below)
    titles = [
        (by_decision[ASSIGN], "Assign", f"{assign} % or more" if is_one else ""),
        (by_decision[SUGGEST], "Suggest", f"{suggest} to {assign} %" if is_one else f"{suggest} % or more"),
        (below, f"Annotated, but below {suggest} %" if is_missed else f"Below {suggest} %", ""),
    ]
    limits = (1.0, decisions.assign, decisions.suggest) if is_one else (1.0, 1.0, 1.0)
    return [
        LabelGroup([make_row(each, model, limit) for each in rows], title, note)
        for (rows, title, note), limit in zip(titles, limits, strict=True)
        if rows
    ]


def make_row(each: ListedLabel, model: Method, limit: float = 1.0) -> LabelRow:
    """Return one row: sign, path and name, what matters about it, percentage and bar.

    A percentage below the `limit` of its group that would be rounded to it has a decimal.
    """
    notes = ["unseen label"] if each.frequency == 0 else []
    if each.sign == "missed":
        notes.append("not listed" if each.rank is None else f"rank {each.rank}")
    score = "" if each.score is None else f"{each.score:.4g}"
    if each.probability is None:
        notes = notes if each.sign == "missed" or each.rank is None else [*notes, f"rank {each.rank}"]
        return LabelRow.from_label(each.name, each.name, note=" · ".join(notes), sign=each.sign, value=score or "–")
    n_documents = 0 if model.calibration_ is None else model.calibration_.n_documents
    hint = f"{each.name}: score {score}. Its percentage rests on {n_documents:,} documents."
    is_rounded_up = each.probability < limit <= round(100 * each.probability) / 100
    value = f"{math.floor(1000 * each.probability) / 10:.1f} %" if is_rounded_up else ""
    return LabelRow.from_label(
        each.name, each.name, note=" · ".join(notes), sign=each.sign, share=each.probability, value=value, hint=hint
    )


def make_table(predicted: DocumentPrediction) -> pd.DataFrame:
    """Return the list for a file."""
    import pandas as pd

    rows = [
        {
            "label": each.name,
            "rank": each.rank,
            "percent": None if each.probability is None else round(100 * each.probability, 1),
            "decision": each.decision if each.probability is not None else "",
            "annotated": each.is_annotated,
            "score": each.score,
            "training documents": each.frequency,
        }
        for each in predicted.labels
    ]
    return pd.DataFrame(rows)
