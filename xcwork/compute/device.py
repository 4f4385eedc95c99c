"""Where tensors live. Decided here and nowhere else, so that no method ever names a device.

`auto` takes CUDA when there is one, then Apple's MPS, then the CPU. What differs between kinds of devices is said once,
in `BACKENDS`; code asks `has_float64` or `measure_free_memory` rather than for a name.
"""

from __future__ import annotations

import logging
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, overload

from xcwork.errors import ConfigError
from xcwork.extras import is_installed, require_package

if TYPE_CHECKING:
    import torch

log = logging.getLogger(__name__)

DRIVER_PLACES = ("/proc/driver/nvidia", "/dev/nvidia0", "/dev/kfd", "/dev/dxg")  # one of them is there beside a GPU
MAX_SINGLE_THREAD_DOCUMENTS = 16  # up to which one thread of torch is the fastest


@dataclass(frozen=True)
class Backend:
    """A kind of device, as PyTorch names it, and what code has to know about it."""

    name: str
    is_available: Callable[[], bool]
    has_float64: bool = True
    measure_free_memory: Callable[[], int] | None = None  # bytes; None where the device cannot tell
    has_fast_bfloat16: Callable[[], bool] = lambda: False
    release_memory: Callable[[], None] = lambda: None  # give back what torch keeps for later
    pins_memory: bool = False  # copies from page-locked memory run beside the computation


def _has_cuda() -> bool:
    import torch

    return torch.cuda.is_available()


def _has_bfloat16_on_cuda() -> bool:
    import torch

    return torch.cuda.get_device_capability() >= (8, 0)  # older ones convert back and forth


def _measure_free_cuda_memory() -> int:
    import torch

    held = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()  # kept by torch, yet unused
    return int(torch.cuda.mem_get_info()[0] + held)


def _release_cuda_memory() -> None:
    import torch

    torch.cuda.empty_cache()


def _has_mps() -> bool:
    import torch

    return torch.backends.mps.is_available()


def _measure_free_mps_memory() -> int:
    import torch

    return int(torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory())


def _release_mps_memory() -> None:
    import torch

    torch.mps.empty_cache()


# In the order in which `auto` takes them.
BACKENDS: dict[str, Backend] = {
    "cuda": Backend(
        "cuda",
        _has_cuda,
        measure_free_memory=_measure_free_cuda_memory,
        has_fast_bfloat16=_has_bfloat16_on_cuda,
        release_memory=_release_cuda_memory,
        pins_memory=True,
    ),
    "mps": Backend(
        "mps",
        _has_mps,
        has_float64=False,
        measure_free_memory=_measure_free_mps_memory,
        release_memory=_release_mps_memory,
    ),
    "cpu": Backend("cpu", lambda: True),
}


@contextmanager
def offer_backend(backend: Backend) -> Iterator[None]:
    """Let `device` name a further back end of PyTorch meanwhile; `auto` never takes it."""
    BACKENDS[backend.name] = backend
    try:
        yield
    finally:
        del BACKENDS[backend.name]


class DeviceNames(Sequence[str]):
    """What the parameter `device` may be, at the moment of asking."""

    def _list_names(self) -> tuple[str, ...]:
        return ("auto", "cpu", *(name for name in BACKENDS if name != "cpu"))

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[str]: ...
    def __getitem__(self, at: int | slice) -> str | Sequence[str]:
        return self._list_names()[at]

    def __len__(self) -> int:
        return len(self._list_names())


DEVICES = DeviceNames()


def resolve_device(name: str = "auto") -> torch.device:
    """Return the torch device that `name` stands for on this machine."""
    require_package("torch", f"device {name!r}")
    import torch

    if name == "auto":
        name = next(backend.name for backend in BACKENDS.values() if backend.is_available())
    if name not in BACKENDS:
        raise ConfigError(f"device must be one of {', '.join(DEVICES)}, got {name!r}")
    if not BACKENDS[name].is_available():
        raise ConfigError(f"device {name!r} is not available on this machine; use 'auto' or 'cpu'")
    return torch.device(name)


def resolve_device_kind(name: str = "auto") -> str:
    """Return `cpu`, `cuda` or `mps`; torch, without which a CPU can do, is loaded only where it may matter."""
    if name == "cpu":
        return "cpu"
    if name == "auto" and "torch" not in sys.modules and not (may_have_gpu() and is_installed("torch")):
        return "cpu"
    return resolve_device(name).type


