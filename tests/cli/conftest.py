"""A home with two finished runs, trained once, and documents to label."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.commands import write_table, xcwork_json
from tests.support.workbench import LABELS, Workbench


@pytest.fixture(scope="session")
def trained_workbench(tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    """A home with two finished runs on documents that name their one label; `solar power` is the most frequent."""
    home = tmp_path_factory.mktemp("home")
    data = home / "data" / "topics"
    data.mkdir(parents=True)
    counts = {label: 12 - 2 * position for position, label in enumerate(LABELS)}
    write_table(
        data / "train.csv", [(f"a note on {label} {i}", label) for label, n in counts.items() for i in range(n)]
    )
    write_table(data / "test.csv", [(f"about {label} again {i}", label) for label in LABELS for i in range(4)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XCWORK_HOME", str(home))
        tfidf, popularity = (xcwork_json("train", method, "--data", "topics") for method in ("tfidf", "popularity"))
    return Workbench(home, data, tfidf, popularity)


@pytest.fixture
def workbench(trained_workbench: Workbench, monkeypatch: pytest.MonkeyPatch) -> Workbench:
    """The home of the finished runs is the one that commands use."""
    monkeypatch.setenv("XCWORK_HOME", str(trained_workbench.home))
    return trained_workbench


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    file = tmp_path / "docs.jsonl"
    rows = [{"uid": f"d{i}", "title": LABELS[i % 5], "content": "again"} for i in range(600)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file
