"""The walkthroughs of CONTRIBUTING.md work as printed: a method, a reader, a page."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from xcwork.core.dataset import Dataset

TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf-8")


def read_section(title: str) -> list[str]:
    """Return the Python blocks of a section."""
    section = TEXT.split(f"\n## {title}\n")[1].split("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)


def add_module(name: str, code: str, folder: Path, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a module into a folder that its package is also looked up in."""
    (folder / f"{name}.py").write_text(code, "utf-8")
    parent = importlib.import_module(package)
    monkeypatch.setattr(parent, "__path__", [*parent.__path__, str(folder)])


@pytest.fixture(autouse=True)
def forget_modules() -> Iterator[None]:
    yield
    for name in [name for name in sys.modules if "longest_name" in name or name.endswith("readers.equals")]:
        del sys.modules[name]


def test_the_method_trains_predicts_explains_and_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checkerboard: Dataset
) -> None:
    from xcwork.methods import names
    from xcwork.methods.registry import create

    model, method, line = read_section("Add a method")
    folder = tmp_path / "methods" / "longest_name"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("", "utf-8")
    (folder / "method.py").write_text(method, "utf-8")
    (folder / "model.py").write_text(model, "utf-8")
    package = importlib.import_module("xcwork.methods")
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder.parent)])
    monkeypatch.setattr(names, "METHODS", dict(names.METHODS))
    exec(line, {"METHODS": names.METHODS})

    trained = create("longest_name", power=2.0).fit(checkerboard.train)
    best = trained.predict(checkerboard.test, k=2)
    longest = max(len(name) for name in checkerboard.labels.names)
    assert len(checkerboard.labels.names[best.ids[0, 0]]) == longest
    explanation = trained.explain(checkerboard.test.X[:1], int(best.ids[0, 0]))
    assert explanation.exact
    assert explanation.score == pytest.approx(longest**2)
    trained.save(tmp_path / "stored")
    again = type(trained).load(tmp_path / "stored")
    assert (again.predict(checkerboard.test, k=2).ids == best.ids).all()


def test_the_reader_reads_and_complains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from xcwork.data import readers
    from xcwork.data.load import load_dataset
    from xcwork.errors import DataError

    code, line = read_section("Add a reader")
    folder = tmp_path / "readers"
    folder.mkdir()
    add_module("equals", code, folder, "xcwork.data.readers", monkeypatch)
    formats = {**readers.FORMATS}
    exec(line, {"FORMATS": formats})
    monkeypatch.setattr(readers, "FORMATS", {"equals": formats["equals"], **readers.FORMATS})
    file = tmp_path / "tickets.eq"
    file.write_text("".join(f"printer, ink = Blank pages {n}\nlogin = No access {n}\n" for n in range(10)), "utf-8")
    dataset = load_dataset(str(file))
    assert sorted(dataset.labels.names) == ["ink", "login", "printer"]
    assert dataset.train.n_documents + dataset.test.n_documents == 20
    file.write_text("no sign here\n", "utf-8")
    with pytest.raises(DataError, match="there is no = in this line"):
        load_dataset(str(file))


def test_the_page_shows_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("streamlit")
    from streamlit.testing.v1 import AppTest
    from xcwork_app import navigation

    code, line = read_section("Add a page")
    page = tmp_path / "vocabulary.py"
    page.write_text(code, "utf-8")
    namespace = {"PLACES": navigation.PLACES, "Place": navigation.Place}
    exec(line, namespace)
    monkeypatch.setattr(navigation, "PLACES", namespace["PLACES"])
    monkeypatch.setenv("XCWORK_HOME", str(tmp_path))
    shown = AppTest.from_file(str(page), default_timeout=60).run()
    assert not shown.exception
    assert shown.title[0].value == "Vocabulary"
    assert shown.text_input[0].label == "Find a word"
