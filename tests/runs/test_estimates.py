"""Estimates of what a training costs: the nearest measurement, scaled, with a range that says how sure it is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from xcwork.methods.registry import METHODS
from xcwork.runs import RunStore, jobs, worker
from xcwork.runs.estimates import IDLE_MB, Measurement, estimate, measurement_of, references

pytestmark = pytest.mark.slow

MEASURED = Measurement("gated", {"steps": 4, "seed": 0}, 1000, 100, 900, 10.0, IDLE_MB + 100, "small")
SIZES = {"n_train": 1000, "n_labels": 100, "n_features": 900}
TINY = "synthetic:n_documents=150,n_labels=20,n_topics=4,labels_per_document=2,seed=5"
MEDIUM = "synthetic:n_documents=4000,n_labels=300,seed=5"


def test_the_same_training_again_costs_the_same() -> None:
    found = estimate("gated", {"steps": 4}, **SIZES, known=[MEASURED])
    assert (found.seconds, found.memory_mb) == (10.0, IDLE_MB + 100)
    assert found.low < 10.0 < found.high
    assert found.basis == "from a run here on small"


def test_more_documents_and_labels_cost_more_and_are_less_certain() -> None:
    sizes = SIZES | {"n_labels": 400}
    near, far = (estimate("gated", {}, **sizes | {"n_train": n}, known=[MEASURED]) for n in (1000, 100_000))
    assert near.seconds == pytest.approx(20.0)
    assert far.seconds == pytest.approx(2000.0)
    assert far.high / far.low > near.high / near.low


def test_memory_grows_with_rows_and_columns_above_that_of_the_process() -> None:
    found = estimate("gated", {}, n_train=3000, n_labels=100, n_features=900, known=[MEASURED])
    assert found.memory_mb == pytest.approx(IDLE_MB + 200)
    found = estimate("gated", {}, n_train=10, n_labels=5, n_features=5, known=[MEASURED])
    assert found.memory_mb == pytest.approx(IDLE_MB + 1)


@pytest.mark.parametrize(
    ("n_train", "words"),
    [(1100, ""), (5000, ", a smaller dataset"), (10**6, ", a much smaller dataset"), (10, ", a much larger dataset")],
)
def test_a_measurement_of_another_size_is_described_in_words(n_train: int, words: str) -> None:
    found = estimate("gated", {"steps": 4}, **SIZES | {"n_train": n_train}, known=[MEASURED])
    assert found.basis == f"from a run here on small{words}"


def test_the_nearest_measurement_counts_and_this_machine_before_others() -> None:
    larger = replace(MEASURED, n_train=50_000, seconds=100.0, data="large")
    elsewhere = replace(MEASURED, seconds=99.0, here=False)
    assert "large" in estimate("gated", {}, **SIZES | {"n_train": 40_000}, known=[MEASURED, larger]).basis
    assert estimate("gated", {}, **SIZES, known=[elsewhere, MEASURED]).seconds == 10.0


def test_epochs_repeat_the_work() -> None:
    known = [replace(MEASURED, params={"epochs": 2})]
    found = estimate("gated", {"epochs": 6}, **SIZES, known=known)
    assert found.seconds == pytest.approx(30.0)
    assert "1 setting changed" in found.basis


def test_nothing_known_means_no_estimate() -> None:
    assert estimate("gated", {}, n_train=10, n_labels=10, n_features=10) is None


def test_shipped_measurements_know_every_method_small_and_large() -> None:
    for method in METHODS.keys() - {"gated"}:  # a method of the tests
        sizes = [each.n_train for each in references() if each.method == method]
        assert min(sizes, default=0) in range(1, 100), method
        assert max(sizes) > 1000, method


@pytest.mark.slow
@pytest.mark.parametrize("data", [TINY, MEDIUM], ids=["tiny", "medium"])
@pytest.mark.parametrize(
    ("method", "params"),
    [("popularity", {}), ("zestxml", {}), ("flat", {"epochs": 1})],
)
def test_estimated_memory_is_what_a_worker_takes(method: str, params: dict, data: str, store: RunStore) -> None:
    run = store.create(method, params, data)
    assert jobs.wait(jobs.launch(run), timeout=280).state == "finished"
    measured = measurement_of(run)
    sizes = {"n_train": measured.n_train, "n_labels": measured.n_labels, "n_features": measured.n_features}
    expected = estimate(method, run.config["params"], **sizes)
    assert measured.memory_mb / 1.5 < expected.memory_mb < 1.5 * measured.memory_mb


def test_only_finished_runs_are_measurements(new_run) -> None:
    run = new_run(steps=1)
    assert measurement_of(run) is None
    assert worker.main(run.folder) == 0
    measured = measurement_of(run)
    assert (measured.method, measured.n_train, measured.n_labels) == ("gated", 24, 6)
    (run.folder / "config.json").write_text("{")
    assert measurement_of(run) is None
