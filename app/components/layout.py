"""What the components share: where their scripts are, and how much room they take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import streamlit as st
from xcwork_app import tokens

if TYPE_CHECKING:
    from streamlit.components.v2.types import ComponentRenderer

FOLDER = Path(__file__).parent
FrameHeight = int | Literal["content", "stretch", "window"]


def define_component(name: str, *parts: str) -> ComponentRenderer:
    """Return the component of `NAME.js` and `NAME.css`; what all of them share, and its `parts`, stand before it."""
    script = "".join((FOLDER / f"{each}.js").read_text("utf-8") for each in ("frame", *parts, name))
    return st.components.v2.component(f"xcwork_{name}", css=(FOLDER / f"{name}.css").read_text("utf-8"), js=script)


def describe_frame(height: FrameHeight, *, has_border: bool = False) -> dict[str, Any]:
    """Return what the browser needs to know about the frame around a component."""
    classes = (["fills"] if height != "content" else []) + (["bordered"] if has_border else [])
    return {"classes": classes, "fitsWindow": height == "window", "colours": tokens.COLOURS}


def get_wrapper_height(height: FrameHeight) -> int | Literal["content", "stretch"]:
    """Return the height of Streamlit's wrapper: with "window" the frame inside finds its own."""
    return "content" if height == "window" else height
