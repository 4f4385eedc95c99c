"""Predict in a real browser: with the keyboard alone, and a label that did not exist before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xcwork.runs import Run

if TYPE_CHECKING:
    from playwright.sync_api import Page

FOCUSED = """() => {
    const at = document.activeElement;
    const lines = (at.getAttribute("aria-label") || at.innerText || "").trim().split("\\n");
    return lines[lines.length - 1];  // the name of an icon comes first
}"""
ORDER = ("A test document", "Search", "Number, of", "Another", "Edit this text", "Labels listed", "Why this label")


def tab_to(page: Page, wanted: str, most: int = 40) -> None:
    """Press Tab until something called `wanted` has the focus."""
    passed = []
    for _ in range(most):
        page.keyboard.press("Tab")
        passed.append(page.evaluate(FOCUSED))
        if passed[-1].startswith(wanted):
            return
    raise AssertionError(f"{wanted!r} cannot be reached; Tab goes to {passed}")


def test_the_keyboard_suffices(page: Page, dashboard: str, runs: dict[str, Run]) -> None:
    """Tab follows the eye; Enter presses, searches and submits."""
    from playwright.sync_api import expect

    page.goto(f"{dashboard}/predict?data=fruit.csv&run={runs['tfidf'].id}&section=new")
    new = page.get_by_role("textbox", name="A label that does not exist yet")
    expect(new).to_be_visible()
    page.get_by_role("link", name="Predict", exact=True).focus()
    for wanted in ORDER:
        tab_to(page, wanted)
    tab_to(page, "A label that does not exist yet")
    page.keyboard.type("number of apples")
    page.keyboard.press("Enter")
    expect(page.get_by_text("number of apples comes 2nd")).to_be_visible()
    expect(page.get_by_test_id("stPlotlyChart").first).to_be_visible()
    assert "predict.new_label=number+of+apples" in page.url

    page.get_by_role("link", name="Predict", exact=True).focus()
    tab_to(page, "Another")
    page.keyboard.press("Enter")
    page.wait_for_url("**document=*")


def test_a_text_that_was_not_sent_stays_while_somebody_looks_elsewhere(
    page: Page, dashboard: str, runs: dict[str, Run]
) -> None:
    from playwright.sync_api import expect

    page.goto(f"{dashboard}/predict?data=fruit.csv&run={runs['tfidf'].id}&predict.where=own")
    box = page.get_by_role("textbox", name="Text")
    box.fill("a plum that nobody has sent")
    page.get_by_text("A test document").click()
    expect(page.get_by_role("button", name="Another")).to_be_visible()
    page.get_by_text("Your own text").click()
    expect(box).to_have_value("a plum that nobody has sent")


def test_a_pasted_text_beyond_the_limit_stays_and_the_limit_is_said(
    page: Page, dashboard: str, runs: dict[str, Run]
) -> None:
    from playwright.sync_api import expect

    page.goto(f"{dashboard}/predict?data=fruit.csv&run={runs['tfidf'].id}&predict.where=own")
    box = page.get_by_role("textbox", name="Text")
    box.fill("plum " * 40_001)
    page.get_by_role("button", name="Predict", exact=True).click()
    expect(page.get_by_text("200,005 characters, and 200,000 are the limit")).to_be_visible()
    assert len(box.input_value()) == 200_005
    box.fill("plum " * 40_000)
    page.get_by_role("button", name="Predict", exact=True).click()
    expect(page.get_by_role("region", name="suggested labels, best first")).to_be_visible()
