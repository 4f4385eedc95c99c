"""What pages keep between reruns: a store with many runs is read once, and looked through once for each drawing."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from pathlib import Path

import pytest
from xcwork_app import caches
from xcwork_app.sources import Source

from xcwork.runs import Run, manage, summaries
from xcwork.runs.status import read_status, write_status
from xcwork.storage.atomic import create_folder

N_RUNS = 30


@pytest.fixture
def many(finished: Run) -> list[Run]:
    """A finished run and copies of it."""
    for number in range(1, N_RUNS):
        copied = shutil.copytree(finished.folder, finished.folder.with_name(f"{finished.id}-{number:03d}"))
        (copied / "identity.json").write_text(f'{{"number": {number}}}')
    return caches.list_runs()


def count_reads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each file below a run is read as text, by its name."""
    read, counted = Path.read_text, Counter[str]()

    def read_text(path: Path, *given: str, **named: str) -> str:
        if "runs" in path.parts:
            counted[path.name] += 1
        return read(path, *given, **named)

    monkeypatch.setattr(Path, "read_text", read_text)
    return counted


def test_the_results_of_many_runs_are_read_once(open_page, many: list[Run], monkeypatch: pytest.MonkeyPatch) -> None:
    counted = count_reads(monkeypatch)
    page = open_page(data="fruit.csv")
    assert counted["metrics.json"] <= N_RUNS + 2, "once each, and the report of the best one"
    counted.clear()
    page.run()
    assert sum(counted.values()) < N_RUNS, counted


def test_the_runs_on_a_dataset_and_those_under_way(many: list[Run]) -> None:
    source = caches.get_source(many[0])
    assert source is not None
    assert [run.id for run in caches.list_runs_on(source)] == [run.id for run in reversed(many)]
    assert caches.list_active_runs() == []
    shutil.rmtree(many[0].folder)
    assert len(caches.list_runs_on(source)) == N_RUNS - 1


def test_a_new_start_reads_the_summaries_of_many_runs_from_one_file(
    open_page, many: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_summaries(many, monkeypatch)
    counted = count_reads(monkeypatch)
    open_page(data="fruit.csv")
    assert counted[summaries.SUMMARIES_FILE] == 1
    assert counted["metrics.json"] <= 1, "the report of the best one"
    assert counted["status.json"] + counted["config.json"] < N_RUNS, counted


def test_what_changed_while_the_dashboard_was_closed_is_read_again(
    many: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_summaries(many, monkeypatch)
    renamed, resumed, gone, evaluated, *others = many
    manage.rename_run(renamed, "another name")
    write_status(resumed.folder, read_status(resumed.folder).make_next_attempt())
    shutil.rmtree(gone.folder)
    with create_folder(evaluated.folder / "eval") as again:
        shutil.copytree(evaluated.folder / "eval", again, dirs_exist_ok=True)
        report = json.loads((again / "metrics.json").read_text())
        report["exact"]["metrics"]["P@1"] = 12.5
        (again / "metrics.json").write_text(json.dumps(report))
    assert caches.get_record(renamed)["name"] == "another name"
    assert caches.glance(resumed).status.is_active
    assert caches.find_run(gone.id) is None
    assert caches.get_record(evaluated)["metrics"]["P@1"] == 12.5
    assert {caches.get_record(run)["name"] for run in others} == {"done <b>"}


def test_summaries_that_cannot_be_read_are_made_again(many: list[Run], monkeypatch: pytest.MonkeyPatch) -> None:
    keep_summaries(many, monkeypatch)
    (many[0].folder.parent / summaries.SUMMARIES_FILE).write_text('{"format": 1, "runs": {"x": [')
    assert len(caches.list_runs_on(find_source(many[0]))) == N_RUNS


def find_source(run: Run) -> Source:
    source = caches.get_source(run)
    assert source is not None
    return source


def keep_summaries(runs: list[Run], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a dashboard look at the runs, long after they ended, and close it."""
    for run in runs:
        for path in (*run.folder.iterdir(), run.folder):
            os.utime(path, (1e9, 1e9))
    monkeypatch.setattr(caches, "MIN_READ", N_RUNS)
    caches._open_runs.cache_clear()
    caches.list_runs_on(find_source(runs[0]))
    assert (runs[0].folder.parent / summaries.SUMMARIES_FILE).is_file()
    caches._open_runs.cache_clear()
