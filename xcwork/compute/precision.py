"""The precision of a training on a device: products in 16 bits where that is faster, everything else in 32.

| `precision` | what it means |
| --- | --- |
| `auto` | `bfloat16` on a GPU that computes in it, where a step has a product that gains by it; otherwise `float32` |
| `float32` | everything in 32 bits |
| `bfloat16` | matrix products in bfloat16, which has the range of float32 and needs no further care |
| `float16` | matrix products in float16 for older GPUs; losses are scaled, or small gradients would become zero |

Weights, moments, sums and losses stay in float32 (`torch.autocast`), so factors of 16 bits are copies that have to be
made, and results are copied back: a product in bfloat16 moves more bytes. That pays off only where the product takes
longer to compute than to move (`is_faster_in_bfloat16`): arithmetic from the data sheet of one GPU, not a measurement.

A scaled loss doubles its scale after
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

# Of NVIDIA's data sheet of the A100 with 40 GB.
OPERATIONS_PER_SECOND = {"float32": 19.5e12, "bfloat16": 312e12}
BYTES_PER_SECOND = 1.555e12
PRODUCTS_PER_STEP = 3  # forward, and the gradients of both factors
BYTES_PER_NUMBER = {"float32": 4, "bfloat16": 6}  # of a product: a factor or a result; bfloat16 with its copy

log = logging.getLogger(__name__)

Product = tuple[int, int, int]  # (m, k, n): of an (m, k) matrix and a (k, n) one


def choose_precision(name: str, device: torch.device, product: Product) -> str:
    """Return the precision that `name` stands for on this device, for a training whose largest product is `product`."""
    if name != "auto":
        return name
    return "bfloat16" if BACKENDS[device.type].has_fast_bfloat16() and is_faster_in_bfloat16(product) else "float32"


def is_faster_in_bfloat16(product: Product) -> bool:
    """Return whether a product and its gradients take an A100 less time in bfloat16, by the roofline."""
    return estimate_seconds(product, "bfloat16") < estimate_seconds(product, "float32")


def estimate_seconds(product: Product, precision: str) -> float:
    """Return what a product and its gradients take an A100 at the least: the larger of computing and moving."""
    m, k, n = product
    computing = 2 * m * k * n / OPERATIONS_PER_SECOND[precision]
    moving = BYTES_PER_NUMBER[precision] * (m * k + k * n + m * n) / BYTES_PER_SECOND
    return PRODUCTS_PER_STEP * max(computing, moving)


class MixedPrecision:
    """The precision of one training: where products are computed, and how gradients come back."""

    def __init__(self, name: str, device: torch.device, product: Product) -> None:
        self.name = choose_precision(name, device, product)
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
