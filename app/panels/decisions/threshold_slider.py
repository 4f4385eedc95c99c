"""Predictions by percentage over a slider with two handles; a bar lists its predictions, a row opens one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import streamlit as st
from xcwork_app import caches, dialogs, navigation, state, tokens, widgets
from xcwork_app.chart_style import draw_once
from xcwork_app.sources import Source
from xcwork_app.views import review_state, run_decisions

from xcwork.analysis.decision_view import DecisionSummary, list_predictions_between
from xcwork.decisions.choice import NEVER_ASSIGN, Decisions, write_decisions
from xcwork.runs import Run

BARS = "decisions.bars"
OPENED = "decisions.opened"  # key of the session: the bar whose list is to be opened
THRESHOLDS = "decisions.thresholds"
HEIGHT_PIXELS = 92
MAX_LISTED = 200
N_TENTHS = 10


def show_bars(run: Run, source: Source, summary: DecisionSummary, decisions: Decisions) -> None:
    """Show how many predictions are how sure."""
    from xcwork.viz import get_alt_text
    from xcwork.viz.decisions import draw_probability_bars

    palette = tokens.get_palette()
    colour = palette.pick_run(caches.glance(run).number)
    drawn = draw_once(
        lambda: draw_probability_bars(summary.bars, colour=colour, palette=palette, height=HEIGHT_PIXELS),
        *(BARS, colour, *run_decisions.list_facts(run, source, decisions)),
    )
    st.plotly_chart(
        drawn,
        alt=get_alt_text(drawn),
        key=BARS,
        on_select=_choose_bar,
        selection_mode="points",
        config={"displayModeBar": False},
    )
    # A dialog is drawn once: what is done in it runs it alone, and the next run of the page closes it.
    if (tenth := st.session_state.pop(OPENED, None)) is not None:
        list_tenth(run, source, tenth)


def _choose_bar() -> None:
    points = [point["x"] for point in st.session_state[BARS]["selection"]["points"]]
    if points:
        st.session_state[OPENED] = int(points[0] // N_TENTHS)


def list_tenth(run: Run, source: Source, tenth: int) -> None:
    """Open the list of the predictions of one bar: a row opens its item in Review, or Predict if nobody asks for it."""
    low, high = tenth * N_TENTHS, (tenth + 1) * N_TENTHS

    @dialogs.make_dialog(f"Predictions from {low} to {high} %", width="large")
    def show_list() -> None:
        judged = run_decisions.get_judged(run, source)
        table = list_predictions_between(judged, tenth / N_TENTHS, (tenth + 1) / N_TENTHS, MAX_LISTED)
        queues = review_state.find_queues(review_state.get_review(run, source), table["item"].tolist())
        table["opens"] = [f"Review, {review_state.QUEUES[name].lower()}" if name else "Predict" for name in queues]
        rows = widgets.show_table(
            table,
            key="decisions.list",
            name=f"predictions-{low}-to-{high}",
            select="single-row",
            alt=f"Predictions from {low} to {high} %, most certain first",
            columns={"percent": st.column_config.NumberColumn("percentage", format="%.1f %%"), "item": None},
        )
        first = f"The {MAX_LISTED} most certain. " if len(table) == MAX_LISTED else ""
        st.caption(f"{first}Choose a row to see the document.")
        if rows:
            open_prediction(table.iloc[rows[0]].to_dict(), queues[rows[0]])

    show_list()


def open_prediction(chosen: Mapping[str, Any], queue: str) -> NoReturn:
    """Open a prediction of the list: in the queue that asks about it, else on Predict."""
    if queue:
        usual = next(iter(review_state.QUEUES))
        navigation.open_from_list("review", queue="" if queue == usual else queue, item=chosen["item"])
    navigation.open_test_document(int(chosen["document"]), label=str(chosen["label"]))


def choose_thresholds(decisions: Decisions) -> None:
    """Show the slider; what it is moved to becomes what the session tries."""
    suggest, assign = run_decisions.to_percents(decisions)
    st.session_state[THRESHOLDS] = (suggest, assign)

    def remember() -> None:
        low, high = st.session_state[THRESHOLDS]
        state.update(suggest=str(low), assign=str(high))

    st.slider(
        "Suggest from, assign from",
        0,
        100,
        key=THRESHOLDS,
        format="%d %%",
        label_visibility="collapsed",
        on_change=remember,
    )


def describe_thresholds(decisions: Decisions) -> str:
    """Return the thresholds as a sentence."""
    suggest = f"Suggest from **{100 * decisions.suggest:.3g} %**"
    if decisions.goal in ("macro-f1", "coverage"):
        return f"Assign **{decisions.limit} labels** to every document, chosen together for {decisions.goal}."
    if decisions.assign == NEVER_ASSIGN:
        return f"{suggest}, assign **nothing** without a check."
    text = f"{suggest}, assign from **{100 * decisions.assign:.3g} %**"
    text += {"one": "", "band": ", other thresholds by band", "label": ", other thresholds by band and label"}[
        decisions.by
    ]
    text += f", at most {decisions.limit} labels per document" if decisions.limit else ""
    text += f"; chosen for {100 * decisions.asked_precision:.3g} % right" if decisions.asked_precision else ""
    return f"{text}."


def show_store_button(run: Run, decisions: Decisions) -> None:
    """Offer to store the thresholds with the run, where that changes something."""
    is_new = not run_decisions.is_stored(run) or decisions != run.read_decisions()
    st.button(
        "Use these thresholds",
        key="decisions.use",
        type="primary",
        disabled=not is_new,
        on_click=store,
        args=(run, decisions),
        help="Predict, files of texts and `xcwork predict --decide` use them.",
    )


def store(run: Run, decisions: Decisions) -> None:
    """Store thresholds with the run, which everything goes by from now on."""
    with widgets.catch_errors("Not stored"):
        write_decisions(run.folder, decisions)
        state.update(assign="", suggest="")
        st.toast(f"Stored with {widgets.escape_text(run.name)}.", icon=":material/check:")
