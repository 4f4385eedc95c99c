"""What a person does on the label map in a real browser: search, lasso, box, clicks, keys; and what a page hears."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.support.browser_pages import eventually, get_box, settle
from tests.support.map_browser import (
    ENTRIES,
    READ_STATE,
    circle,
    drag,
    expect_last_event,
    locate,
    locate_all,
    photograph,
    read_colour,
    scatter,
    show,
    wait,
)
from tests.support.map_samples import make_map
from tests.support.paths import ROOT
from tests.support.server import Server, serving_script
from xcwork.analysis.polygon import find_inside
from xcwork.viz.map_data import CategoryColours, MapRegion, MapState

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Locator, Page


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """A page of the test's own: a script that begins with a page stays with it."""
    return context.new_page()


def test_a_searched_label_is_centred_ringed_and_named(page: Page, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    data = make_map(3400)
    page.emulate_media(reduced_motion="reduce")
    shown = show(page, tmp_path, data, search=True)
    wanted = 1234
    page.get_by_role("combobox", name="Find a label").fill(data.names[wanted].upper())
    expect(page.locator(".xc-map-suggestion").first).to_have_text(data.names[wanted])
    page.keyboard.press("Enter")
    expect_last_event(page, {"kind": "label", "label": wanted})
    wait(page)
    box = get_box(shown)
    x, y = locate(page, wanted)
    assert abs(x - box["x"] - box["width"] / 2) < 2
    assert abs(y - box["y"] - box["height"] / 2) < 2
    facts = shown.evaluate(READ_STATE)
    assert data.names[wanted] in [each["name"] for each in facts["shown"]["labels"]]
    assert page.evaluate("events") == [{"kind": "label", "label": wanted}]
    assert np.abs(photograph(page)[int(y), int(x) + 11] - read_colour("#1F4E79")).max() < 60
    page.get_by_role("combobox", name="Find a label").fill("no such label")
    expect(page.get_by_text("No label has this in its name.")).to_be_visible()


def test_polygons_hold_the_same_labels_as_in_python(page: Page, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    coarse = rng.integers(-8, 9, (1500, 2)) / 8  # on corners and sides of the polygons below
    positions = np.concatenate([coarse, rng.uniform(-1, 1, (1500, 2))]).astype(np.float32)
    data = scatter(
        60,
        positions=positions,
        sizes=np.ones(3000, int),
        names=[str(at) for at in range(3000)],
        colours=(CategoryColours("Kind", np.zeros(3000, int), ENTRIES),),
    )
    polygons = [(rng.integers(-9, 10, (int(rng.integers(3, 12)), 2)) / 8).tolist() for _ in range(60)]
    polygons += [rng.uniform(-1.1, 1.1, (int(rng.integers(3, 41)), 2)).round(5).tolist() for _ in range(60)]
    found = show(page, tmp_path, data).evaluate(
        "(map, polygons) => polygons.map(each => map.xcmap.grid.findInside(each).places.sort((a, b) => a - b))",
        polygons,
    )
    assert [len(each) for each in found] == [len(find_inside(positions, polygon)) for polygon in polygons]
    assert found == [find_inside(positions, polygon).tolist() for polygon in polygons]


@pytest.mark.parametrize("tool", ["lasso", "box"])
def test_a_lasso_names_the_labels_inside(page: Page, tmp_path: Path, tool: str) -> None:
    data = make_map(3400)
    shown = show(page, tmp_path, data, state=MapState(tool=tool))
    box = get_box(shown)
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    path = circle(*middle, 120) if tool == "lasso" else [middle, (middle[0] + 150, middle[1] + 90)]
    drag(page, path)
    page.wait_for_function("events.length > 0")
    (event,) = page.evaluate("events")
    assert event["kind"] == "lasso"
    assert 3 < len(event["polygon"]) <= 40
    inside = find_inside(data.positions, event["polygon"])
    assert event["n_labels"] == len(inside) > 20
    drawn = [locate(page, int(label)) for label in inside[:20]]
    assert all(math.dist(middle, place) < 190 for place in drawn)
    if tool == "lasso":  # at most 40 corners follow the hand to a few pixels
        expected = set(find_inside(np.array(locate_all(page, 3400)), path))
        assert len(expected ^ set(inside)) <= 0.03 * len(inside) + 2
    shown.focus()
    page.keyboard.press("Escape")
    expect_last_event(page, {"kind": "clear"})


def test_search_finds_the_short_name_among_many(page: Page, tmp_path: Path) -> None:
    names = ["c", "C sharp", "basic.cobol", "abc", "İstanbul", "ISTANBUL", "ß", "", "c"] + [
        f"x c{at}" for at in range(51)
    ]
    found = show(page, tmp_path, scatter(names=names, sizes=np.arange(60)[::-1].copy())).evaluate(
        "(map, queries) => queries.map(each => map.xcmap.names.search(each, 5, map.xcmap.labels.sizes))",
        ["C", "bc", "cobol", "istanbul", "x c50", "absent", " ", "\u00df"],
    )
    assert found == [[0, 8, 1, 2, 9], [3], [2], [5], [59], [], [], [6]]


def test_a_click_chooses_a_label_or_a_region(page: Page, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    data = scatter(
        regions=(MapRegion(0, "left · part", -0.35, 0.33, 30, 0.4, True), MapRegion(0, "right", 0.6, 0.3, 30))
    )
    shown = show(page, tmp_path, data)
    expect(page.get_by_role("button", name="left · part 40 %")).to_be_visible()
    place = get_box(page.get_by_role("button", name="left · part 40 %"))
    page.mouse.click(place["x"] + place["width"] / 2, place["y"] + 9)
    expect_last_event(page, {"kind": "region", "region": 0})
    page.mouse.click(*locate(page, 7))
    expect_last_event(page, {"kind": "label", "label": 7})
    assert len(page.evaluate("events")) == 2
    page.mouse.move(*locate(page, 11))
    expect(page.locator(".xc-map-card")).to_contain_text(re.compile("^package.module.label_11.*training documents"))
    shown.evaluate("map => map.xcmap.setTool('move')")
    before = locate(page, 7)
    drag(page, [(before[0], before[1]), (before[0] + 30, before[1] + 10), (before[0] + 60, before[1] + 20)])
    expect_place(page, 7, (before[0] + 60, before[1] + 20))


def expect_place(page: Page, label: int, place: tuple[float, float]) -> None:
    def check() -> None:
        assert locate(page, label) == pytest.approx(place)

    eventually(check)


def test_keys_move_zoom_choose_and_clear(page: Page, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    data = scatter()
    page.emulate_media(reduced_motion="reduce")
    shown = show(page, tmp_path, data)
    page.keyboard.press("Tab")
    expect(shown).to_be_focused()
    before = locate(page, 5)
    page.keyboard.press("ArrowLeft")
    expect_place(page, 5, (before[0] + 60, before[1]))
    page.keyboard.press("+")
    expect_zoom(shown, 1.6)
    shown.evaluate(
        "map => Object.assign(map.xcmap.camera, {x: map.xcmap.labels.positions[10], y: map.xcmap.labels.positions[11]})"
    )
    page.keyboard.press("Enter")
    expect_last_event(page, {"kind": "label", "label": 5})
    expect(page.locator("[aria-live]")).to_contain_text("label_5")
    page.keyboard.press("Escape")
    expect_last_event(page, {"kind": "clear"})
    page.keyboard.press("0")
    expect_zoom(shown, 1)


def expect_zoom(shown: Locator, zoom: float) -> None:
    def check() -> None:
        assert shown.evaluate(READ_STATE)["view"]["zoom"] == pytest.approx(zoom)

    eventually(check)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A page of the dashboard with nothing but a map."""
    log = tmp_path_factory.mktemp("demo") / "log"
    with serving_script(ROOT / "tests" / "support" / "map_demo.py", log) as server:
        yield server


def test_the_dashboard_hears_what_was_done_and_sends_data_once(context: BrowserContext, demo: Server) -> None:
    from playwright.sync_api import expect

    page = context.new_page()
    page.set_viewport_size({"width": 1280, "height": 900})
    received: list[int] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: received.append(len(frame))))
    page.goto(f"{demo.address}/?n=41218")
    wait(page)
    data = make_map(41_218)
    parts = sum(len(part.content) for part in (data.points_part, data.names_part, data.colour_parts[0]))
    assert sum(received) > parts > 500_000
    settle(page)
    box = get_box(page.locator(".xc-map"))
    received.clear()
    drag(page, circle(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, 90))
    expect(page.get_by_text(re.compile("^found "))).to_be_visible()
    settle(page)
    said = page.get_by_text("lasso label=").text_content()
    found = page.get_by_text(re.compile("^found ")).text_content()
    assert int(said.rpartition("=")[2]) == int(found.removeprefix("found ")) > 100
    page.get_by_text("Light up a document").click()
    expect(page.get_by_text("run 3")).to_be_visible()
    settle(page)
    assert sum(received) < 60_000
    received.clear()
    page.get_by_text("Frequency", exact=True).first.click()
    expect(page.locator(".xc-map-legend")).to_contain_text("Frequency")
    wait(page)
    assert sum(received) < len(data.colour_parts[1].content) + 40_000
    page.mouse.click(*locate(page, 12))
    expect(page.get_by_text("label label=")).to_be_visible()
    page.locator(".xc-map").press("Escape")
    expect(page.get_by_text("clear label=None")).to_be_visible()
    page.get_by_text("Other labels").click()
    expect(page.locator(".xc-map[data-labels='520'][data-ready=true]")).to_have_attribute("data-drawn", "500")
