"""The style sheets, `static/frame.css` and one per page that needs it, with the colours of the design as variables.

`static/lecture.css` holds for larger type only.
"""

from __future__ import annotations

from pathlib import Path

from xcwork_app.tokens import COLOURS

_VARIABLES = "".join(f"--{name}:{colour};" for name, colour in COLOURS.items())
_FOLDER = Path(__file__).parent / "static"
_LECTURE = _FOLDER / "lecture.css"
_SHEETS = sorted(set(_FOLDER.glob("*.css")) - {_LECTURE}, key=lambda file: (file.stem != "frame", file.stem))
_RULES = "\n".join(file.read_text("utf-8") for file in _SHEETS)

STYLE = f"<style>:root {{ {_VARIABLES} }}\n{_RULES}</style>"
# Streamlit says so inside the app alone, but dialogs, popovers and menus lie beside it.
SCHEMES = {name: f"<style>:root {{ color-scheme: {name} }}</style>" for name in ("light", "dark")}
_LARGE = _LECTURE.read_text("utf-8")
_WIDE = "[data-testid=stSidebar], [data-testid=stExpandSidebarButton] { display: none }"


def make_mode(*, is_large: bool, is_wide: bool) -> str:
    """Return the rules for presentations: larger type, no side bar."""
    return f"<style>{_LARGE * is_large}{_WIDE * is_wide}</style>"
