"""Predict in a real browser: all of it in a small window, with the keyboard alone, while a text is typed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from tests.support.browser_pages import SMALL, eventually, expect_above, expect_no_scrolling, settle
from xcwork.runs import Run, RunStore, worker

if TYPE_CHECKING:
    from playwright.sync_api import Page

SCRIPT = "<script>window.hit = 1</script><img src=x onerror='window.hit=1'>"
LONG = "y" * 300
FOCUSED = """() => {
    let at = document.activeElement;
    while (at.shadowRoot && at.shadowRoot.activeElement) at = at.shadowRoot.activeElement;
    const lines = (at.getAttribute("aria-label") || at.innerText || "").trim().split("\\n");
    return lines[lines.length - 1];
}"""


@pytest.fixture(scope="module")
def strange(home: Path) -> Run:
    """A run whose documents are long and whose labels look like scripts, formulas and walls of letters."""
    words = [f"word{at}" for at in range(150)]
    names = [SCRIPT, "=cmd()", "*bold* _text_", LONG, "深さ優先探索", "package.module.sub.a_long_name_of_a_function"]
    lines = []
    for at in range(60):
        text = " ".join(words[(7 * at + step * (at % 5 + 1)) % 150] for step in range(120))
        name = names[at % len(names)].replace('"', '""')
        lines.append(f'"topic{at % len(names)} {text}","{name}"')
    file = home / "data" / "strange.csv"
    file.write_text("\n".join(["text,labels", *lines]) + "\n", encoding="utf-8")
    run = RunStore(home).create("one_vs_all", None, file, name="strange")
    assert worker.main(run.folder) == 0
    return run


def open_strange(page: Page, dashboard: str, run: Run, **query: str) -> None:
    from playwright.sync_api import expect

    page.goto(f"{dashboard}/predict?data=strange.csv&run={run.id}" + "".join(f"&{k}={v}" for k, v in query.items()))
    expect(page.get_by_role("listbox", name="Labels").get_by_role("option").first).to_be_visible()
    settle(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_of_it_is_above_the_lower_edge_of_a_small_window(
    page: Page, dashboard: str, strange: Run, scheme: Literal["light", "dark"]
) -> None:
    from playwright.sync_api import expect

    page.set_viewport_size(SMALL)
    page.emulate_media(color_scheme=scheme)
    open_strange(page, dashboard, strange)
    heading = page.get_by_role("heading", name=re.compile("^Why "))
    expect(heading).to_be_visible()
    for key in ("predict_text", "predict_labels", "predict_why"):
        expect(page.locator(f".st-key-{key}")).to_be_visible()
        # The frame finds its height after it is drawn.
        page.wait_for_function(f"document.querySelector('.st-key-{key}').getBoundingClientRect().bottom <= 720.5")
    families = page.get_by_role("group", name="Families of reasons").get_by_role("button")
    expect(families.nth(1)).to_be_visible()
    expect_above(720, heading, *families.all())
    expect_no_scrolling(page)
    widths = "e => [...e.querySelectorAll('.name, .above')].every(x => x.scrollWidth <= x.clientWidth + 1)"

    def check_names() -> None:
        assert page.get_by_role("listbox", name="Labels").evaluate(widths), "a name is cut"

    eventually(check_names)
    assert page.evaluate("window.hit") is None
    for view in ("Other runs", "New label", "What if"):
        settle(page)
        page.get_by_test_id("stButtonGroup").get_by_text(view, exact=True).click()
        expect(page.locator(".st-key-predict_card")).to_be_visible()
        page.wait_for_function("document.querySelector('.st-key-predict_why').getBoundingClientRect().bottom <= 720.5")


def test_larger_type_for_a_lecture_needs_no_sideways_scrolling(page: Page, dashboard: str, strange: Run) -> None:
    from playwright.sync_api import expect

    page.set_viewport_size(SMALL)
    open_strange(page, dashboard, strange, lecture="1")
    expect(page.locator("html")).to_have_css("font-size", "18px")
    expect(page.get_by_role("heading", name=re.compile("^Why "))).to_be_visible()
    expect_no_scrolling(page, down=False)
    page.wait_for_function("document.querySelector('.st-key-predict_why').getBoundingClientRect().bottom <= 720.5")


def test_a_long_label_is_shown_as_it_is(page: Page, dashboard: str, strange: Run) -> None:
    from playwright.sync_api import expect

    open_strange(page, dashboard, strange)
    page.get_by_role("option", name=re.compile("y{50}")).click()
    expect(page.get_by_role("heading", name=f"Why {LONG}?")).to_be_visible()
    settle(page)
    page.get_by_role("option", name=re.compile("window.hit")).click()
    expect(page.get_by_role("heading", name=re.compile("Why .*window.hit"))).to_be_visible()
    assert page.evaluate("window.hit") is None


def test_one_selection_drives_all_three(page: Page, dashboard: str, strange: Run) -> None:
    from playwright.sync_api import expect

    open_strange(page, dashboard, strange)
    page.get_by_role("option", name=re.compile("a_long_name")).click()
    expect(page.get_by_role("heading", name="Why a_long_name_of_a_function?")).to_be_visible()
    settle(page)
    page.get_by_role("group", name="Families of reasons").get_by_role("button", name=re.compile("Memorised")).click()
    page.wait_for_url("**family=memorised*")
    settle(page)
    word = page.get_by_role("group", name="Memorised for this label").get_by_role("button").first
    word.click()
    page.wait_for_url("**word=*")
    expect(word).to_have_attribute("aria-expanded", "true")
    mark = page.locator(".st-key-predict_text mark[aria-pressed=true]").first
    expect(mark).to_be_visible()
    settle(page)
    link = page.url
    mark.click()
    page.wait_for_url(lambda url: "word=" not in url)
    expect(word).to_have_attribute("aria-expanded", "false")
    page.goto(link)
    expect(page.get_by_role("heading", name="Why a_long_name_of_a_function?")).to_be_visible()
    expect(page.locator(".st-key-predict_text mark[aria-pressed=true]").first).to_be_visible()


def press_until(page: Page, key: str, wanted: str, most: int = 60) -> None:
    """Press a key until something called `wanted` has the focus."""
    passed = []
    for _ in range(most):
        page.keyboard.press(key)
        passed.append(page.evaluate(FOCUSED))
        if passed[-1].startswith(wanted):
            return
    raise AssertionError(f"{wanted!r} cannot be reached; {key} goes to {passed}")


def test_the_keyboard_suffices(page: Page, dashboard: str, strange: Run) -> None:
    """Tab follows the eye; ↑ ↓ choose a label, Enter a family; j and k are the next and the previous document."""
    from playwright.sync_api import expect

    open_strange(page, dashboard, strange, document="0")
    first = page.get_by_role("option").first.inner_text()
    page.get_by_role("link", name="Predict", exact=True).focus()
    for wanted in ("Test documents", "Number", "Next document", "Random document", "Search", "Edit", "Labels"):
        press_until(page, "Tab", wanted)
    page.keyboard.press("ArrowDown")
    page.wait_for_url("**label=*")
    expect(page.get_by_role("option").nth(1)).to_have_attribute("aria-selected", "true")
    expect(page.get_by_role("option").first).to_have_text(first, use_inner_text=True)
    settle(page)
    press_until(page, "Tab", "Why")
    page.get_by_role("group", name="Families of reasons").get_by_role("button").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**family=*")
    settle(page)
    page.keyboard.press("j")
    page.wait_for_url("**document=1*")
    expect(page.get_by_role("spinbutton", name="Number")).to_have_value("2")
    settle(page)
    page.keyboard.press("k")
    page.wait_for_url(lambda url: "document=1" not in url)


def test_labels_and_marks_follow_what_is_typed(page: Page, dashboard: str, runs: dict[str, Run]) -> None:
    from playwright.sync_api import expect

    page.goto(f"{dashboard}/predict?data=fruit.csv&run={runs['tfidf'].id}")
    settle(page)
    page.get_by_text("My text", exact=True).click()
    expect(page.get_by_text("No text yet.")).to_be_visible()
    settle(page)
    box = page.get_by_role("textbox", name="Your text")
    box.click()
    page.keyboard.type("a plum that j and k wrote")
    expect(page.get_by_role("option", name=re.compile("plum"))).to_be_visible()
    expect(page.locator(".st-key-predict_text mark.strong", has_text="plum")).to_have_count(1)
    page.wait_for_url("**predict.text=a+plum*")
    expect(box).to_have_value("a plum that j and k wrote")  # letters are text there, not shortcuts
    box.fill("深さ 😀 <b>zzyzx</b>")
    expect(page.get_by_text("No word of this text is known to this run, so nothing is suggested.")).to_be_visible()
    page.get_by_text("Test documents", exact=True).click()
    expect(page.get_by_role("button", name="Next document")).to_be_visible()
    page.get_by_text("My text", exact=True).click()
    expect(box).to_have_value("深さ 😀 <b>zzyzx</b>")
    settle(page)
    page.get_by_role("button", name="Clear").click()
    expect(box).to_have_value("")
    settle(page)
    page.get_by_role("button", name="Try an example").click()
    expect(page.get_by_role("option").first).to_be_visible()


def test_a_pasted_text_beyond_the_limit_stays_and_the_limit_is_said(
    page: Page, dashboard: str, runs: dict[str, Run]
) -> None:
    from playwright.sync_api import expect

    page.goto(f"{dashboard}/predict?data=fruit.csv&run={runs['tfidf'].id}&predict.where=My+text")
    box = page.get_by_role("textbox", name="Your text")
    box.fill("plum " * 200_000)  # a megabyte
    expect(page.get_by_text("1,000,000 characters; the limit is 200,000")).to_be_visible()
    assert len(box.input_value()) == 1_000_000
    box.fill("plum " * 40_000)
    expect(page.get_by_role("option", name=re.compile("plum"))).to_be_visible()


def test_a_label_that_did_not_exist_before(page: Page, dashboard: str, runs: dict[str, Run]) -> None:
    from playwright.sync_api import expect

    page.goto(f"{dashboard}/predict?data=fruit.csv&run={runs['tfidf'].id}&predict.view=New+label")
    page.get_by_role("textbox", name="A label that does not exist yet").fill("number of apples")
    page.keyboard.press("Enter")
    expect(page.get_by_text("number of apples comes 2nd")).to_be_visible()
    page.wait_for_url("**predict.new_label=number+of+apples*")
    expect(page.locator(".st-key-predict_new_reasons").get_by_text("Words in common").first).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("Memorised"))).to_have_count(0)


def test_an_edited_document_can_be_shared_and_taken_back(page: Page, dashboard: str, runs: dict[str, Run]) -> None:
    from playwright.sync_api import expect

    page.goto(f"{dashboard}/predict?data=fruit.csv&run={runs['tfidf'].id}&document=3")
    settle(page)
    page.get_by_role("button", name="Edit", exact=True).click()
    box = page.get_by_role("textbox", name="Your text")
    expect(box).to_have_value(re.compile(r"number \d+"))
    settle(page)
    page.get_by_text("What if", exact=True).click()
    settle(page)
    box.fill("plum plum pear")
    expect(page.get_by_text("Before and after")).to_be_visible()
    page.wait_for_url("**predict.text=plum*")
    page.goto(page.url)
    expect(page.get_by_text("Before and after")).to_be_visible()
    expect(page.get_by_text("Edited from document 4")).to_be_visible()
    settle(page)
    page.get_by_role("button", name="Back to the original").click()
    expect(box).to_have_value(re.compile(r"number \d+"))
