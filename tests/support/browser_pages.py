"""Reading and clicking pages that are still being drawn: every look is repeated until it shows what is expected."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.support.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from playwright.sync_api import FloatRect, Locator, Page

SMALL = {"width": 1280, "height": 720}
LOOK_SECONDS = 0.05  # between two looks
CLICK_PATIENCE_SECONDS = 20.0  # a click that has shown nothing until then is lost


def eventually(check: Callable[[], None], seconds: float = PATIENCE_SECONDS) -> None:
    """Repeat assertions about a page until they hold; the last failure is the one that is reported."""
    from playwright.sync_api import Error

    deadline = time.monotonic() + seconds
    while True:
        try:
            return check()
        except (AssertionError, Error):
            if time.monotonic() > deadline:
                raise
        time.sleep(LOOK_SECONDS)


def settle(page: Page) -> None:
    """Wait until Streamlit has run the page, and drawn what came of it."""
    from playwright.sync_api import expect

    page.locator("[data-test-script-state=notRunning]").first.wait_for()
    expect(page.locator("[data-stale=true]")).to_have_count(0)


def click_until(target: Locator, shows: Callable[[], None], *, force: bool = False) -> None:
    """Click until the assertions of `shows` hold: a click on what is just being redrawn is lost, as for a person."""
    _act_until(target.page, lambda: target.click(force=force), shows)


def press_until(page: Page, key: str, shows: Callable[[], None]) -> None:
    """Press a key until the assertions of `shows` hold."""
    _act_until(page, lambda: page.keyboard.press(key), shows)


def _act_until(page: Page, act: Callable[[], None], shows: Callable[[], None]) -> None:
    from playwright.sync_api import Error

    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        settle(page)
        act()
        try:
            return eventually(shows, CLICK_PATIENCE_SECONDS)
        except (AssertionError, Error):
            if time.monotonic() > deadline:
                raise


def open_menu(page: Page, name: str, action: str) -> None:
    """Choose an action in the menu of a row."""
    from playwright.sync_api import expect

    wanted = page.get_by_role("menuitem", name=action).and_(page.locator(":visible"))
    opener = page.get_by_role("button", name=f"More about {name}", exact=True)
    click_until(opener, lambda: expect(wanted).to_be_visible(timeout=1000))
    wanted.click()


def get_box(element: Locator) -> FloatRect:
    """Return where an element is; one that is not drawn is a failed assertion."""
    box = element.bounding_box(timeout=1000 * CLICK_PATIENCE_SECONDS)
    assert box is not None, f"{element} is not drawn"
    return box


def get_bottom(element: Locator) -> float:
    box = get_box(element)
    return box["y"] + box["height"]


def expect_above(bottom: float, *elements: Locator) -> None:
    """Wait until all of them end above the lower edge of the window."""

    def check() -> None:
        for element in elements:
            assert get_bottom(element) <= bottom, f"{element} ends below the window"

    eventually(check)


def expect_no_scrolling(page: Page, *, down: bool = True, across: bool = True) -> None:
    """Wait until everything on the page can be seen without scrolling."""
    too_far = "[main.scrollHeight - main.clientHeight, main.scrollWidth - main.clientWidth]"

    def check() -> None:
        more = page.get_by_test_id("stMain").evaluate(f"main => {too_far}")
        assert not down or more[0] <= 1, f"{more[0]} pixels are below the window"
        assert not across or more[1] <= 0, f"{more[1]} pixels are beside the window"

    eventually(check)
