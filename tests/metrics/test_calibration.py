"""Calibration error, Brier score and intervals, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import binomtest

from xcwork.core.topk import TopK
from xcwork.errors import DataError
from xcwork.metrics.calibration import (
    build_reliability_table,
    check_calibration_figures,
    compute_ece,
    compute_wilson_interval,
    describe_calibration,
    measure_calibration,
)
from xcwork.metrics.ranking import place_labels

pairs = st.lists(st.tuples(st.floats(0, 1, width=32), st.booleans()), min_size=1, max_size=60)


@given(pairs)
@settings(max_examples=100, deadline=None)
def test_the_error_is_the_mean_gap_of_ten_bins(drawn):
    p, right = np.array([a for a, _ in drawn], np.float32)[:, None], np.array([b for _, b in drawn])[:, None]
    bins: dict[int, list[tuple[float, bool]]] = {}
    for value, hit in drawn:
        bins.setdefault(min(int(value * 10), 9), []).append((value, hit))
    gaps = [abs(sum(hit for _, hit in each) - sum(value for value, _ in each)) for each in bins.values()]
    assert compute_ece(p, right, np.ones_like(right)) == pytest.approx(100 * sum(gaps) / len(drawn), abs=1e-4)


@given(st.integers(0, 50), st.integers(0, 50))
def test_intervals_are_wilsons(a, b):
    n = a + b
    if n == 0:
        assert compute_wilson_interval(0, 0) == (0.0, 100.0)
        return
    expected = binomtest(a, n).proportion_ci(method="wilson")
    assert compute_wilson_interval(a, n) == pytest.approx((100 * expected.low, 100 * expected.high), abs=1e-6)


def test_figures_of_a_small_case():
    ids = np.array([[0, 1], [2, 5]], np.int32)  # label 5 was added after training
    p = np.array([[0.95, 0.45], [0.85, 0.25]], np.float32)
    topk = TopK(ids, np.zeros((2, 2), np.float32), None, p)
    truth = sparse.csr_array(np.array([[1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1]], np.float32))
    figures = measure_calibration(topk, place_labels(topk, truth), np.array([60, 10, 3]))
    assert figures["ece"] == {"1": pytest.approx(100 * (0.05 + 0.85) / 2, abs=1e-4)}
    assert figures["brier"] == {
        "all": pytest.approx(100 * (0.0025 + 0.2025 + 0.7225 + 0.5625) / 4, abs=1e-4),
        "head": pytest.approx(0.25, abs=1e-4),
        "torso": pytest.approx(20.25, abs=1e-4),
        "tail": pytest.approx(72.25, abs=1e-4),
        "zero-shot": pytest.approx(56.25, abs=1e-4),
    }
    assert [(row["n"], row["right"]) for row in figures["reliability"]] == [(1, 100.0), (1, 0.0), (1, 0.0), (1, 100.0)]
    assert "ECE@1 45.00" in describe_calibration(figures)
    check_calibration_figures(figures)
    with pytest.raises(ValueError, match="not a number"):
        check_calibration_figures(figures | {"ece": {"1": "high"}})


def test_nothing_listed_has_no_error():
    nothing = np.zeros((3, 2))
    assert compute_ece(nothing, nothing, nothing > 0) == 0.0
    assert build_reliability_table(nothing, nothing, nothing > 0) == []


def test_predictions_without_probabilities_are_refused():
    topk = TopK(np.array([[0]], np.int32), np.zeros((1, 1), np.float32))
    truth = sparse.csr_array(np.ones((1, 1), np.float32))
    with pytest.raises(DataError, match="no probabilities"):
        measure_calibration(topk, place_labels(topk, truth), np.array([1]))
