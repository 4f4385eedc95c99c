"""The right of the page: why the label is suggested, what other runs and documents say, what the answers change."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import caches, dialogs, navigation, tokens, widgets
from xcwork_app.views import review_state
from xcwork_app.views.review_state import ItemView, ReviewEffect

from xcwork.runs import Run

if TYPE_CHECKING:
    from xcwork.review.queue import ReviewItem, ReviewQueue
    from xcwork.review.session import RunReview
    from xcwork.review.verdicts import VerdictLog

SUSPECTED = {"missing": "right", "wrong": "wrong", "threshold": "right", "requested": "right"}
TOLERANCE = 0.05  # points, below which two shown figures are the same


def show_words(shown: ItemView, item: ReviewItem, label: str) -> None:
    """Show the strongest words as bars, and the way to all reasons."""
    with st.container(key="review_why", border=True):
        largest = max((abs(value) for _, value in shown.words), default=0.0) or 1.0
        rows = "".join(_make_bar(word, value, largest) for word, value in shown.words)
        title = "The evidence for it" if item.queue == "wrong" else "Why it is suggested"
        empty = '<div class="review-muted">No word of this text has to do with it.</div>'
        st.html(f'<div class="review-title">{title}</div>{rows or empty}')
        if st.button("All reasons", key="review.reasons", type="tertiary"):
            navigation.open_test_document(item.document, label=label)


def _make_bar(word: str, value: float, largest: float) -> str:
    colour = "evidence_bar" if value > 0 else "against"
    bar = f'<i style="width:{100 * abs(value) / largest:.0f}%;background:var(--{colour})"></i>'
    return f'<div class="review-word"><span>{escape(word)}</span><span>{bar}</span><b>{value:+.2f}</b></div>'


def show_other_runs(ranks: list[tuple[Run, int | None]]) -> None:
    """Show the rank of the label in other runs."""
    if not ranks:
        return
    rows = "".join(
        f'<div class="review-line"><span>{tokens.make_mark(caches.glance(run).number)}{escape(run.name)}</span>'
        f"<span>{'not listed' if rank is None else f'rank {rank}'}</span></div>"
        for run, rank in ranks
    )
    with st.container(key="review_runs", border=True):
        st.html(f'<div class="review-title">What other runs say</div>{rows}')


def show_neighbours(shown: ItemView) -> None:
    """Show the training documents with the label that are most similar."""
    rows = "".join(
        f'<div class="review-neighbour" title="{escape(name)}">{escape(name)}</div>' for name in shown.neighbours
    )
    empty = '<div class="review-muted">None: no training document has it.</div>'
    with st.container(key="review_neighbours", border=True):
        st.html(f'<div class="review-title">Training documents with the label</div>{rows or empty}')


def show_effect(review: RunReview, queue: ReviewQueue, verdicts: VerdictLog) -> None:
    """Show what the answers change, and behind a button all of it with intervals."""
    with st.container(key="review_effect", border=True):
        effect = review_state.measure_effect(review, queue, verdicts)
        waiting = queue.count_answered(verdicts)["waiting"]
        lines = [phrase_change(effect)]
        if waiting:
            lines.append(phrase_rest(waiting, SUSPECTED[queue.name.value], effect))
        st.html(f'<div class="review-title">What your answers change</div><div>{"<br>".join(lines)}</div>')
        if st.button("Table", key="review.table", type="tertiary"):
            show_changes(review)


def phrase_rest(waiting: int, suspected: str, effect: ReviewEffect) -> str:
    """Return what the metric is if all that wait are as suspected, as a sentence."""
    rest = "the one that waits is" if waiting == 1 else f"all {waiting:,} waiting are"
    return f"If {rest} {suspected}, it is {effect.if_confirmed:.1f}."


def phrase_change(effect: ReviewEffect) -> str:
    """Return the change of the metric as a sentence, as HTML."""
    name, change = review_state.METRIC, effect.corrected - effect.original
    if abs(change) < TOLERANCE:
        return f"{name} stays at <b>{effect.original:.1f}</b>."
    verb = "rises" if change > 0 else "falls"
    return f"{name} {verb} from {effect.original:.1f} to <b>{effect.corrected:.1f}</b>."


@dialogs.make_dialog("What the answers change", width="large")
def show_changes(review: RunReview) -> None:
    """Show all metrics under the annotated and the corrected labels, and how far people agree."""
    import pandas as pd

    from xcwork.review.correction import phrase_corrections

    with widgets.catch_errors():
        facts = review.summarise()
        made = facts["corrections"]
        st.markdown(phrase_corrections(*(made[name] for name in ("added", "removed", "confirmed", "disputed"))))
        rows = [
            {
                "metric": each["metric"],
                "as annotated": each["original"],
                "corrected": each["corrected"],
                "change": each["change"],
                "95 % interval": "{:+.2f} to {:+.2f}".format(*each["change_interval"]),
            }
            for each in facts["metrics"]
        ]
        widgets.show_table(pd.DataFrame(rows), key="review.changes", name="review-metrics")
        pairs = [
            {"people": " and ".join(each["reviewers"]), "items": each["items"], "agree, %": each["share"]}
            | {"kappa": each["kappa"]}
            for each in facts["agreement"]
        ]
        if pairs:
            widgets.show_table(pd.DataFrame(pairs), key="review.agreement", name="review-agreement")
        else:
            st.caption("No item has been answered by two people yet, so there is no agreement to measure.")
