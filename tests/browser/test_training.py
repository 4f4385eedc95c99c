"""Upload, train, watch, cancel, resume: in one tab, after a reload, and in a second tab."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from xcwork.runs import RunStore

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

ROWS = [f"{word} and {word} {i};{word}|thing" for i in range(15) for word in ("cat", "dog")]
TABLE = "\n".join(["Question;Topics", *ROWS]).encode()


def test_upload_train_cancel_resume(
    page: Page, context: BrowserContext, dashboard: str, home: Path, tmp_path: Path, until
) -> None:
    from playwright.sync_api import expect

    page.goto(f"{dashboard}/data?data=fruit.csv&method=gated")
    page.get_by_role("button", name="Upload", exact=True).or_(page.get_by_role("radio", name="Upload")).first.click()
    page.locator("input[type=file]").set_input_files({"name": "pets.csv", "mimeType": "text/csv", "buffer": TABLE})
    expect(page.get_by_text("Labels are read as names separated by")).to_be_visible()
    page.get_by_role("button", name="Add dataset").click()
    expect(page.get_by_role("heading", name="pets.csv")).to_be_visible()
    page.get_by_role("button", name="Train on it").click()

    expect(page.get_by_role("heading", name="Train", exact=True)).to_be_visible()
    gate = tmp_path / "gate"
    gate.mkdir()
    (gate / "open-0").touch()
    page.get_by_role("textbox", name="Gate").fill(str(gate))
    page.get_by_role("textbox", name="Gate").press("Enter")
    expect(page.get_by_text("--set")).to_be_visible()
    page.get_by_role("button", name="Train", exact=True).click()
    until((gate / "reached-1").exists, "the second step of the training")
    expect(page.get_by_text("climbing · 1 of 4")).to_be_visible()

    page.reload()
    expect(page.get_by_text("climbing · 1 of 4")).to_be_visible()
    second = context.new_page()
    second.goto(page.url)
    expect(second.get_by_text("climbing · 1 of 4")).to_be_visible()
    second.get_by_role("button", name="Cancel").click()
    expect(second.get_by_role("button", name="Cancelling")).to_be_visible()
    (gate / "open-1").touch()
    expect(page.get_by_role("button", name="Resume")).to_be_visible()  # the first tab learns what the second one did
    second.close()

    (gate / "open").touch()
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_text("finished").first).to_be_visible()
    run = RunStore(home).list()[-1]
    assert (run.state, run.status.attempt) == ("finished", 2)
    expect(
        page.get_by_label("loss during training").or_(page.get_by_text("loss during training")).first
    ).to_be_visible()

    page.get_by_role("link", name="Predict", exact=True).click()
    expect(page.get_by_role("heading", name="Predict")).to_be_visible()
    page.get_by_text("Your own text").click()
    page.get_by_role("textbox", name="Text").fill("a cat and another cat")
    page.get_by_role("button", name="Predict", exact=True).click()
    expect(page.get_by_role("region", name="suggested labels, best first")).to_be_visible()
    assert "predict.text=a+cat" in page.url


def test_closing_the_tab_does_not_stop_a_training(
    context: BrowserContext, dashboard: str, home: Path, tmp_path: Path, until
) -> None:
    from playwright.sync_api import expect

    gate = tmp_path / "gate"
    gate.mkdir()
    page = context.new_page()
    page.goto(f"{dashboard}/train?data=fruit.csv&method=gated")
    page.get_by_role("textbox", name="Gate").fill(str(gate))
    page.get_by_role("textbox", name="Gate").press("Enter")
    expect(page.get_by_text("--set")).to_be_visible()
    page.get_by_role("button", name="Train", exact=True).click()
    until((gate / "reached-0").exists, "the first step of the training")
    run = RunStore(home).list()[-1]
    page.close()
    (gate / "open").touch()
    until(lambda: run.state == "finished", "the end of the training")
    again = context.new_page()
    again.goto(dashboard)
    expect(again.get_by_text("Runs", exact=True)).to_be_visible()
