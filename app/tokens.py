"""What the design fixes: colours as style sheets and components take them, and the marks of runs.

The colours themselves are in `xcwork.export.palette`. A colour here is a pair for the light and the dark page, which
the browser resolves: `light-dark(#17202A, #E8EDF2)`. So nothing needs to be drawn again when the theme changes. Only
figures need to know which page they are on (`get_palette`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import streamlit as st

from xcwork.export.palette import DARK, LIGHT, InkOnGround, Palette, pick_mark

SIGNS = {"right": "✓", "wrong": "✗", "missed": "○", "unsure": "?"}  # the name of a verdict and its sign


@dataclass(frozen=True)
class RunLook:
    """How a run looks wherever it appears: one colour and one mark."""

    colour: str  # as a style sheet takes it, for both pages
    mark: str  # "disc", "ring" or "square"


def pair_colours(light: str, dark: str) -> str:
    """Return the colour that is `light` on a light page and `dark` on a dark one."""
    return f"light-dark({light}, {dark})"


def make_colours() -> dict[str, str]:
    """Return all single colours by name; text on a ground of its own makes two, such as `right` and `right_ground`."""
    colours: dict[str, str] = {}
    for field in fields(Palette):
        light, dark = getattr(LIGHT, field.name), getattr(DARK, field.name)
        if isinstance(light, InkOnGround):
            colours[field.name] = pair_colours(light.ink, dark.ink)
            colours[f"{field.name}_ground"] = pair_colours(light.ground, dark.ground)
        elif isinstance(light, str):
            colours[field.name] = pair_colours(light, dark)
        else:
            colours |= {
                f"{field.name}_{at}": pair_colours(*each) for at, each in enumerate(zip(light, dark, strict=True))
            }
    return colours


COLOURS = make_colours()


def get_look(number: int) -> RunLook:
    """Return the look of the run with this number (`Run.number`)."""
    return RunLook(pair_colours(LIGHT.pick_run(number), DARK.pick_run(number)), pick_mark(number))


def get_scheme() -> str:
    """Return whether the page is "light" or "dark" now."""
    return "dark" if st.context.theme.type == "dark" else "light"


def get_palette() -> Palette:
    """Return the colours of the page as it is shown now, for figures."""
    return DARK if get_scheme() == "dark" else LIGHT


def make_mark(number: int) -> str:
    """Return the mark of a run as HTML: a disc, a ring or a square in its colour. Its name must stand beside it."""
    look = get_look(number)
    radius = "2px" if look.mark == "square" else "50%"
    fill = "transparent" if look.mark == "ring" else look.colour
    return (
        f'<span aria-hidden="true" data-mark="{look.mark}" style="display:inline-block;width:11px;height:11px;'
        f"box-sizing:border-box;flex:none;margin-right:.3rem;border-radius:{radius};border:3px solid {look.colour};"
        f'background:{fill}"></span>'
    )
