"""Thresholds for a goal that a person names: a precision, micro-F1, macro-F1 or coverage, and what each costs."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st
from xcwork_app import widgets
from xcwork_app.panels.decisions import threshold_slider
from xcwork_app.sources import Source
from xcwork_app.views import run_decisions

from xcwork.decisions.choice import Decisions
from xcwork.decisions.goals import COVERAGE, MACRO_F1, MICRO_F1, PRECISION
from xcwork.decisions.thresholds import Choice
from xcwork.runs import Run

GOALS = {"Precision": PRECISION, "Micro-F1": MICRO_F1, "Macro-F1": MACRO_F1, "Coverage": COVERAGE}
MEANINGS = {
    PRECISION: "Of the assigned labels, this share should be right.",
    MICRO_F1: "Right labels against wrong and missed ones, all documents together.",
    MACRO_F1: "The same for every label, then averaged: rare labels count as much as frequent ones.",
    COVERAGE: "As many different labels as possible are found at least once.",
}
BY = {"One threshold": "one", "By band": "band", "By label": "label"}
USUAL_PRECISION_PERCENT = 95


def show_goal_popover(run: Run, source: Source) -> None:
    """Offer thresholds for a goal."""
    with st.popover("Choose by a goal", icon=":material/flag:", key="decisions.goal_popover", width="content"):
        goal = GOALS[_choose_word("Goal", GOALS, key="decisions.goal")]
        st.caption(MEANINGS[goal])
        decisions, choice = _choose(goal, run)
        outcome = run_decisions.get_summary(run, source, decisions).outcome
        st.markdown(threshold_slider.describe_thresholds(decisions))
        if outcome.precision is None:
            st.caption("Nothing would be assigned on the test split.")
        else:
            st.markdown(
                f"On the test split **{outcome.precision:.1f} %** of {outcome.n_assignments:,} labels are right "
                f"({outcome.precision_low:.1f} to {outcome.precision_high:.1f}), "
                f"**{outcome.automation_share:.0f} %** of the documents get a label without a check, and "
                f"{outcome.recall:.0f} % of the true labels are assigned."
            )
        if choice is not None and not choice.overall.is_certain:
            st.warning(describe_doubt(choice), icon=":material/warning:")
        st.button(
            "Use this choice",
            key="decisions.use_goal",
            on_click=threshold_slider.store,
            args=(run, decisions),
            disabled=decisions == run.read_decisions(),
        )
        _show_costs(run, source)


def _choose(goal: str, run: Run) -> tuple[Decisions, Choice | None]:
    """Return the decisions for the goal, and the evidence where it is a precision."""
    if goal == MICRO_F1:
        return run_decisions.choose_for_f1(run), None
    if goal != PRECISION:
        return Decisions(assign=0.0, suggest=0.0, limit=run_decisions.USUAL_K, goal=goal), None
    with st.container(horizontal=True, vertical_alignment="bottom"):
        percent = st.number_input(
            "Right, %", 1, 100, USUAL_PRECISION_PERCENT, key="decisions.precision", bind="query-params", width=110
        )
        by = BY[_choose_word("Thresholds", BY, key="decisions.precision_by")]
    choice = run_decisions.choose_for_precision(run, percent / 100, by)
    return choice.decisions, choice


def _choose_word(label: str, words: Mapping[str, str], *, key: str) -> str:
    """Show words to choose one of; the first is usual, and the address has any other."""
    usual = next(iter(words))
    chosen = st.segmented_control(
        label, words, default=usual, required=True, key=key, bind="query-params", label_visibility="collapsed"
    )
    return chosen or usual


def describe_doubt(choice: Choice) -> str:
    """Return why the precision cannot be promised."""
    asked, overall = 100 * (choice.decisions.asked_precision or 0.0), choice.overall
    if not overall.is_reached:
        return (
            f"{asked:g} % cannot be promised: no threshold reaches it on {choice.expected.n_documents:,} held-out "
            "documents."
        )
    return (
        f"{asked:g} % cannot be promised: from {overall.n:,} held-out predictions it could be anything between "
        f"{overall.low:.1f} and {overall.high:.1f} %."
    )


def _show_costs(run: Run, source: Source) -> None:
    """Show what labels chosen for one goal cost the others."""
    import pandas as pd

    if not st.toggle("What each goal costs the others", key="decisions.costs", bind="query-params"):
        return
    figures = run_decisions.compare_goals(run, source)
    titles = {goal: title for title, goal in GOALS.items()}
    table = pd.DataFrame([{"chosen for": titles[goal], **row} for goal, row in figures.items()])
    widgets.show_table(
        table,
        key="decisions.goals",
        name="goals",
        alt=f"{run_decisions.USUAL_K} labels per document of the test split, chosen for each goal, in percent",
    )
