"""`pytest` alone, without variables or options, collects the suite and runs it on one thread."""

from __future__ import annotations

import gc
import os
import subprocess
import sys

import pytest

from tests.support.paths import ROOT


@pytest.mark.slow
def test_files_of_one_name_in_two_folders_are_collected_together() -> None:
    twins = ["tests/cli/test_errors.py", "tests/analysis/test_errors.py"]
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    command = [sys.executable, "-m", "pytest", "--collect-only", "--quiet", "-p", "no:cacheprovider", *twins]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert all(f"{file}::" in done.stdout for file in twins)


def test_thread_pools_have_the_size_that_the_suite_asks_for() -> None:
    # In a process of its own: compiled loops of other tests share torch's pool and may have set its size since.
    asked = "import tests.conftest, torch; print(torch.get_num_threads())"
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    done = subprocess.run(
        [sys.executable, "-c", asked], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "1"


def test_garbage_is_looked_for_among_what_tests_make_only() -> None:
    assert gc.isenabled()
    assert gc.get_freeze_count() > 10_000  # imported modules and collected tests
