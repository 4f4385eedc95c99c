"""The middle of the page: the question, the label, the document with its evidence, and the three answers."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import widgets
from xcwork_app.components.marked_text import TextMark, grade_contribution, show_marked_text
from xcwork_app.panels.review import answering
from xcwork_app.panels.review.answering import FailedAnswer, ReviewDesk
from xcwork_app.views.review_state import ItemView

if TYPE_CHECKING:
    from xcwork.review.queue import ReviewItem
    from xcwork.review.verdicts import Answer

QUESTIONS = {
    "missing": "Should this label be added?",
    "wrong": "Does this label belong here?",
    "threshold": "Is this label right?",
    "requested": "Is this label right?",
}
ANSWERS = {  # verdict: word, key, sign
    "right": ("Right", "Y", ":material/check:"),
    "wrong": ("Wrong", "N", ":material/close:"),
    "unsure": ("Unsure", "U", ":material/help:"),
}
MAX_SHOWN_CHARACTERS = 50_000  # of a document; nobody reads more before an answer
MAX_ANNOTATED = 5


def format_percentage(probability: float) -> str:
    """Return a probability for people."""
    return "< 1 %" if probability < 0.005 else f"{100 * probability:.0f} %"


def show_question(desk: ReviewDesk, item: ReviewItem, shown: ItemView | None, answers: list[Answer]) -> None:
    """Show what is asked; without `shown` the model could not be read, and the text stands alone."""
    labels = desk.review.dataset.labels
    about = labels.texts[item.label] if labels.texts is not None else ""
    name = labels.names[item.label]
    with st.container(key="review_card", border=True):
        st.html(
            f'<div class="review-head"><div class="review-muted">{QUESTIONS[item.queue.value]}</div>'
            f'<div class="review-label"><span>{escape(name)}</span><b>{format_percentage(item.probability)}</b></div>'
            f"{_make_line(drop_name(about, name))}"
            f'<div class="review-muted">{escape(_format_reason(item))}</div></div>'
        )
        text = "" if shown is None else shown.text[:MAX_SHOWN_CHARACTERS]
        show_marked_text(
            text,
            [] if shown is None else _make_marks(shown),
            key="review_text",
            label="Document",
            has_legend=False,
            height="stretch",
        )
        st.html(_make_foot([] if shown is None else shown.annotated, answers))


def _format_reason(item: ReviewItem) -> str:
    return item.reason[:1].upper() + item.reason[1:] + "."


def drop_name(about: str, name: str) -> str:
    """Return what the text of a label says beside its name, which often opens it, also with spaces for dots."""
    line = " ".join(about.split())
    for opening in (name, re.sub(r"[._]+", " ", name)):
        if (
            line[: len(opening)].casefold() == opening.casefold()
            and not line[len(opening) : len(opening) + 1].isalnum()
        ):
            line = line[len(opening) :].lstrip(" .:")
    return line


def _make_line(line: str) -> str:
    if not line:
        return ""
    return f'<div class="review-about" title="{escape(line[:1000])}">{escape(line[:400])}</div>'


def _make_foot(annotated: list[str], answers: list[Answer]) -> str:
    names = ", ".join(annotated[:MAX_ANNOTATED]) or "nothing"
    more = f" and {len(annotated) - MAX_ANNOTATED:,} more" if len(annotated) > MAX_ANNOTATED else ""
    lines = [f'<span class="review-muted">Annotated so far: </span>{escape(names)}{more}']
    for answer in answers:
        note = f": {answer.note}" if answer.note else ""
        said = f"{answer.verdict.value} by {answer.by}{note}"
        lines.append(f'<span class="review-muted">Answered: </span>{escape(said)}')
    return f'<div class="review-foot">{"<br>".join(lines)}</div>'


def _make_marks(shown: ItemView) -> list[TextMark]:
    largest = max((segment.weight for segment in shown.segments if segment.terms), default=0.0)
    smallest = max((abs(segment.weight) for segment in shown.segments if segment.terms), default=0.0) / 20
    marks, at = [], 0
    for segment in shown.segments:
        end = at + len(segment.text)
        if segment.terms and abs(segment.weight) > smallest and end <= MAX_SHOWN_CHARACTERS:
            strength = grade_contribution(segment.weight, largest)
            marks.append(TextMark(at, end, strength, word=segment.terms[0], title=f"{segment.weight:+.2f}"))
        at = end
    return marks


def show_answers(desk: ReviewDesk, item: ReviewItem, number: int) -> None:
    """Show the three answers, and below them undo, skip and the note."""
    failure: FailedAnswer | None = st.session_state.get(answering.FAILURE)
    if failure is not None:
        widgets.show_problem(failure.problem)
        if failure.item == item.id:
            st.markdown(f"Your answer **{failure.verdict}** is not stored yet. Give it again.")
    with st.container(key="review_answers", horizontal=True):
        for verdict, (word, key, icon) in ANSWERS.items():
            st.button(
                word,
                # With the item in the key, a key pressed twice cannot answer the next item before it is seen.
                key=f"review_{verdict}_{item.id}",
                icon=icon,
                shortcut=key,
                width="stretch",
                on_click=desk.answer,
                args=(item, number, verdict),
            )
    with st.container(key="review_keys", horizontal=True, vertical_alignment="center"):
        show_undo(desk)
        st.button(
            "skip",
            key=f"review_skip_{item.id}",
            shortcut="Down",
            type="tertiary",
            on_click=desk.skip,
            args=(number,),
        )
        _show_note(item)
        said = st.session_state.get(answering.UNDONE)
        st.caption(widgets.escape_text(said) if said else "The dataset itself is never changed.")


def show_undo(desk: ReviewDesk) -> None:
    """Offer to take back the newest answer."""
    st.button("undo", key="review.undo", shortcut="Backspace", type="tertiary", on_click=desk.undo)


def _show_note(item: ReviewItem) -> None:
    """Let a note be written that is stored with the answer."""
    key = f"review_note_{item.id}"
    notes = answering.read_notes()
    if key not in st.session_state:
        st.session_state[key] = notes.get(item.id, "")

    def keep() -> None:
        notes[item.id] = st.session_state[key]

    title = "note ✎" if notes.get(item.id) else "note"
    with st.popover(title, key=f"review_note_of_{item.id}", type="tertiary"):
        st.text_area("Note, stored with your answer", key=key, max_chars=10_000, height=100, on_change=keep)
