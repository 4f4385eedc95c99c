"""What the page says when a queue is answered, and about answers that do not count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import widgets
from xcwork_app.panels.review.answering import ReviewDesk
from xcwork_app.panels.review.question import show_undo
from xcwork_app.panels.review.reasons import phrase_change
from xcwork_app.views import review_state

if TYPE_CHECKING:
    from xcwork.review.queue import ReviewQueue
    from xcwork.review.session import RunReview
    from xcwork.review.verdicts import VerdictLog

MAX_PROBLEMS = 20


def show_remarks(review: RunReview, verdicts: VerdictLog) -> None:
    """Say on what percentages rest where the run is not calibrated, and which lines of the file do not count."""
    if review.topk.probabilities is not None and not verdicts.problems:
        return
    with st.container(key="review_remarks", horizontal=True, vertical_alignment="center"):
        if review.topk.probabilities is None:
            st.caption(
                "Not calibrated: percentages are shares of right predictions with such a score.",
                help=f"Train again, or run `xcwork calibrate {review.run} DATA`.",
                width="content",
            )
        if verdicts.problems:
            _show_problems(verdicts.problems)


def _show_problems(problems: Sequence[str]) -> None:
    count = len(problems)
    title = "1 line of the answers file was ignored" if count == 1 else f"{count:,} lines were ignored"
    with st.popover(title, key="review.problems", icon=":material/warning:", type="tertiary"):
        for problem in problems[:MAX_PROBLEMS]:
            st.markdown(f"- {widgets.escape_text(problem)}")
        if count > MAX_PROBLEMS:
            st.caption(f"and {count - MAX_PROBLEMS:,} more")


def _say_all(total: int) -> str:
    return "The only item is answered" if total == 1 else f"All {total:,} items are answered"


def show_finished(desk: ReviewDesk, queue: ReviewQueue, verdicts: VerdictLog) -> None:
    """Say that all items are answered, how, and what that comes to."""
    counts = queue.count_answered(verdicts)
    effect = review_state.measure_effect(desk.review, queue, verdicts)
    with st.container(key="review_finished", border=True):
        st.html(
            f'<div class="review-title">{_say_all(counts["total"])}</div><div>{counts["right"]:,} right, '
            f"{counts['wrong']:,} wrong, {counts['unsure']:,} unsure. {phrase_change(effect)}</div>"
        )
        st.markdown("`Export answers` writes them as a file, or as a corrected copy of the dataset.")
        with st.container(key="review_keys", horizontal=True):
            show_undo(desk)
