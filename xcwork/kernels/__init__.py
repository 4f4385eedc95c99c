"""The few loops that numpy cannot express well, compiled with numba; each has a plain twin in its test.

Modules `tensor_…` do the same with tensors, for an accelerator; they alone import torch, and nothing imports them
before a device is asked for.

A kernel that uses several threads is called under `one_at_a_time`: where numba finds neither OpenMP nor TBB, its own
threading layer ends the whole process when two Python threads, such as two sessions of a dashboard, meet in it.
Nothing is lost by waiting, because each call uses all cores. `use_cores_for` uses as many of them as are worth waking:
on a busy machine another thread may come after ten milliseconds only, and one document is ranked in less than one. It
is here rather than in `xcwork.compute`, which starts all other threads, because it belongs to numba, which only kernels
import.

Compiled kernels are kept beside their modules. Their index names the classes that kernels take, and numba cannot read
it any more once such a class is renamed or moved, so kernels of another `CACHE_VERSION` are deleted first.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

CACHE_VERSION = 4  # raise it when a class that kernels take is renamed or moved
one_at_a_time = Lock()
MIN_NUMBERS_PER_THREAD = 2**16  # numbers to go through that keep a thread busy for longer than it takes to wake it


@contextmanager
def use_cores_for(numbers: int) -> Iterator[None]:
    """Run kernels that go through so many numbers, one kernel at a time, on as many cores as are worth it."""
    from numba import get_num_threads, set_num_threads

    usual = get_num_threads()
    with one_at_a_time:
        set_num_threads(max(1, min(usual, numbers // MIN_NUMBERS_PER_THREAD)))
        try:
            yield
        finally:
            set_num_threads(usual)


def drop_stale_kernels(folder: Path) -> None:
    """Delete the compiled kernels in `folder` unless they are of this version."""
    mark = folder / f"kernels-{CACHE_VERSION}.version"
    if mark.exists() or not folder.is_dir():
        return
    with suppress(OSError):  # installed where only an administrator may write, or another process does the same
        for compiled in (*folder.glob("*.nbi"), *folder.glob("*.nbc")):
            compiled.unlink(missing_ok=True)
        mark.touch()


drop_stale_kernels(Path(__file__).with_name("__pycache__"))
