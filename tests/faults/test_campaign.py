"""A quick sample of `benchmarks/faults.py`: every method meets a fault, every kind of fault meets some method."""

from __future__ import annotations

import getpass
import json
import os
import subprocess
import sys

import pytest

from tests.support.faults import shim
from xcwork.methods.registry import list_usable_methods

pytestmark = pytest.mark.slow

KINDS = {"kill", "term", "oom", "disk", "readonly", "clock"}


@pytest.mark.timeout(900)
def test_every_method_survives_a_fault(tmp_path):
    if reason := shim.missing():
        pytest.skip(reason)
    out = tmp_path / "faults.json"
    command = [sys.executable, "-m", "benchmarks.faults", "--kills", str(len(list_usable_methods())), "--out", str(out)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | {"TMPDIR": str(tmp_path)}
    )
    assert done.returncode == 0, done.stderr
    trials = json.loads(out.read_text())["trials"]
    assert {trial["method"] for trial in trials} == set(list_usable_methods())
    assert {trial["kind"] for trial in trials} == KINDS
    assert sum(trial["struck"] for trial in trials) >= len(list_usable_methods()) // 2
    left = [path.name for path in tmp_path.iterdir() if path != out]
    assert not [name for name in left if name != torch_folder()]


def torch_folder() -> str:
    """The one folder for temporary files that torch makes as soon as it is imported, always the same."""
    return f"torchinductor_{getpass.getuser()}"
