"""Pages over home folders in every condition: a small corpus, the gated method, and pages opened as a link would."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from tests.support.pages import FORMULA, HOSTILE, Open, Train
from tests.support.paths import PLUGIN, ROOT
from xcwork.methods import registry
from xcwork.runs import Run, RunStore, processes, worker
from xcwork.runs.status import read_status


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where home folders are made, one after the other under one path, and trained runs are kept for copies."""
    return tmp_path_factory.mktemp("workshop")


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, workshop: Path) -> Iterator[Path]:
    """A home folder of the test's own, the method `gated`, empty caches; no worker outlives the test."""
    folder = workshop / "home"
    (folder / "data").mkdir(parents=True)
    monkeypatch.setenv("XCWORK_HOME", str(folder))
    monkeypatch.syspath_prepend(PLUGIN)
    monkeypatch.setenv("PYTHONPATH", str(PLUGIN), prepend=os.pathsep)
    monkeypatch.setitem(registry.METHODS, "gated", "gated:Gated")
    st.cache_data.clear()
    st.cache_resource.clear()
    yield folder
    for run in RunStore(folder).list():
        status = read_status(run.folder)
        if status.pid not in (None, os.getpid()) and processes.alive(status.pid, status.process):
            os.kill(status.pid, signal.SIGKILL)
            with suppress(ChildProcessError):  # somebody else's child
                os.waitpid(status.pid, 0)
    # Out of the way at once; a worker that is just starting may still write into it.
    folder.rename(workshop / f"used-{len(list(workshop.iterdir()))}")


@pytest.fixture
def corpus(home: Path) -> Path:
    """Sixty documents about fruit, with a label that would like to be a script and one that would like to run."""
    rows = [f"{fruit} number {i} {fruit},{fruit}" for i in range(20) for fruit in ("apple", "pear", "plum")]
    rows += [f'{HOSTILE} text {i},"{label}"' for i in range(6) for label in (HOSTILE, FORMULA)]
    file = home / "data" / "fruit.csv"
    file.write_text("\n".join(["text,labels", *rows]) + "\n")
    return file


@pytest.fixture
def open_page() -> Open:
    """A page as a link with these parameters opens it. Nothing may raise."""

    def opened(name: str = "home", **query: str) -> AppTest:
        app = AppTest.from_file(str(ROOT / "app" / "main.py"), default_timeout=60)
        app.query_params.update(query)
        app.switch_page(f"app_pages/{name}.py").run()
        assert not app.exception
        return app

    return opened


@pytest.fixture
def train(workshop: Path) -> Train:
    """A finished run on a file. The same training happens once a session; later ones are copies of its folder."""

    def trained(method: str, params: dict[str, object] | None, data: Path, name: str = "") -> Run:
        run = RunStore().create(method, params, data, name=name)
        recipe = json.dumps([method, params, str(data), data.read_text()])
        kept = workshop / "trained" / hashlib.sha256(recipe.encode()).hexdigest()[:16]
        if kept.is_dir():
            shutil.copytree(kept, run.folder, dirs_exist_ok=True)
            return run
        assert worker.main(run.folder) == 0
        shutil.copytree(run.folder, kept, ignore=shutil.ignore_patterns("notes.md"))
        return run

    return trained


@pytest.fixture
def finished(corpus: Path, train: Train) -> Run:
    """A finished run on the corpus."""
    return train("gated", {"steps": 3}, corpus, "done <b>")


@pytest.fixture
def until() -> Callable[..., None]:
    """Wait for a condition; a minute without it is a failure that says what was missing."""

    def wait(condition: Callable[[], object], what: str) -> None:
        deadline = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < deadline, f"still waiting for {what}"
            threading.Event().wait(0.02)

    return wait
