"""Arrays on their way to a device, and numbers on their way back.

A copy to a GPU costs some ten microseconds however small it is, and one that the program waits for stops everything. So
the arrays of a batch travel together: they are packed into one piece of page-locked memory, which the device copies
while the host goes on. Results come back together, too, and losses once per epoch rather than once per step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from xcwork.compute.device import BACKENDS

if TYPE_CHECKING:
    import torch

ALIGNMENT_BYTES = 16  # every array starts at a multiple, whatever its type


def send_arrays(device: torch.device, *arrays: np.ndarray) -> list[torch.Tensor]:
    """Return the arrays as tensors on the device, by a single copy; on the CPU they share the memory of writeable ones.

    Double precision becomes single where the device has no other.
    """
    import torch

    if device.type == "cpu":
        return [torch.from_numpy(np.ascontiguousarray(_make_writeable(array))) for array in arrays]
    backend = BACKENDS[device.type]
    packed = [np.ascontiguousarray(array) for array in arrays]
    if not backend.has_float64:
        packed = [array.astype(np.float32) if array.dtype == np.float64 else array for array in packed]
    ends = np.cumsum([-(-array.nbytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES for array in packed], dtype=np.int64)
    starts = [0, *ends[:-1].tolist()]
    together = torch.empty(int(ends[-1]), dtype=torch.uint8)
    together = together.pin_memory() if backend.pins_memory else together
    view = together.numpy()
    for array, start in zip(packed, starts, strict=True):
        view[start : start + array.nbytes] = array.reshape(-1).view(np.uint8)
    there = together.to(device, non_blocking=True)
    return [
        there[start : start + array.nbytes].view(_find_type(array)).view(array.shape)
        for array, start in zip(packed, starts, strict=True)
    ]


def fetch_arrays(*tensors: torch.Tensor) -> list[np.ndarray]:
    """Return tensors of one device as arrays, by a single copy."""
    import torch

    if tensors[0].device.type == "cpu":
        return [tensor.detach().numpy() for tensor in tensors]
    flat = [tensor.detach().contiguous().view(-1).view(torch.uint8) for tensor in tensors]
    together = torch.cat(flat).cpu().numpy()
    ends = np.cumsum([len(part) for part in flat])
    pieces = [together[end - len(part) : end].copy() for end, part in zip(ends, flat, strict=True)]
    kinds = [torch.empty(0, dtype=tensor.dtype).numpy().dtype for tensor in tensors]
    return [piece.view(kind).reshape(tensor.shape) for piece, kind, tensor in zip(pieces, kinds, tensors, strict=True)]


def _make_writeable(array: np.ndarray) -> np.ndarray:
    """Return the array, or a copy of one that is read from a file as it is used."""
    return array if array.flags.writeable else array.copy()


def _find_type(array: np.ndarray) -> torch.dtype:
    """Return torch's name for the type of an array."""
    import torch

    return torch.from_numpy(np.empty(0, array.dtype)).dtype


def read_together(
    values: Sequence[float | torch.Tensor], tensors: Sequence[torch.Tensor]
) -> tuple[list[float], list[np.ndarray]]:
    """Return what `read_numbers` does, and tensors as arrays, all by a single copy."""
    on_device = [value.detach().float() for value in values if not isinstance(value, float)]
    if not tensors or not on_device:
        return read_numbers(values), fetch_arrays(*tensors) if tensors else []
    import torch

    numbers, *arrays = fetch_arrays(torch.stack(on_device), *tensors)
    read = iter(numbers.tolist())
    return [value if isinstance(value, float) else next(read) for value in values], arrays


def read_numbers(values: Sequence[float | torch.Tensor]) -> list[float]:
    """Return numbers as Python has them; those on a device are read together."""
    on_device = [value for value in values if not isinstance(value, float)]
    if not on_device:
        return [float(value) for value in values]
    import torch

    read = iter(torch.stack([value.detach().float() for value in on_device]).tolist())
    return [value if isinstance(value, float) else next(read) for value in values]
