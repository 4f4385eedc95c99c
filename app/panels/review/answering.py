"""What a person does with an item: answer, take back, skip; and who that person is.

All of these run before the page is drawn again. They are bound to the item that was on the screen when the key was
pressed, so a key that comes too early never answers an item that nobody has seen.
"""

from __future__ import annotations

import getpass
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import login, state
from xcwork_app.views import review_state

from xcwork.errors import XcworkError

if TYPE_CHECKING:
    from xcwork.review.queue import ReviewItem
    from xcwork.review.session import RunReview

PERSON = "review.by"  # the widget with the name
NOTES = "review.notes"  # notes of this session by item, until they are stored with an answer
FAILURE = "review.failure"
UNDONE = "review.undone"


@dataclass(frozen=True)
class FailedAnswer:
    """An answer that could not be stored, kept until it is."""

    item: str
    verdict: str
    problem: XcworkError


@dataclass(frozen=True)
class ReviewDesk:
    """The review, the queue and the person at work."""

    review: RunReview
    queue: str
    person: str

    def answer(self, item: ReviewItem, number: int, verdict: str) -> None:
        """Store an answer and go on to the next item that waits; where it cannot be stored, stay."""
        note = read_notes().get(item.id, "")
        try:
            self.review.answer(item.place, verdict, by=self.person, note=note, queue=self.queue)
        except XcworkError as problem:
            st.session_state[FAILURE] = FailedAnswer(item.id, verdict, problem)
            state.update(item=item.id)
            return
        st.session_state.pop(FAILURE, None)
        st.session_state.pop(UNDONE, None)
        read_notes().pop(item.id, None)
        queue, verdicts = self.review.queue(self.queue), review_state.get_verdicts(self.review)
        state.update(item=review_state.find_next(queue, verdicts, number))

    def undo(self) -> None:
        """Take back the newest answer of this person and return to its item."""
        st.session_state.pop(FAILURE, None)
        try:
            answer = self.review.undo(by=self.person)
        except XcworkError as problem:
            st.session_state[FAILURE] = FailedAnswer("", "", problem)
            return
        if answer is None:
            st.session_state[UNDONE] = f"{self.person} has no answer to undo."
            return
        name = ":".join(map(str, answer.item))
        if answer.note:
            read_notes()[name] = answer.note
        label = self.review.dataset.labels.names[answer.label]
        st.session_state[UNDONE] = f"Taken back: {answer.verdict.value} for {label}."
        home = next((each for each in (self.queue, answer.queue) if self._has_item(each, answer.item)), None)
        if home is not None:
            state.update(item=name, queue="" if home == next(iter(review_state.QUEUES)) else home)

    def skip(self, number: int) -> None:
        """Go to the next item that waits without an answer."""
        queue, verdicts = self.review.queue(self.queue), review_state.get_verdicts(self.review)
        st.session_state.pop(UNDONE, None)
        state.update(item=review_state.find_next(queue, verdicts, number))

    def _has_item(self, queue: str, place: tuple[str, int, int]) -> bool:
        return queue in review_state.QUEUES and place in set(self.review.queue(queue).list_places())


def read_notes() -> dict[str, str]:
    """Return the notes of this session that belong to no stored answer yet, by item."""
    return st.session_state.setdefault(NOTES, {})


def choose_person() -> str:
    """Return who answers: the account that signed in, else the user of the machine unless another name is given."""
    account = login.get_account_name()
    if account is not None:
        st.caption(f"as {account}")
        return account
    usual, shown = _find_machine_user(), name_person()
    with st.popover(f"as {shown[:20]}", key="review.person", type="tertiary"):
        st.text_input("Who answers", usual, key=PERSON, max_chars=200, persist_state="session")
        st.caption("Stored with every answer. Backspace takes back your own answers only.")
    return shown


def name_person() -> str:
    """Return who is at work, as choose_person knows it, without asking."""
    account = login.get_account_name()
    usual = _find_machine_user()
    return account or " ".join(str(st.session_state.get(PERSON) or usual).split()) or usual


def _find_machine_user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container may know no names
        return "someone"
