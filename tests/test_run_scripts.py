"""`make test` and `make check`: which suites run, what is skipped with a reason, and what a failure comes to."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

SHELL = "/bin/sh"
PROGRAMS = ("cat", "date", "dirname", "find", "grep", "id", "ln", "mkdir", "mktemp", "rm", "sed", "touch", "wc")
# Stands in for the interpreter of the virtual environment: writes down what it is asked, fails on $FAILS.
RECORDER = """#!/bin/sh
echo "$*" >> calls
case "$*" in *"${FAILS:-nothing at all}"*) exit 1;; esac
"""
# The real pytest, and nothing else.
PYTEST = f"""#!/bin/sh
case "$2" in pytest) exec {sys.executable} "$@";; esac
"""
STARVED = """
from pathlib import Path

def test_quick(): pass

def test_starved():
    mark = Path(__file__).with_suffix(".seen")
    was_seen = mark.exists()
    mark.touch()
    assert was_seen
"""


def script(path: Path, content: str) -> None:
    path.write_text(content)
    path.chmod(0o755)


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder that is the whole search path: a shell, what the scripts call, and a browser."""
    folder = tmp_path / "tools"
    folder.mkdir()
    (folder / "sh").symlink_to(SHELL)
    for name in PROGRAMS:
        (folder / name).symlink_to(shutil.which(name) or name)
    script(folder / "chromium", "#!/bin/sh\n")
    return folder


@pytest.fixture
def suites(tmp_path: Path) -> Path:
    """A checkout of three suites and an engine without tests, with an interpreter that writes down what it is asked."""
    folder = tmp_path / "checkout"
    shutil.copytree(ROOT / "scripts", folder / "scripts", ignore=lambda _, names: {n for n in names if n[-3:] != ".sh"})
    (folder / ".venv/bin").mkdir(parents=True)
    script(folder / ".venv/bin/python", RECORDER)
    for name in ("contract", "app", "browser"):
        (folder / "tests" / name).mkdir(parents=True)
        (folder / "tests" / name / "test_one.py").touch()
    return folder


