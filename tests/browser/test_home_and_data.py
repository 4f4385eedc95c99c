"""Home and Data in a browser: all of Home in one window, menus, uploads of every kind, renaming and deleting."""

from __future__ import annotations

import io
import json
import random
import re
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from tests.support.browser_pages import SMALL, eventually, expect_above, expect_no_scrolling, open_menu, settle
from tests.support.dashboard import dashboard_over
from tests.support.fruit import write_fruit
from tests.support.waiting import until
from xcwork.runs import Run, RunStore, worker

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

N_RUNS = 15
PETS = [{"title": f"{word} number {i}", "tags": f"{word};pet"} for i in range(12) for word in ("cat", "dog")]
LONG_LABEL = "a label of very many letters " * 10


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    """A home with fifteen finished runs on one dataset."""
    made = RunStore(tmp_path_factory.mktemp("many-runs"))
    data = write_fruit(made.home / "data" / "fruit.csv", (LONG_LABEL,), "long words")
    first = made.create("one_vs_all", None, data, name="run 1")
    assert worker.main(first.folder) == 0
    for number in range(2, N_RUNS + 1):
        copy = made.create("one_vs_all", None, data, name=f"run {number}")
        kept = shutil.ignore_patterns("notes.md", "identity.json")
        shutil.copytree(first.folder, copy.folder, dirs_exist_ok=True, ignore=kept)
    return made


@pytest.fixture(scope="module")
def address(store: RunStore) -> Iterator[str]:
    with dashboard_over(store.home) as served:
        yield served


def open_small(page: Page, address: str) -> None:
    page.set_viewport_size(SMALL)
    page.goto(address)


def open_dialog(page: Page, address: str) -> Locator:
    open_small(page, f"{address}/data?data=fruit.csv&add=file")
    settle(page)
    return page.get_by_role("dialog")


def choose_file(dialog: Locator, name: str, content: bytes) -> None:
    """Choose a file in the dialog, instead of one that was chosen before."""
    from playwright.sync_api import expect

    another = dialog.get_by_role("button", name="Another file")
    upload = dialog.locator("input[type=file]")
    expect(another.or_(upload).first).to_be_attached()
    if another.is_visible():
        another.click()
    upload.set_input_files({"name": name, "mimeType": "application/octet-stream", "buffer": content})
    if content:  # otherwise nothing was taken
        expect(dialog.get_by_test_id("stFileChipName").get_by_text(name)).to_be_visible()
    settle(dialog.page)


def test_home_fits_into_the_window_with_fifteen_runs(page: Page, address: str) -> None:
    from playwright.sync_api import expect

    open_small(page, f"{address}/?data=fruit.csv")
    expect(page.get_by_role("option")).to_have_count(N_RUNS)
    expect(page.get_by_text("Next steps", exact=True)).to_be_visible()
    text = page.get_by_label("Try it")
    text.fill("a plum and a pear")
    text.press("Enter")
    expect(page.locator(".home-chips").get_by_text("plum")).to_be_visible()
    expect_no_scrolling(page)
    buttons = (page.get_by_role("button", name=name) for name in ("Load my documents", "Compare"))
    expect_above(SMALL["height"], *buttons)
    for question in ("What does it predict?", "Where does it fail?", "Which labels can I assign?"):
        expect(page.get_by_role("button", name=question)).to_be_enabled()
    page.goto(f"{address}/?data=fruit.csv&lecture=1")
    expect(page.locator("html")).to_have_css("font-size", "18px")
    expect(page.get_by_role("listbox", name="Runs").get_by_role("option").first).to_be_visible()
    settle(page)
    expect_no_scrolling(page)
    bar = page.get_by_test_id("stSidebar")
    expect_above(SMALL["height"], bar.get_by_text("Lesson for this page", exact=True))


def test_a_run_is_renamed_and_deleted_without_a_reload(page: Page, address: str, store: RunStore) -> None:
    from playwright.sync_api import expect

    open_small(page, f"{address}/?data=fruit.csv")
    expect(page.get_by_role("option")).to_have_count(N_RUNS)
    page.evaluate("window.sameDocument = true")
    open_menu(page, "run 3", "Rename")
    name = page.get_by_label("New name")
    expect(name).to_have_value("run 3")
    name.fill("the third")
    settle(page)
    page.get_by_role("button", name="Rename", exact=True).click()
    expect(page.get_by_role("option", name=re.compile("the third"))).to_be_visible()
    open_menu(page, "the third", "Delete")
    settle(page)
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_role("option")).to_have_count(N_RUNS - 1)
    until(lambda: len(store.list()) == N_RUNS - 1, "the run to be gone")
    settle(page)
    page.get_by_role("button", name="Put back").click()
    expect(page.get_by_role("option")).to_have_count(N_RUNS)
    assert page.evaluate("window.sameDocument"), "the page was not loaded again"


