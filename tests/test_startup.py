"""`import xcwork`, `xcwork --help` and `xcwork --version` are fast because they leave heavy libraries alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import xcwork

HEAVY = ("torch", "numba", "sklearn", "pandas", "scipy", "numpy", "streamlit", "plotly")
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
def test_help_and_version_start_no_process_and_import_little_of_ours(option: str) -> None:
    called = (
        "import sys\n"
        "started = []\n"
        "sys.addaudithook(lambda event, _: started.append(event) if event in "
        "('subprocess.Popen', 'os.fork', 'os.posix_spawn', 'socket.connect') else None)\n"
        "from xcwork.cli import app\n"
        f"try:\n    app(['{option}'])\n"
        "except SystemExit:\n"
        "    ours = sorted(name for name in sys.modules if name.startswith('xcwork.'))\n"
        "    sys.stderr.write(' '.join(ours + started))"
    )
    found = imported_by(called)
    assert found
    assert {name.split(".")[1] for name in found} <= {
        "cli",
        "errors",
        "extras",
        "options",
        "paths",
    }  # and no process, no connection


@pytest.mark.parametrize("method", ["label_tree", "one_vs_all", "tfidf"])
def test_a_stored_model_answers_a_text_without_what_only_training_and_tables_need(method: str, tmp_path: Path) -> None:
    texts = [f"{fruit} {colour}" for fruit in ("apples", "pears", "plums") for colour in ("red", "green", "sour")]
    data = xcwork.from_lists(texts, [text.split() for text in texts])
    xcwork.create(method).fit(data.train).save(tmp_path / "model")
    found = imported_by(
        f"import xcwork\nmodel = xcwork.load_method({str(tmp_path / 'model')!r})\n"
        f"assert model.predict('red apples', k=2).to_records()\n{LISTING}"
    )
    assert "numpy" in found
    assert found.isdisjoint(
        {"pandas", "pyarrow", "sklearn", "torch", "streamlit", "plotly", "distributed", "snowballstemmer"}
    )
