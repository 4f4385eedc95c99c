"""Papers in a real browser: cards and filters, a row that opens below itself, the check behind it, and the way back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.support.browser_pages import expect_above, settle
from xcwork.published.claims import count_verdicts, read_claims, select_claims

if TYPE_CHECKING:
    from playwright.sync_api import Page

CLAIMS = read_claims()


def test_a_contradicted_theorem_is_found_opened_and_checked(page: Page, dashboard: str) -> None:
    from playwright.sync_api import expect

    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(f"{dashboard}/papers")
    options = page.get_by_role("listbox", name="Claims").get_by_role("option")
    expect(options).to_have_count(len(CLAIMS))
    n_contradicted = count_verdicts(CLAIMS)["contradicted"]
    settle(page)
    page.get_by_role("radio", name=f"contradicted {n_contradicted}").or_(
        page.get_by_role("button", name=f"contradicted {n_contradicted}", exact=True)
    ).first.click()
    expect(options).to_have_count(n_contradicted)
    settle(page)
    page.locator(".st-key-papers_cards").get_by_role("button", name="Multi-head").first.click()
    expect(options).to_have_count(len(select_claims(CLAIMS, paper="Multi-head", verdict="contradicted")))
    row = options.filter(has_text="theorem 3")
    settle(page)
    row.click()
    expect(row).to_contain_text("xcwork study multihead-theorem-3")
    page.wait_for_url(re.compile("claim=multi-head-theorem-3-1"))
    expect_above(722, page.locator(".st-key-papers_table"))
    settle(page)
    row.get_by_text("xcwork study multihead-theorem-3").click()  # text in the details can be marked: nothing closes
    row.get_by_role("button", name="Run the check").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Does not hold.")
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_have_count(0)
    settle(page)
    row.get_by_role("button", name="Train mhc").click()
    expect(page.get_by_role("heading", name="Train", exact=True)).to_be_visible()
    settle(page)
    page.locator(".st-key-page_header").get_by_role("button", name="Papers").click()
    expect(options.filter(has_text="theorem 3")).to_contain_text("xcwork study multihead-theorem-3")
