"""A device that computes on the CPU and behaves like one that does not.

`with emulate() as traffic:` offers the device `emu`. Its tensors keep a CPU tensor inside and report `emu:0`. As on a
GPU, an operation that mixes them with tensors of the CPU is refused (numbers, and tensors without dimensions, may be
mixed), and numpy cannot read them before `.cpu()`. Random numbers drawn on the device differ from those of the CPU.
`traffic` counts what a GPU would pay for: copies to and from the device with their bytes, moments at which the host
waits for the device, kernels, operations and bytes read or written by kernels, and the memory that was held.

`emulate(float64=False)` refuses double precision, as MPS does; `emulate(memory=n)` raises `torch.OutOfMemoryError` once
more than `n` bytes are held.

PyTorch's hook for further back ends, PrivateUse1, can be taken once per process and is never given back: what is
registered stays, but the rest of xcwork knows the device inside `emulate` alone.
"""

from __future__ import annotations

import sys
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import cache
from threading import RLock
from typing import Any
from unittest import mock

import torch
from torch.utils import _pytree as pytree
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend
from torch.utils.flop_counter import flop_registry

from tests.support.emulated_autocast import register_autocast
from xcwork.compute.device import Backend, offer_backend

NAME = "emu"
aten = torch.ops.aten
# The size of what they return depends on the values, so that the host has to wait for it.
_WAITS = {
    aten.nonzero.default,
    aten.masked_select.default,
    aten._unique2.default,
    aten.unique_dim.default,
    aten.unique_consecutive.default,
    aten.repeat_interleave.Tensor,
    aten._coalesce.default,
    aten.equal.default,
    aten.bincount.default,
}
_COMPARED_MASKS = (aten.index.Tensor, aten.index_put.default, aten.index_put_.default, aten._index_put_impl_.default)
_NO_KERNEL = {aten.detach.default, aten.alias.default, aten.is_coalesced.default, aten.lift_fresh.default}


# Without kernels of their own they would make an empty tensor and give it its size later.
_FACTORIES = (
    *("arange", "arange.start", "arange.start_step", "eye", "eye.m", "linspace", "randperm", "randperm.generator"),
    *("tril_indices", "triu_indices"),
)


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
        if name != __file__ and "/torch/" not in name and "importlib" not in name:
            line = f"{name.rpartition('/')[2]}:{frame.f_lineno}"
            if "/xcwork/" in name:
                return line
            nearest = nearest or line
        frame = frame.f_back
    return nearest or "autograd"


class _Device:
    """The state of the one device of this process."""

    def __init__(self) -> None:
        self.lock = RLock()  # autograd works on threads of its own
        self.traffic = Traffic()
        self.float64 = True
        self.memory: int | None = None
        self.allocations: weakref.WeakValueDictionary[int, _Allocation] = weakref.WeakValueDictionary()
        self.seed = 0

    def measure_free(self) -> int:
        return sys.maxsize if self.memory is None else self.memory - self.traffic.held_bytes


_device = _Device()


class _Allocation:
    """Memory that is held as long as a tensor of the device uses it."""

    def __init__(self, storages: list[torch.UntypedStorage]) -> None:
        self.n_bytes = sum(storage.nbytes() for storage in storages)
        self.traffic = _device.traffic
        if self.n_bytes > _device.measure_free():
            size, free = self.n_bytes, _device.measure_free()
            self.n_bytes = 0
            raise torch.OutOfMemoryError(f"{NAME} out of memory. Tried to allocate {size:,} bytes; {free:,} are free.")
        self.traffic.held_bytes += self.n_bytes
        self.traffic.peak_bytes = max(self.traffic.peak_bytes, self.traffic.held_bytes)

    def __del__(self) -> None:
        self.traffic.held_bytes -= self.n_bytes


def _list_storages(inner: torch.Tensor) -> list[torch.UntypedStorage]:
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


