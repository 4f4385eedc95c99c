"""Decisions and files of texts in a real browser: slider, store, Predict; 200 texts with a download; a killed job."""

from __future__ import annotations

import csv
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.dashboard import dashboard_over
from tests.support.orchard import WORDS, write_orchard
from tests.support.waiting import until
from xcwork.decisions.choice import read_decisions
from xcwork.runs import Run, RunStore, prediction_jobs, worker

if TYPE_CHECKING:
    from playwright.sync_api import Page

N_TEXTS = 200
N_MANY_TEXTS = 60_000


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory: pytest.TempPathFactory) -> Run:
    home = tmp_path_factory.mktemp("orchard")
    data = write_orchard(home / "data" / "orchard", 600)
    run = RunStore(home).create("one_vs_all", None, data)
    assert worker.main(run.folder) == 0
    return run


@pytest.fixture(scope="module")
def address(calibrated: Run) -> Iterator[str]:
    with dashboard_over(calibrated.home) as served:
        yield served


def test_the_slider_moves_the_cards_and_what_is_stored_reaches_predict(
    page: Page, address: str, calibrated: Run
) -> None:
    from playwright.sync_api import expect

    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(f"{address}/decisions?data=orchard&run={calibrated.id}&assign=60&suggest=30")
    assigned = page.locator(".st-key-decisions_assign .figure")
    expect(assigned).to_contain_text("label")
    before = assigned.inner_text()
    handle = page.get_by_role("slider").nth(1)
    handle.focus()
    for _ in range(20):
        page.keyboard.press("ArrowLeft")
    expect(page.get_by_text("assign from 40 %")).to_be_visible()
    expect(assigned).not_to_have_text(before)
    page.wait_for_url("**assign=40*")
    for key in ("decisions_thresholds", "decisions_leave", "decisions_curve", "decisions_side"):
        box = page.locator(f".st-key-{key}").bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 720, f"{key} ends below the window"
    page.get_by_role("button", name="Use these thresholds").click()
    expect(page.get_by_text("Stored with")).to_be_visible()
    until(lambda: read_decisions(calibrated.folder).assign == 0.4, "the stored thresholds")
    page.get_by_role("link", name="Predict", exact=True).click()
    expect(page.get_by_text("assign from 40 %")).to_be_visible()


def test_a_click_on_a_bar_lists_its_predictions(page: Page, address: str, calibrated: Run) -> None:
    from playwright.sync_api import expect

    page.goto(f"{address}/decisions?data=orchard&run={calibrated.id}")
    bars = page.locator(".st-key-decisions_thresholds .js-plotly-plot .barlayer path")
    expect(bars.first).to_be_attached()
    tallest = max(range(bars.count()), key=lambda at: (bars.nth(at).bounding_box() or {"height": 0})["height"])
    bars.nth(tallest).click(force=True)
    listed = page.get_by_role("dialog")
    expect(listed.get_by_text("Choose a row to see the document.")).to_be_visible()
    expect(listed.get_by_text("Predictions from")).to_be_visible()


def test_two_hundred_texts_become_a_csv(page: Page, address: str, calibrated: Run, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    file = tmp_path / "questions.csv"
    rows = [f"{WORDS[i % len(WORDS)]} number{i}" for i in range(N_TEXTS)]
    file.write_text("\n".join(["text", *rows]) + "\n")
    page.goto(f"{address}/predict?data=orchard&run={calibrated.id}&predict.where=A+file+of+texts")
    page.locator("input[type=file]").set_input_files(file)
    page.get_by_role("button", name="Predict all").click()
    button = page.locator(".st-key-predict_file").get_by_test_id("stDownloadButton").get_by_role("button").first
    expect(button).to_be_visible()
    with page.expect_download() as download:
        button.click()
    saved = tmp_path / "labels.csv"
    download.value.save_as(saved)
    with saved.open(newline="") as lines:
        table = list(csv.DictReader(lines))
    assert {"text", "label", "percent", "decision", "rank"} <= set(table[0])
    assert {row["text"] for row in table} == set(rows)


def test_a_killed_job_survives_a_closed_tab_and_is_resumed(page: Page, address: str, calibrated: Run) -> None:
    from playwright.sync_api import expect

    text = "".join(f"{WORDS[i % len(WORDS)]} number{i}\n" for i in range(N_MANY_TEXTS))
    job = prediction_jobs.create_job(calibrated, "many.txt", text.encode(), k=2)
    link = f"{address}/predict?data=orchard&run={calibrated.id}&predict.where=A+file+of+texts&job={job.id}"
    prediction_jobs.start(job)
    until(lambda: job.answers_file.exists() and job.answers_file.stat().st_size > 0, "the first answers")
    pid = job.status.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    until(lambda: job.status.state == "lost", "the loss to be seen")
    page.goto(link)
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    page.close()
    until(lambda: job.status.is_over, "the end of the job")
    assert job.status.state == "finished"
    assert [each["document"] for each in job.iterate_answers()] == list(range(N_MANY_TEXTS))
