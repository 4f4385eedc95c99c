"""A run learns its calibration after its model is stored, once, and again on request."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import xcwork
from tests.support.orchard import write_orchard
from xcwork.core.dataset import Dataset
from xcwork.data.load import load_dataset
from xcwork.decisions.held_out_documents import plan_holding_out
from xcwork.errors import ConfigError, DataError
from xcwork.methods import calibrating
from xcwork.runs import Run, RunStore, worker
from xcwork.runs.calibration import plan_run, recalibrate_run
from xcwork.runs.config import read_calibration_choice
from xcwork.viz.run_report import render_report


@pytest.fixture(scope="module")
def orchard(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_orchard(tmp_path_factory.mktemp("data") / "orchard", 300)


@pytest.fixture
def train(store: RunStore, orchard: Path) -> Callable[..., Run]:
    def start(**options: object) -> Run:
        run = store.create("one_vs_all", {}, orchard, **options)
        assert worker.main(run.folder) == 0, run.read_log()
        return run

    return start


def load(run: Run) -> Dataset:
    return load_dataset(run.config["data"], home=run.home)


def test_a_run_is_calibrated_and_measured(train):
    run = train()
    assert run.config["calibration"] == "auto"
    calibration = run.read_calibration()
    assert (calibration.way, calibration.n_documents) == ("refit", 300)
    report = run.read_report()
    assert set(report.calibration) == {"ece", "brier", "reliability"}
    topk = run.read_topk()
    assert topk.probabilities.shape == topk.ids.shape
    known = run.load_model().predict(load(run).test, topk.k, proba=True)
    np.testing.assert_array_equal(known.probabilities, topk.probabilities)
    assert "ECE@5" in (run.folder / "model" / "README.md").read_text()


def test_the_report_draws_what_the_reliability_table_says(train):
    run, plain = train(), train(calibration="none")
    page = render_report([run])
    rows = run.read_report().calibration["reliability"]
    assert "Can the probabilities be trusted?" in page
    caption = f"{run.name}: share that is right, by predicted probability; lines are 95 % intervals."
    before, _, after = page.partition(caption)
    drawn = before[before.rindex("<svg") :]
    bars = [
        [float(value) for value in found]
        for found in re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)" height="([\d.]+)"', drawn)
    ]
    right, said = (np.array([row[key] for row in rows]) for key in ("right", "said"))
    lefts, widths, heights = np.array(bars).T
    np.testing.assert_allclose(heights / heights.max(), right / right.max(), atol=0.01)
    middles = lefts + widths / 2
    np.testing.assert_allclose(np.diff(middles) / np.ptp(middles), np.diff(said) / np.ptp(said), atol=0.02)
    assert after.count(f"{rows[0]['from']:.0f} to {rows[0]['to']:.0f} %") == 1  # the table below the figure
    assert "Can the probabilities be trusted?" not in render_report([plain])


def test_a_busy_machine_trains_as_many_further_models(orchard, monkeypatch):
    train = load_dataset(orchard).train
    method = xcwork.create("one_vs_all").fit(train)
    trained = []
    score = calibrating._score_by_refit

    def be_slow(*arguments: object) -> object:
        trained.append(arguments)
        clock = time.process_time()
        monkeypatch.setattr(time, "process_time", lambda: clock + 100.0 * len(trained))
        return score(*arguments)

    monkeypatch.setattr(calibrating, "_score_by_refit", be_slow)
    plan = plan_holding_out("refit", train, refits=4)
    assert calibrating.calibrate(method, train, plan).n_documents == 300
    assert len(trained) == 9


def test_a_plan_knows_how_fast_the_method_trains(orchard):
    dataset = load_dataset(orchard)
    plans = [
        plan_run({"method": name, "params": {}, "calibration": "auto"}, dataset)
        for name in ("tfidf", "label_tree", "one_vs_all", "siamesexml")
    ]
    assert [len(plan.parts) for plan in plans] == [9, 9, 9, 1]


def test_a_run_trained_without_its_held_out_documents_scores_them_itself(store, tmp_path):
    run = store.create("one_vs_all", {}, write_orchard(tmp_path / "large", 700), calibration="held_out")
    assert worker.main(run.folder) == 0
    assert (run.read_calibration().way, run.read_calibration().n_documents) == ("held_out", 70)
    assert run.load_model().label_frequencies_.sum() == 630
    assert run.read_report().calibration


def test_too_few_documents_to_hold_out_leave_a_run_without(train):
    run = train(calibration="held_out")  # 30 of 300
    assert run.read_calibration() is None
    assert "too few" in run.read_log()
    assert run.read_report().calibration == {}


def test_a_run_may_do_without(train):
    run = train(calibration="none")
    assert run.read_calibration() is None
    assert run.read_topk().probabilities is None


def test_a_killed_worker_that_had_stored_the_model_only_calibrates(train, monkeypatch):
    run = train()
    expected = run.read_calibration().score_curves
    shutil.rmtree(run.folder / "model" / "calibration")
    shutil.rmtree(run.folder / "eval")
    before = (run.folder / "model" / "arrays.safetensors").stat().st_mtime_ns
    from xcwork.runs.status import read_status, write_status

    write_status(run.folder, run.make_next_attempt(read_status(run.folder)))
    assert worker.main(run.folder) == 0
    assert (run.folder / "model" / "arrays.safetensors").stat().st_mtime_ns == before
    np.testing.assert_array_equal(run.read_calibration().score_curves, expected)


def test_a_model_from_before_is_calibrated_on_request(train):
    run = train(calibration="none")
    report = recalibrate_run(run, load(run))
    assert run.read_calibration().way == "refit"
    assert report.calibration["ece"] == run.read_report().calibration["ece"]
    assert run.read_topk().probabilities is not None
    assert not [path for path in (run.folder / "model").iterdir() if path.name.startswith(".")]


def test_a_dataset_with_other_labels_is_refused(train, corpus):
    run = train(calibration="none")
    with pytest.raises(DataError, match="trained on other labels"):
        recalibrate_run(run, load_dataset(corpus))
    assert run.read_calibration() is None


def test_a_dataset_without_a_training_split_is_refused(train):
    run = train(calibration="none")
    dataset = load(run)
    from dataclasses import replace

    with pytest.raises(DataError, match="no training split"):
        recalibrate_run(run, replace(dataset, train=dataset.train.take([])))


def test_too_few_documents_are_said_to_be(train, store, tmp_path):
    small = write_orchard(tmp_path / "small", 40)
    run = store.create("one_vs_all", {}, small)
    assert worker.main(run.folder) == 0
    assert run.read_calibration() is None
    assert "40 training documents are too few" in run.read_log()
    with pytest.raises(DataError, match="40 training documents are too few"):
        recalibrate_run(run, load_dataset(small))


def test_a_wrong_way_is_refused_before_anything_starts(store, orchard):
    with pytest.raises(ConfigError, match="one of auto, sparing, held_out, refit, none"):
        store.create("one_vs_all", {}, orchard, calibration="test")
    assert store.list() == []


def test_a_method_that_trains_for_minutes_is_not_trained_again_unless_asked_to(store, orchard):
    pytest.importorskip("torch")
    choices = [
        store.create("siamesexml", {}, orchard, **options).config["calibration"]
        for options in ({}, {"calibration": "refit"}, {"calibration": "none"})
    ]
    assert choices == ["sparing", "refit", "none"]


def test_runs_of_earlier_versions_are_trained_on_everything(orchard):
    assert read_calibration_choice({}) == "none"
    assert read_calibration_choice({"calibration": "auto", "ranks": 2}) == "held_out"
    assert read_calibration_choice({"calibration": "sparing", "ranks": 2}) == "held_out"
    plan = plan_run({"method": "one_vs_all", "params": {}}, load_dataset(orchard))
    assert plan.way == "none"
