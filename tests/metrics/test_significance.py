"""Bootstrap intervals whose answer is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from xcwork.core.dataset import Dataset
from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.core.topk import TopK
from xcwork.errors import ConfigError, DataError
from xcwork.metrics import evaluate_topk
from xcwork.metrics.significance import bootstrap_difference, compare_predictions


def test_identical_runs_do_not_differ():
    values = np.random.default_rng(0).random(50)
    found = bootstrap_difference(values, values)
    assert (found.difference, found.low, found.high, found.p_value) == (0.0, 0.0, 0.0, 1.0)
    assert not found.significant


def test_a_clearly_better_run_is_significant_and_the_sign_follows_the_order():
    worse = np.random.default_rng(0).random(200)
    better = worse + 0.1 + 0.05 * np.random.default_rng(1).standard_normal(200)
    found = bootstrap_difference(better, worse)
    assert found.significant
    assert 0 < found.low < found.difference < found.high
    assert found.p_value < 0.01
    reverse = bootstrap_difference(worse, better)
    assert reverse.significant
    assert reverse.high < 0
    assert reverse.difference == pytest.approx(-found.difference)


def test_noise_is_not_significant():
    rng = np.random.default_rng(3)
    found = bootstrap_difference(rng.random(100), rng.random(100))
    assert not found.significant
    assert found.low < 0 < found.high
    assert found.p_value > 0.05


def test_the_interval_matches_the_normal_approximation():
    difference = np.random.default_rng(4).standard_normal(2000) + 1.0
    found = bootstrap_difference(difference, np.zeros(2000), n_resamples=4000)
    half = 1.96 * difference.std() / np.sqrt(2000)
    assert found.low == pytest.approx(difference.mean() - half, abs=0.1 * half)
    assert found.high == pytest.approx(difference.mean() + half, abs=0.1 * half)


def test_a_ratio_of_sums_uses_its_denominator():
    a, b, below = np.array([2.0, 0.0, 3.0]), np.array([1.0, 0.0, 3.0]), np.array([4.0, 0.0, 6.0])
    assert bootstrap_difference(a, b, denominator=below).difference == pytest.approx(1 / 10)


def test_resampling_equals_a_plain_loop():
    rng = np.random.default_rng(7)
    a, b = rng.random(5), rng.random(5)
    found = bootstrap_difference(a, b, n_resamples=9, seed=11)
    chosen = np.random.default_rng(11).integers(5, size=(9, 5))
    draws = [np.mean([a[i] - b[i] for i in row]) for row in chosen]
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(draws, [0.025, 0.975])))


def test_the_seed_decides_and_blocks_do_not(monkeypatch):
    rng = np.random.default_rng(5)
    a, b = rng.random(40), rng.random(40)
    whole = bootstrap_difference(a, b, seed=1)
    assert bootstrap_difference(a, b, seed=1) == whole
    assert bootstrap_difference(a, b, seed=2) != whole
    monkeypatch.setattr("xcwork.metrics.significance.COUNTS_PER_BLOCK", 100)
    in_blocks = bootstrap_difference(a, b, seed=1)
    assert (in_blocks.low, in_blocks.high) == pytest.approx((whole.low, whole.high))


def test_no_documents_are_no_evidence():
    found = bootstrap_difference(np.array([]), np.array([]))
    assert not found.significant
    assert found.difference == 0.0


def test_runs_on_different_documents_are_refused():
    with pytest.raises(DataError, match="same documents"):
        bootstrap_difference(np.zeros(3), np.zeros(4))


@pytest.mark.parametrize("options", [{"n_resamples": 0}, {"confidence": 1.0}])
def test_impossible_options_are_refused(options):
    with pytest.raises(ConfigError, match="bootstrap needs"):
        bootstrap_difference(np.zeros(3), np.zeros(3), **options)


def dataset_of(truth: np.ndarray) -> Dataset:
    n_documents, n_labels = truth.shape
    labels, features = LabelSpace([f"label {i}" for i in range(n_labels)]), Features(1)
    X, Y = sparse.csr_array(np.ones((n_documents, 1), np.float32)), sparse.csr_array(truth.astype(np.float32))
    split = Split(X, Y, labels, features)
    return Dataset("toy", replace(split), split)


def test_two_runs_are_compared_in_every_metric():
    rng = np.random.default_rng(6)
    truth = rng.random((300, 12)) < 0.3
    noise = rng.random(truth.shape)
    good, bad = (np.argsort(-(weight * truth + noise), axis=1).astype(np.int32) for weight in (0.9, 0.1))
    a, b = (TopK(ids, np.zeros(ids.shape, np.float32)) for ids in (good, bad))
    dataset = dataset_of(truth)
    frame = compare_predictions(a, b, dataset, n_resamples=300).set_index("metric")
    train = dataset.train
    options = {
        "frequencies": train.label_frequencies,
        "n_train": len(train),
        "propensity": dataset.propensity,
    }
    for column, topk in (("a", a), ("b", b)):
        values = evaluate_topk(topk, dataset.test.Y, **options)
        assert frame[column].to_dict() == pytest.approx({metric: values[metric] for metric in frame.index})
    assert np.allclose(frame["difference"], frame["a"] - frame["b"])
    assert frame.loc[["P@1", "P@5", "nDCG@5", "PSP@3", "PSnDCG@5", "recall_micro@5"], "significant"].all()
    assert not compare_predictions(a, a, dataset, n_resamples=50)["significant"].any()
