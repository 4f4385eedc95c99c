"""A text that can be edited while its evidence is marked behind the letters: `show_text_editor`.

    show_text_editor(
        "Depth first search", [TextMark(0, 5, "strong", word="depth")],
        key="predict_text", label="Your text", on_edit=lambda text: ..., on_choose=lambda word: ...,
    )

What somebody types is sent when he pauses, so labels and marks follow without a button. A click on a marked word
chooses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import streamlit as st
from xcwork_app.components import events, layout
from xcwork_app.components.marked_text import TextMark, split_text

MAX_SENT_CHARACTERS = 2_000_000  # of a text; a longer one is cut there, and is too long for every page

_component = layout.define_component("text_editor")


def show_text_editor(
    text: str,
    marks: Iterable[TextMark] = (),
    *,
    key: str,
    label: str,
    placeholder: str = "",
    chosen: str = "",
    on_edit: Callable[[str], None],
    on_choose: Callable[[str], None] | None = None,
    height: layout.FrameHeight = "content",
    has_border: bool = False,
) -> None:
    """Show the text with its marks; `on_edit` gets what it was changed to, before the page is drawn again."""

    def take() -> None:
        held = st.session_state.get(key)
        value = None if held is None else held.get("edited")
        if isinstance(value, str):
            on_edit(value[:MAX_SENT_CHARACTERS])

    _component(
        key=key,
        data={
            "label": label,
            "text": text,
            "parts": split_text(text, marks),
            "placeholder": placeholder,
            "chosen": chosen,
            **layout.describe_frame(height, has_border=has_border),
        },
        height=layout.get_wrapper_height(height),
        on_edited_change=take,
        on_chosen_change=events.make_callback(key, "chosen", on_choose),
    )
