"""Short samples of the long benchmarks: trainings in a row, and an interrupted prediction of a file."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from benchmarks.long_runs import grown
from benchmarks.predict_million import complete, is_complete, killed_at, write_documents
from tests.support.gated_runs import paused_answers
from xcwork.runs import worker

pytestmark = pytest.mark.slow
N_DOCUMENTS = 8_000


@pytest.mark.timeout(900)  # several processes start; a busy machine takes its time
def test_trainings_in_a_row_leave_nothing_behind(tmp_path):
    out = tmp_path / "long.json"
    command = [sys.executable, "-m", "benchmarks.long_runs", "--runs", "2", "--inside", "6"]
    command += ["--methods", "popularity", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = json.loads(out.read_text())["rows"]
    assert [row["children"] for row in counts] == [0] * 6
    assert [row["temporary files"] for row in counts] == [0] * 6


def test_what_grows_is_noticed():
    before = {"trainings": 5, "file handles": 9, "children": 0, "threads": 1, "temporary files": 0, "memory MB": 100.0}
    assert grown([before, before | {"memory MB": 110.0}]) == []
    assert grown([before, before | {"children": 1}]) == ["children"]
    assert grown([before, before | {"file handles": 10, "memory MB": 150.0}]) == ["file handles", "memory MB"]


def test_a_killed_prediction_goes_on_and_has_every_line_once(store, corpus, tmp_path):
    run = store.create("popularity", {}, corpus)
    assert worker.main(run.folder) == 0
    documents, output = tmp_path / "documents.jsonl", tmp_path / "predictions.jsonl"
    write_documents(documents, N_DOCUMENTS)
    with paused_answers(tmp_path / "gate"):
        stopped = killed_at(run, documents, output, 1)
    assert 0 < stopped < N_DOCUMENTS
    assert output.with_name("predictions.jsonl.job").exists()
    assert not is_complete(output, N_DOCUMENTS)
    code, _ = complete(run, documents, output)
    assert code == 0
    assert is_complete(output, N_DOCUMENTS)
