"""The label map as a component of the dashboard.

The map's data go to the browser as bytes, in parts that are mounted beside the map: points, names, the shown colour
layer, and what lies below the points; its script is mounted likewise. Streamlit sends a message that the browser
already has only once. So a rerun that changes the selection sends a few kilobytes, and one that changes the colour
sends that layer alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import streamlit as st

from xcwork.errors import DataError
from xcwork.viz.map_component import read_script, read_style
from xcwork.viz.map_data import MapData, MapState
from xcwork.viz.map_view import HEIGHT_PIXELS, describe_state

KINDS = ("label", "region", "lasso", "clear")
MAX_POLYGON_POINTS = 40


@dataclass(frozen=True)
class MapEvent:
    """What a person did on the map; label ids are those of the map's data."""

    kind: str  # one of KINDS
    label: int | None = None
    region: int | None = None
    polygon: tuple[tuple[float, float], ...] = ()  # at most 40 corners of a lasso or box
    n_labels: int = 0  # inside the polygon

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> MapEvent:
        """Return the event that the browser sent; what cannot be one raises an error."""
        kind = value.get("kind")
        if kind not in KINDS or len(value.get("polygon", ())) > MAX_POLYGON_POINTS:
            raise DataError(f"the map sent an unknown event {kind!r}", remedy="reload the page")
        try:
            numbers = {name: int(value[name]) for name in ("label", "region", "n_labels") if name in value}
            polygon = tuple((float(x), float(y)) for x, y in value.get("polygon", ()))
        except (TypeError, ValueError) as problem:
            raise DataError(f"the map sent an event that cannot be read: {problem}", remedy="reload the page") from None
        return cls(kind, polygon=polygon, **numbers)


def show_label_map(
    data: MapData,
    state: MapState | None = None,
    *,
    key: str,
    height: int | str = HEIGHT_PIXELS,
    search: bool | str = True,
    on_event: Callable[[MapEvent], None] | None = None,
) -> MapEvent | None:
    """Show the map and return what was just done on it, once; None on every other run of the page.

    Keep `data` between reruns: it is packed on first use. The page keeps the selection and hands it back in `state`.
    `height` is in pixels, or as a style sheet takes it. `search` is whether there is a search field; "above" puts it
    into the 44 pixels above the map. `on_event` is called with the event before the page is drawn, so what it sets
    holds for all of the page.
    """
    shown = MapState() if state is None else state
    parts = {
        "points": data.points_part,
        "names": data.names_part,
        "colours": data.colours[data.find_colour(shown.colour)].part,
    }
    if data.has_layers:
        parts["layers"] = data.layers_part
    mount = _register_components()
    with st.container(gap=None):
        mount["label_map_script"](key=f"{key}-script", height=1)
        for kind, part in parts.items():
            mount["label_map_part"](key=f"{key}-{kind}", data=part.content, height=1)
        result = mount["label_map"](
            key=key,
            data={
                "parts": {kind: part.id for kind, part in parts.items()},
                "state": describe_state(
                    data, shown, height=f"{height}px" if isinstance(height, int) else height, search=search
                ),
            },
            height=height if isinstance(height, int) else "content",
            on_event_change=_make_callback(key, on_event),
        )
    return MapEvent.from_json(result["event"]) if result.get("event") else None


@cache
def _register_components() -> dict[str, Any]:
    """Return the commands that mount the script, a part of the data, and the map."""
    shelf = _read_script("shelf")
    scripts = {name: f"{shelf}\n{_read_script(name)}" for name in ("label_map", "label_map_part", "label_map_script")}
    scripts["label_map_script"] = scripts["label_map_script"].replace("XCWORK_MAP", read_script())
    return {
        name: st.components.v2.component(
            f"xcwork_{name}", js=script, css=read_style() if name == "label_map_script" else None, isolate_styles=False
        )
        for name, script in scripts.items()
    }


def _read_script(name: str) -> str:
    return resources.files(__package__).joinpath(f"{name}.js").read_text("utf-8")


def _make_callback(key: str, action: Callable[[MapEvent], None] | None) -> Callable[[], None]:
    """Return what Streamlit calls with an event; one that cannot be read is left to `show_label_map`, which says so."""

    def call() -> None:
        held = st.session_state.get(key)
        if action is not None and held is not None and held.get("event"):
            with suppress(DataError):
                action(MapEvent.from_json(held["event"]))

    return call
