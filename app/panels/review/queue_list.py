"""The queues: which one, how far it is answered, and its items on the left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import state, widgets
from xcwork_app.components.label_list import LabelGroup, LabelRow, show_label_list, split_path
from xcwork_app.panels.review.question import format_percentage
from xcwork_app.views import review_state

if TYPE_CHECKING:
    from xcwork.review.queue import ReviewQueue
    from xcwork.review.session import RunReview
    from xcwork.review.verdicts import VerdictLog

ROWS_AT_ONCE = 100  # drawn again with every answer
ORDERS = {
    "missing": "Strongest evidence first",
    "wrong": "Most doubtful first",
    "threshold": "Closest first",
    "requested": "Oldest first",
}
WORDS = {"right": "right", "wrong": "wrong", "unsure": "unsure"}


def choose_queue(review: RunReview) -> str:
    """Return the queue to work on."""
    sizes = {name: len(review.queue(name)) for name in review_state.QUEUES}
    # What people added has a place of its own as soon as there is any.
    options = {
        name: f"{title} {sizes[name]:,}"
        for name, title in review_state.QUEUES.items()
        if sizes[name] or name != "requested"
    }
    return widgets.choose_field("Queue", "queue", options, key="review.queue", hidden=True)


def show_progress(queue: ReviewQueue, verdicts: VerdictLog) -> None:
    """Show how many items were answered, and how."""
    counts = queue.count_answered(verdicts)
    parts = ", ".join(f"{counts[word]:,} {word}" for word in WORDS if counts[word])
    said = f"{counts['answered']:,} of {counts['total']:,} answered" + (f": {parts}" if parts else "")
    bars = "".join(
        f'<i style="width:{100 * counts[word] / max(counts["total"], 1):.2f}%;background:var(--{word})"></i>'
        for word in WORDS
    )
    shown = f'<div class="review-progress"><span>{said}</span><span class="review-bar">{bars}</span></div>'
    st.html(shown, width="content")


def resolve_item(queue: ReviewQueue, verdicts: VerdictLog) -> int | None:
    """Return the number of the item to show: the chosen one, else the first that waits; None if none waits."""
    names = {":".join(map(str, place)): number for number, place in enumerate(queue.list_places())}
    wanted = state.view().item
    if wanted in names:
        return names[wanted]
    if wanted:
        note = f"{state.quote(wanted)} is not in this queue; the first item that waits is shown instead."
        state.fall_back("item", "", note if state.asks_for("item", wanted) else "")
    return names.get(review_state.find_next(queue, verdicts, -1))


def show_queue(review: RunReview, queue: ReviewQueue, verdicts: VerdictLog, number: int | None, person: str) -> None:
    """Show the items around the open one; the answer of this person is shown before those of others."""
    start = 0 if number is None else number // ROWS_AT_ONCE * ROWS_AT_ONCE
    answered = verdicts.group_by_item()
    rows = []
    for item in queue.list_items(start, ROWS_AT_ONCE):
        answers = answered.get(item.place, [])
        said = next((answer for answer in answers if answer.by == person), answers[-1] if answers else None)
        rows.append(
            LabelRow(
                item.id,
                split_path(review.dataset.labels.names[item.label])[1],
                below=f"for {review_state.name_document(review, item.document)}",
                sign="" if said is None else said.verdict.value,
                value=format_percentage(item.probability),
                is_done=said is not None,
            )
        )
    end = start + len(rows)
    note = "how sure" if len(queue) <= ROWS_AT_ONCE else f"{start + 1:,} to {end:,}"
    following = end if end < len(queue) else 0
    show_label_list(
        [LabelGroup(rows, title=ORDERS[queue.name.value], note=note)],
        key="review_queue",
        label="Queue",
        selected="" if number is None else queue.list_items(number, 1)[0].id,
        on_choose=lambda name: state.update(item=name),
        choose_on_move=True,
        more="" if len(queue) <= ROWS_AT_ONCE else _name_following(following, len(queue)),
        on_more=lambda: state.update(item=queue.list_items(following, 1)[0].id),
        sign_words=WORDS,
        height="window",
        has_border=True,
    )


def _name_following(first: int, total: int) -> str:
    """Return the words of the button that shows the next items."""
    return f"Show items {first + 1:,} to {min(first + ROWS_AT_ONCE, total):,}"
