"""One step of the browser's history for each choice: `watch_history`.

Streamlit replaces the address when a bound widget changes, so Back would pass over the choice, and adds a step for
every other change, so one choice could need several Backs. Here the first change of the address after a person did
something is a step, and what the server adds to it belongs to that step.
"""

from __future__ import annotations

import streamlit as st
from xcwork_app.components.layout import FOLDER

_component = st.components.v2.component(
    "xcwork_history_steps", js=(FOLDER / "history_steps.js").read_text("utf-8"), isolate_styles=False
)


def watch_history() -> None:
    """Let the browser count its steps this way, as long as the tab is open."""
    _component(key="shell_history", height="content")
