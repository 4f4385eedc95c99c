"""Damaged and hostile input: a sentence on the page, text as text, exports without formulas, everything else there."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

CUT = gzip.compress(b"text,labels\n" + b"some words,a\n" * 5000)[:60]


def test_a_damaged_upload_is_a_sentence(page: Page, dashboard: str, home: Path) -> None:
    from playwright.sync_api import expect

    page.goto(f"{dashboard}/data?data=fruit.csv")
    page.get_by_role("button", name="Upload", exact=True).or_(page.get_by_role("radio", name="Upload")).first.click()
    page.locator("input[type=file]").set_input_files({"name": "cut.csv.gz", "mimeType": "text/csv", "buffer": CUT})
    expect(page.get_by_text("cut off or damaged")).to_be_visible()
    expect(page.get_by_role("heading", name="fruit.csv")).to_be_visible()
    assert "cut.csv.gz" not in {path.name for path in (home / "data").iterdir()}


def test_hostile_labels_stay_text(page: Page, dashboard: str, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    page.goto(f"{dashboard}/data?data=fruit.csv")
    search = page.get_by_label("Search in texts and labels")
    search.fill("cmd()")
    search.press("Enter")
    expect(page.get_by_text(re.compile(r"Documents 1 to (\d) of \1\."))).to_be_visible()
    assert page.evaluate("window.hit") is None
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").nth(-1).click()
    target = tmp_path / "documents.csv"
    download.value.save_as(target)
    rows = target.read_text().splitlines()
    assert len(rows) > 1
    assert all(row.endswith("'=cmd()") for row in rows[1:])
    search.fill("nothing <img src=x onerror=hit()>")
    search.press("Enter")
    expect(page.get_by_text("No document contains")).to_be_visible()
