"""The review page in a real browser: keys without a click, what survives a reload and a killed server, two tabs."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.browser_pages import SMALL, eventually, expect_above, expect_no_scrolling, get_box, settle
from tests.support.doubtful import write_doubtful
from tests.support.server import serving
from tests.support.waiting import until
from xcwork.runs import Run, RunStore, worker

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Locator, Page

MAX_PRESSES = 10
PRESS_PATIENCE_MS = 20_000
HIT = "<script>window.hit=1</script>"


@pytest.fixture(scope="module")
def run(home: Path) -> Run:
    """A finished run on a corpus with doubtful labels."""
    file = write_doubtful(home / "data" / "doubtful.csv", HIT, "<img src=x onerror=window.hit=1>")
    made = RunStore(home).create("one_vs_all", None, file, name="ova")
    assert worker.main(made.folder) == 0
    return made


@pytest.fixture(scope="module")
def address(run: Run, dashboard: str) -> str:
    return f"{dashboard}/review?data=doubtful.csv"


@pytest.fixture(autouse=True)
def no_answers(run: Run) -> None:
    """Every test begins with nothing answered."""
    get_file(run).unlink(missing_ok=True)


def get_file(run: Run) -> Path:
    return run.home / "data" / "reviews" / "doubtful.jsonl"


def read_verdicts(run: Run) -> list[str]:
    lines = map(json.loads, get_file(run).read_text().splitlines())
    return [line.get("verdict", line["event"]) for line in lines]


def get_selected(page: Page) -> Locator:
    return page.locator(".st-key-review_queue [role=option][aria-selected=true]")


def expect_progress(page: Page, text: str) -> None:
    from playwright.sync_api import expect

    expect(page.locator(".review-progress")).to_contain_text(text)


def open_review(page: Page, address: str, answered: int = 0) -> None:
    """Open the page and wait until all of it is drawn."""
    from playwright.sync_api import expect

    page.goto(address)
    expect_progress(page, f"{answered} of")
    expect(page.locator(".st-key-review_effect")).to_be_visible()
    settle(page)


def press(page: Page, key: str, condition: str, argument: str = "") -> None:
    """Press a key until the page has followed: one that comes before the buttons listen is lost, as for a person."""
    from playwright.sync_api import TimeoutError as NothingHappened

    settle(page)
    for _ in range(MAX_PRESSES):
        page.keyboard.press(key)
        try:
            page.wait_for_function(condition, arg=argument, timeout=PRESS_PATIENCE_MS)
        except NothingHappened:
            continue
        return
    raise AssertionError(f"{key} was pressed {MAX_PRESSES} times and nothing happened")


def answer(page: Page, key: str, answered: int) -> None:
    """Press a key and wait for the next item; the buttons are those of one item, so they are exchanged with it."""
    # Streamlit keeps the button of the item before for a moment, as a stale one beside the new one.
    buttons = ".st-key-review_answers [class*='st-key-review_right_']"
    names = (
        f'() => [...document.querySelectorAll("{buttons}")].map(each => each.className.match(/review_right_\\S+/)[0])'
    )
    page.wait_for_function(f"() => ({names})().length === 1")
    (before,) = page.evaluate(names)
    press(page, key, f"old => {{ const now = ({names})(); return now.length === 1 && now[0] !== old }}", before)
    expect_progress(page, f"{answered} of")


def test_the_keys_work_without_a_click_and_a_reload_keeps_answers_and_place(page: Page, address: str, run: Run) -> None:
    from playwright.sync_api import expect

    page.set_viewport_size(SMALL)
    open_review(page, address)
    waiting = page.get_by_role("link", name=re.compile(r"^Review")).inner_text().split()[-1]
    for number, key in enumerate("ynu", start=1):
        answer(page, key, number)
    expect_progress(page, "1 right, 1 wrong, 1 unsure")
    until(lambda: read_verdicts(run) == ["right", "wrong", "unsure"], "the stored answers")
    expect(page.get_by_role("link", name=re.compile(r"^Review"))).to_contain_text(str(int(waiting) - 3))
    settle(page)
    place = get_selected(page).inner_text()
    open_review(page, page.url, 3)
    expect(get_selected(page)).to_have_text(re.compile(re.escape(place.splitlines()[0])))
    press(page, "Backspace", "() => document.querySelector('.review-progress')?.textContent.includes('2 of')")
    expect(page.get_by_text("Taken back: unsure")).to_be_visible()
    until(lambda: read_verdicts(run) == ["right", "wrong", "unsure", "undo"], "the answer to be taken back")
    assert page.evaluate("window.hit") is None


def test_arrow_down_skips_and_a_letter_in_a_note_is_no_answer(page: Page, address: str, run: Run) -> None:
    from playwright.sync_api import expect

    open_review(page, address)
    first = page.url
    press(page, "ArrowDown", "before => location.href !== before", first)
    settle(page)
    page.get_by_role("button", name=re.compile("^note")).click()
    note = page.get_by_label("Note, stored with your answer")
    note.fill("")
    note.press_sequentially("yes, why not")
    note.press("Control+Enter")
    expect(page.get_by_role("button", name=re.compile("note ✎"))).to_be_visible()
    assert not get_file(run).exists()
    page.keyboard.press("Escape")
    expect(note).to_be_hidden()
    settle(page)
    page.get_by_role("button", name=re.compile("^Right")).click()
    expect_progress(page, "1 of")
    assert json.loads(get_file(run).read_text())["note"] == "yes, why not"


def test_everything_ends_above_the_lower_edge(page: Page, address: str) -> None:
    for size in (SMALL, {"width": 1440, "height": 900}):
        page.set_viewport_size(size)
        open_review(page, address)
        places = (page.locator(f".st-key-review_{name}") for name in ("queue", "answers", "keys", "effect"))
        expect_above(size["height"], *places)
        page.wait_for_function("document.documentElement.scrollWidth <= window.innerWidth")
    page.set_viewport_size(SMALL)
    open_review(page, f"{address}&lecture=1")
    expect_no_scrolling(page)


def test_the_open_item_stays_in_sight_and_the_page_does_not_grow(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 520})
    open_review(page, address)
    grown = "() => { const main = document.querySelector('[data-testid=stMain]'); return main.scrollHeight }"
    before = page.evaluate(grown)
    for number in range(1, 7):
        answer(page, "y", number)

    def check() -> None:
        row, queue = get_box(get_selected(page)), get_box(page.locator(".st-key-review_queue"))
        assert queue["y"] <= row["y"]
        assert row["y"] + row["height"] <= queue["y"] + queue["height"] + 1
        assert page.evaluate(grown) <= before + 1

    eventually(check)


def say_who_answers(page: Page, name: str) -> None:
    settle(page)
    page.get_by_role("button", name=re.compile("^as ")).click()
    field = page.get_by_role("textbox", name="Who answers")
    field.fill(name)
    field.press("Enter")
    page.get_by_role("button", name=f"as {name}").wait_for()
    page.keyboard.press("Escape")
    field.wait_for(state="hidden")


def test_two_tabs_see_each_other_and_lose_nothing(context: BrowserContext, address: str, run: Run) -> None:
    one, two = context.new_page(), context.new_page()
    for tab, name in ((one, "ann"), (two, "bob")):
        open_review(tab, address)
        say_who_answers(tab, name)
    answer(one, "y", 1)
    answer(two, "n", 1)  # the item that this tab shows, which the other has answered
    answer(two, "y", 2)
    answer(one, "u", 2)
    lines = [json.loads(line) for line in get_file(run).read_text().splitlines()]
    assert [(line["by"], line["verdict"]) for line in lines] == [
        ("ann", "right"),
        ("bob", "wrong"),
        ("bob", "right"),
        ("ann", "unsure"),
    ]
    assert len({(line["document"], line["label"]) for line in lines}) == 2


def test_a_killed_server_loses_no_answer(context: BrowserContext, address: str, run: Run) -> None:
    with serving(run.home, {"XCWORK_HOME": ""}, run.home / "killed.log") as server:
        page = context.new_page()
        open_review(page, f"{server.address}/review?data=doubtful.csv")
        answer(page, "y", 1)
        answer(page, "n", 2)
        page.close()  # it would complain about a server that is gone
        os.kill(server.process.pid, signal.SIGKILL)
    assert read_verdicts(run) == ["right", "wrong"]
    open_review(context.new_page(), address, 2)  # by another server
