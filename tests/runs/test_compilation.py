"""Kernels can be compiled in advance, once, and what is compiled is what a first training and prediction need."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from xcwork.runs import compilation

FIRST_ANSWER = """
from numba.core import event
compiled = []
class Listener(event.Listener):
    def on_start(self, event): pass
    def on_end(self, event): compiled.append(event.data["dispatcher"].py_func.__name__)
import xcwork
pairs = [(kind, subject) for kind in ("red", "dry", "old") for subject in ("apples", "bread", "wine", "cheese")]
data = xcwork.from_lists([" ".join(pair) for pair in pairs], pairs)
with event.install_listener("numba:compile", Listener()):
    xcwork.create("tfidf").fit(data.train).predict("red apples", 3)
print(compiled)
"""


def run_python(*arguments: str, cache: Path) -> str:
    return subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@pytest.mark.slow
def test_what_was_compiled_in_advance_is_not_compiled_again(tmp_path: Path) -> None:
    command = ("-m", "xcwork", "compile", "--method", "tfidf", "--json")
    assert list(json.loads(run_python(*command, cache=tmp_path))["compiled"]) == ["tfidf"]
    assert run_python("-c", FIRST_ANSWER, cache=tmp_path).split() == ["[]"]
    assert json.loads(run_python(*command, cache=tmp_path))["compiled"] == {}


@pytest.fixture
def used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The methods that were used instead of compiled, with an empty folder for compiled code."""
    names: list[str] = []
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(compilation, "_use_method", lambda name, settings, data: names.append(name))
    return names


def test_the_usual_first_methods_come_first_and_each_once(used: list[str]) -> None:
    assert compilation.list_compiled_methods()[:4] == list(compilation.FIRST_METHODS)
    assert not compilation.is_compiled(["tfidf"])
    assert list(compilation.compile_kernels(["tfidf", "bm25"])) == ["tfidf", "bm25"]
    assert compilation.compile_kernels(["tfidf"]) == {}
    assert used == ["tfidf", "bm25"]
    assert compilation.is_compiled(["tfidf", "bm25"])


def test_nothing_is_compiled_twice_at_a_time(used: list[str]) -> None:
    folder = compilation._find_cache_folder()
    folder.mkdir()
    with compilation.FileLock(folder / "compiling.lock") as lock:
        assert lock.acquire()
        assert compilation.compile_kernels(["tfidf"]) == {}
    assert used == []


def test_changed_sources_are_compiled_again(used: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    compilation.compile_kernels(["tfidf"])
    monkeypatch.setattr(compilation, "version", lambda package: "another")
    assert not compilation.is_compiled(["tfidf"])


def test_the_dashboard_compiles_in_the_background_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    monkeypatch.setattr(compilation.subprocess, "run", lambda command, **_: started.append(command[-2:]))
    monkeypatch.setattr(compilation, "is_compiled", lambda: False)
    compilation.start_compiling()  # tests switch it off
    monkeypatch.setenv(compilation.SWITCH, "1")
    compilation.start_compiling()
    monkeypatch.setattr(compilation, "is_compiled", lambda: True)
    compilation.start_compiling()
    assert started == [["xcwork", "compile"]]
