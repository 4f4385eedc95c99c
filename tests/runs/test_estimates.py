"""Estimates of what a training costs: the nearest measurement, scaled, with a range that says how sure it is."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import psutil
import pytest

from tests.support.waiting import PATIENCE_SECONDS
from xcwork.compute import busyness
from xcwork.compute.busyness import estimate_clock_seconds
from xcwork.methods.registry import METHODS
from xcwork.runs import RunStore, estimates, jobs, worker
from xcwork.runs.estimates import (
    IDLE_WORKER_MB,
    MAX_TELLING_AGE_SECONDS,
    REFIT_SHARE,
    Measurement,
    Slowness,
    _add_rest,
    estimate_cost,
    measure_other_load,
    measure_run,
    measure_slowness,
    read_references,
)
from xcwork.runs.status import Status

pytestmark = pytest.mark.slow

MEASURED = Measurement(
    "gated", {"steps": 4, "seed": 0}, 1000, 100, 900, 6.0, IDLE_WORKER_MB + 100, "small", cpu_seconds=10.0
)
SIZES = {"n_train": 1000, "n_labels": 100, "n_features": 900}
TINY = "synthetic:n_documents=150,n_labels=20,n_topics=4,labels_per_document=2,seed=5"
MEDIUM = "synthetic:n_documents=2000,n_labels=300,seed=5"


def test_the_same_training_again_costs_the_same() -> None:
    found = estimate_cost("gated", {"steps": 4}, **SIZES, known=[MEASURED])
    assert (found.cpu_seconds, found.memory_mb) == (10.0, IDLE_WORKER_MB + 100)
    assert found.seconds == pytest.approx(estimate_clock_seconds(10.0))
    assert found.low < found.seconds < found.high
    assert found.basis == "from a run here on small"


def test_a_busy_machine_takes_longer_for_the_same_processor_time() -> None:
    quiet, busy = (estimate_cost("gated", {"steps": 4}, **SIZES, known=[MEASURED], other_load=n) for n in (0, 40))
    assert quiet.cpu_seconds == busy.cpu_seconds
    assert busy.seconds == pytest.approx(estimate_clock_seconds(10.0, 40))
    assert busy.seconds > quiet.seconds


def test_the_last_run_tells_how_busy_the_machine_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "getloadavg", lambda: (30.0, 0.0, 0.0))
    monkeypatch.setattr(busyness, "count_cores", lambda: 2)
    now = datetime.now(UTC)

    def end_before(seconds: float, **changes: float) -> Status:
        ended = (now - timedelta(seconds=seconds)).isoformat(timespec="microseconds")
        return replace(Status("finished", ended=ended, work_seconds=15.0, cpu_seconds=10.0), **changes)

    old, new = end_before(MAX_TELLING_AGE_SECONDS + 60), end_before(20)
    assert measure_other_load([old]) > 29.0, "it may have been another day"
    assert measure_other_load([old, new, end_before(40, work_seconds=60.0)]) == pytest.approx(4.0)
    assert measure_other_load([end_before(20, cpu_seconds=0.1)]) > 28.0, "too short to tell"


def test_more_documents_and_labels_cost_more_and_are_less_certain() -> None:
    sizes = SIZES | {"n_labels": 400}
    near, far = (estimate_cost("gated", {}, **sizes | {"n_train": n}, known=[MEASURED]) for n in (1000, 100_000))
    assert near.cpu_seconds == pytest.approx(_add_rest("gated", 12.0, 1000)), "twice the work"
    assert far.cpu_seconds == pytest.approx(_add_rest("gated", 1200.0, 100_000))
    assert far.high / far.low > near.high / near.low


def test_a_calibration_trains_further_models_of_methods_that_are_fast() -> None:
    def count_models(method: str, n_train: int = 4000) -> float:
        return (_add_rest(method, 100.0, n_train) - _add_rest(method, 0.0, n_train)) / 100.0

    assert count_models("tfidf") == pytest.approx(1 + 9 * REFIT_SHARE)
    assert count_models("gated") == pytest.approx(1 + 2 * REFIT_SHARE)
    assert count_models("tfidf", 30_000) == pytest.approx(1.0), "beyond 20,000 documents no further model is trained"
    slow = [_add_rest("siamesexml", seconds, 3000) for seconds in (0.0, 100.0)]
    assert slow[1] - slow[0] == pytest.approx(100.0), "nor is one of a method that trains for minutes"


def test_memory_grows_with_rows_and_columns_above_that_of_the_process() -> None:
    found = estimate_cost("gated", {}, n_train=3000, n_labels=100, n_features=900, known=[MEASURED])
    assert found.memory_mb == pytest.approx(IDLE_WORKER_MB + 200)
    found = estimate_cost("gated", {}, n_train=10, n_labels=5, n_features=5, known=[MEASURED])
    assert found.memory_mb == pytest.approx(IDLE_WORKER_MB + 1)


@pytest.mark.parametrize(
    ("n_train", "words"),
    [(1100, ""), (5000, ", a smaller dataset"), (10**6, ", a much smaller dataset"), (10, ", a much larger dataset")],
)
def test_a_measurement_of_another_size_is_described_in_words(n_train: int, words: str) -> None:
    found = estimate_cost("gated", {"steps": 4}, **SIZES | {"n_train": n_train}, known=[MEASURED])
    assert found.basis == f"from a run here on small{words}"


def test_the_nearest_measurement_counts_and_this_machine_before_others() -> None:
    larger = replace(MEASURED, n_train=50_000, cpu_seconds=100.0, data="large")
    elsewhere = replace(MEASURED, cpu_seconds=99.0, here=False)
    assert "large" in estimate_cost("gated", {}, **SIZES | {"n_train": 40_000}, known=[MEASURED, larger]).basis
    assert estimate_cost("gated", {}, **SIZES, known=[elsewhere, MEASURED]).cpu_seconds == 10.0


def test_the_same_settings_elsewhere_count_before_quite_other_ones_here(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"part_{number}" for number in range(6)]
    usual, paper = dict.fromkeys(names, True), dict.fromkeys(names, False)
    shipped = replace(MEASURED, params={**paper, "seed": 0}, cpu_seconds=40.0, here=False)
    monkeypatch.setattr(estimates, "read_references", lambda: (shipped,))
    here = replace(MEASURED, params={**usual, "seed": 0}, cpu_seconds=70.0)
    assert estimate_cost("gated", paper, **SIZES, known=[here]).cpu_seconds == 40.0
    assert estimate_cost("gated", usual | {"part_0": False}, **SIZES, known=[here]).cpu_seconds == 70.0


def test_of_equal_runs_the_latest_counts() -> None:
    later = replace(MEASURED, cpu_seconds=25.0)
    assert estimate_cost("gated", {"steps": 4}, **SIZES, known=[MEASURED, later]).cpu_seconds == pytest.approx(25.0)


def test_epochs_repeat_the_work() -> None:
    known = [replace(MEASURED, params={"epochs": 2})]
    found = estimate_cost("gated", {"epochs": 6}, **SIZES, known=known)
    assert found.cpu_seconds == pytest.approx(_add_rest("gated", 18.0, 1000))
    assert "1 setting changed" in found.basis


def test_a_quick_look_does_not_make_the_usual_training_look_endless() -> None:
    # Only the encoder of SiameseXML has fewer epochs in a quick look; the classifiers keep theirs.
    quick, usual = ({"epochs": n, "classifier_epochs": 20, "seed": 0} for n in (2, 30))
    known = [replace(MEASURED, params=quick)]
    found = estimate_cost("gated", usual, **SIZES, known=known)
    assert found.cpu_seconds == pytest.approx(_add_rest("gated", 6.0 * 50 / 22, 1000))


def test_a_least_number_of_steps_is_part_of_the_passes() -> None:
    params = {"epochs": 2, "batch_size": 100, "min_steps": 100, "seed": 0}  # ten passes over 1,000 documents
    known = [replace(MEASURED, params=params)]
    found = estimate_cost("gated", params | {"epochs": 10}, **SIZES, known=known)
    assert found.cpu_seconds == 10.0, "as many passes, so the same"
    larger = estimate_cost("gated", params, **SIZES | {"n_train": 10_000}, known=known)
    assert larger.cpu_seconds == pytest.approx(_add_rest("gated", 6.0 * 10 * 2 / 10, 10_000)), "two passes are enough"


def test_a_setting_left_to_xcwork_that_is_newer_than_the_measurement_changes_nothing() -> None:
    found = estimate_cost("gated", {"steps": 4, "device": "auto"}, **SIZES, known=[MEASURED])
    assert found.basis == "from a run here on small"


def test_a_run_of_an_older_version_counts_with_a_usual_calibration_and_evaluation() -> None:
    old = replace(MEASURED, train_cpu_seconds=10.0, cpu_seconds=None)
    assert old.total_cpu_seconds == _add_rest("gated", 10.0, 1000) > 10.0


def test_runs_here_tell_how_fast_this_machine_is(monkeypatch: pytest.MonkeyPatch) -> None:
    table = [replace(MEASURED, method=method, here=False) for method in ("gated", "other")]
    monkeypatch.setattr(estimates, "read_references", lambda: tuple(table))
    estimates._find_base.cache_clear()
    alone = estimate_cost("other", {}, **SIZES)
    assert measure_slowness([]) is None
    first = [replace(MEASURED, cpu_seconds=30.0)]
    assert measure_slowness(2 * first) is None, "the first runs also build the dataset and compile"
    slow = 3 * first
    assert measure_slowness(slow) == Slowness(pytest.approx(3.0), 1.0)
    beside = estimate_cost("other", {}, **SIZES, known=slow)
    assert beside.cpu_seconds == pytest.approx(3 * alone.cpu_seconds)
    assert beside.high / beside.low < alone.high / alone.low
    assert measure_slowness(3 * [replace(MEASURED, cpu_seconds=0.2)]) is None, "too short to tell"
    assert measure_slowness(3 * [replace(MEASURED, cpu_seconds=30.0, params={"steps": 40})]) is None, "other settings"
    busy = [*slow, *(3 * [replace(MEASURED, cpu_seconds=120.0)])]
    assert measure_slowness(busy) == Slowness(pytest.approx(12.0), pytest.approx(2.0)), "of the last five"
    unsure = estimate_cost("other", {}, **SIZES, known=busy)
    assert unsure.high / unsure.low > beside.high / beside.low, "a machine that does other things, too"
    estimates._find_base.cache_clear()


def test_nothing_known_means_no_estimate() -> None:
    assert estimate_cost("gated", {}, n_train=10, n_labels=10, n_features=10) is None


def test_shipped_measurements_know_every_method_small_and_large() -> None:
    for method in METHODS.keys() - {"gated"}:  # a method of the tests
        sizes = [each.n_train for each in read_references() if each.method == method]
        assert min(sizes, default=0) in range(1, 100), method
        assert max(sizes) > 1000, method


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "params", "data"),
    [("popularity", {}, TINY), ("zestxml", {}, MEDIUM), ("flat", {"epochs": 1}, TINY)],
    ids=["popularity", "zestxml", "flat"],
)
def test_estimated_memory_is_what_a_worker_takes(method: str, params: dict, data: str, store: RunStore) -> None:
    run = store.create(method, params, data, label_map=False)  # made when all is measured
    assert jobs.wait(jobs.launch(run), timeout=PATIENCE_SECONDS).state == "finished"
    measured = measure_run(run)
    sizes = {"n_train": measured.n_train, "n_labels": measured.n_labels, "n_features": measured.n_features}
    expected = estimate_cost(method, run.config["params"], **sizes)
    assert measured.memory_mb / 1.5 < expected.memory_mb < 1.5 * measured.memory_mb


def test_only_finished_runs_are_measurements(new_run) -> None:
    run = new_run(steps=1)
    assert measure_run(run) is None
    assert worker.main(run.folder) == 0
    measured = measure_run(run)
    assert (measured.method, measured.n_train, measured.n_labels) == ("gated", 24, 6)
    assert measured.total_cpu_seconds == run.status.cpu_seconds > measured.train_cpu_seconds, "with the evaluation"
    assert run.status.cpu_seconds > run.status.calibration_cpu_seconds >= 0
    (run.folder / "config.json").write_text("{")
    assert measure_run(run) is None
