"""Nothing that a table of the dashboard gives away is a live formula: neither its own tools nor the clipboard."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.browser_pages import get_box, settle

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

FORMULAS = ('=HYPERLINK("http://evil.example")', "=1+2")
ROW = 35  # pixels: the height of a row of a table


@pytest.fixture(scope="module")
def address(home: Path, dashboard: str) -> str:
    """The dashboard, which has documents with formulas for labels."""
    rows = [(f"number {i} of {at}", label) for i in range(10) for at, label in enumerate(FORMULAS)]
    with (home / "data" / "formulas.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("text", "labels"), *rows])
    return dashboard


def open_documents(page: Page, address: str) -> Locator:
    """The table of documents, with formulas in its last column."""
    from playwright.sync_api import expect

    page.goto(f"{address}/data?data=formulas.csv&data.view=Documents")
    expect(page.get_by_text("the file holds all of them.")).to_be_visible()
    table = page.get_by_test_id("stDataFrame").filter(has=page.get_by_label("documents with their labels")).first
    settle(page)
    table.scroll_into_view_if_needed()
    return table


def test_no_table_offers_a_download_of_its_own_or_a_formula_to_the_clipboard(page: Page, address: str) -> None:
    from playwright.sync_api import expect

    table = open_documents(page, address)
    table.hover()
    tools = page.get_by_test_id("stElementToolbarButton").get_by_role("button")
    expect(tools.and_(page.get_by_label(re.compile("^Search.*documents with their labels")))).to_be_visible()
    expect(tools.and_(page.get_by_label(re.compile("download", re.IGNORECASE)))).to_have_count(0)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate("navigator.clipboard.writeText('untouched')")
    table.click(position={"x": get_box(table)["width"] - 40, "y": ROW * 1.5})
    page.keyboard.press("ControlOrMeta+c")
    assert page.evaluate("navigator.clipboard.readText()") == "untouched"


def test_the_export_below_a_table_holds_no_live_formula(page: Page, address: str, tmp_path: Path) -> None:
    open_documents(page, address)
    with page.expect_download() as download:
        page.get_by_role("button", name=re.compile(r"\bCSV$")).last.click()
    target = tmp_path / "documents.csv"
    download.value.save_as(target)
    cells = [cell for row in csv.reader(io.StringIO(target.read_text("utf-8"), newline="")) for cell in row]
    assert {f"'{formula}" for formula in FORMULAS} <= set(cells)
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
