"""The label map in a notebook and as one HTML file that opens without network.

>>> from xcwork.viz.map_view import LabelMapView
>>> LabelMapView(data)  # the last line of a cell shows it
>>> LabelMapView(data).write_html("map.html")

Both hold the same script as the dashboard and all data; at a million labels this is about 20 MB.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from xcwork.export.html import escape_html
from xcwork.storage.atomic import write_text
from xcwork.viz.map_component import THEMES, read_script, read_style
from xcwork.viz.map_data import MapData, MapState

HEIGHT_PIXELS = 604
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
PAGE_STYLE = """
:root { color-scheme: light dark }
html, body { margin: 0; height: 100%; background: #FFFFFF }
body { box-sizing: border-box; padding: 12px; font-family: system-ui, -apple-system, "Segoe UI", sans-serif }
@media (prefers-color-scheme: dark) { html, body { background: #11161C } }
"""
_numbers = count()


@dataclass(frozen=True, eq=False)
class LabelMapView:
    """A label map to look at outside the dashboard."""

    data: MapData
    state: MapState = field(default_factory=MapState)
    height: int = HEIGHT_PIXELS
    search: bool = True

    def _repr_html_(self) -> str:
        return self._render_map(f"{self.height}px")

    def __repr__(self) -> str:
        return self.data.caption or f"Map of {self.data.n_placed:,} labels"

    def write_html(self, path: str | Path) -> Path:
        """Write the map as a single HTML file that opens offline, and return its path."""
        write_text(path, self.render_page())
        return Path(path)

    def render_page(self) -> str:
        """Return the map as a page that needs nothing else."""
        title = escape_html(repr(self))
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{title}</title>\n<style>{PAGE_STYLE}</style>\n</head>\n"
            f"<body>\n{self._render_map('calc(100vh - 24px)')}\n</body>\n</html>\n"
        )

    def _render_map(self, height: str) -> str:
        """Return an element and the script that fills it."""
        name = f"xc-map-{self.data.points_part.id}-{next(_numbers)}"
        content = {
            "points": _encode(self.data.points_part.content),
            "names": _encode(self.data.names_part.content),
            "layers": _encode(self.data.layers_part.content),
            "colours": [_encode(part.content) for part in self.data.colour_parts],
            "state": describe_state(self.data, self.state, height=height, search=self.search),
        }
        written = json.dumps(content).replace("<", "\\u003c")
        return (
            f'<div id="{name}"></div><style>{read_style()}</style>'
            f'<script>{read_script()}.showInPage(document.getElementById("{name}"), {written});</script>'
        )


def describe_state(data: MapData, state: MapState, *, height: str, search: bool | str) -> dict[str, Any]:
    """Return everything but the parts that the script needs, as plain values.

    `search` is whether the map has a search field, or "above" where the page leaves room for it above the map.
    """
    shown = {"colour": data.find_colour(state.colour), "height": height, "search": search, "themes": THEMES}
    return state.to_json() | shown


def _encode(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")
