"""People at work, from one end to the other: a librarian with a file, a student who compares, a teacher.

Papers, which the student opens last, is in `test_papers.py`; the engineer and the sceptic have modules of their own.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.support.browser_pages import SMALL, eventually, expect_no_scrolling, get_box, open_menu, settle
from tests.support.dashboard import dashboard_over
from tests.support.orchard import WORDS, write_orchard
from tests.support.readable_text import MIN_PIXELS, list_faint, list_small, read_texts
from tests.support.waiting import until
from xcwork.runs import Run, RunStore, worker

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

N_QUESTIONS = 400
N_TEXTS = 200
ORCHARD = "taught"
MARK_COLOUR = "mark => getComputedStyle(mark).borderTopColor"


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


def choose(dialog: Locator, name: str, option: str) -> None:
    """Choose in a select box of a dialog."""
    from playwright.sync_api import expect

    box = dialog.get_by_role("combobox", name=name, exact=True)
    box.click()
    dialog.page.get_by_role("option", name=option, exact=True).click()
    expect(box).to_have_value(option)
    settle(dialog.page)


def read_share(page: Page) -> tuple[int, float]:
    """Return how many labels are assigned without asking, and the share of them that is right."""
    card = page.locator(".st-key-decisions_assign")
    n = int(card.locator(".figure").inner_text().split()[0].replace(",", ""))
    right = re.search(r"(\d+) % right", card.inner_text())
    return n, float(right.group(1)) if right else 100.0


def test_a_librarian_brings_a_file_and_decides_what_needs_no_person(
    page: Page, library_address: str, library: Path, tmp_path: Path
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
    between = dialog.get_by_role("combobox", name="Between two labels stands")
    expect(between).to_have_value(re.compile("a space"))
    expect(dialog.get_by_text("pyseealso")).to_have_count(0)
    documents, figures = dialog.locator(".data-preview .documents > div"), dialog.locator(".data-sum")
    expect(documents).to_have_count(3)
    expect(documents.first.locator("i")).to_have_count(2)
    expect(figures).to_contain_text(f"Labels {len(WORDS)}", use_inner_text=True)

    # The wrong column for labels, and back.
    choose(dialog, "Labels", "title")
    doubt = dialog.get_by_text("Nearly every label occurs once. Is this the labels column?")
    expect(doubt).to_be_visible()
    expect(figures).not_to_contain_text(f"Labels {len(WORDS)} ", use_inner_text=True)
    choose(dialog, "Labels", "tags")
    expect(doubt).to_have_count(0)
    expect(between).to_have_value(re.compile("a space"))
    expect(figures).to_contain_text(f"Labels {len(WORDS)}", use_inner_text=True)
    expect(documents.first.locator("i")).to_have_count(2)
    dialog.get_by_role("button", name="Add dataset").click()
    expect(page.get_by_role("heading", name="questions.csv")).to_be_visible()
    page.get_by_role("button", name="Train on it").click()

    expect(page.get_by_role("heading", name="Train", level=1)).to_be_visible()
    settle(page)
    page.get_by_role("option", name=re.compile("ZestXML")).click()
    page.wait_for_url(re.compile("method=zestxml"))
    settle(page)
    page.get_by_role("button", name="Train", exact=True).first.click()
    card = page.locator(".st-key-train_run")
    expect(card).to_contain_text(re.compile(r"waiting for a worker|so far|left|P@5, at most"))
    expect(card).to_contain_text("P@5, at most")
    expect(page.locator(".st-key-train_next").get_by_role("button")).to_have_count(3)
    (run,) = RunStore(library).list()
    page.get_by_role("button", name="See predictions").first.click()

    expect(page.get_by_role("heading", name="Predict", level=1)).to_be_visible()
    page.get_by_text("My text", exact=True).click()
    page.get_by_role("textbox", name="Your text").fill("how to bake a plum")
    labels = page.get_by_role("listbox", name="Labels")
    expect(labels.get_by_role("option").first).to_contain_text("plum")
    expect(labels.get_by_role("option").first).to_contain_text("%")
    expect(labels).to_contain_text(re.compile("Assign|Suggest"))
    settle(page)
    labels.get_by_role("option").first.click()
    expect(page.get_by_role("heading", name="Why plum?")).to_be_visible()
    expect(page.locator(".st-key-predict_text mark", has_text="plum").first).to_be_visible()

    settle(page)
    page.get_by_text("A file of texts", exact=True).click()
    texts = [f"how to bake a {WORDS[at % len(WORDS)]} number{at}" for at in range(N_TEXTS)]
    content = "\n".join(["text", *texts]) + "\n"
    page.locator("input[type=file]").set_input_files(
        {"name": "more.csv", "mimeType": "text/csv", "buffer": content.encode()}
    )
    page.get_by_role("button", name="Predict all").click()
    made = page.locator(".st-key-predict_file")
    button = made.get_by_test_id("stDownloadButton").get_by_role("button").first
    expect(button).to_be_visible()
    expect(made.get_by_test_id("stDataFrame").first).to_be_visible()
    settle(page)
    with page.expect_download() as download:
        button.click()
    download.value.save_as(tmp_path / "labels.csv")
    with (tmp_path / "labels.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert {"text", "label", "percent", "decision", "rank"} <= set(rows[0])
    assert {row["text"] for row in rows} == set(texts)

    page.get_by_test_id("stSidebar").get_by_role("link", name="Decisions", exact=True).click()
    expect(page.locator(".st-key-decisions_assign .figure")).to_contain_text("label")
    settle(page)
    n_before, right_before = read_share(page)
    page.get_by_role("slider").nth(1).focus()
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    expect(page.get_by_text("assign from 90 %")).to_be_visible()
    page.wait_for_url("**assign=90*")
    settle(page)
    n_after, right_after = read_share(page)
    assert n_after <= n_before
    assert n_after == 0 or right_after >= right_before
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
    row = page.get_by_role("listbox", name="Runs").get_by_role("option").filter(has_text=run.name)
    expect(row).to_be_visible()
    expect(page.locator(".st-key-home_hero")).to_contain_text("kitchen.csv")
    colour = row.locator(".mark").evaluate(MARK_COLOUR)
    open_menu(page, run.name, "Delete")
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_role("button", name="Put back")).to_be_visible()
    until(lambda: RunStore(library).list() == [], "the run to be gone")
    page.get_by_test_id("stSidebar").get_by_role("link", name="Train", exact=True).click()
    mark = page.locator(".st-key-train_name [data-mark]")
    expect(mark).to_be_visible()
    eventually(lambda: check_colour(mark, colour))


def check_colour(mark: Locator, colour: str) -> None:
    assert mark.evaluate(MARK_COLOUR) == colour, "the colour of the deleted run is free again"


def test_a_student_follows_a_document_from_a_comparison_and_shares_the_view(
    page: Page, other_page: Page, dashboard: str, runs: dict[str, Run], tmp_path: Path
) -> None:
    from playwright.sync_api import expect

    page.set_viewport_size(SMALL)
    page.goto(f"{dashboard}/?data=fruit.csv")
    at_home = page.get_by_role("listbox", name="Runs").get_by_role("option")
    expect(at_home.first).to_be_visible()
    settle(page)
    colours = read_colours(page)
    page.get_by_test_id("stSidebar").get_by_role("link", name="Compare", exact=True).click()
    names = page.get_by_role("listbox", name="Runs")
    heads = page.get_by_role("button", name=re.compile("P@5"))
    expect(heads.filter(has_text="max").first).to_be_visible()
    settle(page)
    assert read_colours(page).items() >= colours.items()

    page.goto(f"{dashboard}/compare?data=fruit.csv&k=1&reference={runs['popularity'].id}")
    expect(page.get_by_text(re.compile(r"P@1 [+−]\d+\.\d, between [+−]\d+\.\d and [+−]\d+\.\d"))).to_be_visible()
    settle(page)
    page.get_by_role("radio", name="By frequency", exact=True).click()
    page.wait_for_url(re.compile("section="))
    expect(page.locator(".st-key-compare-chart")).to_be_visible()
    settle(page)
    page.get_by_role("button", name=re.compile("Documents: worse")).click()
    page.wait_for_url(re.compile("change=worse"))
    documents = page.get_by_role("listbox", name="Documents").get_by_role("option")
    expect(documents.nth(1)).to_contain_text("worse")
    settle(page)
    name = documents.nth(1).locator(".name").inner_text()
    documents.nth(1).click()
    expect(page.get_by_role("heading", name="Predict", level=1)).to_be_visible()
    expect(page.locator(".predict-ranks")).to_be_visible()  # both lists on common lines
    settle(page)
    page.locator(".st-key-page_header").get_by_role("button", name="Compare").first.click()
    expect(page.get_by_role("heading", name="Compare", level=1)).to_be_visible()
    page.wait_for_url(re.compile(f"reference={runs['popularity'].id}"))
    row = documents.and_(page.locator("[aria-selected=true]"))
    expect(row).to_have_count(1)
    expect(row).to_contain_text(name)

    settle(page)
    shown = [cell.strip() for cell in names.get_by_role("option").first.locator(".cell").all_inner_texts()]
    page.get_by_role("button", name="CSV, LaTeX, Markdown").first.click()
    with page.expect_download() as download:
        page.locator(".st-key-compare-export-tex button").first.click()
    download.value.save_as(tmp_path / "table.tex")
    latex = (tmp_path / "table.tex").read_text()
    digits = [cell for cell in shown if re.fullmatch(r"\d+\.\d", cell)]
    assert digits
    assert all(cell in latex for cell in digits)
    page.keyboard.press("Escape")
    settle(page)
    other_page.goto(page.url)
    frequency = other_page.get_by_role("radio", name="By frequency", exact=True)
    expect(frequency.and_(other_page.locator("[aria-checked=true]"))).to_be_visible()
    expect(other_page.get_by_role("combobox", name="Reference")).to_have_value(
        page.get_by_role("combobox", name="Reference").input_value()
    )
    linked = other_page.get_by_role("listbox", name="Documents").get_by_role("option")
    expect(linked.and_(other_page.locator("[aria-selected=true]"))).to_contain_text(name)
    there = other_page.get_by_role("listbox", name="Runs").get_by_role("option")
    expect(there).to_have_count(names.get_by_role("option").count())


def read_colours(page: Page) -> dict[str, str]:
    """Return the colours of the runs of a list, by their ids."""
    rows = page.get_by_role("listbox", name="Runs").get_by_role("option")
    return {row.get_attribute("data-row") or "": row.locator(".mark").first.evaluate(MARK_COLOUR) for row in rows.all()}


@pytest.fixture(scope="module")
def taught(home: Path) -> Run:
    """A run that learned pairs of words, on documents that sometimes name another label than theirs."""
    data = write_orchard(home / "data" / ORCHARD, N_QUESTIONS)
    run = RunStore(home).create("zestxml", None, data, name="taught")
    assert worker.main(run.folder) == 0
    return run


def test_a_teacher_asks_about_a_word_and_a_new_label(page: Page, dashboard: str, taught: Run) -> None:
    from playwright.sync_api import expect

    page.set_viewport_size(SMALL)
    link = f"{dashboard}/predict?data={ORCHARD}&run={taught.id}&document=2"
    page.goto(link)
    heading = page.get_by_role("heading", name=re.compile("^Why "))
    expect(heading).to_be_visible()
    settle(page)
    expect_no_scrolling(page)
    eventually(lambda: check_type(page, MIN_PIXELS))
    page.goto(f"{link}&lecture=1")
    expect(page.locator("html")).to_have_css("font-size", "18px")
    expect(heading).to_be_visible()
    settle(page)
    expect_no_scrolling(page, down=False)
    eventually(lambda: check_type(page, 1.2 * MIN_PIXELS))

    page.goto(link)
    expect(heading).to_be_visible()
    settle(page)
    width = get_box(page.get_by_test_id("stMainBlockContainer"))["width"]
    page.get_by_role("button", name="Lesson for this page").click()
    drawer = page.get_by_role("dialog")
    formula = drawer.locator(".katex-html").first
    expect(formula).to_be_visible()
    eventually(lambda: check_inside(formula, drawer))
    assert get_box(page.get_by_test_id("stMainBlockContainer"))["width"] == width
    drawer.get_by_text("its rank, because the words of the document are known").click()
    expect(drawer.get_by_text("Not quite. A pair needs both terms.")).to_be_visible()
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()

    marks = page.locator(".st-key-predict_text mark")
    expect(marks.first).to_be_visible()
    settle(page)
    families = page.get_by_role("group", name="Families of reasons").get_by_role("button")
    lit = {}
    for family in ("Words in common", "Learned pairs"):
        row = families.filter(has_text=family)
        row.click()
        page.wait_for_url(re.compile("family="))
        expect(row).to_have_attribute("aria-pressed", "true")
        settle(page)
        lit[family] = marks.evaluate_all("all => all.map(e => e.textContent + ' ' + e.className)")
    assert lit["Words in common"] != lit["Learned pairs"]
    word = page.get_by_role("group", name="Learned pairs").get_by_role("button").first
    value = read_value(word.locator(".value").inner_text())
    word.click()
    page.wait_for_url(re.compile("word="))
    expect(word).to_have_attribute("aria-expanded", "true")
    pairs = page.get_by_role("group", name="Learned pairs").locator(".pair .value")
    expect(pairs.first).to_be_visible()
    assert sum(map(read_value, pairs.all_inner_texts())) == pytest.approx(value, abs=1e-6)

    settle(page)
    page.get_by_test_id("stButtonGroup").get_by_text("New label", exact=True).click()
    page.get_by_role("textbox", name=re.compile("label")).first.fill("a plum from a tree")
    page.keyboard.press("Enter")
    card = page.locator(".st-key-predict_card")
    expect(card).to_contain_text(re.compile(r"a plum from a tree comes \d+(st|nd|rd|th)"))
    expect(card).to_contain_text("%")
    expect(card).not_to_contain_text("Memorised")
    expect_no_scrolling(page)

    page.emulate_media(color_scheme="dark")
    page.goto(f"{dashboard}/label_map?data={ORCHARD}&run={taught.id}&label=plum")
    drawer = page.locator(".st-key-map_drawer")
    expect(drawer).to_contain_text("plum")
    settle(page)
    around = get_box(drawer)
    assert around["x"] > get_box(page.locator(".st-key-label_map .xc-map").first)["x"] + 500
    assert around["y"] + around["height"] <= SMALL["height"]
    eventually(lambda: check_contrast(page))


def read_value(shown: str) -> float:
    return float(shown.replace("−", "-").replace(",", ""))


def check_inside(inner: Locator, outer: Locator) -> None:
    inside, around = get_box(inner), get_box(outer)
    assert around["x"] <= inside["x"]
    assert inside["x"] + inside["width"] <= around["x"] + around["width"], "it is cut"


def check_type(page: Page, pixels: float) -> None:
    assert list_small(read_texts(page), pixels) == []


def check_contrast(page: Page) -> None:
    assert list_faint(read_texts(page)) == []
