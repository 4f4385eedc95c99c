"""Errors and Compare in a real browser: no scrolling, filters, from a row to its document, report, hostile labels."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from tests.support.browser_pages import (
    SMALL,
    click_until,
    eventually,
    expect_above,
    expect_no_scrolling,
    get_box,
    settle,
)
from xcwork.runs import Run

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page


def test_a_part_filters_and_why_not_opens_the_document(page: Page, dashboard: str, runs: dict[str, Run]) -> None:
    from playwright.sync_api import expect

    page.set_viewport_size(SMALL)
    page.goto(f"{dashboard}/errors?data=fruit.csv&run={runs['popularity'].id}&k=1")
    rows = page.get_by_role("listbox", name="Labels")
    expect(rows.get_by_role("option").first).to_be_visible()
    expect(page.get_by_role("button", name="Why not?")).to_be_visible()
    page.locator(".st-key-errors_all_outranked button").first.click()
    page.wait_for_url(re.compile("outcome=outranked"))
    expect(page.locator(".st-key-errors_chip_outcome button").first).to_be_visible()
    settle(page)
    rows.get_by_role("option").nth(1).click()
    page.wait_for_url(re.compile("label="))
    settle(page)
    listed = page.url
    page.get_by_role("button", name="Why not?").first.click()
    expect(page.get_by_role("heading", name="Predict", level=1)).to_be_visible()
    page.wait_for_url(re.compile("label="))
    page.go_back()
    expect(page.get_by_role("heading", name="Errors", level=1)).to_be_visible()
    page.wait_for_url(listed)


def test_list_and_detail_end_above_the_lower_edge(page: Page, dashboard: str, runs: dict[str, Run]) -> None:
    from playwright.sync_api import expect

    page.set_viewport_size(SMALL)
    page.goto(f"{dashboard}/errors?data=fruit.csv&run={runs['popularity'].id}&k=1")
    for section in ("Labels", "Documents", "Pairs", "Suspicious"):
        settle(page)
        page.get_by_role("radio", name=section, exact=True).click()
        if section != "Labels":
            page.wait_for_url(re.compile(f"section={section.lower()}"))
        settle(page)
        expect(page.get_by_role("listbox").first).to_be_visible()
        names = ("errors_detail", "errors_list", "errors_ways")
        expect_above(SMALL["height"], *(page.locator(f".st-key-{name}").first for name in names))
        expect_no_scrolling(page, across=False)


def test_compare_fits_sorts_exports_and_opens_a_document(
    page: Page, dashboard: str, runs: dict[str, Run], tmp_path: Path
) -> None:
    from playwright.sync_api import expect

    page.set_viewport_size(SMALL)
    page.goto(f"{dashboard}/compare?data=fruit.csv&k=1&run={runs['tfidf'].id}&reference={runs['popularity'].id}")
    table = page.get_by_role("listbox", name="Runs")
    expect(table.get_by_role("option")).to_have_count(3)
    expect(page.get_by_test_id("stPlotlyChart").first).to_be_visible()
    expect(page.locator(".st-key-compare_foot").first).to_be_in_viewport()
    expect_no_scrolling(page)

    def check_colour() -> None:
        row = table.get_by_role("option").filter(has_text="tfidf").first
        mark = page.get_by_test_id("stSidebar").locator("[data-mark]").first
        colour = "element => getComputedStyle(element).borderTopColor"
        assert row.locator(".mark").first.evaluate(colour) == mark.evaluate(colour)

    eventually(check_colour)
    check_lights(page, table, runs["tfidf"].id)
    click_until(
        page.get_by_role("button", name="CSV, LaTeX, Markdown").first,
        lambda: expect(page.locator(".st-key-compare-export-csv button").first).to_be_visible(timeout=1000),
    )
    for suffix, sign in (("csv", "run,method"), ("md", "| run |"), ("tex", r"\toprule")):
        with page.expect_download() as download:
            page.locator(f".st-key-compare-export-{suffix} button").first.click()
        file = tmp_path / download.value.suggested_filename
        download.value.save_as(file)
        assert sign in file.read_text()
    page.keyboard.press("Escape")
    expect(page.locator(".st-key-compare-export-csv button")).to_have_count(0)
    settle(page)
    page.get_by_role("button", name="ms per").first.click()
    page.wait_for_url(re.compile("sort=ms"))
    settle(page)
    page.get_by_role("listbox", name="Documents").get_by_role("option").first.click()
    expect(page.get_by_role("heading", name="Predict", level=1)).to_be_visible()
    settle(page)
    page.locator(".st-key-page_header").get_by_role("button", name="Compare").first.click()
    expect(page.get_by_role("heading", name="Compare", level=1)).to_be_visible()
    page.wait_for_url(re.compile("sort=ms"))


def check_lights(page: Page, table: Locator, run: str) -> None:
    """A run is lit in table and chart, whichever of them the mouse is on."""
    from playwright.sync_api import expect

    row, traces = table.locator(f"[data-row='{run}']"), page.locator(".st-key-compare-chart .scatterlayer > .trace")
    root = page.locator("html")
    row.hover()
    expect(root).to_have_attribute("data-lit", run)
    clear = [each for each in traces.all() if each.evaluate("each => getComputedStyle(each).opacity") == "1"]
    assert len(clear) == 1, "all others are dim"
    dot = get_box(clear[0].locator(".points path").first)
    page.mouse.move(1, 1)
    expect(root).not_to_have_attribute("data-lit", run)
    page.mouse.move(dot["x"] + 30, dot["y"] + 30)
    page.mouse.move(dot["x"] + dot["width"] / 2, dot["y"] + dot["height"] / 2, steps=5)
    expect(root).to_have_attribute("data-lit", run)
    expect(row).to_have_class(re.compile(r"\blit\b"))
    page.mouse.move(1, 1)
    expect(row).not_to_have_class(re.compile(r"\blit\b"))


def test_a_report_downloads_and_opens_offline(page: Page, dashboard: str, runs: dict[str, Run], tmp_path: Path) -> None:
    from playwright.sync_api import expect

    for name in ("errors", "compare"):
        page.goto(f"{dashboard}/{name}?data=fruit.csv&run={runs['one_vs_all'].id}")
        with page.expect_download() as download:
            page.get_by_role("button", name="Report").click()
        file = tmp_path / download.value.suggested_filename
        download.value.save_as(file)
        page.goto("about:blank")  # the dashboard may still be asking for a font, which is no fault of the report
        page.context.set_offline(True)
        page.goto(file.as_uri())
        expect(page.get_by_role("heading", level=1)).to_contain_text("xcwork report")
        page.get_by_text("How far down the list").click()
        expect(page.locator("svg").first).to_be_visible()
        assert page.evaluate("document.scripts.length") == 0
        assert page.evaluate("window.hit") is None
        page.context.set_offline(False)


def test_hostile_labels_stay_text(page: Page, dashboard: str, runs: dict[str, Run]) -> None:
    from playwright.sync_api import expect

    hostile = f"data=fruit.csv&run={runs['one_vs_all'].id}&label={quote('<script>hit()')}"
    for name in ("errors?outcome=found&", "errors?section=documents&outcome=found&", "compare?", "predict?"):
        page.goto(f"{dashboard}/{name}{hostile}")
        expect(page.get_by_text("hit()").filter(visible=True).first).to_be_visible()
        assert page.evaluate("window.hit") is None
