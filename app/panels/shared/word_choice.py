"""A choice among a few words that belongs to one page and binds itself to the address."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st


def choose_word(label: str, words: Iterable[str], *, key: str, help: str | None = None) -> str:
    """Show a segmented control and return the chosen word; the first is usual and stays out of the address."""
    offered = list(words)
    chosen = st.segmented_control(
        label,
        offered,
        default=offered[0],
        required=True,
        key=key,
        bind="query-params",
        label_visibility="collapsed",
        help=help,
    )
    return chosen or offered[0]
