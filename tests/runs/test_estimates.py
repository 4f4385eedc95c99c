"""Estimates of what a training costs: the nearest measurement, scaled, with a range that says how sure it is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from xcwork.methods.registry import METHODS
from xcwork.runs import worker
from xcwork.runs.estimates import IDLE_MB, Measurement, estimate, measurement_of, references

MEASURED = Measurement("gated", {"steps": 4, "seed": 0}, 1000, 100, 10.0, IDLE_MB + 100, "small")


def test_the_same_training_again_costs_the_same() -> None:
    found = estimate("gated", {"steps": 4}, n_train=1000, n_labels=100, known=[MEASURED])
    assert (found.seconds, found.memory_mb) == (10.0, IDLE_MB + 100)
    assert found.low < 10.0 < found.high
    assert found.basis == "from a run here on small"


def test_more_documents_and_labels_cost_more_and_are_less_certain() -> None:
    near, far = (estimate("gated", {}, n_train=n, n_labels=400, known=[MEASURED]) for n in (1000, 100_000))
    assert near.seconds == pytest.approx(20.0)
    assert far.seconds == pytest.approx(2000.0)
    assert far.high / far.low > near.high / near.low
    assert "scaled by" in far.basis


def test_the_nearest_measurement_counts_and_this_machine_before_others() -> None:
    larger = replace(MEASURED, n_train=50_000, seconds=100.0, data="large")
    elsewhere = replace(MEASURED, seconds=99.0, here=False)
    assert "large" in estimate("gated", {}, n_train=40_000, n_labels=100, known=[MEASURED, larger]).basis
    assert estimate("gated", {}, n_train=1000, n_labels=100, known=[elsewhere, MEASURED]).seconds == 10.0


def test_epochs_repeat_the_work() -> None:
    known = [replace(MEASURED, params={"epochs": 2})]
    found = estimate("gated", {"epochs": 6}, n_train=1000, n_labels=100, known=known)
    assert found.seconds == pytest.approx(30.0)
    assert "1 setting changed" in found.basis


def test_nothing_known_means_no_estimate() -> None:
    assert estimate("gated", {}, n_train=10, n_labels=10) is None


def test_shipped_measurements_are_of_registered_methods() -> None:
    assert {each.method for each in references()} <= set(METHODS)
    assert estimate("zestxml", {}, n_train=3000, n_labels=3000).seconds > 0


def test_only_finished_runs_are_measurements(new_run) -> None:
    run = new_run(steps=1)
    assert measurement_of(run) is None
    assert worker.main(run.folder) == 0
    measured = measurement_of(run)
    assert (measured.method, measured.n_train, measured.n_labels) == ("gated", 24, 6)
    (run.folder / "config.json").write_text("{")
    assert measurement_of(run) is None
