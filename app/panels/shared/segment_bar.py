"""A bar of parts that add up, each of them a button: a click on a part shows what it consists of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

HATCHED = "repeating-linear-gradient(135deg,var(--not_listed_0) 0 3px,var(--not_listed_1) 3px 6px)"
OUTRANKED = "var(--outranked)"


@dataclass(frozen=True)
class BarPart:
    """One part of a bar."""

    id: str  # letters and underscores
    name: str  # what a screen reader says
    count: int  # how long it is
    colour: str  # as a style sheet takes it; also a gradient


def show_segment_bar(
    segments: Sequence[BarPart], *, key: str, chosen: str = "", on_choose: Callable[[str], None]
) -> None:
    """Show the parts in proportion, without empty ones. `on_choose` gets the id of a part before the page is drawn.

    `key` is that of the bar; the button of a part has the key `KEY_ID`.
    """
    shown = [each for each in segments if each.count]
    rules = "".join(
        f".st-key-{key}_{each.id}{{flex:{each.count} 1 0 !important}}"
        f".st-key-{key}_{each.id} button{{background:{each.colour} !important}}"
        for each in shown
    )
    if chosen:
        rules += f".st-key-{key}_{chosen} button{{box-shadow:inset 0 -5px 0 var(--text)}}"
    st.html(f"<style>{rules}</style>")
    with st.container(key=f"{key}_segments", horizontal=True, gap=None, wrap=False):
        for each in shown:
            st.button(
                each.name,
                key=f"{key}_{each.id}",
                width="stretch",
                on_click=on_choose,
                args=(each.id,),
            )
