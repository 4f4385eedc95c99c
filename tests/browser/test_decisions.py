"""Decisions and files of texts in a real browser: slider, store, Predict; 200 texts with a download; a killed job."""

from __future__ import annotations

import csv
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.browser_pages import click_until, expect_above, settle
from tests.support.gated_runs import paused_answers
from tests.support.orchard import WORDS, write_orchard
from tests.support.waiting import until
from xcwork.decisions.choice import read_decisions
from xcwork.runs import Run, RunStore, prediction_jobs, worker

if TYPE_CHECKING:
    from playwright.sync_api import Page

N_TEXTS = 200
TALLEST = """() => {
    const bars = document.querySelectorAll('.st-key-decisions_thresholds .js-plotly-plot .barlayer path');
    const heights = [...bars].map(bar => bar.getBoundingClientRect().height);
    return heights.indexOf(Math.max(...heights));
}"""


@pytest.fixture(scope="module")
def calibrated(home: Path) -> Run:
    data = write_orchard(home / "data" / "orchard", 600)
    run = RunStore(home).create("one_vs_all", None, data)
    assert worker.main(run.folder) == 0
    return run


def test_the_slider_moves_the_cards_and_what_is_stored_reaches_predict(
    page: Page, dashboard: str, calibrated: Run
) -> None:
    from playwright.sync_api import expect

    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(f"{dashboard}/decisions?data=orchard&run={calibrated.id}&assign=60&suggest=30")
    assigned = page.locator(".st-key-decisions_assign .figure")
    expect(assigned).to_contain_text("label")
    settle(page)
    before = assigned.inner_text()
    handle = page.get_by_role("slider").nth(1)
    handle.focus()
    for _ in range(20):
        page.keyboard.press("ArrowLeft")
    expect(page.get_by_text("assign from 40 %")).to_be_visible()
    expect(assigned).not_to_have_text(before)
    page.wait_for_url("**assign=40*")
    keys = ("decisions_thresholds", "decisions_leave", "decisions_curve", "decisions_side")
    expect_above(720, *(page.locator(f".st-key-{key}") for key in keys))
    settle(page)
    page.get_by_role("button", name="Use these thresholds").click()
    expect(page.get_by_text("Stored with")).to_be_visible()
    until(lambda: read_decisions(calibrated.folder).assign == 0.4, "the stored thresholds")
    page.get_by_role("link", name="Predict", exact=True).click()
    expect(page.get_by_text("assign from 40 %")).to_be_visible()


def test_a_click_on_a_bar_lists_its_predictions(page: Page, dashboard: str, calibrated: Run) -> None:
    from playwright.sync_api import expect

    page.goto(f"{dashboard}/decisions?data=orchard&run={calibrated.id}")
    bars = page.locator(".st-key-decisions_thresholds .js-plotly-plot .barlayer path")
    expect(bars.first).to_be_attached()
    settle(page)
    tallest = page.evaluate(TALLEST)
    listed = page.get_by_role("dialog")
    click_until(bars.nth(tallest), lambda: expect(listed).to_be_visible(timeout=1000), force=True)
    expect(listed.get_by_text("Choose a row to see the document.")).to_be_visible()
    expect(listed.get_by_text("Predictions from")).to_be_visible()


def test_two_hundred_texts_become_a_csv(page: Page, dashboard: str, calibrated: Run, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    file = tmp_path / "questions.csv"
    rows = [f"{WORDS[i % len(WORDS)]} number{i}" for i in range(N_TEXTS)]
    file.write_text("\n".join(["text", *rows]) + "\n")
    page.goto(f"{dashboard}/predict?data=orchard&run={calibrated.id}&predict.where=A+file+of+texts")
    page.locator("input[type=file]").set_input_files(file)
    page.get_by_role("button", name="Predict all").click()  # which waits until the file has arrived
    button = page.locator(".st-key-predict_file").get_by_test_id("stDownloadButton").get_by_role("button").first
    expect(button).to_be_visible()
    settle(page)
    with page.expect_download() as download:
        button.click()
    saved = tmp_path / "labels.csv"
    download.value.save_as(saved)
    with saved.open(newline="") as lines:
        table = list(csv.DictReader(lines))
    assert {"text", "label", "percent", "decision", "rank"} <= set(table[0])
    assert {row["text"] for row in table} == set(rows)


def test_a_killed_job_survives_a_closed_tab_and_is_resumed(
    page: Page, dashboard: str, calibrated: Run, tmp_path: Path
) -> None:
    from playwright.sync_api import expect

    text = "".join(f"{WORDS[i % len(WORDS)]} number{i}\n" for i in range(N_TEXTS))
    job = prediction_jobs.create_job(calibrated, "many.txt", text.encode(), k=2)
    link = f"{dashboard}/predict?data=orchard&run={calibrated.id}&predict.where=A+file+of+texts&job={job.id}"
    with paused_answers(tmp_path) as written:
        prediction_jobs.start(job)
        until(written.exists, "the first answers")
    page.goto(link)
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    pid = job.status.pid
    assert pid is not None, "it was killed before its end"
    os.kill(pid, signal.SIGKILL)
    until(lambda: job.status.state == "lost", "the loss to be seen")
    resume = page.get_by_role("button", name="Resume")
    expect(resume).to_be_visible()
    settle(page)
    resume.click()
    until(lambda: job.status.attempt == 2, "the second attempt")
    page.close()
    until(lambda: job.status.is_over, "the end of the job")
    assert job.status.state == "finished"
    assert [each["document"] for each in job.iterate_answers()] == list(range(N_TEXTS))
