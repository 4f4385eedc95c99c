"""The label map page over a part of `pyseealso`: what stands on the map is what the run's folder says."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from tests.support.browser_pages import click_until, eventually, get_bottom, get_box, settle
from tests.support.map_browser import READ_STATE, SETTLED, circle, drag, photograph
from tests.support.seealso import PACKAGES, write_seealso
from xcwork.analysis.polygon import find_inside
from xcwork.data.load import load_dataset
from xcwork.runs import Run, RunStore, worker
from xcwork.runs.run_map import RunMap, read_map

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

ALONE_PIXELS = 16  # no other label is nearer


@dataclass(frozen=True)
class MappedRun:
    """A finished run with its map, and the dashboard that shows it."""

    address: str
    run: Run
    map: RunMap
    names: list[str]

    def open(self, page: Page, more: str = "", size: tuple[int, int] = (1280, 720)) -> Locator:
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.emulate_media(reduced_motion="reduce")
        page.goto(f"{self.address}/label_map?data=seealso.csv&run={self.run.id}{more}")
        page.wait_for_selector(SETTLED)
        settle(page)
        page.wait_for_selector(SETTLED)
        return page.locator(".st-key-label_map .xc-map").first


@pytest.fixture(scope="module")
def mapped(home: Path, dashboard: str) -> MappedRun:
    file = write_seealso(home / "data" / "seealso.csv")
    run = RunStore(home).create("label_tree", {"leaf_size": 20}, file, name="tree", calibration="none")
    assert worker.main(run.folder) == 0
    stored = read_map(run)
    assert stored is not None
    return MappedRun(dashboard, run, stored, list(load_dataset(file).labels.names))


def locate_labels(shown: Locator, ids: np.ndarray) -> np.ndarray:
    """Return where labels are in the window, (n, 2)."""
    places = shown.evaluate("(map, ids) => ids.map(id => map.xcmap.at(id))", ids.tolist())
    return np.array([[place["x"], place["y"]] for place in places])


def assert_apart(boxes: list[dict[str, Any]]) -> None:
    for one, other in itertools.combinations(boxes, 2):
        beside = one["left"] >= other["right"] or other["left"] >= one["right"]
        assert beside or one["top"] >= other["bottom"] or other["top"] >= one["bottom"], (one["name"], other["name"])


def test_every_label_with_a_vector_is_drawn_where_the_layout_says(page: Page, mapped: MappedRun) -> None:
    from playwright.sync_api import expect

    layout = mapped.map.layout
    shown = mapped.open(page)
    expect(shown).to_have_attribute("data-drawn", str(len(layout.ids)))
    expect(shown).to_have_attribute("data-labels", str(len(mapped.names)))
    places = locate_labels(shown, layout.ids)
    # One scale for both directions, y upwards.
    scale, left = np.polyfit(layout.positions[:, 0], places[:, 0], 1)
    assert np.allclose(places[:, 0], scale * layout.positions[:, 0] + left, atol=0.1)
    down, top = np.polyfit(layout.positions[:, 1], places[:, 1], 1)
    assert down == pytest.approx(-scale, rel=1e-3)
    assert np.allclose(places[:, 1], down * layout.positions[:, 1] + top, atol=0.1)
    assert sum(compare_pixels(page, shown, mapped, centre) for centre in range(0, len(layout.ids), 150)) > 20


def compare_pixels(page: Page, shown: Locator, mapped: MappedRun, centre: int) -> int:
    """Look at a label from near and compare the colour of all labels that stand alone; return how many."""
    ids = mapped.map.layout.ids
    shown.evaluate("(map, place) => map.xcmap.flyToPlace(place)", centre)
    page.wait_for_selector(SETTLED)
    places, picture, outer = locate_labels(shown, ids), photograph(page), get_box(shown)
    facts = shown.evaluate(
        "(map, ids) => ({corner: map.xcmap.corner, boxes: [...map.xcmap.controls.boxes, ...map.xcmap.regionNames.boxes,"
        "...map.xcmap.written], colours: ids.map(id => map.xcmap.colourOf(map.xcmap.labels.placeOf(id)))})",
        ids.tolist(),
    )
    compared = 0
    for at, (x, y) in enumerate(places):
        across, down = x - facts["corner"]["left"], y - facts["corner"]["top"]
        if not (2 < across < outer["width"] - 4 and 2 < down < outer["height"] - 4):
            continue
        is_covered = any(
            box["left"] - 4 < across < box["right"] + 4 and box["top"] - 4 < down < box["bottom"] + 4
            for box in facts["boxes"]
        )
        if is_covered or np.sort(np.hypot(*(places - places[at]).T))[1] < ALONE_PIXELS:
            continue
        expected = [int(part) for part in re.findall(r"\d+", facts["colours"][at])]
        assert np.abs(picture[int(y), int(x)] - expected).max() < 60, mapped.names[ids[at]]
        compared += 1
    return compared


def test_a_searched_label_is_centred_and_named(page: Page, mapped: MappedRun) -> None:
    from playwright.sync_api import expect

    label = int(mapped.map.layout.ids[100])
    name = mapped.names[label]
    shown = mapped.open(page)
    page.get_by_role("combobox", name="Find a label").fill(name)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=name.rpartition(".")[2], exact=True).first).to_be_visible()

    def check() -> None:
        page.wait_for_selector(SETTLED)
        box = get_box(shown)
        (place,) = locate_labels(shown, np.array([label]))
        assert np.abs(place - (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)).max() < 2
        assert name in [each["name"] for each in shown.evaluate(READ_STATE)["shown"]["labels"]]

    eventually(check)


def test_a_lasso_holds_exactly_the_labels_inside(page: Page, mapped: MappedRun) -> None:
    from playwright.sync_api import expect

    shown = mapped.open(page)
    box, places = get_box(shown), locate_labels(shown, mapped.map.layout.ids)
    path = circle(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, 110)
    drag(page, path)
    page.wait_for_url(re.compile("lasso="))
    corners = [
        tuple(map(float, corner.split(","))) for corner in parse_qs(urlsplit(page.url).query)["lasso"][0].split(";")
    ]
    layout = mapped.map.layout
    inside = layout.ids[find_inside(layout.positions, corners)]
    assert len(inside) > 20
    expect(page.get_by_text(f"{len(inside)} labels in your selection").first).to_be_in_viewport()
    page.wait_for_function(
        "ids => document.querySelector('.xc-map').xcmap.received.selection === JSON.stringify(ids)",
        arg=sorted(inside.tolist()),
    )
    drawn = set(find_inside(places, path).tolist())
    assert len(drawn ^ set(np.flatnonzero(np.isin(layout.ids, inside)).tolist())) <= 0.03 * len(inside) + 2


def test_region_names_do_not_overlap_and_set_apart(page: Page, mapped: MappedRun) -> None:
    every = [region.name for region in mapped.map.regions.regions]
    assert len(set(every)) == len(every) > 10
    assert not [name for name in every if set(re.split(r"\W+", name)) & set(PACKAGES)]
    shown = mapped.open(page)
    seen: set[str] = set()
    for _ in range(3):
        names = shown.evaluate(READ_STATE)["shown"]
        assert_apart([*names["regions"], *names["labels"]])
        seen |= {each["name"] for each in names["regions"]}
        shown.evaluate("map => map.xcmap.zoomBy(2)")
        page.wait_for_selector(SETTLED)
    assert len(seen) > 5
    assert all(any(name.startswith(known) for known in every) for name in seen)


def test_a_click_on_a_region_fills_the_drawer(page: Page, mapped: MappedRun) -> None:
    from playwright.sync_api import expect

    shown = mapped.open(page)
    largest = max((each for each in mapped.map.regions.regions if each.level == 0), key=lambda each: each.n_labels)
    page.wait_for_function("document.querySelector('.xc-map').xcmap.shownNames.regions.length > 0")
    box = next(each for each in shown.evaluate(READ_STATE)["shown"]["regions"] if each["name"].startswith(largest.name))
    corner = shown.evaluate("map => map.xcmap.corner")
    page.mouse.click(
        corner["left"] + (box["left"] + box["right"]) / 2, corner["top"] + (box["top"] + box["bottom"]) / 2
    )
    expect(page.locator(".st-key-map_drawer").get_by_role("heading", name=largest.name).first).to_be_visible()
    expect(page.get_by_text(f"{largest.n_labels} labels in your selection").first).to_be_in_viewport()
    page.wait_for_function(
        "n => JSON.parse(document.querySelector('.xc-map').xcmap.received.selection).length === n", arg=largest.n_labels
    )


@pytest.mark.parametrize(("scheme", "choice"), [("light", "label"), ("dark", "lasso")])
def test_nothing_in_the_drawer_overlaps_or_leaves_it(page: Page, mapped: MappedRun, scheme: Any, choice: str) -> None:
    from playwright.sync_api import expect

    page.emulate_media(color_scheme=scheme)
    longest = max((mapped.names[label] for label in mapped.map.layout.ids.tolist()), key=len)
    asked = {"label": longest, "lasso": "-2,-2;2,-2;2,2;-2,2"}[choice]
    mapped.open(page, f"&{choice}={asked}")
    drawer = page.locator(".st-key-map_drawer").first
    line = drawer.get_by_text("one label" if choice == "label" else "labels in your selection").first
    expect(line).to_be_visible()
    expect(drawer.get_by_role("button", name="Review").first).to_be_visible()

    def check() -> None:
        heading = drawer.get_by_role("heading").first
        assert get_bottom(heading) <= get_box(line)["y"] + 1, "the heading ends above the line below it"
        foot = get_box(drawer.locator(".st-key-map_drawer_foot").first)
        buttons = drawer.locator(".st-key-map_drawer_foot button").filter(visible=True).all()
        assert len(buttons) >= (4 if choice == "lasso" else 2)
        for button in buttons:
            box = get_box(button)
            assert box["x"] + box["width"] <= foot["x"] + foot["width"] + 1, button.text_content()

    eventually(check)


def test_the_tree_is_a_layer_that_leaves_the_map_in_place(page: Page, mapped: MappedRun, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    shown = mapped.open(page)
    shown.evaluate("map => map.xcmap.zoomBy(1.3)")
    page.wait_for_selector(SETTLED)
    before = locate_labels(shown, mapped.map.layout.ids[:5])
    page.get_by_text("Label tree").first.click()
    page.wait_for_function("document.querySelector('.xc-map').xcmap.shownNames.hulls.length > 0")
    settle(page)
    assert np.allclose(locate_labels(shown, mapped.map.layout.ids[:5]), before), "who looks at a part keeps it"
    page.wait_for_selector(SETTLED)
    assert_apart(shown.evaluate(READ_STATE)["shown"]["hulls"])
    page.get_by_text("Tree node").first.click()
    expect(page.locator(".xc-map-legend").first).to_contain_text("Tree node")
    save = page.locator(".st-key-label_map-png button, [class*=st-key-label_map_png] button").first
    click_until(page.locator(".st-key-label_map_menu button").first, lambda: expect(save).to_be_visible(timeout=1000))
    with page.expect_download() as started:
        save.click()
    assert started.value.suggested_filename == "label-map.png"
    page.get_by_text("Label tree").first.click()
    page.wait_for_function("document.querySelector('.xc-map').xcmap.regionNames.boxes.length > 0")
