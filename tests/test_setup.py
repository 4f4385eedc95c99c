"""`make setup` on machines that lack something: one line that says what, and nothing installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.paths import ROOT

SHELL = "/bin/sh"
# Stands in for an interpreter: fails on the question that names one of the words in $LACKS.
PYTHON = """#!/bin/sh
for word in $LACKS; do case "$2" in *$word*) exit 1;; esac; done
exit 0
"""


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder that is the whole search path: a Python, a compiler and a shell."""
    folder = tmp_path / "tools"
    folder.mkdir()
    script(folder / "python3.11", PYTHON)
    script(folder / "g++", "#!/bin/sh\n")
    (folder / "sh").symlink_to(SHELL)
    return folder


def script(path: Path, content: str) -> None:
    path.write_text(content)
    path.chmod(0o755)


def check(tools: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SHELL, ROOT / "scripts/check_tools.sh"],
        env={"PATH": str(tools)} | variables,
        capture_output=True,
        text=True,
    )


def test_a_complete_machine_names_its_python(tools: Path) -> None:
    found = check(tools)
    assert (found.returncode, found.stdout.strip(), found.stderr) == (0, str(tools / "python3.11"), "")


@pytest.mark.parametrize(
    ("lacks", "removed", "says"),
    [
        ("", "python3.11", "Python 3.11 or newer is missing"),
        ("version_info", "", "Python 3.11 or newer is missing"),
        ("ensurepip", "", "cannot make virtual environments"),
        ("", "g++", "a C++ compiler is missing"),
        ("Python.h", "", "header files"),
    ],
)
def test_a_missing_thing_is_one_line(tools: Path, lacks: str, removed: str, says: str) -> None:
    if removed:
        (tools / removed).unlink()
    found = check(tools, LACKS=lacks)
    assert found.returncode == 1
    assert found.stdout == ""
    assert len(found.stderr.splitlines()) == 1
    assert says in found.stderr


def test_a_newer_python_is_found_behind_a_stub_that_fails(tools: Path) -> None:
    script(tools / "python3.11", "#!/bin/sh\nexit 127\n")
    script(tools / "python3.13", PYTHON)
    assert check(tools).stdout.strip() == str(tools / "python3.13")


def test_python_and_compiler_can_be_named(tools: Path) -> None:
    script(tools / "mine", PYTHON)
    assert check(tools, PYTHON="mine").stdout.strip() == str(tools / "mine")
    refused = check(tools, CXX="other-compiler")
    assert "a C++ compiler is missing" in refused.stderr


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The files that `make` looks at, and nothing else."""
    folder = tmp_path / "checkout"
    (folder / "scripts").mkdir(parents=True)
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, folder / name)
    for path in (ROOT / "scripts").glob("*.sh"):
        shutil.copy(path, folder / "scripts")
    return folder


def make(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    program = shutil.which("make")
    assert program is not None
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MAKE") and name != "PYTHON"}
    return subprocess.run([program, *arguments], cwd=folder, env=clean | variables, capture_output=True, text=True)


def test_nothing_is_installed_where_something_is_missing(checkout: Path, tools: Path) -> None:
    (tools / "g++").unlink()
    for target in ("app", "test"):
        found = make(checkout, target, PATH=str(tools))
        assert found.returncode != 0
        assert "a C++ compiler is missing" in found.stderr.splitlines()[0]
        assert not (checkout / ".venv").exists()


def test_set_up_is_done_again_only_when_requirements_change(checkout: Path) -> None:
    stamp = checkout / ".venv/.installed"
    assert make(checkout, "-q", "setup").returncode == 1
    stamp.parent.mkdir()
    stamp.touch()
    assert make(checkout, "-q", "setup").returncode == 0
    later = stamp.stat().st_mtime + 10
    os.utime(checkout / "pyproject.toml", (later, later))
    assert make(checkout, "-q", "setup").returncode == 1


def test_the_workflow_calls_targets_of_the_makefile() -> None:
    workflow = (ROOT / ".github/workflows/ci.yml").read_text()
    called = re.findall(r"run: make (\w+)", workflow)
    assert sorted(called) == ["check", "docs", "test", "wheel"]
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert set(called) <= targets


def test_the_ci_script_runs_the_tests_of_its_own_checkout_as_ci(tmp_path: Path, tools: Path) -> None:
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/run", tmp_path / ".ci/run")
    (tools / "dirname").symlink_to(shutil.which("dirname") or "dirname")
    script(tools / "make", '#!/bin/sh\necho "$1 $CI $(pwd -P)"\n')
    done = subprocess.run([SHELL, tmp_path / ".ci/run"], env={"PATH": str(tools)}, capture_output=True, text=True)
    assert done.stdout.strip() == f"test true {tmp_path.resolve()}"
