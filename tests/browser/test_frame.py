"""The frame in a real browser: where things are at 1280 × 720, what stays in place, the way back, the lesson."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from xcwork_app.navigation import Place, list_places

from tests.support.browser_pages import SMALL, eventually, get_box, press_until, settle
from xcwork.runs import Run

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page


def test_every_page_begins_at_the_top_with_one_row(page: Page, dashboard: str, runs: dict[str, Run]) -> None:
    from playwright.sync_api import expect

    page.set_viewport_size(SMALL)
    page.goto(f"{dashboard}/?data=fruit.csv&run={runs['tfidf'].id}")
    for place in list_places():
        settle(page)
        page.get_by_test_id("stSidebar").get_by_role("link", name=match_title(place)).click()
        expect(page.get_by_role("heading", name=place.title, level=1, exact=True)).to_be_visible()
        expect(page.get_by_role("button", name="Copy link")).to_be_visible()
        eventually(lambda place=place: check_header(page, place))


def match_title(place: Place) -> re.Pattern[str]:
    """Match its link in the side bar, where the number of items that wait may follow the title."""
    return re.compile(rf"^{place.title}( \d+)?$")


def check_header(page: Page, place: Place) -> None:
    header = get_box(page.locator(".st-key-page_header"))
    assert 8 <= header["y"] <= 16, place.name
    assert header["height"] <= 40, place.name
    for inside in (
        page.get_by_role("heading", name=place.title, level=1, exact=True),
        page.get_by_text(place.question, exact=True),
        page.get_by_role("button", name="Copy link"),
    ):
        box = get_box(inside.first)
        assert header["y"] - 2 <= box["y"], place.name
        assert box["y"] + box["height"] <= header["y"] + header["height"] + 2, place.name
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), place.name


def test_the_side_bar_shows_all_of_itself(page: Page, dashboard: str, runs: dict[str, Run]) -> None:
    from playwright.sync_api import expect

    page.set_viewport_size(SMALL)
    page.goto(f"{dashboard}/predict?data=fruit.csv&run={runs['tfidf'].id}")
    bar = page.get_by_test_id("stSidebar")
    expect(bar.get_by_role("link", name="Labs", exact=True)).to_be_visible()
    eventually(lambda: check_side_bar(bar))


def check_side_bar(bar: Locator) -> None:
    assert round(get_box(bar)["width"]) in (212, 213)
    places = [get_box(bar.get_by_role("link", name=match_title(place)))["y"] for place in list_places()]
    assert places == sorted(places)
    foot = [bar.get_by_text(text, exact=True) for text in ("Dataset", "Run", "Lesson for this page")]
    heights = [get_box(each)["y"] for each in foot]
    assert places[-1] < heights[0] < heights[1] < heights[2] < 715
    assert bar.evaluate("element => element.scrollHeight <= element.clientHeight")
    mark, box = get_box(bar.locator("[data-mark]")), get_box(bar.get_by_role("combobox", name="Run"))
    assert box["y"] < mark["y"]
    assert mark["y"] + mark["height"] < box["y"] + box["height"], "the mark is inside the box of the run"


def test_the_command_can_be_copied(page: Page, dashboard: str, runs: dict[str, Run]) -> None:
    from playwright.sync_api import expect

    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{dashboard}/errors?data=fruit.csv&run={runs['tfidf'].id}")
    settle(page)
    page.get_by_role("button", name="Command").click()
    shown = page.get_by_test_id("stCode").filter(has_text="xcwork report")
    expect(shown).to_be_visible()
    shown.hover()
    shown.get_by_role("button").click()
    page.wait_for_function("navigator.clipboard.readText().then(text => text.startsWith('xcwork report'))")


def test_the_way_back_returns_to_the_list(page: Page, dashboard: str, runs: dict[str, Run]) -> None:
    from playwright.sync_api import expect

    page.goto(f"{dashboard}/errors?data=fruit.csv&run={runs['popularity'].id}&k=1&outcome=missed")
    rows = page.get_by_role("listbox", name="Labels").get_by_role("option")
    expect(rows.nth(1)).to_be_visible()
    settle(page)
    rows.nth(1).click()
    page.wait_for_url(re.compile("label="))
    settle(page)
    before = page.url
    page.get_by_role("button", name="Why not?").first.click()
    expect(page.get_by_role("heading", name="Predict", level=1)).to_be_visible()
    settle(page)
    page.locator(".st-key-page_header").get_by_role("button", name="Errors").first.click()
    expect(rows.nth(1)).to_have_attribute("aria-selected", "true")
    page.wait_for_url(lambda url: parse_qs(urlsplit(url).query) == parse_qs(urlsplit(before).query))
    page.go_back()
    expect(page.get_by_role("heading", name="Predict", level=1)).to_be_visible()


def test_the_lesson_lies_over_the_page_and_leaves_its_width(page: Page, dashboard: str, runs: dict[str, Run]) -> None:
    from playwright.sync_api import expect

    page.set_viewport_size(SMALL)
    page.goto(f"{dashboard}/predict?data=fruit.csv&run={runs['tfidf'].id}")
    expect(page.get_by_role("heading", name="Predict", level=1)).to_be_visible()
    settle(page)
    width = get_box(page.get_by_test_id("stMainBlockContainer"))["width"]
    page.get_by_role("button", name="Lesson for this page").click()
    drawer = page.get_by_role("dialog")
    expect(drawer.get_by_text("Check yourself")).to_be_visible()
    page.wait_for_url(re.compile("lesson=1"))
    settle(page)
    assert get_box(page.get_by_test_id("stMainBlockContainer"))["width"] == width
    formula, around = get_box(drawer.locator(".katex-html").first), get_box(drawer)
    assert formula["x"] + formula["width"] <= around["x"] + around["width"], "the formula is cut"
    drawer.get_by_text("Lecture size").click()
    page.wait_for_url(re.compile("lecture=1"))
    expect(page.locator("html")).to_have_css("font-size", "18px")
    press_until(page, "Escape", lambda: expect(drawer).to_be_hidden(timeout=1000))
    page.wait_for_url(lambda url: "lesson" not in url and "lecture=1" in url)
    page.wait_for_function("document.documentElement.scrollWidth <= window.innerWidth")


def test_captions_can_be_read(page: Page, dashboard: str, runs: dict[str, Run]) -> None:
    from playwright.sync_api import expect

    for scheme, muted in (("light", "rgb(86, 98, 110)"), ("dark", "rgb(163, 177, 191)")):
        page.emulate_media(color_scheme=scheme)
        page.goto(f"{dashboard}/errors?data=fruit.csv&run={runs['tfidf'].id}&lesson=1")
        expect(page.get_by_role("dialog").get_by_text("The same as a notebook")).to_have_css("color", muted)
        expect(page.locator(".st-key-page_question p")).to_have_css("color", muted)
        expect(page.get_by_text("Understand", exact=True)).to_have_css("color", muted)
