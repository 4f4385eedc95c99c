"""What changes behind an open dialog leaves it alone, and a select box that lags behind chooses nothing."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from tests.support.waiting import PATIENCE_SECONDS


def draw_page() -> None:
    """A page that wants to be drawn three times, with or without a dialog."""
    import streamlit as st
    from xcwork_app import dialogs

    dialogs.begin_page()
    st.session_state["drawn"] = st.session_state.get("drawn", 0) + 1
    if st.session_state.get("asks"):
        dialogs.make_dialog("A question")(lambda: st.text("inside"))()
    if st.session_state["drawn"] < 3:
        dialogs.refresh_page()


def test_what_refreshes_itself_waits_until_no_dialog_is_open() -> None:
    page = AppTest.from_function(draw_page, default_timeout=PATIENCE_SECONDS).run()
    assert page.session_state["drawn"] == 3
    page = AppTest.from_function(draw_page, default_timeout=PATIENCE_SECONDS)
    page.session_state["asks"] = True
    assert [text.value for text in page.run().text] == ["inside"]
    assert page.session_state["drawn"] == 1
    page.session_state["asks"] = False  # it was closed, which draws the page
    assert page.run().session_state["drawn"] == 3


def draw_box() -> None:
    """A select box for what another part of the page may change, too."""
    import streamlit as st
    from xcwork_app.sidebar import prepare_box

    def take() -> None:
        st.session_state["shown"] = st.session_state[key]

    key = prepare_box("box", st.session_state.setdefault("shown", "apple"))
    st.selectbox("Fruit", ["apple", "pear"], key=key, on_change=take)


def test_a_box_is_made_anew_when_something_else_changed_what_it_shows() -> None:
    """So that what a browser still sends of the box before is not taken for a choice."""
    page = AppTest.from_function(draw_box, default_timeout=PATIENCE_SECONDS).run()
    page.selectbox(key="box").set_value("pear").run()
    assert page.session_state["shown"] == "pear"
    assert page.selectbox(key="box").value == "pear", "its own choice leaves it as it is"
    page.session_state["shown"] = "apple"
    page.run()
    assert [(box.key, box.value) for box in page.selectbox] == [("box.1", "apple")]
    page.selectbox(key="box.1").set_value("pear").run()
    assert page.session_state["shown"] == "pear"
