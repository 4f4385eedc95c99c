"""Predictions for a file of texts: one answer per text, however often the worker is stopped or killed."""

from __future__ import annotations

import json
import os
import signal
import threading
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from tests.support.gated_runs import paused_answers
from tests.support.orchard import WORDS, write_orchard
from tests.support.waiting import until
from xcwork.errors import DataError, RunError
from xcwork.runs import Run, RunStore, prediction_jobs, prediction_worker, worker
from xcwork.runs.prediction_jobs import create_job, list_jobs
from xcwork.runs.prediction_tables import write_table
from xcwork.runs.reporter import Reporter
from xcwork.runs.status import write_status

N_TEXTS = 200
CSV = "text,other\n" + "".join(f"{WORDS[i % len(WORDS)]} number{i},x\n" for i in range(N_TEXTS))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """A calibrated run and one that is not."""
    home = tmp_path_factory.mktemp("home")
    data = write_orchard(home / "data" / "orchard", 600)
    made = {way: RunStore(home).create("one_vs_all", None, data, calibration=way) for way in ("auto", "none")}
    assert [worker.main(run.folder) for run in made.values()] == [0, 0]
    return made


def finish(job: prediction_jobs.PredictionJob) -> list[dict]:
    assert prediction_worker.main(job.folder) == 0
    assert job.status.state == "finished"
    return list(job.iterate_answers())


def test_every_text_gets_labels_with_probability_and_decision(runs) -> None:
    job = create_job(runs["auto"], "questions.csv", CSV.encode(), k=3)
    answers = finish(job)
    assert [each["document"] for each in answers] == list(range(N_TEXTS))
    assert answers[7]["text"] == f"{WORDS[1]} number7"
    for each in answers:
        assert set(each["predictions"][0]) == {"label", "score", "probability", "decision"}
    assert list_jobs(runs["auto"])[0].id == job.id
    assert job.request.name == "questions.csv"


def test_a_run_without_calibration_gives_scores(runs) -> None:
    answers = finish(create_job(runs["none"], "a.txt", b"apple\npear\n", k=2))
    assert set(answers[0]["predictions"][0]) == {"label", "score"}


def test_a_stopped_job_goes_on_where_it_was(runs, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = finish(create_job(runs["auto"], "a.csv", CSV.encode(), k=2))
    job = create_job(runs["auto"], "b.csv", CSV.encode(), k=2)
    batches = []

    def stop_soon(self: Reporter, phase: str, step: int, total: int | None) -> bool:
        batches.append(step)
        return len(batches) == 2

    with monkeypatch.context() as patch:
        patch.setattr(Reporter, "on_step", stop_soon)
        assert prediction_worker.main(job.folder) == 0
    assert job.status.state == "cancelled"
    assert len(list(job.iterate_answers())) == 2 * prediction_worker.BATCH_DOCUMENTS
    with job.answers_file.open("ab") as file:
        file.write(b'{"document": 64, "pred')  # as a kill in the middle of a line leaves it
    assert finish(job) == whole


def test_a_killed_worker_is_noticed_and_resumed(runs, tmp_path: Path) -> None:
    with paused_answers(tmp_path) as written:
        job = prediction_jobs.start(create_job(runs["auto"], "long.csv", CSV.encode(), k=2))
        until(written.exists, "the first answers")
    with pytest.raises(RunError, match="already"):
        prediction_jobs.start(job)
    pid = job.status.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    until(lambda: job.status.state == "lost", "the loss to be seen")
    assert len(list(job.iterate_answers())) == prediction_worker.BATCH_DOCUMENTS
    prediction_jobs.start(job)
    until(lambda: job.status.is_over, "the end")
    assert job.status.state == "finished"
    assert [each["document"] for each in job.iterate_answers()] == list(range(N_TEXTS))


def test_cancel_stops_a_worker(runs, tmp_path: Path) -> None:
    with paused_answers(tmp_path) as written:
        job = prediction_jobs.start(create_job(runs["auto"], "long.csv", CSV.encode(), k=2))
        until(written.exists, "the first answers")
    prediction_jobs.cancel(job)
    (tmp_path / "open").touch()
    until(lambda: job.status.is_over, "the end")
    assert job.status.state == "cancelled"
    assert "resume to continue" in job.status.message
    prediction_jobs.delete(job)
    assert job.id not in {each.id for each in list_jobs(runs["auto"])}


def test_a_worker_that_is_just_leaving_is_waited_for_and_one_at_work_is_not(runs) -> None:
    job = create_job(runs["auto"], "a.txt", b"apple\n", k=1)
    with job.open_lock() as held:
        assert held.acquire(holder="worker")
        with pytest.raises(RunError, match="is working"):
            prediction_jobs.delete(job)
        write_status(job.folder, replace(job.status, state="cancelled"))
        leaving = threading.Timer(0.2, held.release)
        leaving.start()
        prediction_jobs.delete(job)
        leaving.join()
    assert not job.folder.exists()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.xlsx", b"PK", "not from .xlsx"),
        ("a.csv", b"a,b\n1,2\n", "no column with the text"),
        ("a.jsonl", b'{"text": "x"}\n[1]\n', "a.jsonl, line 2|a.jsonl:2"),
        ("a.txt", b"", "a.txt: the file is empty"),
        ("a.txt", b"\xff\xfe\xfa", "a.txt"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_sentence_and_leaves_nothing(runs, name, content, words) -> None:
    before = {each.id for each in list_jobs(runs["auto"])}
    with pytest.raises(DataError, match=words):
        create_job(runs["auto"], name, content, k=3)
    folder = runs["auto"].folder / prediction_jobs.FOLDER
    assert {each.name for each in folder.iterdir()} == before


def test_a_damaged_job_is_a_sentence(runs) -> None:
    job = create_job(runs["auto"], "a.txt", b"apple\n", k=1)
    (job.folder / prediction_jobs.JOB_FILE).write_text(json.dumps({"schema": 1, "suffix": "/../x"}))
    with pytest.raises(DataError, match="cannot be read"):
        job.request  # noqa: B018 - reading it is the check


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_the_table_has_text_and_percent_and_no_formula(runs, tmp_path: Path, suffix: str) -> None:
    job = create_job(runs["auto"], "a.txt", b"=apple()\npear\n", k=2)
    finish(job)
    path = tmp_path / f"labels{suffix}"
    write_table(job.answers_file, path, probabilities=True, decide=True, texts=True)
    table = pd.read_csv(path) if suffix == ".csv" else pd.read_parquet(path)
    assert {"text", "label", "percent", "decision", "rank"} <= set(table.columns)
    assert (table["percent"] - 100 * table["probability"]).abs().max() < 0.06
    if suffix == ".csv":
        assert not table["text"].str.startswith("=").any()
