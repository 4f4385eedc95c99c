"""People at work, from one end to the other: a librarian with a file, a student who compares, a teacher."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.support.browser_pages import SMALL, expect_no_scrolling, open_menu, settle
from tests.support.dashboard import dashboard_over
from tests.support.orchard import WORDS
from tests.support.waiting import until
from xcwork.runs import Run, RunStore

if TYPE_CHECKING:
    from playwright.sync_api import Page

N_QUESTIONS = 400


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("library")


@pytest.fixture(scope="module")
def library_address(library: Path) -> Iterator[str]:
    with dashboard_over(library) as address:
        yield address


def write_questions() -> bytes:
    """Questions with one or two tags, a space between them, some of which the text does not name."""
    rng = np.random.default_rng(0)
    lines = ["title,tags"]
    for at in range(N_QUESTIONS):
        first, second, third = rng.choice(WORDS, 3, replace=False)
        named = third if rng.random() < 0.2 else first
        lines.append(f"how to bake {named} and {second} number{at},{first} {second}")
    return ("\n".join(lines) + "\n").encode()


def test_a_librarian_brings_a_file_and_decides_what_needs_no_person(
    page: Page, library_address: str, library: Path
) -> None:
    from playwright.sync_api import expect

    page.set_viewport_size(SMALL)
    page.goto(library_address)
    expect(page.get_by_role("heading", name="Home", exact=True)).to_be_visible()  # an empty home shows where to begin
    expect(page.get_by_role("button", name="Train BM25, it takes a second")).to_be_visible()
    expect(page.get_by_role("link", name="Data", exact=True)).to_be_visible()
    page.get_by_role("button", name="Load my documents").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    page.locator("input[type=file]").set_input_files(
        {"name": "questions.csv", "mimeType": "text/csv", "buffer": write_questions()}
    )
    expect(dialog.get_by_text("The first documents, as they will be read")).to_be_visible()
    expect(dialog.get_by_role("combobox", name="Between two labels stands")).to_have_value(re.compile("a space"))
    expect(dialog.get_by_text("pyseealso")).to_have_count(0)
    dialog.get_by_role("button", name="Add dataset").click()
    expect(page.get_by_role("heading", name="questions.csv")).to_be_visible()
    page.get_by_role("button", name="Train on it").click()

    expect(page.get_by_role("heading", name="Train", level=1)).to_be_visible()
    settle(page)
    page.get_by_role("option", name=re.compile("One-vs-all")).click()
    page.wait_for_url(re.compile("method=one_vs_all"))
    settle(page)
    page.get_by_role("button", name="Train", exact=True).first.click()
    expect(page.get_by_text("P@5, at most").first).to_be_visible()
    (run,) = RunStore(library).list()
    page.get_by_role("button", name="See predictions").first.click()

    expect(page.get_by_role("heading", name="Predict", level=1)).to_be_visible()
    page.get_by_text("My text", exact=True).click()
    page.get_by_role("textbox", name="Your text").fill("how to bake a plum")
    labels = page.get_by_role("listbox", name="Labels").get_by_role("option")
    expect(labels.first).to_contain_text("plum")
    expect(labels.first).to_contain_text("%")
    settle(page)
    labels.first.click()
    expect(page.get_by_role("heading", name="Why plum?")).to_be_visible()

    page.goto(f"{library_address}/decisions?data=questions.csv&run={run.id}&assign=90")
    settle(page)
    page.get_by_role("button", name="Use these thresholds").click()
    expect(page.get_by_text("Stored with")).to_be_visible()
    page.get_by_role("link", name="Predict", exact=True).click()
    expect(page.get_by_text("assign from 90 %", exact=False).first).to_be_visible()

    page.get_by_role("link", name="Data", exact=True).click()
    open_menu(page, "questions.csv", "Rename")
    page.get_by_label("New name").fill("kitchen")
    page.get_by_role("button", name="Rename", exact=True).click()
    expect(page.get_by_test_id("stSidebar").get_by_role("combobox", name="Dataset")).to_have_value("kitchen.csv")
    page.get_by_role("link", name="Home", exact=True).click()
    open_menu(page, run.name, "Delete")
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_role("button", name="Put back")).to_be_visible()
    until(lambda: RunStore(library).list() == [], "the run to be gone")


def test_a_student_follows_a_document_from_a_comparison_and_shares_the_view(
    page: Page, other_page: Page, dashboard: str, runs: dict[str, Run]
) -> None:
    from playwright.sync_api import expect

    page.set_viewport_size(SMALL)
    page.goto(f"{dashboard}/compare?data=fruit.csv&k=1&reference={runs['popularity'].id}")
    documents = page.get_by_role("listbox", name="Documents").get_by_role("option")
    expect(documents.first).to_be_visible()
    settle(page)
    documents.first.click()
    expect(page.get_by_role("heading", name="Predict", level=1)).to_be_visible()
    expect(page.locator(".predict-ranks")).to_be_visible()  # both lists on common lines
    page.locator(".st-key-page_header").get_by_role("button", name="Compare").first.click()
    expect(page.get_by_role("heading", name="Compare", level=1)).to_be_visible()
    page.wait_for_url(re.compile(f"reference={runs['popularity'].id}"))
    page.get_by_role("radio", name="By frequency", exact=True).click()
    page.wait_for_url(re.compile("section="))
    settle(page)
    other_page.goto(page.url)
    shown = other_page.get_by_role("radio", name="By frequency", exact=True)
    expect(shown.and_(other_page.locator("[aria-checked=true]"))).to_be_visible()
    names = page.get_by_role("listbox", name="Runs").get_by_role("option")
    expect(other_page.get_by_role("listbox", name="Runs").get_by_role("option")).to_have_count(names.count())


def test_a_teacher_asks_about_a_word_and_a_new_label(page: Page, dashboard: str, runs: dict[str, Run]) -> None:
    from playwright.sync_api import expect

    page.set_viewport_size(SMALL)
    page.goto(f"{dashboard}/predict?data=fruit.csv&run={runs['tfidf'].id}&lecture=1")
    expect(page.locator("html")).to_have_css("font-size", "18px")
    expect(page.get_by_role("heading", name=re.compile("^Why "))).to_be_visible()
    marked = page.locator(".st-key-predict_text").get_by_role("button")
    expect(marked.first).to_be_visible()
    settle(page)
    word = marked.first.inner_text().strip()
    marked.first.click()
    page.wait_for_url(re.compile("word="))
    expect(
        page.locator(".st-key-predict_why").get_by_role("button", name=re.compile(re.escape(word))).first
    ).to_be_visible()
    page.get_by_test_id("stButtonGroup").get_by_text("New label", exact=True).click()
    page.get_by_role("textbox", name=re.compile("label")).first.fill("a plum from a tree")
    page.keyboard.press("Enter")
    expect(page.locator(".st-key-predict_card")).to_contain_text("a plum from a tree")
    expect(page.locator(".st-key-predict_card")).not_to_contain_text("Memorised")
    expect_no_scrolling(page, down=False)
