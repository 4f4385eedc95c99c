"""The regret of leaving out weights: within the theorem's bound, nothing at 0, all at a weight above every other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from xcwork.data.synthetic import make_synthetic
from xcwork.errors import DataError
from xcwork.studies.regret import compute_regret_curve


@pytest.fixture(scope="module")
def data():
    return make_synthetic(n_documents=300, n_labels=40, n_topics=4, seed=1)


def test_the_regret_stays_within_the_bound_and_grows_with_epsilon(data) -> None:
    frame = compute_regret_curve(data, (0.0, 0.01, 0.1, 0.5))
    assert (frame["broken"] == 0).all()
    assert (frame["mean_regret"] <= frame["mean_bound"] + 1e-9).all()
    assert frame["mean_regret"].iloc[0] == 0
    assert frame["kept"].is_monotonic_decreasing
    assert frame["same_first"].iloc[0] == 100


def test_without_any_weight_the_first_label_is_arbitrary_and_the_bound_still_holds(data) -> None:
    frame = compute_regret_curve(data, (1.1,), most=10)
    assert frame["kept"].iloc[0] == 0
    assert 0 < frame["mean_regret"].iloc[0] <= frame["mean_bound"].iloc[0]


def test_the_same_seed_looks_at_the_same_documents(data) -> None:
    a, b = (compute_regret_curve(data, (0.1,), most=20, seed=3) for _ in range(2))
    np.testing.assert_array_equal(a.to_numpy(), b.to_numpy())


def test_labels_without_text_are_refused(data) -> None:
    bare = replace(data.labels, Z=None)
    mute = replace(data, train=replace(data.train, labels=bare), test=replace(data.test, labels=bare))
    with pytest.raises(DataError, match="no text"):
        compute_regret_curve(mute)
