"""One lab per screen: claim, controls on the left, one chart on the right, and below it what the chart says now.

Before they look, people say what they expect (`Prediction`); the answer sets the controls so that the chart shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st
from xcwork_app import widgets
from xcwork_app.chart_style import match_page

if TYPE_CHECKING:
    import plotly.graph_objects as go

CHART = {"displaylogo": False, "displayModeBar": False}
CLOSED = "labs.revealed"  # the lab and the answer that were revealed last


@dataclass(frozen=True)
class LabResult:
    """What a lab shows for the chosen settings."""

    chart: go.Figure
    sentence: str  # Markdown; what the chart says, and the theorem behind it


@dataclass(frozen=True)
class Prediction:
    """A question to answer before looking, and the settings that show the answer."""

    question: str
    answers: tuple[str, ...]
    settings: Mapping[str, Any]  # values of the controls, by key
    find_right: Callable[[], int]  # position of the right answer, from the same figures as the chart


@dataclass(frozen=True)
class Lab:
    """An experiment of a paper."""

    title: str
    claim: str
    source: str  # paper and place
    show_controls: Callable[[], Mapping[str, Any]]
    compute: Callable[..., LabResult]  # takes what the controls give
    prediction: Prediction


def show_lab(name: str, lab: Lab) -> None:
    """Show a lab."""
    with st.container(key="lab_claim", horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{lab.claim}**", width="content")
        st.caption(lab.source, width="content")
    with st.container(key="lab", horizontal=True):
        left, right = st.container(key="lab_controls"), st.container(key="lab_result", gap="xsmall")
    with left:
        settings = lab.show_controls()
        _ask(name, lab.prediction)
    with right:
        result = lab.compute(**settings)
        _show_chart(name, lab, result)
        with st.container(key="lab_sentence"):
            st.markdown(result.sentence)


def _show_chart(name: str, lab: Lab, result: LabResult) -> None:
    from xcwork.viz import get_alt_text, read_table

    alt = get_alt_text(result.chart)
    legend = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"}
    result.chart.update_layout(title=None, margin={"t": 40, "b": 50}, height=None, legend=legend)
    match_page(result.chart)
    with st.container(border=True, key="lab_chart"):
        st.plotly_chart(result.chart, alt=alt, key=f"labs.{name}.chart", config=CHART, height="stretch")
    with st.container(key="lab_menu"), st.popover("⋯", key="labs.menu", help="Table and CSV"):
        widgets.show_table(read_table(result.chart), key=f"labs.{name}.table", name=f"lab-{name}", alt=alt)


def _ask(name: str, prediction: Prediction) -> None:
    """Ask for a prediction; revealing it sets the controls."""
    with st.container(border=True, key="lab_prediction", gap="xsmall"):
        given = st.radio(
            f"**Predict first.** {prediction.question}", prediction.answers, index=None, key=f"labs.{name}.prediction"
        )
        st.button(
            "Reveal",
            key="labs.reveal",
            disabled=given is None,
            on_click=_show_answer,
            args=(name, given, prediction),
        )
        if given is not None and st.session_state.get(CLOSED) == (name, given):
            right = prediction.answers[prediction.find_right()]
            if given == right:
                st.success("Right.", icon=":material/check:")
            else:
                st.warning(f"No: {right[0].lower()}{right[1:]}.", icon=":material/close:")


def _show_answer(name: str, given: str, prediction: Prediction) -> None:
    st.session_state[CLOSED] = (name, given)
    for key, value in prediction.settings.items():
        st.session_state[key] = value