def run_script(name: str, folder: Path, tools: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": str(tools)} | variables
    return subprocess.run([SHELL, f"scripts/{name}"], cwd=folder, env=environment, capture_output=True, text=True)


def calls(folder: Path) -> list[str]:
    return (folder / "calls").read_text().splitlines()


def name_suite(call: str) -> str:
    for start, name in (("-m mypy", "types"), ("-m mkdocs", "docs")):
        if call.startswith(start):
            return name
    return "engine" if "--ignore=tests/contract" in call else call.split()[-1].removeprefix("tests/")


def test_every_suite_runs_once_and_a_skip_has_a_reason(suites: Path, tools: Path) -> None:
    done = run_script("run_tests.sh", suites, tools)
    assert done.returncode == 0, done.stderr
    asked = calls(suites)
    assert [line.split()[1] for line in asked[:2]] == ["ruff", "ruff"]
    assert sorted(map(name_suite, asked[2:])) == ["app", "browser", "contract", "docs", "engine", "types"]
    assert "--ignore=tests/browser" in next(line for line in asked if "--ignore=tests/contract" in line)
    assert "notebooks: skipped, there is no test in tests/notebooks" in done.stdout
    for name in ("style", "types", "docs", "engine", "contract", "app", "browser", "all"):
        assert re.search(rf"^── {name}: \d+ s$", done.stdout, flags=re.MULTILINE), name


@pytest.mark.parametrize(
    ("step", "fails"),
    [
        ("contract", " tests/contract"),
        ("engine", "--ignore=tests/browser"),
        ("types", "-m mypy"),
        ("docs", "-m mkdocs"),
    ],
)
def test_a_failure_fails_the_whole_after_every_suite_has_run(suites: Path, tools: Path, step: str, fails: str) -> None:
    done = run_script("run_tests.sh", suites, tools, FAILS=fails)
    assert done.returncode == 1
    assert f"{step} failed" in done.stderr
    asked = [call for call in calls(suites)[2:] if "--last-failed" not in call]
    assert sorted(map(name_suite, asked)) == ["app", "browser", "contract", "docs", "engine", "types"]
    again = [name_suite(call) for call in calls(suites) if "--last-failed" in call]
    assert again == ([] if step in ("docs", "types") else [step])
    assert "── all" not in done.stdout


@pytest.mark.slow
def test_a_test_that_passes_when_run_alone_is_named_and_fails_nothing(suites: Path, tools: Path) -> None:
    script(suites / ".venv/bin/python", PYTEST)
    for name in ("browser", "contract"):
        shutil.rmtree(suites / "tests" / name)
    (suites / "tests/test_engine.py").write_text("def test_sound(): pass\n")
    (suites / "tests/app/test_one.py").write_text(STARVED)
    done = run_script("run_tests.sh", suites, tools, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "app failed" in done.stderr
    assert "── app: passed when run alone: tests/app/test_one.py::test_starved\n" in done.stdout
    assert len(re.findall(r"^1 passed, 1 deselected|^1 passed", done.stdout, flags=re.MULTILINE)) == 2  # and the engine


@pytest.mark.slow
def test_a_test_that_fails_twice_fails_the_whole_and_many_are_no_coincidence(suites: Path, tools: Path) -> None:
    script(suites / ".venv/bin/python", PYTEST)
    shutil.rmtree(suites / "tests/browser")
    (suites / "tests/test_engine.py").write_text("def test_sound(): pass\n")
    (suites / "tests/contract/test_one.py").write_text("def test_broken(): assert False\n")
    many = "import pytest\n@pytest.mark.parametrize('n', range(21))\ndef test_broken(n): assert False\n"
    (suites / "tests/app/test_one.py").write_text(many)
    done = run_script("run_tests.sh", suites, tools, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    assert done.returncode == 1
    assert "contract, failed tests alone failed" in done.stderr
    assert "app: 21 tests failed, too many to run them again" in done.stderr
    assert "passed when run alone" not in done.stdout


def test_without_a_browser_the_skip_says_so(suites: Path, tools: Path) -> None:
    (tools / "chromium").unlink()
    done = run_script("run_tests.sh", suites, tools)
    assert done.returncode == 0
    assert "browser: skipped, there is no chromium" in done.stdout
    assert not any(line.endswith(" tests/browser") for line in calls(suites))


def test_on_ci_a_missing_browser_is_installed(suites: Path, tools: Path) -> None:
    (tools / "chromium").unlink()
    script(tools / "sudo", '#!/bin/sh\nexec "$@"\n')
    (tools / "env").symlink_to(shutil.which("env") or "env")
    script(tools / "apt-get", f'#!/bin/sh\n[ "$1" = update ] || ln -s {tools}/sh {tools}/chromium\n')
    done = run_script("run_tests.sh", suites, tools, CI="true")
    assert done.returncode == 0, done.stderr
    assert any(line.endswith(" tests/browser") for line in calls(suites))


def test_a_browser_that_cannot_be_installed_fails_the_whole(suites: Path, tools: Path) -> None:
    (tools / "chromium").unlink()
    script(tools / "sudo", '#!/bin/sh\nexec "$@"\n')
    script(tools / "apt-get", "#!/bin/sh\nexit 100\n")
    done = run_script("run_tests.sh", suites, tools, CI="true")
    assert done.returncode == 1
    assert "installing chromium failed" in done.stderr
    assert "app" in map(name_suite, calls(suites))


def test_the_check_is_style_types_and_the_fast_tests(suites: Path, tools: Path) -> None:
    done = run_script("run_check.sh", suites, tools)
    assert done.returncode == 0, done.stderr
    asked = calls(suites)
    assert asked[:2] == ["-m ruff check .", "-m ruff format --check ."]
    assert len(asked) == 5
    assert "-m mypy -p xcwork -p xcwork_app" in asked
    tests = [call for call in asked if call.startswith("-m pytest -q -m not slow tests")]
    looked_at, left_out = (
        {word for call in tests for word in call.split() if word.startswith(start)} for start in ("tests/", "--ignore=")
    )
    assert len(tests) == 2
    # What one lane leaves out the other looks at; tests with a browser are all slow.
    assert {word.removeprefix("--ignore=") for word in left_out} == looked_at | {"tests/browser"}


@pytest.mark.parametrize("fails", ["-m mypy", " tests/contract", "--ignore=tests/browser"])
def test_the_check_fails_where_a_part_of_it_does(suites: Path, tools: Path, fails: str) -> None:
    done = run_script("run_check.sh", suites, tools, FAILS=fails)
    assert done.returncode == 1
    assert "failed after" in done.stderr
    assert len(calls(suites)) == 5
    assert "── all" not in done.stdout
