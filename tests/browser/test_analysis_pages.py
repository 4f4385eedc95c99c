"""Errors, Compare and Label map in a real browser: lasso, report, from a row to its document, hostile labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from tests.support.dashboard import tick_row
from xcwork.runs import Run

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page


def drag_around(page: Page, chart: Locator) -> None:
    """A lasso around everything in the chart."""
    box = chart.locator(".nsewdrag").first.bounding_box()
    left, top = box["x"] + 4, box["y"] + 4
    right, bottom = box["x"] + box["width"] - 4, box["y"] + box["height"] - 4
    page.mouse.move(left, top)
    page.mouse.down()
    for x, y in ((right, top), (right, bottom), (left, bottom), (left, top)):
        page.mouse.move(x, y, steps=8)
    page.mouse.up()


def test_a_lasso_shows_labels_and_documents_that_miss_them(page: Page, dashboard: str, runs: dict[str, Run]) -> None:
    from playwright.sync_api import expect

    page.goto(f"{dashboard}/label_map?data=fruit.csv&run={runs['one_vs_all'].id}&k=1")
    chart = page.get_by_test_id("stPlotlyChart")
    expect(chart).to_be_visible()
    expect(chart.locator(".nsewdrag").first).to_be_visible()
    chart.scroll_into_view_if_needed()
    drag_around(page, chart)
    expect(page.get_by_text("5 labels, missed")).to_be_visible()
    expect(page.get_by_role("heading", name="Documents that miss them")).to_be_visible()
    assert page.evaluate("window.hit") is None


def test_a_row_opens_its_document(page: Page, dashboard: str, runs: dict[str, Run]) -> None:
    from playwright.sync_api import expect

    page.goto(f"{dashboard}/errors?data=fruit.csv&run={runs['popularity'].id}&k=1&section=missed")
    expect(page.get_by_role("heading", name="Errors")).to_be_visible()
    hint = page.get_by_text("Choose a row to see on the Predict page")
    expect(hint).to_be_visible()
    table = page.get_by_test_id("stDataFrame").filter(visible=True).last
    expect(table).to_be_visible()
    tick_row(table, 2)
    expect(page.get_by_role("heading", name="Predict")).to_be_visible()
    assert "document=" in page.url
    assert "label=" in page.url
    page.go_back()
    expect(page.get_by_role("heading", name="Errors")).to_be_visible()


def test_a_report_downloads_and_opens_offline(page: Page, dashboard: str, runs: dict[str, Run], tmp_path: Path) -> None:
    from playwright.sync_api import expect

    for name in ("errors", "compare"):
        page.goto(f"{dashboard}/{name}?data=fruit.csv&run={runs['one_vs_all'].id}")
        with page.expect_download() as download:
            page.get_by_role("button", name="HTML report").click()
        file = tmp_path / download.value.suggested_filename
        download.value.save_as(file)
        page.goto("about:blank")  # the dashboard may still be asking for a font, which is no fault of the report
        page.context.set_offline(True)
        page.goto(file.as_uri())
        expect(page.get_by_role("heading", level=1)).to_contain_text("xcwork report")
        expect(page.locator(".js-plotly-plot").first).to_be_visible()
        assert page.evaluate("window.hit") is None
        page.context.set_offline(False)


def test_tables_export_as_markdown_and_latex(page: Page, dashboard: str, runs: dict[str, Run], tmp_path: Path) -> None:
    page.goto(f"{dashboard}/compare?data=fruit.csv")
    for label, sign in (("CSV", "run,method"), ("Markdown", "| run |"), ("LaTeX", r"\toprule")):
        with page.expect_download() as download:
            page.get_by_role("button", name=label, exact=True).or_(
                page.get_by_role("button", name=f"download {label}")
            ).first.click()
        file = tmp_path / download.value.suggested_filename
        download.value.save_as(file)
        assert sign in file.read_text()


def test_hostile_labels_stay_text(page: Page, dashboard: str, runs: dict[str, Run]) -> None:
    from playwright.sync_api import expect

    hostile = f"data=fruit.csv&run={runs['one_vs_all'].id}&label={quote('<script>hit()')}"
    for name in ("errors?section=label&", "errors?section=hints&", "label_map?", "predict?"):
        page.goto(f"{dashboard}/{name}{hostile}")
        expect(page.get_by_text("hit()").filter(visible=True).first).to_be_visible()
        expect(page.get_by_test_id("stPlotlyChart").first).to_be_visible()
        assert page.evaluate("window.hit") is None
