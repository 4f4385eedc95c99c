"""The components in a real browser: text stays text, the whole row is the target, the keyboard alone is enough."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.support.browser_pages import eventually, get_bottom, get_box, settle
from tests.support.paths import ROOT
from tests.support.server import serving_script

if TYPE_CHECKING:
    from playwright.sync_api import Page

SCRIPT = "<script>window.hit = 1</script><img src=x onerror='window.hit=1'>"  # as on the page
LONG = "x" * 300


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A page with nothing but the components."""
    log = tmp_path_factory.mktemp("gallery") / "server.log"
    with serving_script(ROOT / "tests" / "support" / "component_page.py", log) as server:
        yield server.address


def press_tab_until(page: Page, script: str) -> None:
    """Press Tab until what has the focus, inside shadow roots too, satisfies `script`, a test of `element`."""
    settle(page)
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate(
            f"""() => {{
                let element = document.activeElement;
                while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
                return Boolean(element && ({script}));
            }}"""
        ):
            return
    pytest.fail(f"Tab never reached {script}")


def test_a_click_anywhere_on_a_row_chooses_it(page: Page, gallery: str) -> None:
    from playwright.sync_api import expect

    page.goto(gallery)
    rows = page.get_by_role("listbox", name="Labels").get_by_role("option")
    expect(rows).to_have_count(4)
    for number, (x, row) in enumerate([(4, "a"), (200, "b"), (4, "d")]):
        target = rows.nth("abcd".index(row))
        settle(page)
        target.scroll_into_view_if_needed()
        height = get_box(target)["height"]
        target.click(position={"x": x, "y": height - 3 if number % 2 else 3})
        expect(page.get_by_text(f"labels: {row}", exact=True)).to_be_visible()
        expect(target).to_have_attribute("aria-selected", "true")
    expect(page.get_by_role("listbox", name="Labels").locator("[aria-selected=true]")).to_have_count(1)
    page.get_by_role("button", name="Show the next 20 labels").click()
    expect(page.get_by_text("more: yes", exact=True)).to_be_visible()


def test_rows_are_chosen_with_the_keyboard_alone(page: Page, gallery: str) -> None:
    from playwright.sync_api import expect

    page.goto(gallery)
    expect(page.get_by_role("option")).to_have_count(25)
    press_tab_until(page, "element.getAttribute('aria-label') === 'Labels'")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_text("labels:", exact=True)).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_text("labels: c", exact=True)).to_be_visible()
    page.keyboard.press("ArrowUp")  # the list still has the focus, and goes on from the chosen row
    page.keyboard.press("Enter")
    expect(page.get_by_text("labels: b", exact=True)).to_be_visible()
    page.keyboard.press("End")
    page.keyboard.press("Space")
    expect(page.get_by_text("labels: d", exact=True)).to_be_visible()


def test_a_list_can_choose_while_somebody_moves_through_it(page: Page, gallery: str) -> None:
    from playwright.sync_api import expect

    page.goto(gallery)
    expect(page.get_by_role("option")).to_have_count(25)
    press_tab_until(page, "element.getAttribute('aria-label') === 'Runs'")
    for _ in range(12):
        page.keyboard.press("ArrowDown")
    expect(page.get_by_text("runs: run 12", exact=True)).to_be_visible()
    chosen = page.get_by_role("listbox", name="Runs").locator("[aria-selected=true]")
    expect(chosen).to_be_in_viewport()


def test_the_page_knows_the_row_that_is_pointed_at_and_the_box_below_has_a_button(page: Page, gallery: str) -> None:
    from playwright.sync_api import expect

    page.goto(gallery)
    runs = page.get_by_role("listbox", name="Runs")
    root = page.locator("html")
    runs.get_by_role("option").nth(2).hover()
    expect(root).to_have_attribute("data-lit", "run 2")
    page.get_by_role("listbox", name="Labels").hover()
    expect(root).not_to_have_attribute("data-lit", re.compile("."))
    press_tab_until(page, "element.getAttribute('aria-label') === 'Runs'")
    page.keyboard.press("ArrowDown")
    expect(root).to_have_attribute("data-lit", "run 1")
    page.get_by_role("button", name="Look at it").click()
    expect(page.get_by_text("foot: yes", exact=True)).to_be_visible()


