"""What a component says when somebody chooses something, handed to a callback before the page is drawn."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

MAX_EVENT_CHARACTERS = 10_000  # of what a browser may send


def read_text(value: object) -> str | None:
    """Return a value of the browser if it is a text of reasonable length; the browser can send anything."""
    return value if isinstance(value, str) and len(value) <= MAX_EVENT_CHARACTERS else None


def make_callback(key: str, event: str, action: Callable[[str], None] | None) -> Callable[[], None]:
    """Return a callback of the component `key` that gives the value of `event` to `action`."""

    def call() -> None:
        held = st.session_state.get(key)
        value = read_text(None if held is None else held.get(event))
        if action is not None and value is not None:
            action(value)

    return call
