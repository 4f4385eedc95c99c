"""The preloaded library `shim.c` from Python: built once, loaded by restarting the process, armed in a worker."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
from enum import IntEnum
from pathlib import Path

SOURCE = Path(__file__).with_name("shim.c")
MARK = "XCWORK_FAULT_SHIM"  # the folder of the built library, set in a process that has it loaded
FOREVER = 2**62


class Strike(IntEnum):
    """What happens at the chosen change; the order is that of `enum mode` in shim.c."""

    NOTHING, COUNT, KILL_BEFORE, KILL_AMID, FULL_DISK, READ_ONLY, CLOCK, MEMORY = range(8)


def missing() -> str:
    """Why the library cannot be used here; empty when it can."""
    if sys.platform != "linux":
        return "faults are injected through a preloaded library, which needs Linux"
    found = subprocess.run(["cc", "--version"], capture_output=True, check=False) if _has_compiler() else None
    return "" if found is not None and found.returncode == 0 else "there is no C compiler (cc) to build the library"


def _has_compiler() -> bool:
    from shutil import which

    return which("cc") is not None


def restart_with_library() -> None:
    """Replace this process by the same one with the library loaded; returns at once when it is."""
    if MARK in os.environ:
        return
    folder = tempfile.mkdtemp(prefix="xcwork-faults-")
    library = Path(folder) / "shim.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(SOURCE)], check=True)
    # Forks share nothing with threads of their parent, so every pool of threads is kept from starting.
    calm = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    settings = calm | {MARK: folder, "LD_PRELOAD": str(library), "NUMBA_THREADING_LAYER": "workqueue"}
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], os.environ | settings)


def arm(strike: Strike, folder: Path, *, at: int = 0, lasting: int = FOREVER, seconds: int = 0) -> None:
    """Strike at change number `at` to files below `folder`."""
    library = ctypes.CDLL(None)
    library.fault_arm.argtypes = [ctypes.c_int, ctypes.c_long, ctypes.c_long, ctypes.c_long, ctypes.c_char_p]
    library.fault_arm(int(strike), at, lasting, seconds, os.fsencode(folder))


def counts() -> dict[str, int]:
    """Changes to files and large allocations since `arm`."""
    library = ctypes.CDLL(None)
    library.fault_seen.restype = library.fault_allocations.restype = ctypes.c_long
    return {"changes": library.fault_seen(), "allocations": library.fault_allocations()}
