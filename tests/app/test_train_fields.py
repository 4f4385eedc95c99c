"""Fields for parameters of every kind, and the short words of the Train page."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest
from xcwork_app import widgets
from xcwork_app.panels.train import chosen_method, live_curve, settings_drawer

from xcwork.methods.base import Parameter

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.01, "0.1 s"),
        (4.04, "4 s"),
        (9.96, "10 s"),
        (26.2, "26 s"),
        (90, "1.5 min"),
        (355, "5.9 min"),
        (360, "6 min"),
        (3000, "50 min"),
        (8280, "2.3 h"),
        (10**6, "278 h"),
    ],
)
def test_durations_in_few_signs(seconds: float, words: str) -> None:
    assert widgets.shorten_seconds(seconds) == words


def test_papers_without_their_titles() -> None:
    assert chosen_method.shorten_paper("Gupta et al., Generalized learning, KDD 2021") == "Gupta et al., KDD 2021"
    assert chosen_method.shorten_paper("A, B, WWW 2018; C, D, 2020") == "A, WWW 2018"


def test_the_curve_that_says_most_is_chosen() -> None:
    lines = {("a", "loss"): [(0, 1.0)], ("a", "P@1"): [(0, 2.0)], ("b", "other"): [(0, 3.0)]}
    assert live_curve.choose_line(lines)[0] == ("a", "P@1")
    assert live_curve.choose_line({("b", "other"): [(0, 3.0)]})[0] == ("b", "other")


def all_fields() -> None:
    import streamlit as st
    from xcwork_app.panels.train.settings_drawer import show_field

    from xcwork.methods.base import Parameter

    kinds = [
        Parameter("count", int, False, 3, "a count", 1, 9, None, False),
        Parameter("rate", float, False, 0.05, "a rate", 0.0, None, None, False),
        Parameter("most", int, True, None, "at most", 1, None, None, False),
        Parameter("on", bool, False, True, "a switch", None, None, None, False),
        Parameter("way", str, False, "a", "a choice", None, None, ("a", "b"), False),
        Parameter("name", str, True, None, "a text", None, None, None, False),
    ]
    st.session_state["found"] = {each.name: show_field(each, each.default, each.name) for each in kinds}


def test_every_kind_of_parameter_has_a_field() -> None:
    page = AppTest.from_function(all_fields).run()
    assert page.session_state["found"] == {
        "count": 3,
        "rate": 0.05,
        "most": None,
        "on": True,
        "way": "a",
        "name": None,
    }
    page.number_input(key="most").set_value(4)
    page.selectbox(key="on").set_value(False).run()
    assert page.session_state["found"]["most"] == 4
    assert page.session_state["found"]["on"] is False
    assert page.number_input(key="count").max == 9


@pytest.mark.parametrize(("default", "step"), [(0.05, 0.01), (1.0, 0.1), (30.0, 10.0), (0.0, 0.1), (None, 0.1)])
def test_the_step_of_a_number_follows_its_default(default: float | None, step: float) -> None:
    assert settings_drawer._choose_step(default) == pytest.approx(step)


def test_help_says_what_is_allowed() -> None:
    parameter = Parameter("rate", float, False, 0.5, "a rate", 0.0, 1.0, None, False)
    assert settings_drawer._write_help(parameter) == "A rate, at least 0, at most 1. On the command line: `rate`"
