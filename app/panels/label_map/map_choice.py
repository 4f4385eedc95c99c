"""Which labels are chosen on the map: one label, a region or a lasso, as the address names them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xcwork_app import state
from xcwork_app.components.label_map import MAX_POLYGON_POINTS, MapEvent
from xcwork_app.panels.shared.label_choice import find_label_id, get_wanted_label
from xcwork_app.views.map_content import MapContent

from xcwork.analysis.polygon import find_inside

Polygon = tuple[tuple[float, float], ...]
SECOND = "second"  # of two maps side by side, where the region or the lasso belongs to it


@dataclass(frozen=True, eq=False)
class MapChoice:
    """The chosen labels; none of label, region and polygon where nothing is chosen."""

    ids: np.ndarray
    title: str = ""
    label: int | None = None
    region: int | None = None
    polygon: Polygon | None = None

    @property
    def is_empty(self) -> bool:
        return self.label is None and self.region is None and self.polygon is None


def read_choice(content: MapContent) -> MapChoice:
    """Return what the view chooses on the map of a run; what is not there is forgotten, with a note if asked for."""
    labels = content.found.dataset.labels
    label = find_label_id(labels, wanted) if (wanted := get_wanted_label(labels)) else None
    if label is not None:
        return MapChoice(np.array([label]), labels.names[label], label=label)
    view = state.view()
    if view.region and view.region in content.names:
        region = content.names.index(view.region)
        return MapChoice(content.run_map.find_labels(region), view.region, region=region)
    if view.region:
        _forget("region", view.region)
    if view.lasso and (polygon := read_polygon(view.lasso)) is not None:
        ids = content.run_map.layout.ids[find_inside(content.data.positions, polygon)]
        return MapChoice(ids, "Your selection", polygon=polygon)
    if view.lasso:
        _forget("lasso", view.lasso)
    return MapChoice(np.empty(0, np.int64))


def _forget(field: str, value: str) -> None:
    sentence = f"There is no {field} {state.quote(value)} on this map." if state.asks_for(field, value) else ""
    state.fall_back(field, "", sentence)


def take_event(event: MapEvent, content: MapContent) -> None:
    """Remember what a person did on the map."""
    names = content.found.dataset.labels.names
    if event.kind == "label" and event.label is not None and 0 <= event.label < len(names):
        choose(label=names[event.label])
    elif event.kind == "region" and event.region is not None and 0 <= event.region < len(content.names):
        choose(region=content.names[event.region])
    elif event.kind == "lasso" and event.polygon:
        choose(lasso=write_polygon(event.polygon))
    elif event.kind == "clear":
        choose()


def choose(*, label: str = "", region: str = "", lasso: str = "") -> None:
    """Choose a label, a region or a lasso; nothing clears the choice."""
    state.update(label=label, region=region, lasso=lasso)


def write_polygon(polygon: Polygon) -> str:
    """Return the corners of a polygon as an address names them."""
    return ";".join(f"{x:.5f},{y:.5f}" for x, y in polygon)


def read_polygon(text: str) -> Polygon | None:
    """Return the polygon of an address; None where it is none."""
    corners = [corner.split(",") for corner in text.split(";")]
    try:
        polygon = tuple((float(x), float(y)) for x, y in corners)
    except ValueError:
        return None
    is_sound = 3 <= len(polygon) <= MAX_POLYGON_POINTS and bool(np.isfinite(polygon).all())
    return polygon if is_sound else None
