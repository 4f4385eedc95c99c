"""Address and view follow each other: Back and Forward, reload, and a link opened by somebody else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from tests.support.browser_pages import settle
from xcwork.runs import Run

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page


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
    settle(page)
    page.get_by_role("radio", name=name, exact=True).click()


def box(page: Page, label: str) -> Locator:
    """The input of a select box."""
    return page.get_by_role("combobox", name=re.compile(rf"(^|\W){label}$|\. {label}\W*$|^{label}\b"))


def select(page: Page, label: str, option: str) -> None:
    settle(page)
    box(page, label).click()
    page.get_by_role("option", name=re.compile(re.escape(option))).click()


def test_back_and_forward_follow_every_choice(page: Page, dashboard: str, runs: dict[str, Run]) -> None:
    from playwright.sync_api import expect

    page.goto(f"{dashboard}/errors?data=fruit.csv&run={runs['popularity'].id}&k=1")
    expect(chosen(page, "Labels")).to_be_visible()
    press(page, "Documents")
    wait_for(page, section="documents")
    press(page, "Suspicious")
    wait_for(page, section="suspicious")
    page.go_back()
    expect(chosen(page, "Documents")).to_be_visible()
    expect(page.get_by_role("listbox", name="Documents").first).to_be_visible()
    wait_for(page, section="documents")
    page.go_back()
    expect(chosen(page, "Labels")).to_be_visible()
    page.wait_for_url(lambda url: "section" not in url)
    page.go_forward()
    expect(chosen(page, "Documents")).to_be_visible()
    page.go_forward()
    expect(chosen(page, "Suspicious")).to_be_visible()


def test_back_and_forward_follow_the_run_and_the_list_length(page: Page, dashboard: str, runs: dict[str, Run]) -> None:
    from playwright.sync_api import expect

    first, second = runs["popularity"], runs["tfidf"]
    page.goto(f"{dashboard}/errors?data=fruit.csv&run={first.id}&errors.search=plum")
    expect(page.get_by_role("textbox", name="Find")).to_have_value("plum")
    expect(box(page, "Run")).to_have_value(first.name)
    select(page, "Run", "tfidf")
    expect(box(page, "Run")).to_have_value(second.name)
    wait_for(page, run=second.id)
    press(page, "1")
    wait_for(page, k="1")
    page.go_back()
    expect(chosen(page, "5")).to_be_visible()
    expect(box(page, "Run")).to_have_value(second.name)
    page.go_back()
    expect(box(page, "Run")).to_have_value(first.name)
    page.go_forward()
    page.go_forward()
    expect(chosen(page, "1")).to_be_visible()
    expect(box(page, "Run")).to_have_value(second.name)


def test_back_and_forward_lead_across_pages(page: Page, dashboard: str, runs: dict[str, Run]) -> None:
    from playwright.sync_api import expect

    page.goto(f"{dashboard}/errors?data=fruit.csv&run={runs['popularity'].id}&k=1")
    expect(chosen(page, "Labels")).to_be_visible()
    press(page, "Documents")
    wait_for(page, section="documents")
    page.get_by_role("link", name="Compare", exact=True).click()
    expect(page.get_by_role("heading", name="Compare")).to_be_visible()
    expect(chosen(page, "Quality and time")).to_be_visible()
    press(page, "Curves")
    wait_for(page, section="curves")
    page.get_by_role("link", name="Errors", exact=True).click()
    expect(chosen(page, "Documents")).to_be_visible()
    page.go_back()
    expect(chosen(page, "Curves")).to_be_visible()
    page.go_back()
    expect(chosen(page, "Quality and time")).to_be_visible()
    page.go_back()
    expect(chosen(page, "Documents")).to_be_visible()
    expect(page.get_by_role("heading", name="Errors")).to_be_visible()
    for _ in range(3):
        page.go_forward()
    page.wait_for_url(lambda url: urlsplit(url).path == "/errors")
    expect(chosen(page, "Documents")).to_be_visible()


def test_back_and_forward_follow_widgets_that_are_bound_to_the_address(page: Page, dashboard: str) -> None:
    from playwright.sync_api import expect

    page.goto(f"{dashboard}/labs?data=fruit.csv&section=rank")
    units = page.get_by_role("slider", name="Units of the layer")
    expect(units).to_have_value("2")
    page.wait_for_function("window.xcworkWatchesHistory")
    settle(page)
    before = page.evaluate("history.length")
    units.press("ArrowRight")
    wait_for(page, **{"labs.units": "3"})
    sentence = page.locator(".st-key-lab_sentence")
    expect(sentence).to_contain_text("3 units with a bias")
    settle(page)
    page.get_by_text("With a bias", exact=True).click()
    wait_for(page, **{"labs.units": "3", "labs.bias": "false"})
    expect(sentence).to_contain_text("3 units without a bias")
    page.wait_for_function("steps => history.length === steps", arg=before + 2)  # one step for each choice
    page.get_by_role("link", name="Train", exact=True).click()
    expect(page.get_by_role("heading", name="Train")).to_be_visible()
    page.wait_for_url(lambda url: "labs." not in url)
    settle(page)
    page.get_by_role("link", name="Labs", exact=True).click()
    expect(units).to_have_value("3")
    wait_for(page, **{"labs.units": "3", "labs.bias": "false"})
    page.wait_for_function("steps => history.length === steps", arg=before + 4)
    page.go_back()
    expect(page.get_by_role("heading", name="Train")).to_be_visible()
    page.go_back()
    expect(units).to_have_value("3")
    page.go_back()
    expect(page.get_by_role("switch", name="With a bias")).to_be_checked()
    page.go_back()
    expect(units).to_have_value("2")
    page.wait_for_url(lambda url: "labs." not in url)  # what is usual needs no place in the address
    page.go_forward()
    expect(units).to_have_value("3")


def test_back_from_a_document_returns_to_the_list_it_was_chosen_in(
    page: Page, dashboard: str, runs: dict[str, Run]
) -> None:
    from playwright.sync_api import expect

    page.goto(f"{dashboard}/errors?data=fruit.csv&run={runs['popularity'].id}&k=1&outcome=outranked")
    rows = page.get_by_role("listbox", name="Labels").get_by_role("option")
    expect(rows.first).to_be_visible()
    settle(page)
    rows.filter(has_text="plum").or_(rows.filter(has_text="pear")).first.click()
    wait_for(page, outcome="outranked")
    page.wait_for_url(re.compile("label="))
    settle(page)
    listed = address(page)
    page.get_by_role("button", name="Why not?").first.click()
    expect(page.get_by_role("heading", name="Predict", level=1)).to_be_visible()
    wait_for(page, label=listed["label"])
    settle(page)
    opened = address(page)
    page.go_back()
    expect(rows.first).to_be_visible()
    wait_for(page, **listed)
    page.go_forward()
    expect(page.get_by_role("heading", name="Predict", level=1)).to_be_visible()
    wait_for(page, **opened)


def test_the_address_names_the_run_that_is_shown_by_default(page: Page, dashboard: str, runs: dict[str, Run]) -> None:
    from playwright.sync_api import expect

    page.goto(f"{dashboard}/predict?data=fruit.csv")
    expect(page.get_by_role("heading", name="Predict")).to_be_visible()
    page.wait_for_url(re.compile("run="))
    shown = next(run for run in runs.values() if run.id == address(page)["run"])
    expect(box(page, "Run")).to_have_value(shown.name)
    page.reload()
    expect(box(page, "Run")).to_have_value(shown.name)
    wait_for(page, run=shown.id)


def test_a_link_to_better_and_worse_documents_opens_them(
    page: Page, other_page: Page, dashboard: str, runs: dict[str, Run]
) -> None:
    from playwright.sync_api import expect

    page.goto(f"{dashboard}/compare?data=fruit.csv&k=1")
    expect(chosen(page, "Quality and time")).to_be_visible()
    press(page, "Curves")
    wait_for(page, section="curves")
    select(page, "Reference", "popularity")
    wait_for(page, reference=runs["popularity"].id)
    settle(page)
    page.get_by_role("listbox", name="Runs").get_by_role("option").filter(has_text="one_vs_all").first.click()
    wait_for(page, against=runs["one_vs_all"].id)
    settle(page)
    page.locator(".st-key-compare_change_worse button").first.click()
    wait_for(page, change="worse")
    counts = page.locator(".compare-counts").first
    expect(counts).to_be_visible()
    settle(page)
    shown, link = counts.inner_text(), page.url
    assert set(address(page)["runs"].split(",")) == {run.id for run in runs.values()}
    page.reload()
    expect(page.locator(".compare-counts").first).to_have_text(shown.replace("\n", ""))
    page.wait_for_url(link)
    other_page.goto(link)
    expect(other_page.locator(".compare-counts").first).to_have_text(shown.replace("\n", ""))
    expect(box(other_page, "Against")).to_have_value(re.compile("one_vs_all"))
    other_page.wait_for_url(link)


def test_quick_choices_are_not_undone_by_an_address_that_is_still_on_its_way(
    page: Page, dashboard: str, runs: dict[str, Run]
) -> None:
    from playwright.sync_api import expect

    page.goto(f"{dashboard}/errors?data=fruit.csv&run={runs['popularity'].id}&k=3")
    expect(chosen(page, "3")).to_be_visible()
    for length in ("5", "10", "1", "10"):
        page.get_by_role("radio", name=length, exact=True).click(no_wait_after=True)
    wait_for(page, k="10")
    expect(chosen(page, "10")).to_be_visible()
