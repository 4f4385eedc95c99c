"""What a device is asked to do: copies, moments of waiting, kernels, operations, bytes and memory."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field, fields
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils.flop_counter import flop_registry

from xcwork.compute.precision import BYTES_PER_SECOND, OPERATIONS_PER_SECOND

aten = torch.ops.aten
_NO_KERNEL = {aten.detach.default, aten.alias.default, aten.is_coalesced.default, aten.lift_fresh.default}
_PICKS = {aten.index, aten.index_select, aten.embedding, aten.gather}
_CHANGES_ROWS = {aten.index_add_, aten.index_copy_, aten.index_put_, aten.scatter_add_}
HALF_BYTES = 2  # of a number
_INNER_FILES = ("/emulated_accelerator.py", "/device_traffic.py", "/compute/transfer.py")


@dataclass
class Traffic:
    """What passed between host and device, and what the device did."""

    to_device: int = 0  # copies
    to_device_bytes: int = 0
    to_device_asynchronous: int = 0  # from page-locked memory, without waiting; counted in `to_device` too
    from_device: int = 0
    from_device_bytes: int = 0
    synchronisations: int = 0  # each copy from the device, .item(), bool(), nonzero, unique, a mask as index
    kernels: int = 0
    operations: int = 0  # additions and multiplications of products; one per element of everything else
    moved_bytes: int = 0  # read and written by kernels
    a100_seconds: float = 0.0  # that an A100 would take at the least, kernel by kernel: arithmetic, not a measurement
    held_bytes: int = 0
    peak_bytes: int = 0
    places: Counter[str] = field(default_factory=Counter)  # who copied or waited: "to_device file.py:12"

    @property
    def transfers(self) -> int:
        return self.to_device + self.from_device

    def copy(self) -> Traffic:
        return Traffic(**{f.name: getattr(self, f.name) for f in fields(self)} | {"places": Counter(self.places)})

    def subtract(self, before: Traffic) -> Traffic:
        """Return what came after `before`; memory is as it is now."""
        kept = ("held_bytes", "peak_bytes")
        return Traffic(
            **{
                f.name: getattr(self, f.name) if f.name in kept else getattr(self, f.name) - getattr(before, f.name)
                for f in fields(self)
            }
        )

    def count(self, kind: str, n_bytes: int = 0) -> None:
        """Count a copy or a moment of waiting together with the line of xcwork that asked for it."""
        setattr(self, kind, getattr(self, kind) + 1)
        if n_bytes:
            setattr(self, f"{kind}_bytes", getattr(self, f"{kind}_bytes") + n_bytes)
        self.places[f"{kind} {_find_caller()}"] += 1


def _find_caller() -> str:
    frame = sys._getframe(2)
    nearest = ""
    while frame is not None:
        name = frame.f_code.co_filename
        if "/torch/" not in name and not name.endswith(_INNER_FILES):
            line = f"{name.rpartition('/')[2]}:{frame.f_lineno}"
            if "/xcwork/" in name:
                return line
            nearest = nearest or line
        frame = frame.f_back
    return nearest or "autograd"


def list_storages(inner: torch.Tensor) -> list[torch.UntypedStorage]:
    if inner.layout is torch.strided:
        return [inner.untyped_storage()]
    if inner.layout is torch.sparse_coo:
        parts = (inner._indices(), inner._values())
    else:
        by_row = inner.layout in (torch.sparse_csr, torch.sparse_bsr)
        parts = (
            (inner.crow_indices(), inner.col_indices(), inner.values())
            if by_row
            else (inner.ccol_indices(), inner.row_indices(), inner.values())
        )
    return [part.untyped_storage() for part in parts]


def measure_tensor(tensor: torch.Tensor) -> int:
    return (
        sum(storage.nbytes() for storage in list_storages(tensor))
        if tensor.layout is not torch.strided
        else (tensor.numel() * tensor.element_size())
    )


def count_kernel(traffic: Traffic, func: Any, given: Any, out: Any) -> None:
    """Count what a kernel does with what it is given, unless the operation needs none."""
    made = [value for value in pytree.tree_leaves(out) if isinstance(value, torch.Tensor)]
    if func in _NO_KERNEL or func.is_view or not made:
        return
    read = [value for value in pytree.tree_leaves(given) if isinstance(value, torch.Tensor)]
    traffic.kernels += 1
    moved, operations = _measure_moved(func, read, made), _count_operations(func, given, out, read, made)
    traffic.moved_bytes += moved
    traffic.operations += operations
    precision = "float32" if max(value.element_size() for value in made) > HALF_BYTES else "bfloat16"
    traffic.a100_seconds += max(operations / OPERATIONS_PER_SECOND[precision], moved / BYTES_PER_SECOND)


def _count_operations(func: Any, given: Any, out: Any, read: list[torch.Tensor], made: list[torch.Tensor]) -> int:
    dense = all(value.layout is torch.strided for value in (*read, *made))
    if dense and func.overloadpacket in flop_registry:
        return int(flop_registry[func.overloadpacket](*given[0], **given[1], out_val=out))
    if not dense and func.overloadpacket in (aten.mm, aten.addmm, aten._sparse_mm):
        stored = next((value for value in read if value.layout is not torch.strided), None)
        return 0 if stored is None else 2 * stored._nnz() * made[0].shape[-1]
    return max(value.numel() for value in made if value.layout is torch.strided) if dense else 0


def _measure_moved(func: Any, read: list[torch.Tensor], made: list[torch.Tensor]) -> int:
    """Return the bytes that a kernel reads and writes; of a table it picks rows of, these rows alone."""
    table, *others = read
    if func.overloadpacket is aten._embedding_bag:
        rows = others[0].numel() * table.element_size() * table.shape[1]
        return rows + sum(map(measure_tensor, others)) + sum(map(measure_tensor, made))
    if func.overloadpacket in _PICKS:
        return 2 * measure_tensor(made[0]) + sum(map(measure_tensor, others))
    if func.overloadpacket in _CHANGES_ROWS:  # read, changed, written
        return 2 * measure_tensor(others[-1]) + sum(map(measure_tensor, others))
    return sum(map(measure_tensor, read)) + sum(map(measure_tensor, made))
