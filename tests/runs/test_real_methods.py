"""Runs of registered methods on synthetic data, killed and resumed, with nothing of the tests in between."""

from __future__ import annotations

import numpy as np
import pytest

from xcwork.runs import Run, RunStore, jobs, worker

pytestmark = pytest.mark.slow

DATA = "synthetic:n_documents=400,n_labels=150,seed=3"


def answers(run: Run) -> tuple:
    return run.read_report().metrics, run.read_report().unseen, run.read_topk().ids.tolist()


@pytest.mark.parametrize("method", ["popularity", "tfidf"])
def test_a_baseline_trains_from_end_to_end(store, method):
    run = store.create(method, {}, DATA)
    assert worker.main(run.folder) == 0, run.status
    assert run.config["dataset"]["n_labels"] == 150
    assert 0 < run.read_report().metrics["P@1"] <= 100
    model = run.load_model()
    assert len(model.predict("t0_w1 t0_w2", 3).get_row(0)) == 3
    assert "Traceback" not in run.read_log()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> tuple:
    """What one-vs-all comes to when nobody kills it."""
    run = RunStore(tmp_path_factory.mktemp("undisturbed")).create("one_vs_all", {}, DATA)
    assert worker.main(run.folder) == 0, run.status
    return answers(run)


@pytest.mark.parametrize(("where", "has_checkpoint"), [("2 /checkpoint/", False), ("1 /.model.", True)])
def test_one_vs_all_killed_and_resumed_gives_the_same_answers(store, undisturbed, monkeypatch, where, has_checkpoint):
    run = store.create("one_vs_all", {}, DATA)
    monkeypatch.setenv("XCWORK_TEST_KILL", where)
    assert jobs.wait(jobs.launch(run)).state == "lost"
    assert any(entry.name.isdigit() for entry in (run.folder / "checkpoint").iterdir()) == has_checkpoint
    monkeypatch.delenv("XCWORK_TEST_KILL")
    status = jobs.wait(jobs.resume(run))
    assert (status.state, status.attempt, status.message) == ("finished", 2, "")
    assert answers(run) == undisturbed
    assert np.isfinite(status.predict_ms_per_document)
