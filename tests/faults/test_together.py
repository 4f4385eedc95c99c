"""Processes that want the same run, queue, dataset cache or output at once never harm each other."""

from __future__ import annotations

import json

import pytest

from tests.support.together import CREATED, LINES, PROCESSES
from xcwork.data.load import load_dataset
from xcwork.runs import jobs, worker
from xcwork.runs.status import read_status

pytestmark = pytest.mark.slow


def answers(run) -> tuple:
    return run.read_report().metrics, run.read_topk().ids.tolist(), run.read_topk().scores.tolist()


def test_one_of_many_workers_gets_the_run(store, corpus, together):
    undisturbed, run = (store.create("popularity", {}, corpus) for _ in range(2))
    assert worker.main(undisturbed.folder) == 0
    assert sorted(together("workers", run.folder)["answers"]) == [0] + [2] * (PROCESSES - 1)
    assert (run.state, run.status.attempt) == ("finished", 1)
    assert answers(run) == answers(undisturbed)


def test_one_of_many_launches_starts_a_worker(store, corpus, together):
    run = store.create("popularity", {}, corpus)
    said = together("launches", run.folder)["answers"]
    assert said.count("launched") == 1
    assert all(
        "has a worker already" in refusal or "was started before" in refusal
        for refusal in said
        if refusal != "launched"
    )
    assert jobs.wait(run).state == "finished"
    assert run.read_log().count("attempt 1, method") == 1


def test_resuming_and_cancelling_at_once_leaves_a_run_that_can_be_finished(store, corpus, together):
    run = store.create("popularity", {}, corpus)
    together("verbs", run.folder)
    status = jobs.wait(run)
    assert status.state in ("cancelled", "finished", "lost")
    if status.state != "finished":
        assert jobs.wait(jobs.resume(run)).state == "finished"
    numbers = [past["attempt"] for past in run.status.history]
    assert numbers == sorted(set(numbers))
    assert read_status(run.folder).attempt > max(numbers, default=0)


def test_turns_in_the_queue_do_not_overlap(store, corpus, together):
    assert together("queue", store.home, corpus)["answers"] == [0] * PROCESSES
    notes = [line.split() for line in (store.home / "notes.txt").read_text().splitlines()]
    assert len(notes) == 2 * PROCESSES
    for (began, first), (ended, second) in zip(notes[::2], notes[1::2], strict=True):
        assert (began, ended, first) == ("begin", "end", second)


def test_first_reading_of_a_dataset_at_once(store, corpus, together):
    found = together("datasets", store.home, corpus)["answers"]
    cached = load_dataset(corpus, home=store.home)
    assert set(found) == {cached.fingerprint}
    cache = store.home / "data" / ".cache"
    assert len(list(cache.iterdir())) == 1  # one entry and nothing half written


def test_first_building_of_the_embedded_dataset_at_once(store, together):
    assert len(set(together("embedded", store.home)["answers"])) == 1
    (entry,) = (store.home / "data" / ".cache").iterdir()
    assert {file.name for file in entry.iterdir()} == {"state.json", "arrays.safetensors"}


def test_runs_created_at_once_have_ids_of_their_own(store, corpus, together):
    ids = [run for made in together("creations", store.home, corpus)["answers"] for run in made]
    assert len(set(ids)) == PROCESSES * CREATED
    assert sorted(ids) == [run.id for run in store.list()]


def test_an_output_that_many_write_has_every_line_once(tmp_path, together):
    output = tmp_path / "out.jsonl"
    said = together("predictions", output)["answers"]
    assert "written" in said
    assert all("another xcwork predict is writing" in refusal for refusal in said if refusal != "written")
    assert [json.loads(line)["document"] for line in output.read_text().splitlines()] == list(range(LINES))