def test_data_fits_into_the_window_with_a_long_label(page: Page, address: str) -> None:
    from playwright.sync_api import expect

    open_small(page, f"{address}/data?data=fruit.csv")
    expect(page.get_by_role("button", name=re.compile("of 7 checks passed"))).to_be_visible()
    expect(page.get_by_role("listbox", name="Most frequent labels").get_by_role("option").first).to_be_visible()
    expect(page.get_by_role("option", name=re.compile("a label of very many"))).to_be_visible()
    expect_no_scrolling(page)
    expect_above(SMALL["height"], page.get_by_role("button", name="Add a dataset"))
    settle(page)
    page.get_by_role("button", name=re.compile("of 7 checks passed")).click()
    expect(page.get_by_text("Languages:")).to_be_visible()
    page.goto(f"{address}/data?data=fruit.csv&lecture=1")
    expect(page.locator("html")).to_have_css("font-size", "18px")
    expect(page.get_by_role("option", name=re.compile("a label of very many"))).to_be_visible()
    settle(page)
    expect_no_scrolling(page)


def write_pets(kind: str) -> bytes:
    """Return the same table in a format of its own."""
    frame = pd.DataFrame(PETS)
    if kind == "sheet.xlsx":
        buffer = io.BytesIO()
        frame.to_excel(buffer, index=False)
        return buffer.getvalue()
    if kind == "records.json":
        return json.dumps(PETS).encode()
    if kind == "latin.csv":
        return frame.assign(title="Grüße an " + frame["title"]).to_csv(index=False).encode("latin-1")
    return frame.assign(tags=frame["tags"].str.replace(";", ",")).to_csv(index=False, sep=";").encode()


def test_tables_of_every_kind_are_previewed(page: Page, address: str) -> None:
    from playwright.sync_api import expect

    dialog = open_dialog(page, address)
    for kind in ("semicolons.csv", "sheet.xlsx", "records.json", "latin.csv"):
        choose_file(dialog, kind, write_pets(kind))
        expect(dialog.get_by_text("The first documents, as they will be read")).to_be_visible()
        expect(dialog.locator(".data-preview").get_by_text("pet", exact=True).first).to_be_visible()
        expect(dialog.get_by_text("fruit.csv")).to_have_count(0)
        if kind == "latin.csv":
            expect(dialog.get_by_text(re.compile("Read as latin-1"))).to_be_visible()
            expect(dialog.get_by_text(re.compile("Grüße an")).first).to_be_visible()
        add = dialog.get_by_role("button", name="Add dataset")
        expect(add).to_be_enabled()
        expect_above(SMALL["height"], add)
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_be_hidden()


REFUSED = {
    "few.csv": (b"text,labels\na single document,x\n", "At least two documents are needed, and there is one."),
    "lone.csv": (b"text\nonly one column\nand more\n", "one column"),
    "noise.csv": (random.Random(1).randbytes(3000), "not a text file"),
    "header.csv": (b"text,labels\n", "no records"),
    "empty.csv": (b"", "empty"),
}


def test_what_cannot_be_added_says_why(page: Page, address: str, store: RunStore) -> None:
    from playwright.sync_api import expect

    dialog = open_dialog(page, address)
    for name, (content, sentence) in REFUSED.items():
        choose_file(dialog, name, content)
        expect(dialog.get_by_text(re.compile(sentence)).first).to_be_visible()
        if content:
            expect(dialog.get_by_role("button", name="Add dataset")).to_be_disabled()
        assert not (store.home / "data" / name).exists()


def test_a_dataset_is_added_renamed_and_deleted(page: Page, address: str, store: RunStore) -> None:
    from playwright.sync_api import expect

    content = pd.DataFrame(PETS).to_csv(index=False).encode()
    dialog = open_dialog(page, address)
    choose_file(dialog, "pets.csv", content)
    dialog.get_by_role("button", name="Add dataset").click()
    expect(page.get_by_role("heading", name="pets.csv")).to_be_visible()
    expect(dialog).to_be_hidden()
    open_menu(page, "pets.csv", "Rename")
    page.get_by_label("New name").fill("animals")
    settle(page)
    page.get_by_role("button", name="Rename", exact=True).click()
    expect(page.get_by_test_id("stSidebar").get_by_role("combobox", name="Dataset")).to_have_value("animals.csv")
    expect(page.get_by_role("heading", name="animals.csv")).to_be_visible()
    page.wait_for_url(re.compile(r"data=animals\.csv"))
    open_menu(page, "animals.csv", "Delete")
    expect(page.get_by_text("No run was trained on it.")).to_be_visible()
    settle(page)
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_role("option", name=re.compile("animals"))).to_have_count(0)
    until(lambda: not (store.home / "data" / "animals.csv").exists(), "the file to be gone")
    settle(page)
    page.get_by_role("button", name="Put back").click()
    expect(page.get_by_role("option", name=re.compile("animals"))).to_have_count(1)


def test_colours_of_runs_are_those_of_the_side_bar(page: Page, address: str, store: RunStore) -> None:
    from playwright.sync_api import expect

    run: Run = store.list()[4]
    open_small(page, f"{address}/?data=fruit.csv&run={run.id}")
    row = page.get_by_role("option", name=re.compile(rf"{run.name}\b"))
    expect(row.first).to_be_visible()
    marks = row.first.locator(".mark"), page.locator(".st-key-shell_run [data-mark]")

    def check() -> None:
        one, other = (mark.evaluate("mark => getComputedStyle(mark).borderTopColor") for mark in marks)
        assert one == other

    eventually(check)