def test_words_are_chosen_with_mouse_and_keyboard(page: Page, gallery: str) -> None:
    from playwright.sync_api import expect

    page.goto(gallery)
    settle(page)
    page.get_by_role("button", name="search").click()
    expect(page.get_by_text("text: search", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="search")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.get_by_text("text: 深さ", exact=True)).to_be_visible()
    page.reload()
    expect(page.get_by_role("button", name="graph")).to_be_visible()
    press_tab_until(page, "element.tagName === 'MARK'")
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    expect(page.get_by_text("text: graph", exact=True)).to_be_visible()


def test_text_from_outside_stays_text(page: Page, gallery: str) -> None:
    from playwright.sync_api import expect

    page.goto(gallery)
    rows = page.get_by_role("listbox", name="Labels").get_by_role("option")
    expect(rows.nth(1).locator(".name")).to_have_text(SCRIPT)
    expect(rows.nth(3).locator(".name")).to_have_text("emoji 😀 and *bold* _text_")
    text = page.get_by_role("group", name="Text")
    expect(text).to_contain_text(f"😀 depth first search {SCRIPT} 深さ of the graph")
    assert page.evaluate("window.hit") is None
    expect(page.locator("[role=listbox] script, [role=listbox] img, [aria-label=Text] img")).to_have_count(0)


def test_a_label_of_300_characters_has_three_lines_and_then_more(page: Page, gallery: str) -> None:
    from playwright.sync_api import expect

    page.goto(gallery)
    row = page.get_by_role("listbox", name="Labels").get_by_role("option").nth(2)
    name = row.locator(".name")
    expect(name).to_have_text(LONG)
    lines = "element => element.clientHeight / parseFloat(getComputedStyle(element).lineHeight)"

    def check_short() -> None:
        assert round(name.evaluate(lines)) == 3
        assert name.evaluate("element => element.scrollWidth <= element.clientWidth")

    def check_long() -> None:
        assert name.evaluate("element => element.scrollHeight <= element.clientHeight + 1")
        assert name.evaluate(lines) > 5
        boxes = [get_box(each) for each in page.get_by_role("listbox", name="Labels").get_by_role("option").all()]
        assert all(one["y"] + one["height"] <= other["y"] + 1 for one, other in itertools.pairwise(boxes))

    eventually(check_short)
    row.get_by_text("more", exact=True).click()
    eventually(check_long)
    expect(page.get_by_text("labels:", exact=True)).to_be_visible()  # it does not choose the row


def test_colours_follow_the_theme(page: Page, gallery: str) -> None:
    from playwright.sync_api import expect

    page.goto(gallery)
    page.emulate_media(color_scheme="light")
    expect(page.get_by_role("button", name="depth")).to_have_css("background-color", "rgb(255, 210, 74)")
    page.emulate_media(color_scheme="dark")
    expect(page.get_by_role("button", name="depth")).to_have_css("background-color", "rgb(122, 93, 12)")


def test_the_link_is_copied(page: Page, gallery: str) -> None:
    from playwright.sync_api import expect

    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{gallery}/?run=1&label=a%20b")
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    page.wait_for_function("navigator.clipboard.readText().then(text => text === location.href)")


def test_a_list_and_a_text_can_end_where_the_window_does(page: Page, gallery: str) -> None:
    from playwright.sync_api import expect

    page.goto(f"{gallery}/?fits=1")
    frames = page.locator(".frame.bordered")
    expect(frames).to_have_count(2)
    for height in (720, 900):
        page.set_viewport_size({"width": 1280, "height": height})

        def check(height: int = height) -> None:
            for number in range(2):
                assert abs(get_bottom(frames.nth(number)) - (height - 14)) < 2

        eventually(check)
    assert page.get_by_role("group", name="Text").evaluate("element => element.scrollHeight > element.clientHeight")
