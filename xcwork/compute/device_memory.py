"""Batches that fit on a device: an estimate before training, and half the batch where memory runs out all the same.

Every neural method says how many bytes a step with a batch of n documents takes (`estimate`). The batch is halved until
that fits into the free memory of the device. If a step still runs out of memory, it is repeated in halves, and the
training goes on with them. Each half is a step of its own: the step size stays, and a document meets fewer others where
a method contrasts the documents of a batch. So such a training is one with a smaller `batch_size`; the log says so.

Where parts do not depend on each other (documents that are ranked, labels that linear machines are solved for), the
result is the same in halves: `run_in_parts`.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from xcwork.compute.device import BACKENDS, resolve_device_kind
from xcwork.errors import ConfigError

if TYPE_CHECKING:
    import torch

MAX_USED_SHARE = 0.9  # of the free memory: allocators leave gaps

log = logging.getLogger(__name__)

T = TypeVar("T")


class FittingBatch:
    """The number of documents per step, and how a step is taken with as many as fit."""

    def __init__(
        self, wanted: int, estimate: Callable[[int], int], device: torch.device, *, can_halve: bool = True
    ) -> None:
        self._device = device
        self._can_halve = can_halve  # ranks that share a step have to take it together
        self.size = choose_batch_size(wanted, estimate, device) if can_halve else wanted

    def run(self, rows: np.ndarray, step: Callable[[np.ndarray], torch.Tensor]) -> float | torch.Tensor:
        """Call `step` with `rows`, in pieces of the size that fits; return the mean loss of its documents."""
        losses: list[tuple[int, torch.Tensor]] = []
        start = 0
        while start < len(rows):
            piece = rows[start : start + self.size]
            loss = self._try(piece, step)
            if loss is not None:
                losses.append((len(piece), loss))
                start += len(piece)
        if len(losses) <= 1:
            return losses[0][1] if losses else 0.0
        total = losses[0][0] * losses[0][1]
        for n, loss in losses[1:]:
            total = total + n * loss
        return total / len(rows)

    def _try(self, piece: np.ndarray, step: Callable[[np.ndarray], torch.Tensor]) -> torch.Tensor | None:
        """Return the loss of a step, or None after halving the batch because there was no memory for it."""
        import torch

        try:
            return step(piece)
        except torch.OutOfMemoryError:
            if not self._can_halve or len(piece) == 1:
                raise ConfigError(
                    f"the model does not fit into the memory of {self._device.type}, even with one document per step; "
                    "use device=cpu, a smaller width, or fewer labels"
                ) from None
        # What the failed step held is free again here, outside of the handler.
        BACKENDS[self._device.type].release_memory()
        self.size = -(-len(piece) // 2)
        log.warning(
            "%s ran out of memory: the batch is halved, from %d to %d documents per step",
            self._device.type.upper(),
            len(piece),
            self.size,
        )
        return None


def run_in_parts(n_items: int, compute: Callable[[slice], T], device: str, what: str) -> list[T]:
    """Return what `compute` makes of all items together, or of parts where the memory of the device runs out.

    `device` is a kind of device, and `what` says what the items are.
    """
    found: list[T] = []
    start, size, failed_size = 0, n_items, 0
    while start < n_items:
        part = slice(start, min(start + size, n_items))
        n = part.stop - part.start
        try:
            found.append(compute(part))
        except RuntimeError as failure:
            if not is_out_of_memory(failure):
                raise
            if n == 1:
                raise ConfigError(
                    f"the memory of {device.upper()} is too small even for one of the {what} at a time; use device=cpu"
                ) from None
            failed_size = failed_size or n
            size = -(-n // 2)
        else:
            start = part.stop
            if failed_size:
                log.warning(
                    "%s ran out of memory: blocks are halved, from %d to %d %s", device.upper(), failed_size, size, what
                )
                failed_size = 0
            continue
        BACKENDS[device].release_memory()  # what was held is free again here, outside of the handler
    return found


@contextmanager
def explain_lack_of_memory(device: str) -> Iterator[None]:
    """Raise one sentence where a training does not fit on `device`, not even in the smallest parts."""
    try:
        yield
    except RuntimeError as failure:
        if not is_out_of_memory(failure):
            raise
        kind = resolve_device_kind(device).upper()
        raise ConfigError(f"the memory of {kind} is too small for this training run; use device=cpu") from None


def is_out_of_memory(failure: BaseException) -> bool:
    """Return whether a device had no memory left; torch, whose error that is, need not be loaded."""
    if "torch" not in sys.modules:
        return False
    import torch

    return isinstance(failure, torch.OutOfMemoryError)


def choose_batch_size(
    wanted: int, estimate: Callable[[int], int], device: torch.device, what: str = "documents"
) -> int:
    """Return the largest of `wanted`, a half of it, a quarter, … for which a step fits into the device's memory."""
    measure = BACKENDS[device.type].measure_free_memory
    if measure is None:
        return wanted
    free = measure()
    log.info(
        "a step with %d %s takes about %.0f MB of memory; %s has %.0f MB free",
        wanted,
        what,
        estimate(wanted) / 2**20,
        device.type.upper(),
        free / 2**20,
    )
    size = wanted
    while size > 1 and estimate(size) > MAX_USED_SHARE * free:
        size = -(-size // 2)
    if size < wanted:
        log.warning("a batch of %d %s does not fit on the device; steps have %d", wanted, what, size)
    return size
