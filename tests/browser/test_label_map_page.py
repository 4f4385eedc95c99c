"""The label map page in a real browser: lasso and drawer, regions, search, hostile labels, nothing below the fold."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from tests.support.browser_pages import eventually, expect_above, get_box, settle
from xcwork.runs import Run

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

SETTLED = ".st-key-label_map .xc-map[data-ready=true][data-still=true]"


def open_map(page: Page, dashboard: str, run: Run, more: str = "") -> Locator:
    page.goto(f"{dashboard}/label_map?data=fruit.csv&run={run.id}&k=1{more}")
    page.wait_for_selector(SETTLED)
    settle(page)
    page.wait_for_selector(SETTLED)
    return page.locator(".st-key-label_map .xc-map")


def drag_around(page: Page, chart: Locator) -> None:
    """A lasso around everything on the map."""
    box = get_box(chart)
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    radius = box["width"] / 2 - 4, box["height"] / 2 - 4
    corners = [
        (middle[0] + 1.3 * radius[0] * math.cos(turn / 3), middle[1] + 1.3 * radius[1] * math.sin(turn / 3))
        for turn in range(19)
    ]
    inside = [
        (
            min(max(x, middle[0] - radius[0]), middle[0] + radius[0]),
            min(max(y, middle[1] - radius[1]), middle[1] + radius[1]),
        )
        for x, y in corners
    ]
    start = (middle[0] - radius[0], middle[1] - radius[1])
    page.mouse.move(*start)
    page.mouse.down()
    for x, y in sorted(inside, key=lambda at: math.atan2(at[1] - middle[1], at[0] - middle[0])):
        page.mouse.move(x, y, steps=3)
    page.mouse.up()


def test_a_lasso_fills_the_drawer_beside_the_map(page: Page, dashboard: str, runs: dict[str, Run]) -> None:
    from playwright.sync_api import expect

    page.set_viewport_size({"width": 1280, "height": 720})
    chart = open_map(page, dashboard, runs["one_vs_all"])
    expect(chart).to_have_attribute("data-drawn", "5")
    expect(chart).to_have_attribute("data-labels", "5")
    drag_around(page, chart)
    expect(page.get_by_text("5 labels in your selection")).to_be_in_viewport()
    drawer = page.locator(".st-key-map_drawer")

    def check_places() -> None:
        map_box = get_box(chart)
        assert get_box(drawer)["x"] >= map_box["x"] + map_box["width"], "beside the map, never below it"

    eventually(check_places)
    expect_above(720, drawer, chart)
    page.wait_for_url(re.compile("lasso="))
    settle(page)
    page.keyboard.press("Escape")
    expect(page.get_by_role("heading", name="Regions")).to_be_visible()


def test_a_search_flies_to_the_label(page: Page, dashboard: str, runs: dict[str, Run]) -> None:
    from playwright.sync_api import expect

    page.emulate_media(reduced_motion="no-preference")
    chart = open_map(page, dashboard, runs["one_vs_all"])
    page.get_by_role("combobox", name="Find a label").fill("plu")
    page.get_by_role("option", name="plum").click()
    expect(page.get_by_role("heading", name="plum")).to_be_visible()
    page.wait_for_selector(SETTLED)
    expect(page.get_by_role("listbox", name="Nearest labels")).to_be_visible()
    page.wait_for_url(re.compile("label=plum"))

    def check_centre() -> None:
        box = get_box(chart)
        at = chart.evaluate("map => map.xcmap.at(Number(map.xcmap.received.label))")
        assert math.hypot(at["x"] - box["x"] - box["width"] / 2, at["y"] - box["y"] - box["height"] / 2) < 8

    eventually(check_centre)


def test_a_document_opens_and_leads_back(page: Page, dashboard: str, runs: dict[str, Run]) -> None:
    from playwright.sync_api import expect

    open_map(page, dashboard, runs["popularity"], "&lasso=-2,-2;2,-2;2,2;-2,2")
    page.get_by_role("listbox", name="Documents that miss them").get_by_role("option").first.click()
    expect(page.get_by_role("heading", name="Predict")).to_be_visible()
    settle(page)
    page.get_by_role("button", name="Label map").click()
    expect(page.get_by_text("5 labels in your selection")).to_be_visible()


def test_hostile_labels_stay_text(page: Page, dashboard: str, runs: dict[str, Run]) -> None:
    from playwright.sync_api import expect

    open_map(page, dashboard, runs["one_vs_all"], f"&label={quote('<script>hit()')}")
    expect(page.locator(".st-key-map_drawer").get_by_text("hit()").first).to_be_visible()
    assert page.evaluate("window.hit") is None
