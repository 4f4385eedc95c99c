"""Epoch training: curves, early stopping, and resuming after every epoch to the same result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from xcwork.errors import Cancelled
from xcwork.methods.resume import Progress
from xcwork.progress import Callback, listening
from xcwork.storage import Checkpoint
from xcwork.training import train_epochs


class Walk:
    """A trainer whose weight takes random steps; the value of an epoch is given in advance."""

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
        return {} if self.values is None else {"value": self.values[self.begun[-1]]}

    def weights(self) -> dict[str, Any]:
        return {"weight": np.array([self.weight])}

    def set_weights(self, weights: Mapping[str, Any]) -> None:
        self.weight = float(weights["weight"][0])

    def momentum(self) -> dict[str, Any]:
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


def train(walk: Walk, progress: Progress | None = None, *, epochs: int = 4, patience: int = 9):
    return train_epochs(walk, "walking", progress or Progress(None, None, {}), epochs=epochs, patience=patience)


def test_every_epoch_reports_its_mean_loss() -> None:
    walk, listener = Walk(), Listener()
    with listening([listener]):
        curve = train(walk)
    assert walk.begun == [0, 1, 2, 3]
    assert listener.steps == 1 + 4 * Walk.steps
    assert [entry["epoch"] for entry in listener.seen] == [1, 2, 3, 4]
    assert [entry["loss"] for entry in listener.seen] == [entry["loss"] for entry in curve]


def test_it_stops_after_patience_and_goes_back_to_the_best_epoch() -> None:
    best = Walk()
    train(best, epochs=2)
    walk = Walk([1, 5, 4, 3, 9])
    curve = train(walk, epochs=5, patience=1)
    assert [entry["value"] for entry in curve] == [1, 5, 4, 3]
    assert walk.weight == best.weight


def test_without_held_out_data_it_takes_all_epochs_and_the_last_weights() -> None:
    walk, other = Walk(), Walk([4, 3, 2, 1])
    assert len(train(walk, patience=1)) == 4
    assert len(train(other, patience=9)) == 4
    assert other.weight < walk.weight


@pytest.mark.parametrize("stop_at", range(13))
def test_stopped_anywhere_it_resumes_to_the_same_curve(stop_at: int, jumble, tmp_path) -> None:
    values = [1.0, 3.0, 2.0, 2.5]
    whole = Walk(values)
    expected = train(whole)
    listener = Listener(stop_at)

    def progress() -> Progress:
        return Progress(Checkpoint(tmp_path), jumble.train, {})

    with pytest.raises(Cancelled), listening([listener]):
        train(Walk(values), progress())
    resumed = Walk(values)
    assert train(resumed, progress()) == expected
    assert resumed.weight == whole.weight
    finished = len(listener.seen)
    assert resumed.begun == list(range(finished, 4)), "epochs that were complete are not repeated"
