"""Widgets that are bound to the address, on pages with nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from streamlit.testing.v1 import AppTest

if TYPE_CHECKING:
    pass

from tests.support.pages import go_back

pytestmark = pytest.mark.slow


def script_with_bound_widgets() -> None:
    import streamlit as st
    from xcwork_app import state

    state.open_page("labs")
    options = ["worst", "best"]
    st.segmented_control("Order", options, default="worst", required=True, key="labs.order", bind="query-params")
    st.number_input("Size", 1, 9, 3, key="labs.size", bind="query-params")
    st.pills("States", ["a", "b", "c"], selection_mode="multi", key="labs.states", bind="query-params")
    st.text_area("Text", key="labs.text", bind=state.choose_binding("labs.text"), persist_state="session")
    st.button("Next", on_click=lambda: state.update(document=state.view().document + 1))
    for sentence in state.list_notes():
        st.warning(sentence)
    state.share()


def open_script(**address: object) -> AppTest:
    page = AppTest.from_function(script_with_bound_widgets, default_timeout=300)
    page.query_params.update(address)
    page.run()
    assert not page.exception
    return page


def test_bound_widgets_follow_the_address_and_back(monkeypatch: pytest.MonkeyPatch) -> None:
    page = open_script(**{"labs.size": "7", "labs.states": ["a", "c"]})
    assert page.number_input(key="labs.size").value == 7
    assert page.pills(key="labs.states").value == ["a", "c"]
    assert not page.warning
    page.button[0].click().run()
    assert page.query_params["document"] == "1"
    assert page.query_params["labs.size"] == "7", "what widgets are bound to is left alone"
    go_back(page, {"data": "pyseealso", "labs.order": "best"}, monkeypatch)
    assert page.segmented_control(key="labs.order").value == "best"
    assert page.number_input(key="labs.size").value == 3
    assert page.pills(key="labs.states").value == []
    assert "document" not in page.query_params


def script_of_two_pages() -> None:
    import streamlit as st
    from xcwork_app import state

    def show_labs() -> None:
        st.number_input("Size", 1, 9, 3, key="labs.size", bind="query-params")
        st.text_area("Text", key="labs.text", bind=state.choose_binding("labs.text"), persist_state="session")

    def show_home() -> None:
        for name, value in (("five", 5), ("usual", None)):
            if st.button(name):
                state.set_widget("labs.size", value)
                st.switch_page(pages["labs"], query_params=state.get_address_of("labs"))
        if st.button("text"):
            state.set_widget("labs.text", "plum " * 1000)
            st.switch_page(pages["labs"], query_params=state.get_address_of("labs"))
        if st.button("back"):
            st.switch_page(pages["labs"], query_params=state.get_address_of("labs"))

    pages = {"home": st.Page(show_home, url_path="home", default=True), "labs": st.Page(show_labs, url_path="labs")}
    page = st.navigation(list(pages.values()))
    state.open_page(page.url_path or "home")
    if page.url_path == "labs" and st.sidebar.button("home"):
        st.switch_page(pages["home"], query_params=state.get_address_of("home"))
    page.run()
    state.share()


def press(page: AppTest, *labels: str) -> AppTest:
    for label in labels:
        next(button for button in page.button if button.label == label).click().run()
        assert not page.exception
    return page


def test_a_widget_of_another_page_opens_with_what_it_is_given_or_as_it_was_left() -> None:
    page = press(AppTest.from_function(script_of_two_pages, default_timeout=300).run(), "five")
    assert page.number_input(key="labs.size").value == 5
    assert page.query_params["labs.size"] in ("5", ["5"])
    page.query_params["labs.size"] = "7"  # the browser does that
    page.number_input(key="labs.size").set_value(7).run()
    assert "labs.size" not in press(page, "home").query_params
    assert press(page, "back").number_input(key="labs.size").value == 7
    assert press(page, "home", "usual").number_input(key="labs.size").value == 3
    assert "labs.size" not in page.query_params
    assert press(page, "home", "text").text_area(key="labs.text").value == "plum " * 1000
    assert "labs.text" not in page.query_params


def test_what_a_bound_widget_cannot_show_is_said_once() -> None:
    page = open_script(**{"labs.order": "sideways", "labs.size": "99", "labs.states": ["a", "x"]})
    assert [each.value for each in page.warning] == [
        "There is no order “sideways”; the usual choice is shown instead.",
        "There is no size “99”; the usual choice is shown instead.",
        "There is no set of states “a, x”; the usual choice is shown instead.",
    ]
    page.button[0].click().run()
    assert not page.warning, "somebody went on from there"
    assert not open_script(**{"labs.order": "worst", "labs.size": "3"}).warning


def test_a_bound_text_too_long_for_the_address_stays_with_the_session() -> None:
    page = open_script(**{"labs.text": "short"})
    assert page.text_area(key="labs.text").value == "short"
    page.text_area(key="labs.text").set_value("plum " * 1000).run()
    page.run()
    assert page.text_area(key="labs.text").value == "plum " * 1000
    assert "labs.text" not in page.query_params
