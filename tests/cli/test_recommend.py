"""`xcwork recommend`: three methods as a table and as JSON, kept with the dataset."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from xcwork.advice import recommending
from xcwork.cli import app

DATA = "synthetic:n_documents=200,n_labels=20,n_topics=4,labels_per_document=2,seed=5"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XCWORK_HOME", str(tmp_path))
    monkeypatch.setattr(recommending, "list_usable_methods", lambda: ["bm25", "tfidf", "nearest_documents"])
    return tmp_path


def run(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["recommend", DATA, *arguments], catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def test_the_rule_answers_at_once() -> None:
    found = json.loads(run("--minutes", "0", "--json"))
    first = found["recommended"][0]
    assert set(first) >= {"method", "preset", "reason", "expected", "seconds", "memory_mb"}
    assert first["expected"] is None
    assert found["level"] == "rule"


def test_a_pilot_is_kept_and_found_again(home: Path) -> None:
    found = json.loads(run("--minutes", "0.5", "--json"))
    values = [each["expected"]["value"] for each in found["recommended"]]
    assert values == sorted(values, reverse=True), "best first"
    assert json.loads(run("--json")) == found
    assert "P@1 to expect" in run()
    again = json.loads(run("--minutes", "0.5", "--again", "--json"))
    assert [each["method"] for each in again["tried"]] == [each["method"] for each in found["tried"]]
