"""Damaged and hostile input: a sentence on the page, text as text, exports without formulas, everything else there."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.browser_pages import settle

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

CUT = gzip.compress(b"text,labels\n" + b"some words,a\n" * 5000)[:60]
FAST = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
SLOW = FAST | {"uploadThroughput": 20_000}  # bytes a second: minutes for the large file
HALFWAY_MS = 500


def test_a_damaged_upload_is_a_sentence(page: Page, dashboard: str, home: Path) -> None:
    from playwright.sync_api import expect

    page.goto(f"{dashboard}/data?data=fruit.csv")
    page.get_by_role("button", name="Add a dataset").click()
    page.locator("input[type=file]").set_input_files({"name": "cut.csv.gz", "mimeType": "text/csv", "buffer": CUT})
    expect(page.get_by_text("cut off or damaged")).to_be_visible()
    expect(page.get_by_role("button", name="Add dataset")).to_be_disabled()
    assert "cut.csv.gz" not in {path.name for path in (home / "data").iterdir()}


def test_hostile_labels_stay_text(page: Page, dashboard: str, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    page.goto(f"{dashboard}/data?data=fruit.csv&data.view=Documents")
    search = page.get_by_label("Search in texts and labels")
    search.fill("cmd()")
    search.press("Enter")
    expect(page.get_by_text(re.compile(r"Documents 1 to (\d) of \1;"))).to_be_visible()
    settle(page)
    assert page.evaluate("window.hit") is None
    with page.expect_download() as download:
        page.get_by_role("button", name=re.compile(r"\bCSV$")).last.click()
    target = tmp_path / "documents.csv"
    download.value.save_as(target)
    rows = target.read_text().splitlines()
    assert len(rows) > 1
    assert all(row.endswith("'=cmd()") for row in rows[1:])
    search.fill("nothing <img src=x onerror=hit()>")
    search.press("Enter")
    expect(page.get_by_text("No document contains")).to_be_visible()


def test_an_interrupted_upload_leaves_nothing_behind(context: BrowserContext, dashboard: str, home: Path) -> None:
    """The tab is closed halfway; a new one finds the old datasets, and the same upload works from the beginning."""
    from playwright.sync_api import expect

    def datasets() -> set[str]:
        return {path.name for path in (home / "data").iterdir() if not path.name.startswith(".")}

    def choose(page: Page, n_rows: int) -> None:
        page.goto(f"{dashboard}/data?data=fruit.csv")
        expect(page.get_by_role("heading", name="fruit.csv")).to_be_visible()
        page.get_by_role("button", name="Add a dataset").click()
        page.locator("input[type=file]").wait_for(state="attached")
        context.new_cdp_session(page).send("Network.emulateNetworkConditions", SLOW if n_rows > 1000 else FAST)
        rows = [f"the {bird} sings {i},{bird}" for i in range(n_rows // 2) for bird in ("robin", "wren")]
        table = "\n".join(["text,labels", *rows]).encode()
        with page.expect_request(lambda request: "upload_file" in request.url):
            page.locator("input[type=file]").set_input_files(
                {"name": "birds.csv", "mimeType": "text/csv", "buffer": table}
            )

    before, page, finished = datasets(), context.new_page(), []
    page.on("requestfinished", lambda request: finished.append("upload_file" in request.url))
    choose(page, 100_000)
    page.wait_for_timeout(HALFWAY_MS)
    page.close()
    assert not any(finished)
    assert datasets() == before
    page = context.new_page()
    choose(page, 40)
    page.get_by_role("button", name="Add dataset").click()
    expect(page.get_by_role("heading", name="birds.csv")).to_be_visible()
    assert datasets() == before | {"birds.csv"}
