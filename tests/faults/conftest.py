"""The tiny dataset of the fault campaign, a home folder, and processes that act at the same moment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import ROOT
from xcwork.runs import RunStore


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """48 training and 16 test documents with 12 labels, one of them unseen."""
    from tests.support.faults.workload import write_corpus

    return write_corpus(tmp_path / "corpus")


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "home")


@pytest.fixture
def together() -> Callable[..., dict[str, Any]]:
    """Runs an action of `together.py` in several processes at once and returns what each of them answered."""

    def act(action: str, *arguments: object) -> dict[str, Any]:
        command = [sys.executable, str(ROOT / "tests" / "support" / "together.py"), action, *map(str, arguments)]
        # Processes are forked there, which the thread pool of GNU OpenMP does not survive.
        environment = os.environ | {"NUMBA_THREADING_LAYER": "workqueue", "NUMBA_NUM_THREADS": "1"}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return act