class EmulatedTensor(torch.Tensor):
    """A tensor of the device; `_inner` is its content on the CPU."""

    _inner: torch.Tensor
    _allocation: _Allocation
    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @staticmethod
    def __new__(cls, inner: torch.Tensor) -> EmulatedTensor:
        if inner.dtype in (torch.float64, torch.complex128) and not _device.float64:
            raise TypeError(
                f"Cannot convert a {NAME} Tensor to float64: the device has no float64. Use float32 instead."
            )
        where = {"dtype": inner.dtype, "device": torch.device(NAME, 0)}
        if inner.layout is torch.strided:
            made = torch.Tensor._make_wrapper_subclass(
                cls, inner.size(), inner.stride(), inner.storage_offset(), **where
            )
        elif inner.layout is torch.sparse_coo:
            made = torch.Tensor._make_wrapper_subclass(cls, inner.size(), layout=inner.layout, **where)
        else:
            made = torch.Tensor._make_wrapper_subclass(cls, inner.size(), dispatch_layout=True, **where)
        made._inner = inner
        with _device.lock:
            storages = _list_storages(inner)
            key = storages[0]._cdata
            held = _device.allocations.get(key)
            if held is None:
                held = _device.allocations[key] = _Allocation(storages)
            made._allocation = held
        return made

    def __repr__(self, *, tensor_contents: object = None) -> str:
        return f"{NAME}:{self._inner!r}"

    def numpy(self, *, force: bool = False) -> Any:
        if force:
            return self.cpu().numpy()
        raise TypeError(f"can't convert {NAME}:0 device type tensor to numpy. Use Tensor.cpu() first.")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.numpy()

    def tolist(self) -> Any:
        return self.detach().cpu().tolist()

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with _device.lock:
            return _run(func, args, dict(kwargs or {}))


