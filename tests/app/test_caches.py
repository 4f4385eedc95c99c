"""What pages keep between reruns: a store with many runs is read once, and looked through once for each drawing."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest
from xcwork_app import caches

from xcwork.runs import Run

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
