"""A tiny dataset, a home folder and the gated test method."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.gated_runs import end_workers, install_gated
from xcwork.runs import Run, RunStore

HOSTILE = "<script>alert(1)</script> | `x` \u202e [y](z)"
TOPICS = ["solar power", "wind power", "rice cooking", "bread baking", "chess openings", HOSTILE]


def documents(first: int, count: int) -> list[dict]:
    """Documents that talk about the labels they carry."""
    made = []
    for number in range(first, first + count):
        topics = sorted({number % len(TOPICS), (number // 2) % len(TOPICS)})
        text = " and ".join(TOPICS[topic] for topic in topics)
        made.append(
            {
                "uid": f"d{number}",
                "title": f"{text} number {number}",
                "content": text,
                "labels": [f"l{topic}" for topic in topics],
            }
        )
    return made


def write_lines(path: Path, rows: list[dict]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A dataset folder of 24 training and 12 test documents with 6 labels."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    write_lines(folder / "train.jsonl", documents(0, 24))
    write_lines(folder / "test.jsonl", documents(100, 12))
    write_lines(folder / "labels.jsonl", [{"uid": f"l{i}", "title": name} for i, name in enumerate(TOPICS)])
    return folder


@pytest.fixture(autouse=True)
def gated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The method `gated` exists here and in every worker process started here."""
    install_gated(monkeypatch)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RunStore]:
    """Runs in a home of their own; workers that a failing test leaves behind end with it."""
    made = RunStore(tmp_path / "home")
    yield made
    end_workers(tmp_path / "home")


@pytest.fixture
def new_run(store: RunStore, corpus: Path) -> Callable[..., Run]:
    """A run of the gated method on the tiny dataset."""

    def create(**params) -> Run:
        return store.create("gated", params, corpus)

    return create


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    folder = tmp_path / "gate"
    folder.mkdir()
    return folder
