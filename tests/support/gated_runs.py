"""The method `gated` in this process and its children, workers that pause, and the end of those that a test leaves."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.support.paths import PLUGIN
from xcwork.methods import registry
from xcwork.runs import RunStore, processes
from xcwork.runs.status import read_status


def install_gated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the method `gated` here and in every process started here."""
    monkeypatch.syspath_prepend(PLUGIN)
    monkeypatch.setenv("PYTHONPATH", str(PLUGIN), prepend=os.pathsep)
    monkeypatch.setitem(registry.METHODS, "gated", "gated:Gated")


@contextmanager
def paused_answers(gate: Path) -> Iterator[Path]:
    """Let workers that are started in the block wait after their first answers; yield what exists when one does.

    The file `open` in the folder `gate` lets them go on.
    """
    gate.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONPATH", str(PLUGIN), prepend=os.pathsep)
        patched.setenv("XCWORK_TEST_PAUSE", str(gate))
        yield gate / "written"


def end_workers(home: Path) -> None:
    """Kill every worker process of the runs in `home`."""
    for run in RunStore(home).list():
        status = read_status(run.folder)
        if status.pid is None or status.pid == os.getpid() or not processes.is_alive(status.pid, status.process):
            continue
        os.kill(status.pid, signal.SIGKILL)
        with suppress(ChildProcessError):  # somebody else's child
            os.waitpid(status.pid, 0)
