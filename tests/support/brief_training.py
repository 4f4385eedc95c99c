"""A callback that counts steps and can ask to stop, and methods whose training is short."""

from __future__ import annotations

import functools
from typing import Any

from xcwork.core.dataset import Dataset
from xcwork.methods.base import Method
from xcwork.methods.registry import create
from xcwork.progress import Callback

MULTI_HEAD = {"epochs": 3, "min_steps": 0}
SHORT: dict[str, dict[str, Any]] = {
    "deep_miml": {"epochs": 3, "min_steps": 0},
    "flat": MULTI_HEAD,
    "mhc": MULTI_HEAD,
    "mhp": MULTI_HEAD,
    "mhs": MULTI_HEAD,
    "siamesexml": {"epochs": 3, "classifier_epochs": 3},
}

# The same, shorter still and with smaller networks: for many trainings of which only the shape of the result matters.
NARROW = {"epochs": 1, "min_steps": 0, "width": 8}
BRIEF: dict[str, dict[str, Any]] = {
    "deep_miml": {"epochs": 1, "min_steps": 0, "width": 8},
    "flat": NARROW,
    "mhc": NARROW | {"label_dimension": 8},
    "mhp": NARROW,
    "mhs": NARROW,
    "siamesexml": {"epochs": 1, "classifier_epochs": 1, "dimension": 8},
}


def briefly(name: str, **params: Any) -> Method:
    """A method that trains for a few epochs only: enough to see how a training begins, stops, resumes and ends."""
    return create(name, **SHORT.get(name, {}) | params)


class Stopper(Callback):
    """Counts steps, and asks to stop at step number `stop_at`."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.steps, self.stop_at = 0, stop_at

    def on_step(self, phase: str, step: int, total: int | None) -> bool:
        self.steps += 1
        return self.stop_at is not None and self.steps > self.stop_at


@functools.cache
def train_briefly(name: str, dataset: Dataset) -> Method:
    """A briefly trained method that tests may read but not change."""
    return briefly(name).fit(dataset.train)


@functools.cache
def count_steps(name: str, dataset: Dataset) -> int:
    """How many steps such a training has."""
    counter = Stopper()
    briefly(name).fit(dataset.train, callbacks=[counter])
    return counter.steps
