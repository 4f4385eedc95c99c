"""Pages over home folders in every condition: a small corpus, the gated method, and pages opened as a link would."""

from __future__ import annotations

import gc
import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from tests.support.fruit import write_fruit
from tests.support.gated_runs import end_workers, install_gated
from tests.support.pages import FORMULA, HOSTILE, Open, Train, prepare_pages_once
from tests.support.paths import ROOT
from xcwork.runs import Run, RunStore, worker


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where home folders are made, one after the other under one path, and trained runs are kept for copies."""
    return tmp_path_factory.mktemp("workshop")


@pytest.fixture(scope="session", autouse=True)
def known_packages() -> Iterator[None]:
    with prepare_pages_once():
        yield


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, workshop: Path) -> Iterator[Path]:
    """A home folder of the test's own, the method `gated`, empty caches; no worker outlives the test."""
    folder = workshop / "home"
    (folder / "data").mkdir(parents=True)
    monkeypatch.setenv("XCWORK_HOME", str(folder))
    install_gated(monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(gc, "collect", lambda: 0)  # for a model that goes, which took as long as many a test
        st.cache_data.clear()
        st.cache_resource.clear()
    yield folder
    end_workers(folder)
    # Out of the way at once; a worker that is just starting may still write into it.
    folder.rename(workshop / f"used-{len(list(workshop.iterdir()))}")


@pytest.fixture
def corpus(home: Path) -> Path:
    """Sixty documents about fruit, with a label that would like to be a script and one that would like to run."""
    return write_fruit(home / "data" / "fruit.csv", (HOSTILE, FORMULA), f"{HOSTILE} text")


@pytest.fixture
def open_page() -> Open:
    """A page as a link with these parameters opens it. Nothing may raise."""

    def opened(name: str = "home", **query: str) -> AppTest:
        app = AppTest.from_file(str(ROOT / "app" / "main.py"), default_timeout=300)
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
        shutil.copytree(run.folder, kept, ignore=shutil.ignore_patterns("notes.md", "identity.json"))
        return run

    return trained


@pytest.fixture
def finished(corpus: Path, train: Train) -> Run:
    """A finished run on the corpus."""
    return train("gated", {"steps": 3}, corpus, "done <b>")


@pytest.fixture
def matched(corpus: Path, train: Train) -> Run:
    """A finished run of a zero-shot method."""
    return train("tfidf", {}, corpus, "by words")


@pytest.fixture
def popular(corpus: Path, train: Train) -> Run:
    """A finished run of a method that knows labels from documents alone."""
    return train("popularity", {}, corpus, "by counts")
