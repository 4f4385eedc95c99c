"""What the label map shows of a run, kept between reruns: its layout, facts about its labels, and the packed map."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from xcwork_app import caches
from xcwork_app.views.run_findings import Findings

from xcwork.runs import Run
from xcwork.runs.run_map import MAP_FOLDER, RunMap, make_map, read_map

if TYPE_CHECKING:
    from xcwork.analysis.map_colours import LabelClasses, LabelShares
    from xcwork.analysis.map_selection import MapFacts, RegionScore
    from xcwork.viz.map_data import MapData

NEIGHBOURHOODS = "umap"
PCA = "pca"
KINDS = (NEIGHBOURHOODS, PCA)
USUAL_COLOURS = {"found": "Found", "frequency": "Frequency", "region": "Region"}
FURTHER_COLOURS = {"recall": "Share found", "precision": "Right when listed", "broader": "Broader label"}
DIFFERENCE = "difference"
DOCUMENT = "document"


@dataclass(frozen=True)
class ContentKey:
    """Everything the content of a map depends on."""

    folder: str
    stamps: tuple[int, ...]  # of the layout and the predictions
    data: str  # the fingerprint of the dataset
    kind: str
    k: int
    bands: str


@dataclass(frozen=True, eq=False)
class MapContent:
    """One run on one layout."""

    key: ContentKey
    found: Findings
    run_map: RunMap
    facts: MapFacts
    scores: tuple[RegionScore, ...]  # one per region
    data: MapData
    colours: tuple[str, ...]  # what each colour layer of `data` is called in the address

    @property
    def run(self) -> Run:
        return self.found.run

    @property
    def names(self) -> list[str]:
        """The names of the regions."""
        return [region.name for region in self.run_map.regions.regions]


def has_layout(run: Run, kind: str) -> bool:
    """Return whether a layout is stored with the run."""
    return _read_map(str(run.folder), kind, _get_stamp(run, kind)) is not None


def has_labels(run: Run, kind: str) -> bool:
    """Return whether a layout with at least one label is stored with the run."""
    stored = _read_map(str(run.folder), kind, _get_stamp(run, kind))
    return stored is not None and len(stored.layout.ids) > 0


def prepare_pca(found: Findings) -> None:
    """Make the layout that takes a second, unless it is there."""
    if not has_layout(found.run, PCA):
        with st.spinner("Laying out the labels."):
            make_map(found.run, found.dataset, caches.get_model(found.run), kind=PCA)


def get_content(found: Findings, kind: str) -> MapContent:
    """Return what the map shows of a run whose layout is stored."""
    folder = found.run.folder
    stamps = (_get_stamp(found.run, kind), caches.get_stamp(folder / "eval"))
    key = ContentKey(str(folder), stamps, found.dataset.fingerprint, kind, found.k, found.bands.definition)
    return _make_content(key, found)


def _get_stamp(run: Run, kind: str) -> int:
    return caches.get_stamp(run.folder / MAP_FOLDER / kind)


@st.cache_resource(max_entries=8, show_spinner=False)
def _read_map(folder: str, kind: str, stamp: int) -> RunMap | None:
    return read_map(Run(folder), kind)


@st.cache_resource(max_entries=6, show_spinner="Drawing the labels.")
def _make_content(key: ContentKey, _found: Findings) -> MapContent:
    from xcwork.analysis.map_selection import MapFacts
    from xcwork.viz.map_assembly import make_map_data

    run_map = _read_map(key.folder, key.kind, key.stamps[0])
    assert run_map is not None  # asked for by those who know that it is there
    facts = MapFacts(_found.topk, _found.dataset, _found.placement, key.k)
    scores = facts.rate_regions(run_map.regions, run_map.layout)
    layers = _list_layers(facts, run_map, _found)
    data = make_map_data(run_map, _found.dataset, tuple(layers.values()), scores)
    return MapContent(key, _found, run_map, facts, scores, data, tuple(layers))


def _list_layers(facts: MapFacts, run_map: RunMap, found: Findings) -> dict[str, LabelClasses | LabelShares]:
    from xcwork.analysis import map_colours
    from xcwork.viz.map_assembly import make_usual_layers

    ids = run_map.layout.ids
    usual = make_usual_layers(facts, run_map, found.bands)
    layers: dict[str, LabelClasses | LabelShares] = dict(zip(USUAL_COLOURS, usual, strict=True))
    layers["recall"] = map_colours.colour_by_recall(facts, ids)
    layers["precision"] = map_colours.colour_by_precision(facts, ids)
    if (broader := map_colours.colour_by_parent(found.dataset.labels, ids)) is not None:
        layers["broader"] = broader
    return layers


def colour_by_difference(content: MapContent, other: Findings) -> MapData:
    """Return the map of a run coloured by how much more of each label the other run finds."""
    from xcwork.analysis import map_colours
    from xcwork.analysis.map_selection import MapFacts

    theirs = MapFacts(other.topk, other.dataset, other.placement, other.k)
    ids = content.run_map.layout.ids
    return _add_layer(content, map_colours.colour_by_difference(content.facts, theirs, ids))


def light_up_document(content: MapContent, document: int) -> tuple[MapData, list[int]]:
    """Return the map coloured by the probabilities of a test document's labels, and the ids of these labels."""
    from xcwork.analysis import map_colours

    topk = content.found.topk
    ids = topk.ids[document]
    listed = (ids >= 0) & (ids < len(content.found.dataset.labels))
    probabilities = _find_probabilities(content.found, document)
    layer = map_colours.colour_by_probability(ids[listed], probabilities[listed], content.run_map.layout.ids)
    if content.found.run.read_calibration() is None:
        layer = replace(layer, title="Score for this document, of its highest")
    return _add_layer(content, layer), ids[listed].tolist()


def _find_probabilities(found: Findings, document: int) -> np.ndarray:
    """Return the probabilities of the listed labels; of a run without them, scores as shares of the highest."""
    row = replace(
        found.topk,
        ids=found.topk.ids[[document]],
        scores=found.topk.scores[[document]],
        probabilities=None,
    )
    calibration = found.run.read_calibration()
    if calibration is not None:
        known = calibration.apply(row, found.dataset.train.label_frequencies).probabilities
        assert known is not None  # `apply` computes them
        return known[0]
    scores = np.where(np.isfinite(row.scores[0]), row.scores[0], 0.0)
    return np.clip(scores / max(float(scores.max(initial=0.0)), 1e-9), 0, 1)


def _add_layer(content: MapContent, layer: LabelClasses | LabelShares) -> MapData:
    from xcwork.viz.map_assembly import paint_layer

    return content.data.replace_colours((*content.data.colours, paint_layer(layer)))
