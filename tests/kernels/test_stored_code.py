"""Stored machine code is loaded without the modules that compile, and computes the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

KERNEL = """
import numpy as np
from xcwork.kernels.stored_code import njit

@njit(cache=True, nogil=True)
def add_up(values):
    total = np.zeros(1)  # allocated by numba's runtime
    for value in values:
        total[0] += value
    return total
"""
QUESTION = """
import json, sys
import numpy as np
from kernel import add_up
found = add_up(np.arange(5.0))[0]
compiler = "numba.np.linalg" in sys.modules
other = add_up(np.arange(4))[0]  # integers: no code is stored for these the first time
print(json.dumps([found, compiler, other]))
"""


def run(folder: Path) -> list[object]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, sys.path)])}
    environment["NUMBA_CACHE_DIR"] = str(folder / "stored")
    done = subprocess.run(
        [sys.executable, "-c", QUESTION], env=environment, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_stored_code_needs_no_compiler_and_what_is_not_stored_is_compiled(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL)
    assert run(tmp_path) == [10.0, True, 6.0]
    assert run(tmp_path) == [10.0, False, 6.0]