def is_available(name: str) -> bool:
    """Return whether `device` may be `name` on this machine."""
    return name in ("auto", "cpu") or (is_installed("torch") and name in BACKENDS and BACKENDS[name].is_available())


def may_have_gpu() -> bool:
    """Return False where there is surely no GPU, which takes no time to find out."""
    if platform.system() == "Windows":
        return True
    if platform.system() == "Darwin":
        return platform.machine() == "arm64"
    return _has_driver(DRIVER_PLACES)


@cache
def _has_driver(places: tuple[str, ...]) -> bool:
    """Return whether one of `places` is there; a document on its own should not look for all of them again."""
    return any(Path(place).exists() for place in places)


def find_tensor_device(name: str = "auto") -> torch.device | None:
    """Return the device whose tensors do the work of linear methods; None where compiled kernels on the CPU do it.

    Torch is not even loaded where `auto` can only mean the CPU.
    """
    if not _torch_on_cpu.is_wanted and (name == "cpu" or (name == "auto" and not _may_have_accelerator())):
        return None
    kind = resolve_device_kind(name)
    if kind == "mps":
        log.info("linear methods have not been tested on MPS; using the CPU")
        kind = "cpu"
    if kind == "cpu" and not _torch_on_cpu.is_wanted:
        return None
    return resolve_device(kind)


def is_torch_wanted_on_cpu() -> bool:
    """Return whether `compute_with_torch` is in force."""
    return _torch_on_cpu.is_wanted


@contextmanager
def compute_with_torch() -> Iterator[None]:
    """Let linear methods compute with torch on the CPU too meanwhile, to compare it with the compiled kernels."""
    before = _torch_on_cpu.is_wanted
    _torch_on_cpu.is_wanted = True
    try:
        yield
    finally:
        _torch_on_cpu.is_wanted = before


class _TorchOnCpu:
    """Whether `compute_with_torch` is in force."""

    is_wanted = False


_torch_on_cpu = _TorchOnCpu()


def _may_have_accelerator() -> bool:
    """Return whether there may be a GPU that torch can use, without loading torch."""
    return resolve_device_kind("auto") != "cpu" if "torch" in sys.modules else may_have_gpu()


def has_float64(device: torch.device) -> bool:
    """Return whether the device computes in double precision."""
    return BACKENDS[device.type].has_float64


def raise_precision(values: torch.Tensor) -> torch.Tensor:
    """Return the values in double precision where their device has it."""
    return values.double() if has_float64(values.device) else values


def describe_device() -> str:
    """Return one line for the user: the device that `auto` gives, and how many CPU threads work beside it."""
    import torch

    device = resolve_device("auto")
    if device.type == "cuda":
        free, total = torch.cuda.mem_get_info()
        return f"{torch.cuda.get_device_name()} ({free / 2**30:.1f} of {total / 2**30:.1f} GiB free)"
    if device.type == "mps":
        return "Apple GPU (MPS)"
    return f"CPU, {torch.get_num_threads()} threads"


def describe_device_without_torch() -> str:
    """Return the line of `describe_device` without loading torch: another process is asked, if there may be a GPU."""
    from xcwork.compute.cores import count_cores

    if not may_have_gpu():
        return f"CPU, {count_cores()} threads"
    asked = "from xcwork.compute import device; print(device.describe_device())"
    answer = subprocess.run([sys.executable, "-P", "-c", asked], capture_output=True, text=True, check=False)
    return answer.stdout.strip() or f"CPU, {count_cores()} threads"


@contextmanager
def use_one_thread() -> Iterator[None]:
    """Let torch work on one thread meanwhile: small tensors cost more to hand around than to work on."""
    import torch

    with _alone.lock:
        if _alone.inside == 0:
            _alone.usual = torch.get_num_threads()
        _alone.inside += 1
        torch.set_num_threads(1)
    try:
        yield
    finally:
        with _alone.lock:
            _alone.inside -= 1
            if _alone.inside == 0:
                torch.set_num_threads(_alone.usual)


class _Alone:
    """Who is in `use_one_thread` now: the number of threads is one setting for all sessions of a dashboard."""

    def __init__(self) -> None:
        self.lock, self.inside, self.usual = Lock(), 0, 1


_alone = _Alone()


def limit_threads(n_documents: int) -> AbstractContextManager[None]:
    """Return a block in which torch uses one thread where that is faster: for few documents, if torch is loaded."""
    return use_one_thread() if n_documents <= MAX_SINGLE_THREAD_DOCUMENTS and "torch" in sys.modules else nullcontext()
