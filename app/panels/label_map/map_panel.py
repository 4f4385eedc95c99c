"""The label map page below its header: bar, map, drawer, and a second map where two runs are compared."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import caches, state, tokens, widgets
from xcwork_app.components.label_map import MapEvent, show_label_map
from xcwork_app.panels.label_map import drawer, layout_watch, map_bar, map_choice, no_vectors
from xcwork_app.views import map_content, map_structure, run_findings, selection
from xcwork_app.views.chosen_labels import SECOND, MapChoice
from xcwork_app.views.map_content import MapContent
from xcwork_app.views.run_findings import Findings

from xcwork.errors import MissingVectorsError
from xcwork.runs import Run

if TYPE_CHECKING:
    from xcwork.analysis.map_selection import SelectionFacts
    from xcwork.viz.map_data import MapData, MapState

MAP_HEIGHT = "max(26rem, calc(100vh - 7.7333rem))"  # down to the lower edge of the window
SHORTER_HEIGHT = "max(26rem, calc(100vh - 10.3333rem))"  # with the name of the run above it
SEARCH_PIXELS = 196
MAX_LINKS = 8  # more of them are a tangle
MIN_LINK_DOCUMENTS = 2  # what happened once may be chance, and is joined only where nothing happened more often
MIN_LINKS = 3


def show(found: Findings) -> None:
    """Show the map of a run."""
    second = map_bar.choose_second_run(found.run)
    others = [] if second is None else [_find_findings(second)]
    try:
        waiting = _prepare_layouts([found, *others])
    except MissingVectorsError as problem:
        if not others:
            no_vectors.show(found.run)
            return
        widgets.show_problem(problem)  # of one of the two runs: the first is shown alone, if it can be
        others = []
        waiting = _prepare_layouts([found])
    kind = map_content.PCA if waiting or state.view().layout == map_content.PCA else map_content.NEIGHBOURHOODS
    contents = [map_content.get_content(each, kind) for each in (found, *others)]
    if not contents[0].data.n_placed:
        no_vectors.show(found.run)
        return
    contents[0] = _add_structure(contents[0])
    on_second = len(contents) > 1 and state.view().side == SECOND
    choice = map_choice.read_choice(contents[on_second])
    facts = contents[0].facts.describe_selection(choice.ids)
    lit = state.view().lit and len(found.dataset.test) > 0
    with st.container(horizontal=True, vertical_alignment="center", key="map_bar"):
        if not others:
            st.space(SEARCH_PIXELS)  # the map puts its search field here
        colour = map_bar.choose_colour(contents[0], has_second=len(contents) > 1, is_lit=lit)
        map_bar.choose_layer(found.run)
        map_bar.show_weakest(contents[0], _count_weak_regions(found.run, colour))
        st.space("stretch")
        data, highlight = _colour_map(contents[0], colour, lit, others)
        further = map_bar.list_further_colours(contents[0], has_second=len(contents) > 1, is_lit=lit)
        exported = _describe_look(contents[0], data, colour)
        map_bar.show_menu(contents[0], further, partial(_render_page, data, exported))
    with st.container(key="map_row"):
        left, right = st.columns([698, 308])
    with left:
        places = st.columns(len(contents)) if len(contents) > 1 else [st.container()]
        for at, (place, content) in enumerate(zip(places, contents, strict=True)):
            with place:
                shown = data if at == 0 else content.data
                _show_one_map(content, shown, colour, choice, facts, highlight, at, is_owner=at == int(on_second))
    with right, st.container(border=True, key="map_drawer"):
        for run in waiting:
            layout_watch.show_progress(run)
        _show_lit_document(lit, found)
        _show_drawer(contents[0], choice, facts)


def _add_structure(content: MapContent) -> MapContent:
    """Return the map with the layer and the colour of its method, where they are asked for and can be had."""
    has_structure = map_structure.get_title(content.run) is not None
    added = content
    with widgets.catch_errors():
        if has_structure and state.view().layer:
            added = map_structure.add_layer(content)
        elif has_structure and state.view().colour == map_structure.COLOUR:
            added = map_structure.add_colour(content)
    return added


def _count_weak_regions(run: Run, colour: str) -> int:
    """Return how many weak regions have room in the bar."""
    has_layer = map_structure.get_title(run) is not None
    is_wide = colour not in map_content.USUAL_COLOURS or (has_layer and state.view().layer)
    return max(0, map_bar.MAX_WEAK_REGIONS - has_layer - is_wide)


def _find_findings(run: Run) -> Findings:
    view = state.view()
    return run_findings.get_findings(run, selection.get_source(), k=view.k, bands=run_findings.get_band_definition())


def _prepare_layouts(found: list[Findings]) -> list[Run]:
    """Return the runs whose neighbourhood map is under way; all of them have at least a PCA then."""
    missing = [each for each in found if not map_content.has_layout(each.run, map_content.NEIGHBOURHOODS)]
    if missing or state.view().layout == map_content.PCA:
        for each in found:
            map_content.prepare_pca(each)
    for each in missing:
        layout_watch.start_missing(each.run)
    return [each.run for each in missing]


def _colour_map(content: MapContent, colour: str, lit: bool, others: list[Findings]) -> tuple[MapData, list[int]]:
    """Return the map with the layer of the chosen colour, and the labels that are lit up."""
    highlight: list[int] = []
    data = content.data
    if lit:
        document = state.limit_number("document", len(content.found.dataset.test) - 1)
        painted, highlight = map_content.light_up_document(content, document)
        data = painted if colour == map_content.DOCUMENT else data
    if colour == map_content.DIFFERENCE and others:
        data = map_content.colour_by_difference(content, others[0])
    return data, highlight


def _show_one_map(
    content: MapContent,
    data: MapData,
    colour: str,
    choice: MapChoice,
    facts: SelectionFacts,
    highlight: list[int],
    at: int,
    *,
    is_owner: bool,
) -> None:
    """Show one of the maps; the lasso and the region are drawn on the one they were made on, labels on both."""
    shown = replace(
        _describe_look(content, data, colour),
        highlight=highlight,
        selection=_list_outlined(choice),
        lasso=choice.polygon if is_owner else None,
        region=choice.region if is_owner and data.regions else None,
        label=choice.label if choice.label in content.run_map.layout.ids else None,
        links=_list_links(content, choice, facts),
        picture=0 if at else st.session_state.get(map_bar.PICTURE, 0),
    )

    def take(event: MapEvent) -> None:
        state.update(side=SECOND if at else "")
        map_choice.take_event(event, content)

    if at or state.view().beside:
        mark = tokens.make_mark(caches.glance(content.run).number)
        with st.container(horizontal=True, gap=None, vertical_alignment="center"):
            st.html(mark, width="content")
            st.caption(widgets.escape_text(caches.get_record(content.run)["name"]), width="content")
    key = "label_map" if not at else "label_map_second"
    height = MAP_HEIGHT if not state.view().beside else SHORTER_HEIGHT
    search: bool | str = "above" if not state.view().beside else not at
    with widgets.catch_errors():
        show_label_map(data, shown, key=key, height=height, search=search, on_event=take)


def _describe_look(content: MapContent, data: MapData, colour: str) -> MapState:
    """Return how a map looks while nothing is chosen: its colour and its layers."""
    from xcwork.viz.map_data import MapState

    # A layer of its own, such as the probabilities of a document, stands at the end.
    is_added = len(data.colours) > len(content.colours)
    known = content.colours.index(colour) if colour in content.colours else 0
    return MapState(
        colour=len(data.colours) - 1 if is_added else known,
        layers=sorted({hull.layer for hull in data.hulls} | {layer.name for layer in data.edges}),
        show_grid=data.grid is not None,
    )


def _list_outlined(choice: MapChoice) -> list[int]:
    """Return the labels with an outline; of a large selection the lasso alone is drawn."""
    from xcwork.viz.map_data import MAX_OUTLINED_LABELS

    return choice.ids.tolist() if choice.label is None and len(choice.ids) <= MAX_OUTLINED_LABELS else []


def _list_links(content: MapContent, choice: MapChoice, facts: SelectionFacts) -> list[tuple[int, int]]:
    """Return which labels are joined by lines: a label and its nearest, or missed labels and those in their place."""
    if choice.label is not None:
        return [(choice.label, other) for other in drawer.find_nearest(content, choice.label)]
    often = [each for each in facts.confusions if each.n_documents >= MIN_LINK_DOCUMENTS]
    return [(each.label, each.other) for each in (often or facts.confusions[:MIN_LINKS])[:MAX_LINKS]]


def _show_drawer(content: MapContent, choice: MapChoice, facts: SelectionFacts) -> None:
    if choice.is_empty:
        drawer.show_regions(content)
        return
    drawer.show_selection(content, choice, facts)
    drawer.show_ways_on(content, choice, facts)


def _show_lit_document(lit: bool, found: Findings) -> None:
    if not lit:
        return
    uids = found.dataset.test.uids
    row = state.view().document
    name = f"Test document {row + 1:,}" if uids is None else uids[row]
    with st.container(horizontal=True, vertical_alignment="center", key="map_lit"):
        st.caption(f"Highlighted: the labels listed for {widgets.escape_text(name)}")
        st.button("Turn off", key="label_map.put_out", type="tertiary", on_click=_put_out)


def _put_out() -> None:
    colour = state.view().colour
    state.update(lit=False, colour="" if colour == map_content.DOCUMENT else colour)


def _render_page(data: MapData, look: MapState) -> str:
    from xcwork.viz.map_view import LabelMapView

    return LabelMapView(data, look).render_page()
