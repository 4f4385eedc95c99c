"""Address and view follow each other: Back and Forward, reload, and a link opened by somebody else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from tests.support.dashboard import tick_row
from xcwork.runs import Run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page


def address(page: Page) -> dict[str, str]:
    """What the address names."""
    return {name: values[-1] for name, values in parse_qs(urlsplit(page.url).query, keep_blank_values=True).items()}


def wait_for(page: Page, **named: str) -> None:
    """Wait until the address names these."""
    page.wait_for_url(lambda url: named.items() <= {k: v[-1] for k, v in parse_qs(urlsplit(url).query).items()}.items())


def chosen(page: Page, name: str) -> Locator:
    """The button of a segmented control, while it is the chosen one."""
    return page.get_by_role("radio", name=name, exact=True).and_(page.locator("[aria-checked=true]"))


def press(page: Page, name: str) -> None:
    page.get_by_role("radio", name=name, exact=True).click()


def box(page: Page, label: str) -> Locator:
    """The input of a select box."""
    return page.get_by_role("combobox", name=re.compile(rf"(^|\W){label}$|\. {label}\W*$|^{label}\b"))


def select(page: Page, label: str, option: str) -> None:
    box(page, label).click()
    page.get_by_role("option", name=re.compile(re.escape(option))).click()


def other_run(page: Page) -> Locator:
    """The select box of the run whose documents are compared with those of the reference."""
    return page.get_by_test_id("stSelectbox").filter(has_text=re.compile("^Run")).last


def test_back_and_forward_follow_every_choice(page: Page, dashboard: str, runs: dict[str, Run]) -> None:
    from playwright.sync_api import expect

    page.goto(f"{dashboard}/errors?data=fruit.csv&run={runs['popularity'].id}&k=1")
    expect(chosen(page, "Documents")).to_be_visible()
    press(page, "Missed labels")
    wait_for(page, section="missed")
    press(page, "Label hints")
    wait_for(page, section="hints")
    page.go_back()
    expect(chosen(page, "Missed labels")).to_be_visible()
    expect(page.get_by_text("Choose a row to see on the Predict page")).to_be_visible()
    assert address(page)["section"] == "missed"
    page.go_back()
    expect(chosen(page, "Documents")).to_be_visible()
    assert "section" not in address(page)
    page.go_forward()
    expect(chosen(page, "Missed labels")).to_be_visible()
    page.go_forward()
    expect(chosen(page, "Label hints")).to_be_visible()


def test_back_and_forward_follow_the_run_and_searches(page: Page, dashboard: str, runs: dict[str, Run]) -> None:
    from playwright.sync_api import expect

    first, second = runs["popularity"], runs["tfidf"]
    page.goto(f"{dashboard}/errors?data=fruit.csv&run={first.id}&errors.documents.search=plum")
    search = page.get_by_role("textbox", name="Search")
    expect(search).to_have_value("plum")
    expect(page.get_by_text("Which labels popularity")).to_be_visible()
    select(page, "Run", "tfidf")
    expect(page.get_by_text("Which labels tfidf")).to_be_visible()
    wait_for(page, run=second.id)
    search.fill("pear")
    search.press("Enter")
    wait_for(page, **{"errors.documents.search": "pear"})
    page.go_back()
    expect(search).to_have_value("plum")
    expect(page.get_by_text("Which labels tfidf")).to_be_visible()
    page.go_back()
    expect(page.get_by_text("Which labels popularity")).to_be_visible()
    page.go_forward()
    page.go_forward()
    expect(search).to_have_value("pear")
    expect(page.get_by_text("Which labels tfidf")).to_be_visible()


def test_back_and_forward_lead_across_pages(page: Page, dashboard: str, runs: dict[str, Run]) -> None:
    from playwright.sync_api import expect

    page.goto(f"{dashboard}/errors?data=fruit.csv&run={runs['popularity'].id}&k=1")
    expect(chosen(page, "Documents")).to_be_visible()
    press(page, "Missed labels")
    wait_for(page, section="missed")
    page.get_by_role("link", name="Compare", exact=True).click()
    expect(page.get_by_role("heading", name="Compare")).to_be_visible()
    expect(chosen(page, "Differences")).to_be_visible()
    press(page, "Curves")
    wait_for(page, section="curves")
    page.get_by_role("link", name="Errors", exact=True).click()
    expect(chosen(page, "Missed labels")).to_be_visible()
    page.go_back()
    expect(chosen(page, "Curves")).to_be_visible()
    page.go_back()
    expect(chosen(page, "Differences")).to_be_visible()
    page.go_back()
    expect(chosen(page, "Missed labels")).to_be_visible()
    expect(page.get_by_role("heading", name="Errors")).to_be_visible()
    for _ in range(3):
        page.go_forward()
    expect(chosen(page, "Missed labels")).to_be_visible()
    assert urlsplit(page.url).path == "/errors"


def test_back_from_a_document_returns_to_the_list_it_was_chosen_in(
    page: Page, dashboard: str, runs: dict[str, Run]
) -> None:
    from playwright.sync_api import expect

    page.goto(f"{dashboard}/errors?data=fruit.csv&run={runs['popularity'].id}&k=1&section=missed")
    search = page.get_by_role("textbox", name="Search")
    search.fill("plum")
    search.press("Enter")
    wait_for(page, **{"errors.missed.search": "plum"})
    # Exact, because the sentence begins with the number of rows as long as the list is not yet filtered.
    sentence = "Choose a row to see on the Predict page the evidence for the missed label."
    hint = page.get_by_text(sentence, exact=True)
    expect(hint).to_be_visible()
    tick_row(page.get_by_test_id("stDataFrame").filter(visible=True).last, 1)
    expect(page.get_by_role("heading", name="Predict")).to_be_visible()
    wait_for(page, label="plum")
    opened = address(page)
    page.go_back()
    expect(hint).to_be_visible()
    expect(search).to_have_value("plum")
    wait_for(page, section="missed", **{"errors.missed.search": "plum"})
    assert "label" not in address(page)
    page.go_forward()
    expect(page.get_by_role("heading", name="Predict")).to_be_visible()
    expect(page.get_by_role("spinbutton", name=re.compile("Number"))).to_have_value(opened.get("document", "0"))
    assert address(page) == opened


def test_the_address_names_the_run_that_is_shown_by_default(page: Page, dashboard: str, runs: dict[str, Run]) -> None:
    from playwright.sync_api import expect

    page.goto(f"{dashboard}/predict?data=fruit.csv")
    expect(page.get_by_role("heading", name="Predict")).to_be_visible()
    page.wait_for_url(re.compile("run="))
    shown = next(run for run in runs.values() if run.id == address(page)["run"])
    expect(page.get_by_text(f"What {shown.name} suggests")).to_be_visible()
    page.reload()
    expect(page.get_by_text(f"What {shown.name} suggests")).to_be_visible()
    assert address(page)["run"] == shown.id


def test_a_link_to_documents_fixed_and_broken_opens_them(
    page: Page, browser: Browser, dashboard: str, runs: dict[str, Run]
) -> None:
    from playwright.sync_api import expect

    page.goto(f"{dashboard}/compare?data=fruit.csv")
    expect(chosen(page, "Differences")).to_be_visible()
    press(page, "Documents fixed and broken")
    wait_for(page, section="changes")
    select(page, "Reference", "popularity")
    wait_for(page, reference=runs["popularity"].id)
    other_run(page).get_by_role("combobox").click()
    page.get_by_role("option", name=re.compile("one_vs_all")).click()
    wait_for(page, against=runs["one_vs_all"].id)
    page.get_by_role("button", name="mixed").click()
    wait_for(page, **{"compare.states": "fixed,broken,mixed"})
    sentence = page.get_by_text("Against popularity")
    expect(sentence).to_be_visible()
    shown, link = sentence.inner_text(), page.url
    assert set(address(page)["runs"].split(",")) == {run.id for run in runs.values()}
    page.reload()
    expect(page.get_by_text(shown)).to_be_visible()
    assert page.url == link
    somebody_else = browser.new_context()
    other = somebody_else.new_page()
    other.goto(link)
    expect(other.get_by_text(shown)).to_be_visible()
    expect(other_run(other).get_by_role("combobox")).to_have_value(re.compile("one_vs_all"))
    assert other.url == link
    somebody_else.close()


def test_quick_choices_are_not_undone_by_an_address_that_is_still_on_its_way(
    page: Page, dashboard: str, runs: dict[str, Run]
) -> None:
    from playwright.sync_api import expect

    page.goto(f"{dashboard}/errors?data=fruit.csv&run={runs['popularity'].id}&k=3")
    length = page.get_by_role("spinbutton", name="First k labels")
    expect(length).to_have_value("3")
    more = page.get_by_test_id("stNumberInputStepUp").first
    for _ in range(4):
        more.click(no_wait_after=True)
    wait_for(page, k="7")
    expect(length).to_have_value("7")
