"""Which labels a region or a lasso of the label map holds, as the address names it; the map and Errors ask here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xcwork_app import state, widgets
from xcwork_app.components.label_map import MAX_POLYGON_POINTS
from xcwork_app.views import map_content, map_structure, run_comparison, run_findings, selection
from xcwork_app.views.map_content import MapContent
from xcwork_app.views.run_findings import Findings

from xcwork.analysis.polygon import find_inside

Polygon = tuple[tuple[float, float], ...]
SECOND = "second"  # of two maps side by side, where the region or the lasso belongs to it
MIN_COMMON_SHARE = 0.5  # of a lasso and a region, of all labels in either: from here on they are the same
OWN_TITLE = "Your selection"


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


def read_area(content: MapContent) -> MapChoice:
    """Return the region or lasso of the view on a map; what is not there is forgotten, with a note if asked for."""
    view = state.view()
    if view.region and view.region in content.names:
        region = content.names.index(view.region)
        return MapChoice(content.run_map.find_labels(region), view.region, region=region)
    if view.region:
        _forget("region", view.region)
    if view.lasso and (polygon := read_polygon(view.lasso)) is not None:
        inside = find_inside(content.data.positions, polygon)
        return MapChoice(content.run_map.layout.ids[inside], _find_title(content, inside), polygon=polygon)
    if view.lasso:
        _forget("lasso", view.lasso)
    return MapChoice(np.empty(0, np.int64))


def _forget(field: str, value: str) -> None:
    sentence = f"There is no {field} {state.quote(value)} on this map." if state.asks_for(field, value) else ""
    state.fall_back(field, "", sentence)


def _find_title(content: MapContent, inside: np.ndarray) -> str:
    """Return the name of the region that a lasso goes around, more or less; else it has none."""
    regions = content.run_map.regions
    best, title = MIN_COMMON_SHARE, OWN_TITLE
    for level in regions.of_label if content.data.regions else ():
        found, counts = np.unique(level[inside][level[inside] >= 0], return_counts=True)
        for region, n_common in zip(found.tolist(), counts.tolist(), strict=True):
            share = n_common / (len(inside) + regions.regions[region].n_labels - n_common)
            if share >= best:
                best, title = share, regions.regions[region].name
    return title


def find_chosen(found: Findings) -> MapChoice:
    """Return what is chosen on the label map that belongs to the address of another page; nothing where it is gone."""
    view = state.view()
    run = found.run
    if view.side == SECOND and view.beside:
        others = {each.id: each for each in run_comparison.list_measured_runs(selection.get_source())}
        run = others.get(view.beside, run)
    kind = view.layout or map_content.NEIGHBOURHOODS
    if not map_content.has_layout(run, kind):
        kind = map_content.PCA
    choice = MapChoice(np.empty(0, np.int64))
    if map_content.has_layout(run, kind):
        if run.id != found.run.id:
            found = run_findings.get_findings(run, selection.get_source(), k=found.k, bands=found.bands.definition)
        content = map_content.get_content(found, kind)
        if view.layer and not view.side and map_structure.get_title(run) is not None:
            with widgets.catch_errors():
                content = map_structure.add_layer(content)  # on a head grid labels stand elsewhere
        choice = read_area(content)
    return choice


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
