"""Training by epochs: progress, curves, early stopping, and a checkpoint after every epoch.

A `Trainer` knows how to take one step and how to describe itself; `train_epochs` does what is the same for all:

    progress = Progress(checkpoint, train, params)
    curve = train_epochs(trainer, "training the encoder", progress, epochs=30, patience=5)

Everything random in an epoch must follow from its number, as with `np.random.default_rng((seed, epoch))`. Then the
state after an epoch decides all that comes, and a resumed training continues the same curve to the last bit.

Early stopping keeps the weights of the best epoch by the value that `measure` returns first. A stage that is finished
leaves only its weights and its curve in the checkpoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Protocol

import numpy as np

from xcwork.methods.resume import Progress
from xcwork.progress import report, track

Curve = list[dict[str, float]]


class Trainer(Protocol):
    """What `train_epochs` asks of a training."""

    steps: int  # of an epoch

    def begin(self, epoch: int) -> None:
        """Draw what the epoch needs."""

    def step(self, number: int) -> float:
        """Take step `number` of the epoch; returns its loss."""

    def measure(self) -> dict[str, float]:
        """Values on held-out data, the one that counts first and larger when better; empty without such data."""

    def weights(self) -> dict[str, Any]:
        """What is learned, as new arrays."""

    def set_weights(self, weights: Mapping[str, Any]) -> None:
        """Go back to what `weights` returned."""

    def momentum(self) -> dict[str, Any]:
        """What later steps depend on besides the weights."""

    def set_momentum(self, momentum: Mapping[str, Any]) -> None:
        """Go back to what `momentum` returned."""


def train_epochs(trainer: Trainer, name: str, progress: Progress, *, epochs: int, patience: int) -> Curve:
    """Train up to `epochs` epochs, fewer when `patience` of them bring no progress; returns one entry an epoch."""
    state = progress.state(name) or {"curve": [], "done": False}
    curve: Curve = list(state["curve"])
    best = state.get("best")
    if state["done"]:
        trainer.set_weights(state["weights"])
    elif curve:
        trainer.set_weights(state["weights"])
        trainer.set_momentum(state["momentum"])
    first, losses, stopped = len(curve), list[float](), state["done"]
    for at in track(range(epochs * trainer.steps), name):
        epoch, step = divmod(at, trainer.steps)
        if stopped or epoch < first:
            continue
        if step == 0:
            trainer.begin(epoch)
            losses = []
        losses.append(trainer.step(step))
        if step < trainer.steps - 1:
            continue
        values = {"loss": float(np.mean(losses)), **trainer.measure()}
        curve.append(values)
        report(name, epoch=epoch + 1, **values)
        if _is_best(curve):
            best = trainer.weights()
        stopped = len(curve) - _best_epoch(curve) > patience or epoch == epochs - 1
        if stopped and best is not None:
            trainer.set_weights(best)
        progress.update(name, partial(_state, trainer, curve, best, stopped))
        progress.save()
    return curve


def _state(trainer: Trainer, curve: Curve, best: dict[str, Any] | None, done: bool) -> dict[str, Any]:
    state = {"curve": curve, "done": done, "weights": trainer.weights()}
    return state if done else state | {"momentum": trainer.momentum(), "best": best}


def _value(entry: Mapping[str, float]) -> float:
    """The value that counts: the first after the loss; without one, the latest epoch is the best."""
    return next((value for name, value in entry.items() if name != "loss"), np.inf)


def _best_epoch(curve: Curve) -> int:
    """The number of the best epoch, counted from 1; of equal ones the first, without held-out data the last."""
    values = [_value(entry) for entry in curve]
    return len(values) if np.isinf(values[-1]) else int(np.argmax(values)) + 1


def _is_best(curve: Curve) -> bool:
    return np.isfinite(_value(curve[-1])) and _best_epoch(curve) == len(curve)
