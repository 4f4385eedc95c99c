"""Runs on the Train page: from their start through cancel to resume, the queue, results and failures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from xcwork_app.sources import Source
from xcwork_app.views import training_plan

from tests.support.pages import read_component, send_event
from tests.support.train_page import change, said
from tests.support.waiting import PATIENCE_SECONDS
from xcwork.runs import Run, RunStore, jobs

pytestmark = pytest.mark.slow


def test_train_cancel_resume(open_page, corpus: Path, tmp_path: Path, until) -> None:
    gate = tmp_path / "gate"
    gate.mkdir()
    (gate / "open-0").touch()
    page = change(open_page("train", data="fruit.csv", method="gated"), "gated", "gate", str(gate))
    page.button(key="train.start").click().run()
    assert not page.exception
    run = RunStore().list()[0]
    assert page.query_params["run"] == run.id
    assert run.name == "gated 1"
    assert any(state in said(page) for state in ("queued", "running"))

    until((gate / "reached-1").exists, "the second step")
    until(lambda: (run.status.phase, run.status.step) == ("climbing", 1), "the status to say so")
    page.run()
    assert "running" in said(page)
    page.button(key="train.start").click().run()
    assert len(RunStore().list()) == 1, "the same training is not started twice"
    assert "The same training is under way" in said(page)
    again = open_page("train", data="fruit.csv", run=run.id)  # as a tab that was closed and opened again
    assert "running" in said(again)
    assert "1 of 4" in " ".join(each.proto.text for each in again.get("progress"))

    page.button(key=f"train.cancel.{run.id}").click().run()
    (gate / "open").touch()
    jobs.wait(run, timeout=PATIENCE_SECONDS)
    page.run()
    assert "cancelled" in said(page)
    page.button(key=f"train.resume.{run.id}").click().run()
    jobs.wait(run, timeout=PATIENCE_SECONDS)
    page.run()
    assert "finished" in said(page)
    assert run.status.attempt == 2


def test_a_finished_run_has_its_highest_value_and_three_next_steps(open_page, finished: Run, train) -> None:
    page = open_page("train", data="fruit.csv", run=finished.id)
    assert re.search(r"P@5, at most \d+\.\d", said(page))
    assert "The first run on this dataset." in said(page)
    for key, place in (("see_predictions", "predict"), ("see_errors", "errors"), ("compare", "compare")):
        page = open_page("train", data="fruit.csv", run=finished.id)
        page.button(key=f"train.{key}").click().run()
        assert not page.exception
        assert page.query_params["run"] == finished.id
        assert page.session_state["view"].page == place


def test_a_result_is_placed_beside_the_best_other_run(open_page, finished: Run, train, corpus: Path) -> None:
    better = train("one_vs_all", None, corpus, "better")
    page = open_page("train", data="fruit.csv", run=finished.id)
    assert re.search(r"(\d+\.\d (above|below) better at P@1|The same P@1 as better)", said(page))
    page.button(key="train.compare").click().run()
    assert set(page.query_params["runs"].split(",")) == {finished.id, better.id}
    assert page.query_params["reference"] == better.id


def test_the_queue_has_an_order_and_can_be_cancelled_as_a_whole(open_page, corpus: Path) -> None:
    first, second, third = (
        RunStore().create("gated", None, corpus, name=name) for name in ("first", "second", "third")
    )
    page = open_page("train", data="fruit.csv")
    rows = read_component(page, "train_queue")["groups"][0]["rows"]
    assert [row["name"] for row in rows] == ["2. second", "3. third"]
    send_event(page, "train_queue", third.id)
    assert page.query_params["run"] == third.id
    page.button(key=f"train.cancel.{third.id}").click().run()
    assert (third.state, first.state) == ("cancelled", "queued")
    page = open_page("train", data="fruit.csv", run=first.id)
    page.button(key="train.cancel_all").click().run()
    assert not page.exception
    assert {first.state, second.state} == {"cancelled"}


def test_a_failed_run_says_why_with_its_log_and_can_be_resumed(open_page, corpus: Path) -> None:
    from xcwork.runs import worker

    run = RunStore().create("gated", {"error": "disk"}, corpus)
    assert worker.main(run.folder) != 0
    page = open_page("train", data="fruit.csv", run=run.id)
    assert run.status.message[1:] in said(page)
    last = run.read_log(10)
    assert len(last.splitlines()) == 10
    assert last in [code.value for code in page.code]
    assert page.button(key=f"train.resume.{run.id}")


def test_a_run_whose_worker_is_gone_stopped_unexpectedly(open_page, corpus: Path) -> None:
    from dataclasses import replace

    from xcwork.runs import processes
    from xcwork.runs.status import format_now, read_status, write_status

    run = RunStore().create("gated", None, corpus)
    gone = {"pid": 2**22 + 1, "process": "gone", "host": processes.get_host_name(), "updated": format_now()}
    write_status(run.folder, replace(read_status(run.folder), state="running", queued=format_now(), **gone))
    page = open_page("train", data="fruit.csv", run=run.id)
    assert "stopped unexpectedly" in said(page)
    assert page.button(key=f"train.resume.{run.id}")


def test_a_run_folder_that_is_deleted_leaves_the_page_usable(open_page, finished: Run) -> None:
    import shutil

    page = open_page("train", data="fruit.csv", run=finished.id)
    shutil.rmtree(finished.folder)
    page.run()
    assert not page.exception
    assert "No run on this dataset yet" in said(page)


def test_the_next_run_has_the_mark_that_is_shown(open_page, finished: Run, corpus: Path) -> None:
    open_page("train", data="fruit.csv")
    number = training_plan.find_next_number(Source.from_id("fruit.csv"))
    assert number == RunStore().create("gated", None, corpus).number != finished.number
