"""The precision of a training on a device: products in 16 bits where that is faster, everything else in 32.

| `precision` | what it means |
| --- | --- |
| `auto` | `bfloat16` on a GPU that computes in it, otherwise `float32` |
| `float32` | everything in 32 bits |
| `bfloat16` | matrix products in bfloat16, which has the range of float32 and needs no further care |
| `float16` | matrix products in float16 for older GPUs; losses are scaled, or small gradients would become zero |

Weights, moments, sums and losses stay in float32 (`torch.autocast`). A scaled loss doubles its scale after
`STEPS_PER_DOUBLING` good steps; a step whose gradients are not finite is left out and halves it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from xcwork.compute.device import BACKENDS

if TYPE_CHECKING:
    import torch

PRECISIONS = ("auto", "float32", "bfloat16", "float16")
FIRST_SCALE = 2.0**16
STEPS_PER_DOUBLING = 2000

log = logging.getLogger(__name__)


def choose_precision(name: str, device: torch.device) -> str:
    """Return the precision that `name` stands for on this device."""
    if name != "auto":
        return name
    return "bfloat16" if BACKENDS[device.type].has_fast_bfloat16() else "float32"


class MixedPrecision:
    """The precision of one training: where products are computed, and how gradients come back."""

    def __init__(self, name: str, device: torch.device) -> None:
        self.name = choose_precision(name, device)
        self._device = device
        self._scale = FIRST_SCALE if self.name == "float16" else 1.0
        self._good_steps = 0

    def lower(self) -> AbstractContextManager[object]:
        """Return a block whose matrix products are computed in this precision."""
        if self.name == "float32":
            return nullcontext()
        import torch

        return torch.autocast(self._device.type, getattr(torch, self.name))

    def scale(self, loss: torch.Tensor) -> torch.Tensor:
        """Return what to differentiate instead of the loss."""
        return loss if self._scale == 1.0 else loss * self._scale

    def unscale(self, gradients: Iterable[torch.Tensor | None]) -> bool:
        """Undo the scale in the gradients; False where they are not finite, so that the step has to be left out."""
        if self.name != "float16":
            return True
        import torch

        there = [gradient for gradient in gradients if gradient is not None]
        for gradient in there:
            gradient.div_(self._scale)
        if bool(torch.stack([torch.isfinite(gradient).all() for gradient in there]).all()):
            self._good_steps += 1
            if self._good_steps % STEPS_PER_DOUBLING == 0:
                self._scale *= 2
            return True
        self._good_steps = 0
        self._scale = max(1.0, self._scale / 2)
        log.info("gradients in float16 were not finite: the step is left out, the loss is scaled by %g", self._scale)
        return False


def widen(values: torch.Tensor) -> torch.Tensor:
    """Return values of 16 bits in float32, and others as they are: losses are summed in no less."""
    return values.float() if values.element_size() < 4 and values.is_floating_point() else values
