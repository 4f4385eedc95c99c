"""The script and the style of the label map, and the colours that it is given.

The script is plain JavaScript in several files, one idea each. They are joined in the order below and wrapped in a
function, so that nothing of them reaches the page around but what is returned.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

SCRIPT_FILES = (
    "camera.js",
    "flight.js",
    "parts.js",
    "picking.js",
    "density.js",
    "points_webgl.js",
    "points_canvas.js",
    "colours.js",
    "names.js",
    "layers.js",
    "marks.js",
    "controls.js",
    "region_names.js",
    "input.js",
    "scene.js",
    "picture.js",
    "state.js",
    "drawn_map.js",
    "component.js",
    "host_page.js",
)
THEMES = {
    "light": {
        "text": "#17202A",
        "muted": "#56626E",
        "background": "#FFFFFF",
        "second": "#F5F7F9",
        "card": "#FFFFFF",
        "line": "#DCE2E9",
        "fine": "#EBEFF3",
        "primary": "#1F4E79",
        "selected": "#E7EFF6",
        "weak": "#A33B00",
        "warn": "#7A5200",
        "warn-ground": "#FBF0D9",
        "edge": "#5C7186",
    },
    "dark": {
        "text": "#E8EDF2",
        "muted": "#A3B1BF",
        "background": "#11161C",
        "second": "#181F27",
        "card": "#151B22",
        "line": "#2C3743",
        "fine": "#232C36",
        "primary": "#8CC4F0",
        "selected": "#1B3145",
        "weak": "#FFB48F",
        "warn": "#F2CF7A",
        "warn-ground": "#372A0C",
        "edge": "#9DB0C2",
    },
}


@cache
def read_style() -> str:
    """Return the style sheet; every rule is limited to the class `xc-map`."""
    return _read_file("style.css")


@cache
def read_script() -> str:
    """Return an expression that yields the map's functions: `{ LabelMap, readPart, showInPage }`."""
    body = "\n".join(_read_file(name) for name in SCRIPT_FILES)
    return f'(() => {{\n"use strict";\n{body}\nreturn {{ LabelMap, readPart, showInPage }};\n}})()'


def _read_file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8")