def _is_elsewhere(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and not isinstance(value, EmulatedTensor)


def _unwrap(value: Any) -> Any:
    return value._inner if isinstance(value, EmulatedTensor) else value


def _measure(tensor: torch.Tensor) -> int:
    return (
        sum(storage.nbytes() for storage in _list_storages(tensor))
        if tensor.layout is not torch.strided
        else (tensor.numel() * tensor.element_size())
    )


def _run(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Run one operation as the device would."""
    traffic = _device.traffic
    if func is torch.ops.prim.layout.default:
        return args[0]._inner.layout
    if func is aten._local_scalar_dense.default:
        traffic.count("synchronisations")
        traffic.count("from_device", args[0].element_size())
        return func(args[0]._inner)
    if func is aten._to_copy.default:
        return _copy_elsewhere(args[0], kwargs)
    if func in (aten.copy_.default, aten._copy_from.default):
        return _copy_over(*((args[1], args[0]) if func is aten._copy_from.default else args[:2]), *args[2:], **kwargs)
    given = pytree.tree_leaves((args, kwargs))
    for value in given:
        if _is_elsewhere(value) and value.dim() > 0:
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but found at least two devices, {NAME}:0 and"
                f" {value.device}! ({func})"
            )
    if "device" in kwargs:
        kwargs["device"] = None if kwargs["device"] is None else torch.device("cpu")
    if func in _WAITS or (func in _COMPARED_MASKS and any(_is_mask(index) for index in args[1])):
        traffic.count("synchronisations")
    inner_args, inner_kwargs = pytree.tree_map(_unwrap, (args, kwargs))
    out = _call_with_own_seed(func, inner_args, inner_kwargs)
    if torch.Tag.inplace_view in func.tags:  # such as squeeze_: the outside takes the new shape, too
        with torch._C._DisableTorchDispatch():
            func(*args, **kwargs)
    known = {id(value._inner): value for value in given if isinstance(value, EmulatedTensor)}

    def wrap(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        if id(value) not in known:
            return EmulatedTensor(value)
        assert known[id(value)].shape == value.shape, f"{func} resizes, which the emulation has no way to show"
        return known[id(value)]

    result = pytree.tree_map(wrap, out)
    _count_kernel(func, (inner_args, inner_kwargs), out)
    return result


def _call_with_own_seed(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Run an operation of the CPU; random numbers come from the device's own sequence."""
    if torch.Tag.nondeterministic_seeded not in func.tags:
        return func(*args, **kwargs)
    with torch.random.fork_rng(devices=[]):
        _device.seed += 1
        torch.manual_seed(_device.seed + 2**40)
        return func(*args, **kwargs)


def _is_mask(index: Any) -> bool:
    return isinstance(index, torch.Tensor) and index.dtype in (torch.bool, torch.uint8)


def _count_kernel(func: Any, given: Any, out: Any) -> None:
    made = [value for value in pytree.tree_leaves(out) if isinstance(value, torch.Tensor)]
    if func in _NO_KERNEL or func.is_view or not made:
        return
    read = [value for value in pytree.tree_leaves(given) if isinstance(value, torch.Tensor)]
    traffic = _device.traffic
    traffic.kernels += 1
    traffic.moved_bytes += sum(map(_measure, read)) + sum(map(_measure, made))
    dense = all(value.layout is torch.strided for value in (*read, *made))
    if dense and func.overloadpacket in flop_registry:
        traffic.operations += int(flop_registry[func.overloadpacket](*given[0], **given[1], out_val=out))
    elif not dense and func.overloadpacket in (aten.mm, aten.addmm, aten._sparse_mm):
        stored = next((value for value in read if value.layout is not torch.strided), None)
        traffic.operations += 0 if stored is None else 2 * stored._nnz() * made[0].shape[-1]
    else:
        traffic.operations += max(value.numel() for value in made if value.layout is torch.strided) if dense else 0


def _copy_elsewhere(source: EmulatedTensor, kwargs: dict[str, Any]) -> torch.Tensor:
    """Return a copy with another type or on another device."""
    device = kwargs.get("device")
    leaves = device is not None and device.type == "cpu"
    kwargs["device"] = None if device is None else torch.device("cpu")
    copied = aten._to_copy.default(source._inner, **kwargs)
    if leaves:
        _device.traffic.count("synchronisations")
        _device.traffic.count("from_device", _measure(copied))
        return copied
    _count_kernel(aten._to_copy.default, ((source._inner,), {}), copied)
    return EmulatedTensor(copied)


def _copy_over(target: torch.Tensor, source: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    """Copy `source` into `target`, wherever they are."""
    aten.copy_.default(_unwrap(target), _unwrap(source), False)
    traffic = _device.traffic
    if _is_elsewhere(source):
        traffic.count("to_device", _measure(source))
        if non_blocking and hasattr(source, "is_pinned_for_emulation"):
            traffic.to_device_asynchronous += 1
    elif _is_elsewhere(target):
        traffic.count("synchronisations")
        traffic.count("from_device", _measure(_unwrap(source)))
    else:
        _count_kernel(aten.copy_.default, ((_unwrap(source),), {}), _unwrap(target))
    return target


def _pin(tensor: torch.Tensor, device: Any = None) -> torch.Tensor:
    copied = tensor.clone()
    copied.is_pinned_for_emulation = True  # type: ignore[attr-defined]
    return copied


def _make_empty(size: Any, dtype: Any = None, layout: Any = None, device: Any = None, *_: Any, **__: Any) -> Any:
    with _device.lock:
        return EmulatedTensor(torch.empty(size, dtype=dtype, layout=layout, device="cpu"))


def _make_empty_strided(size: Any, stride: Any, dtype: Any = None, *_: Any, **__: Any) -> Any:
    with _device.lock:
        return EmulatedTensor(torch.empty_strided(size, stride, dtype=dtype, device="cpu"))


def _make_on_cpu(name: str) -> Callable[..., torch.Tensor]:
    """Return what makes a tensor with the factory called `name`."""
    packet, _, overload = name.partition(".")
    call = getattr(getattr(aten, packet), overload or "default")

    def make(*args: Any, **kwargs: Any) -> torch.Tensor:
        with _device.lock:
            made = _call_with_own_seed(call, args, kwargs | {"device": torch.device("cpu"), "pin_memory": None})
            return EmulatedTensor(made)

    return make


def _copy_from(source: torch.Tensor, target: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    with _device.lock:
        return _copy_over(target, source, non_blocking)


class _Module:
    """What PyTorch asks of the module `torch.emu`."""

    def is_initialized(self) -> bool:
        return True

    def is_available(self) -> bool:
        return True

    def current_device(self) -> int:
        return 0

    def device_count(self) -> int:
        return 1

    def _is_in_bad_fork(self) -> bool:
        return False

    def manual_seed_all(self, seed: int) -> None:
        _device.seed = seed

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.bfloat16, torch.float16]


@cache
def _register() -> list[torch.library.Library]:
    """Take PyTorch's hook for a further back end; what is returned keeps the registrations alive."""
    _setup_privateuseone_for_python_backend(NAME, backend_module=_Module())
    library = torch.library.Library("aten", "IMPL")
    library.impl("empty.memory_format", _make_empty, "PrivateUse1")
    library.impl("empty_strided", _make_empty_strided, "PrivateUse1")
    library.impl("_copy_from", _copy_from, "PrivateUse1")
    for name in _FACTORIES:
        library.impl(name, _make_on_cpu(name), "PrivateUse1")
    register_autocast(library, NAME)
    rest = torch.library.Library("_", "IMPL")
    rest.fallback(torch.library.fallthrough_kernel, "AutocastPrivateUse1")
    return [library, rest]


@contextmanager
def emulate(*, float64: bool = True, memory: int | None = None) -> Iterator[Traffic]:
    """Offer the device `emu` to xcwork meanwhile; what it counts is returned and goes on being counted inside."""
    _register()
    backend = Backend(
        NAME, lambda: True, has_float64=float64, measure_free_memory=_device.measure_free, pins_memory=True
    )
    before = (_device.traffic, _device.float64, _device.memory)
    _device.traffic, _device.float64, _device.memory = Traffic(), float64, memory
    try:
        with offer_backend(backend), mock.patch.object(torch.Tensor, "pin_memory", _pin):
            yield _device.traffic
    finally:
        _device.traffic, _device.float64, _device.memory = before
