"""Inverse propensities by hand, and the constants of the published datasets."""

from __future__ import annotations

from dataclasses import replace
from math import log

import numpy as np
import pytest

from xcwork.core.propensity import Propensity, compute_inverse_propensities
from xcwork.data.propensity_constants import find_constants


def test_the_formula_by_hand():
    # A = 1, B = 1, N = e^3 (rounded up to 20 documents): C = (ln 20 - 1) * 2, q = 1 + C / (n + 1).
    c = (log(20) - 1) * 2
    weights = compute_inverse_propensities(np.array([0, 1, 19]), 20, Propensity(A=1.0, B=1.0))
    assert weights.tolist() == pytest.approx([1 + c, 1 + c / 2, 1 + c / 20])


def test_rarer_labels_weigh_more_and_unseen_ones_most():
    weights = compute_inverse_propensities(np.arange(100), 1000, Propensity())
    assert np.all(np.diff(weights) < 0)
    assert weights.min() > 1


@pytest.mark.parametrize("n_train", [0, 1, 2])
def test_tiny_training_parts_weigh_all_labels_alike(n_train):
    assert compute_inverse_propensities(np.array([0, 1, 2]), n_train, Propensity()).tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("name", "a", "b"),
    [
        ("Wikipedia-500K", 0.5, 0.4),
        ("WikiLSHTC-325K", 0.5, 0.4),
        ("gz_wikipedia_1m", 0.5, 0.4),
        ("Amazon-670K", 0.6, 2.6),
        ("LF-AmazonTitles-1.3M", 0.6, 2.6),
        ("lf-amazontitles-131k", 0.6, 2.6),
        ("AmazonCat-13K", 0.55, 1.5),
        ("LF-WikiSeeAlsoTitles-320K", 0.55, 1.5),
        ("eurlex57k", 0.55, 1.5),
        ("pyseealso", 0.55, 1.5),
    ],
)
def test_constants_of_published_datasets(name, a, b):
    assert replace(find_constants(name), source="") == Propensity(a, b, "")


def test_the_source_says_whether_the_constants_were_published_for_the_dataset():
    assert find_constants("amazon670k").source == "Extreme Classification Repository, Amazon-670K"
    assert find_constants("my tags") == Propensity()
    assert "default" in find_constants("my tags").source
