"""Epoch training: curves, early stopping, and resuming after every epoch to the same result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from xcwork.errors import Cancelled
from xcwork.methods.common.checkpoints import Checkpoint, TrainingProgress
from xcwork.methods.common.epochs import Curve, train_epochs
from xcwork.progress import Callback, listen


class Walk:
    """A trainer whose weight takes random steps; the values of the start and of the epochs are given in advance."""

    steps = 3

    def __init__(self, values: list[float] | None = None) -> None:
        self.values, self.weight, self.speed, self.begun = values, 0.0, 1.0, list[int]()

    def begin(self, epoch: int) -> None:
        self.begun.append(epoch)
        self.rng = np.random.default_rng(epoch)

    def step(self, number: int) -> float:
        self.weight += self.speed * self.rng.random()
        self.speed *= 0.9
        return self.weight

    def measure(self) -> dict[str, float]:
        return {} if self.values is None else {"value": self.values[self.begun[-1] + 1 if self.begun else 0]}

    def get_weights(self) -> dict[str, Any]:
        return {"weight": np.array([self.weight])}

    def set_weights(self, weights: Mapping[str, Any]) -> None:
        self.weight = float(weights["weight"][0])

    def get_momentum(self) -> dict[str, Any]:
        return {"speed": self.speed}

    def set_momentum(self, momentum: Mapping[str, Any]) -> None:
        self.speed = momentum["speed"]


class Listener(Callback):
    def __init__(self, stop_at: int | None = None) -> None:
        self.steps, self.stop_at, self.seen = 0, stop_at, list[dict[str, float]]()

    def on_step(self, phase: str, step: int, total: int | None) -> bool:
        self.steps += 1
        return self.steps - 1 == self.stop_at

    def on_values(self, phase: str, values: dict[str, float]) -> None:
        self.seen.append(values)


def train(walk: Walk, progress: TrainingProgress | None = None, **options: Any) -> Curve:
    options = {"epochs": 4, "patience": 9} | options
    return train_epochs(walk, "walking", progress or TrainingProgress(None, None, {}), **options)


def weight_after(epochs: int) -> float:
    """Where a walk is after so many epochs."""
    walk = Walk()
    train(walk, epochs=epochs)
    return walk.weight


def test_every_epoch_reports_its_mean_loss() -> None:
    walk, listener = Walk(), Listener()
    with listen([listener]):
        curve = train(walk)
    assert walk.begun == [0, 1, 2, 3]
    assert listener.steps == 1 + 4 * Walk.steps
    assert [entry["epoch"] for entry in listener.seen] == [1, 2, 3, 4]
    assert [entry["loss"] for entry in listener.seen] == [entry["loss"] for entry in curve]


@pytest.mark.parametrize("patience", [1, 2, 3])
def test_it_stops_after_patience_epochs_without_a_new_best_and_goes_back_to_the_best(patience: int) -> None:
    walk = Walk([0, 1, 5, 4, 5, 3, 9])
    curve = train(walk, epochs=6, patience=patience)
    assert [entry["value"] for entry in curve] == [1, 5, 4, 5, 3][: 2 + patience]
    assert walk.weight == weight_after(2)


@pytest.mark.parametrize("patience", [1, 2])
def test_the_start_is_a_candidate(patience: int) -> None:
    walk, listener = Walk([7, 6, 5, 4, 3]), Listener()
    with listen([listener]):
        curve = train(walk, patience=patience)
    assert walk.weight == 0.0
    assert len(curve) == patience
    assert listener.seen[0] == {"epoch": 0, "value": 7}


def test_smaller_values_may_be_the_better_ones() -> None:
    walk = Walk([5, 3, 4, 2, 1])
    assert len(train(walk, patience=1, smaller_is_better=True)) == 2
    assert walk.weight == weight_after(1)


def test_a_value_that_is_not_a_number_is_never_the_best() -> None:
    nan = float("nan")
    walk = Walk([nan, nan, 3, nan, 2])
    assert len(train(walk, patience=2)) == 4
    assert walk.weight == weight_after(2)


def test_without_held_out_data_it_takes_all_epochs_and_the_last_weights() -> None:
    walk = Walk()
    assert len(train(walk, patience=1)) == 4
    assert walk.weight == weight_after(4) > weight_after(1)


@pytest.mark.parametrize("start", [0.0, 9.0])
@pytest.mark.parametrize("stop_at", range(13))
def test_stopped_anywhere_it_resumes_to_the_same_curve(stop_at: int, start: float, jumble, tmp_path) -> None:
    values = [start, 1.0, 3.0, 2.0, 2.5]
    whole = Walk(values)
    expected = train(whole)
    listener = Listener(stop_at)

    def progress() -> TrainingProgress:
        return TrainingProgress(Checkpoint(tmp_path), jumble.train, {})

    with pytest.raises(Cancelled), listen([listener]):
        train(Walk(values), progress())
    resumed = Walk(values)
    assert train(resumed, progress()) == expected
    assert resumed.weight == whole.weight
    finished = len(listener.seen) - 1  # the first values are those of the start
    assert resumed.begun == list(range(finished, 4)), "epochs that were complete are not repeated"
