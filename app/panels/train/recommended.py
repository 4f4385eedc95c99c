"""Three methods that suit the dataset, each a card that can be chosen as a whole, and the pilot that tries them."""

from __future__ import annotations

import html
from collections.abc import Mapping

import streamlit as st
from xcwork_app import dialogs, state, widgets
from xcwork_app.sources import Source
from xcwork_app.views import training_plan
from xcwork_app.views.training_plan import MethodFacts

from xcwork.advice import pilot_job
from xcwork.advice.guide import get_note
from xcwork.advice.pilot_job import PilotProgress
from xcwork.advice.recommendation import BY_PILOT, Recommendation, Suggestion
from xcwork.advice.rules import FOR_THE_BEST, TO_BEGIN, TO_UNDERSTAND

ROLES = (TO_BEGIN, TO_UNDERSTAND, FOR_THE_BEST)  # in the order of the cards
PILOT_MINUTES = 5
REFRESH_SECONDS = 1


def show_recommended(source: Source, found: Recommendation, chosen: str, facts: Mapping[str, MethodFacts]) -> None:
    """Show the heading with the traits of the dataset, and the cards."""
    with st.container(key="train_heading", horizontal=True, vertical_alignment="center"):
        st.html(
            f'<div class="train-section">Recommended for {html.escape(source.title)} '
            f"<span>{html.escape(found.traits)}</span></div>",
            width="stretch",
        )
        _offer_pilot(source, found)
    with st.container(key="train_cards", horizontal=True):
        for number, each in enumerate(sort_by_role(found)):
            cost = facts[each.method].cost if each.method in facts else None
            _show_card(each, number, each.seconds if cost is None else cost.seconds, is_chosen=each.method == chosen)


def sort_by_role(found: Recommendation) -> list[Suggestion]:
    """Return the suggestions in the order of the cards."""
    return sorted(found.suggestions, key=lambda each: ROLES.index(each.role) if each.role in ROLES else len(ROLES))


def _show_card(each: Suggestion, number: int, seconds: float | None, *, is_chosen: bool) -> None:
    title = get_note(each.method).title
    with st.container(border=True, key=f"train_card_{number}{'_chosen' if is_chosen else ''}"):
        time = "not yet measured here" if seconds is None else widgets.shorten_seconds(seconds)
        quality = "" if each.expected is None else f" · P@1 {each.expected.low:.0f} to {each.expected.high:.0f}"
        st.html(
            f'<div class="train-role">{html.escape(each.role)}</div><div class="train-name">{html.escape(title)}</div>'
            f'<div class="train-why">{html.escape(each.reason)}</div>'
            f'<div class="train-cost"><i class="train-clock" aria-hidden="true"></i>{html.escape(time + quality)}</div>'
        )
        # The button lies over the whole card, so that the whole card is the target.
        st.button(
            f"Choose {title}",
            key=f"train.card.{number}",
            on_click=lambda: state.update(method=each.method),
            width="stretch",
            help=None if each.expected is None else f"P@1 {each.expected.value:.1f}: {each.expected.basis}.",
        )


def _offer_pilot(source: Source, found: Recommendation) -> None:
    place = training_plan.resolve(source)
    progress = pilot_job.read_progress(place)
    if progress is not None and progress.is_running:
        st.fragment(_show_pilot, run_every=REFRESH_SECONDS)(source)
        return
    if progress is not None and progress.message:
        st.caption(widgets.escape_text(progress.message))
    label = "Try again" if found.level == BY_PILOT else "Try them on a sample"
    st.button(
        label,
        key="train.pilot",
        type="tertiary",
        icon=":material/science:",
        on_click=lambda: pilot_job.start_pilot(place, minutes=PILOT_MINUTES),
        help=f"Trains methods on a subset of this dataset for about {PILOT_MINUTES} minutes to see what to expect.",
    )


def _show_pilot(source: Source) -> None:
    """Show how far the pilot is, and how to end it."""
    place = training_plan.resolve(source)
    progress = pilot_job.read_progress(place)
    if progress is None or not progress.is_running:
        dialogs.refresh_page()
        return
    with st.container(horizontal=True, vertical_alignment="center", key="train_pilot", width="content"):
        words = html.escape(describe_pilot(progress))
        st.html(f'<div class="train-pilot" title="{html.escape(progress.phase)}">{words}</div>', width="content")
        st.button(
            "Cancel",
            key="train.pilot_cancel",
            type="tertiary",
            disabled=progress.is_stopping,
            on_click=lambda: pilot_job.cancel_pilot(place),
        )


def describe_pilot(progress: PilotProgress) -> str:
    """Return how far the pilot is, and how long it will go on at most."""
    if progress.is_stopping:
        return "Stopping after this step"
    left = progress.budget_seconds - progress.elapsed_seconds
    rest = f"{widgets.shorten_seconds(left)} left" if left > 1 else "nearly done"
    return f"Trying methods: {100 * progress.share:.0f} %, {rest}"
