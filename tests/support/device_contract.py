"""What all tests of the device contract share: methods in small, trained on the CPU and on the emulated accelerator."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tests.support.device_traffic import Traffic
from xcwork.core.dataset import Dataset
from xcwork.core.topk import TopK
from xcwork.methods.base import Method
from xcwork.methods.registry import METHODS, create, find_method_class

ON_DEVICE = sorted(name for name in METHODS if find_method_class(name).capabilities.gpu)
RESUMABLE = [name for name in ON_DEVICE if find_method_class(name).capabilities.resumable]
NETWORK = {"epochs": 2, "min_steps": 0, "width": 8, "batch_size": 8}
SMALL: dict[str, dict[str, Any]] = {
    "sentence_match": {"words": 0.0},  # words in common are compared on the CPU
    "deep_miml": NETWORK,
    "eagle": {"learner_params": "tolerance=1e-4, max_passes=1000"},
    "flat": NETWORK,
    "label_tree": {"tolerance": 1e-4, "max_passes": 1000},
    "landmarks": {"solver": "admm"},
    "mhc": NETWORK | {"label_dimension": 8},
    "mhp": NETWORK,
    "mhs": NETWORK,
    "one_vs_all": {"tolerance": 1e-4, "max_passes": 1000},
    "siamesexml": {
        "epochs": 2,
        "classifier_epochs": 2,
        "dimension": 8,
        "batch_size": 8,
        "classifier_batch_size": 8,
    },
    "zestxml": {"shortlister": "exact", "tolerance": 1e-6, "max_passes": 1000},
}
# On data whose labels have no order.
QUICK: dict[str, dict[str, Any]] = {
    "label_tree": {"kind": "bonsai", "tolerance": 1e-4, "max_passes": 1000},
    "one_vs_all": {"tolerance": 1e-4, "max_passes": 1000},
    "zestxml": {"shortlister": "exact", "shortlist": 10, "tolerance": 1e-6, "max_passes": 1000},
}
K = 5


def make(name: str, device: str = "emu", **params: Any) -> Method:
    return create(name, **SMALL.get(name, {}) | {"device": device} | params)


@functools.cache
def train_on_cpu(name: str, dataset: Dataset) -> Method:
    return make(name, "cpu").fit(dataset.train)


@functools.cache
def predict_on_cpu(name: str, dataset: Dataset) -> TopK:
    return rank(train_on_cpu(name, dataset), dataset.test)


def rank(method: Method, documents: Any) -> TopK:
    """Return one label more than is compared, to tell whether the last of these could be another."""
    return method.predict(documents, k=K + 1)


def assert_close(found: TopK, expected: TopK, tolerance: float = 1e-4) -> None:
    """The same scores, and the same labels above every gap in the scores that rounding cannot close."""
    np.testing.assert_allclose(found.scores, expected.scores, atol=tolerance, rtol=tolerance)
    scores = np.where(np.isfinite(expected.scores), expected.scores, -1e9)
    gaps = np.argwhere(np.abs(np.diff(scores, axis=1)) > 2 * tolerance * (1 + np.abs(scores[:, :-1])))
    assert len(gaps), "no label stands out"
    for row, last in gaps.tolist():
        assert set(found.ids[row, : last + 1].tolist()) == set(expected.ids[row, : last + 1].tolist())


def count_training(traffic: Traffic, method: Method, dataset: Dataset) -> Traffic:
    before = traffic.copy()
    method.fit(dataset.train)
    return traffic.subtract(before)
