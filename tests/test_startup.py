"""`import xcwork`, `xcwork --help` and `xcwork --version` are quick because they leave the heavy libraries alone."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

HEAVY = ("torch", "numba", "sklearn", "pandas", "scipy", "numpy", "streamlit", "plotly")
# Half a second on a quiet machine; processor time too grows when several programs share the cores' caches.
CPU_SECONDS = 0.5
BUSY_MACHINE = 2.0
LISTING = "import sys; sys.stderr.write(' '.join(sorted({name.partition('.')[0] for name in sys.modules})))"


def imported_by(statements: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", statements], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def test_importing_the_package_imports_nothing_heavy() -> None:
    assert imported_by(f"import xcwork\n{LISTING}").isdisjoint(HEAVY)


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_import_nothing_heavy(option: str) -> None:
    called = f"import sys\nfrom xcwork.cli import app\ntry:\n    app(['{option}'])\nexcept SystemExit:\n    {LISTING}"
    found = imported_by(called)
    assert "typer" in found
    assert found.isdisjoint(HEAVY)


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_cost_little(option: str) -> None:
    assert min(cpu_seconds(option) for _ in range(3)) < CPU_SECONDS * BUSY_MACHINE


def cpu_seconds(option: str) -> float:
    process = subprocess.Popen([sys.executable, "-m", "xcwork", option], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_utime + usage.ru_stime
