"""`xcwork bench app` measures the pages that it names, in a browser and without one, and comes to an end."""

from __future__ import annotations

import argparse
import importlib
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.server import Server
from xcwork.runs import Run, RunStore

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_every_change_of_a_page_has_an_end(
    page: Page,
    server: Server,
    home: Path,
    runs: dict[str, Run],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    benchmark = importlib.import_module("benchmarks.app")
    asked = ("home", "compare")
    monkeypatch.setattr(benchmark, "MEASURED", asked)
    monkeypatch.setattr(benchmark, "WARM_UP", 1)
    monkeypatch.setenv("XCWORK_HOME", str(home))
    rows = benchmark.measure(page, server, runs["one_vs_all"], argparse.Namespace(changes=1, reruns=2))
    assert [row["page"] for row in rows] == list(asked)
    for row in rows:
        assert 0 < row["change, median s"] <= row["change, largest s"]
        assert 0 < row["rerun, median s"] <= row["rerun, largest s"]
    assert "fruit.csv, compare" in capsys.readouterr().err


def test_a_store_is_filled_with_copies_that_have_results(tmp_path: Path, runs: dict[str, Run]) -> None:
    benchmark = importlib.import_module("benchmarks.app")
    shutil.copytree(runs["tfidf"].folder, tmp_path / "runs" / runs["tfidf"].id)
    benchmark.fill_store(tmp_path, Run(tmp_path / "runs" / runs["tfidf"].id), 4)
    filled = RunStore(tmp_path).list()
    assert len(filled) == 4
    assert {run.state for run in filled} == {"finished"}
    assert len({run.number for run in filled}) == 4
    assert all(run.read_report() for run in filled)
