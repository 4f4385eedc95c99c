"""Training by epochs: progress, curves, early stopping, and a checkpoint after every epoch.

An `EpochTrainer` knows how to take one step and how to describe itself; `train_epochs` does what is the same for all:

    progress = TrainingProgress(checkpoint, train, params)
    curve = train_epochs(trainer, "training the encoder", progress, epochs=30, patience=5)

Everything random in an epoch must follow from its number, as with `np.random.default_rng((seed, epoch))`. Then the
state after an epoch decides all that comes, and a resumed training continues the same curve to the last bit.

Early stopping goes by the value that `measure` returns first. The start, before the first epoch, is measured too and is
a candidate like every epoch; of equal ones the earliest is the best. Training stops after `patience` epochs in a row
without a new best, and ends with the best weights. Without validation data it takes all epochs and keeps the last
weights. A stage that is finished leaves only its weights and its curve in the checkpoint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from xcwork.compute.transfer import read_together
from xcwork.methods.common.checkpoints import TrainingProgress
from xcwork.progress import report, track

if TYPE_CHECKING:
    import torch

Curve = list[dict[str, float]]
PATIENCE_HELP = (
    "number of epochs in a row without a new best on validation documents (the start counts) after which training stops"
)


class EpochTrainer(Protocol):
    """What `train_epochs` asks of a training."""

    steps: int  # of an epoch

    def begin(self, epoch: int) -> None:
        """Draw what the epoch needs."""

    def step(self, number: int) -> float | torch.Tensor:
        """Take step `number` of the epoch and return its loss; a tensor of a device is not waited for."""

    def measure(self) -> dict[str, float]:
        """Return values on validation data, the one that counts first; empty without such data. Change nothing."""

    def get_weights(self) -> dict[str, Any]:
        """Return what is learned, as new arrays."""

    def set_weights(self, weights: Mapping[str, Any]) -> None:
        """Go back to what `get_weights` returned."""

    def get_momentum(self) -> dict[str, Any]:
        """Return what later steps depend on besides the weights."""

    def set_momentum(self, momentum: Mapping[str, Any]) -> None:
        """Go back to what `get_momentum` returned."""


@runtime_checkable
class AsksDevice(Protocol):
    """A training that has to know something of its device before an epoch; it is read together with the losses."""

    def ask(self, epoch: int) -> Sequence[torch.Tensor]:
        """Return what has to be read before `epoch`, now that the epoch before it is over."""

    def take_answers(self, epoch: int, answers: Sequence[np.ndarray]) -> None:
        """Remember what `ask` returned, as arrays."""


def train_epochs(
    trainer: EpochTrainer,
    name: str,
    progress: TrainingProgress,
    *,
    epochs: int,
    patience: int,
    smaller_is_better: bool = False,
) -> Curve:
    """Train up to `epochs` epochs, fewer after `patience` in a row without a new best; return one entry per epoch."""
    state = progress.get_state(name) or {"curve": [], "done": False}
    curve: Curve = list(state["curve"])
    first = len(curve)
    losses: list[float | torch.Tensor] = []
    stopped = state["done"]
    if curve:
        trainer.set_weights(state["weights"])
        best = state.get("best")
        if not stopped:
            trainer.set_momentum(state["momentum"])
    else:
        values = trainer.measure()
        best = _remember_weights(trainer, 0, _read_value(values, smaller_is_better)) if values else None
        if values:
            report(name, epoch=0, **values)
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
        values = trainer.measure()
        asked = trainer.ask(epoch + 1) if isinstance(trainer, AsksDevice) and epoch + 1 < epochs else []
        read, answers = read_together(losses, asked)
        if isinstance(trainer, AsksDevice) and asked:
            trainer.take_answers(epoch + 1, answers)
        curve.append({"loss": float(np.mean(read)), **values})
        report(name, epoch=epoch + 1, **curve[-1])
        stopped = epoch == epochs - 1
        if best is not None:
            value = _read_value(values, smaller_is_better)
            if value > best["value"]:
                best = _remember_weights(trainer, epoch + 1, value)
            stopped |= epoch + 1 - best["epoch"] >= patience
            if stopped:
                trainer.set_weights(best["weights"])
        progress.update(name, partial(_describe_training, trainer, curve, best, stopped))
        progress.save()
    return curve


def _describe_training(trainer: EpochTrainer, curve: Curve, best: dict[str, Any] | None, done: bool) -> dict[str, Any]:
    """Describe the training after an epoch, for the checkpoint."""
    state = {"curve": curve, "done": done, "weights": trainer.get_weights()}
    return state if done else state | {"momentum": trainer.get_momentum(), "best": best}


def _remember_weights(trainer: EpochTrainer, epoch: int, value: float) -> dict[str, Any]:
    """Remember the weights after `epoch` epochs and the value that counts for them."""
    return {"epoch": epoch, "value": value, "weights": trainer.get_weights()}


def _read_value(values: Mapping[str, float], smaller_is_better: bool) -> float:
    """Return the value that counts, larger when better; not a number is worse than every number."""
    value = next(iter(values.values()))
    return -np.inf if np.isnan(value) else -value if smaller_is_better else value
