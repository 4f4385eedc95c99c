"""The bar above the label map: colours, the method's layer, the weakest regions, and a menu with everything else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import caches, state, widgets
from xcwork_app.panels.label_map import map_choice
from xcwork_app.views import map_content, map_structure, run_comparison, selection
from xcwork_app.views.map_content import MapContent

from xcwork.analysis.map_selection import list_weakest_regions
from xcwork.runs import Run

if TYPE_CHECKING:
    import pandas as pd

BESIDE = "label_map.beside"
MAX_WEAK_REGIONS = 2
MAX_WEAK_CHARACTERS = 40  # of their names together, so that the menu has room beside them
LAYOUTS = {map_content.NEIGHBOURHOODS: "Neighbourhood map", map_content.PCA: "PCA"}
PICTURE = "label_map.picture"  # how many pictures were asked for
LAYOUT_HELP = (
    "PCA shows the two directions in which labels differ most; the neighbourhood map keeps similar labels together."
)


def choose_colour(content: MapContent, *, has_second: bool, is_lit: bool) -> str:
    """Show the colours of the bar and return the chosen one; one of the menu is added while it is chosen."""
    further = list_further_colours(content, has_second=has_second, is_lit=is_lit)
    known = map_content.USUAL_COLOURS | further
    if is_lit and not state.view().colour:
        state.fall_back("colour", map_content.DOCUMENT)
    chosen = state.view().colour
    added = chosen if chosen in further else map_structure.COLOUR if state.view().layer else ""
    shown = map_content.USUAL_COLOURS | ({added: known[added]} if added in further else {})
    st.html('<span style="color: var(--muted); font-size: .8667rem">Colour</span>', width="content")
    return widgets.choose_field("Colour", "colour", shown, key="label_map.colour", hidden=True)


def list_further_colours(content: MapContent, *, has_second: bool, is_lit: bool) -> dict[str, str]:
    """Return the colours of the menu."""
    known = {key: title for key, title in map_content.FURTHER_COLOURS.items() if key in content.colours}
    if (title := map_structure.get_title(content.run)) is not None:
        known[map_structure.COLOUR] = map_structure.COLOURS[title]
    if has_second:
        known[map_content.DIFFERENCE] = "Difference of the runs"
    if is_lit:
        known[map_content.DOCUMENT] = "This document"
    return known


def choose_layer(run: Run) -> None:
    """Show a switch for the layer of the run's method, where it has one."""
    title = map_structure.get_title(run)
    if title is None:
        return
    key = "label_map.layer"
    st.session_state[key] = state.view().layer

    def switch() -> None:
        # On a head grid labels stand elsewhere, so a lasso would hold others.
        lasso = "" if title == map_structure.HEAD_GRID else state.view().lasso
        state.update(layer=st.session_state[key], lasso=lasso)

    st.toggle(title, key=key, on_change=switch, width="content")


def show_weakest(content: MapContent, limit: int = MAX_WEAK_REGIONS) -> None:
    """Show the weakest regions as buttons."""
    weakest = list_weakest_regions(content.scores, limit=limit)
    while len(weakest) > 1 and sum(len(content.names[each.region]) for each in weakest) > MAX_WEAK_CHARACTERS:
        weakest.pop()
    if not weakest:
        return
    st.html('<span style="color: var(--muted); font-size: .8667rem">Weakest regions</span>', width="content")
    for at, score in enumerate(weakest):
        name = content.names[score.region]
        is_chosen = state.view().region == name and not state.view().label
        with st.container(width="content", key="map_weak_chosen" if is_chosen else f"map_weak_{at}"):
            st.button(
                f"{widgets.escape_text(name)} **{100 * score.share:.0f} %**",
                key=f"label_map.weak.{score.region}",
                on_click=map_choice.choose,
                kwargs={"region": name},
            )


def choose_second_run(run: Run) -> Run | None:
    """Return the run whose map stands beside the first; its choice is in the menu."""
    others = {each.id: each for each in run_comparison.list_measured_runs(selection.get_source()) if each.id != run.id}
    return others.get(state.pick_option("beside", others, "", "one map"))


def show_menu(content: MapContent, further: Mapping[str, str], page: Callable[[], str]) -> None:
    """Show the menu; `page` makes the map as one HTML page."""
    run = content.run
    with st.popover("⋯", key="label_map_menu", help="Layout, more colours, a second run, export"):
        widgets.choose_field("Layout", "layout", LAYOUTS, key="label_map.layout", help=LAYOUT_HELP)
        _choose_further_colour(further)
        others = [each for each in run_comparison.list_measured_runs(selection.get_source()) if each.id != run.id]
        names = {each.id: caches.get_record(each)["name"] for each in others}
        if names:
            st.session_state[BESIDE] = state.view().beside if state.view().beside in names else ""
            st.selectbox(
                "A second run beside it",
                ["", *names],
                key=BESIDE,
                format_func=lambda each: names.get(each, "none"),
                on_change=lambda: state.update(beside=st.session_state[BESIDE]),
            )
        with st.container(horizontal=True):
            _show_exports(content, page)
        st.caption(widgets.escape_text(f"{content.run_map.layout.caption}. By {content.run_map.layout.source}."))


def _choose_further_colour(further: Mapping[str, str]) -> None:
    key = "label_map.further"
    st.session_state[key] = state.view().colour if state.view().colour in further else None
    st.pills(
        "More colours",
        list(further),
        format_func=further.__getitem__,
        key=key,
        on_change=lambda: state.update(colour=st.session_state[key] or ""),
    )


def _show_exports(content: MapContent, page: Callable[[], str]) -> None:
    st.download_button(
        "HTML",
        lambda: page().encode("utf-8"),
        file_name="label-map.html",
        mime="text/html",
        key="label_map.html",
        on_click="ignore",
        type="tertiary",
        icon=":material/download:",
        help="The map as one file that opens offline",
    )
    st.button(
        "PNG",
        key="label_map.png",
        type="tertiary",
        icon=":material/image:",
        help="The map as you see it, at twice the resolution",
        on_click=_ask_for_picture,
    )
    widgets.show_export_button(
        lambda: tabulate_map(content), key="label_map.export", name="label-map", label="CSV of all labels"
    )


def _ask_for_picture() -> None:
    st.session_state[PICTURE] = st.session_state.get(PICTURE, 0) + 1


def tabulate_map(content: MapContent) -> pd.DataFrame:
    """Return all labels with a place: where they lie, their region and how often they are found."""
    import pandas as pd

    ids, regions = content.run_map.layout.ids, content.run_map.regions
    names = [*content.names, ""]
    table = content.found.labels.set_index("label_id").loc[ids].reset_index()
    places = {"x": content.data.positions[:, 0], "y": content.data.positions[:, 1]}
    levels = {f"region_{level + 1}": [names[at] for at in of_label] for level, of_label in enumerate(regions.of_label)}
    return pd.concat([table, pd.DataFrame(places | levels)], axis=1)
