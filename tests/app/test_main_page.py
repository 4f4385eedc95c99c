"""The start page over home folders in every condition."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from xcwork.methods import registry
from xcwork.runs import RunStore, worker

MAIN = Path(__file__).resolve().parents[2] / "app" / "main.py"
PLUGIN = Path(__file__).resolve().parents[1] / "runs" / "plugin"  # brings the method `gated`


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XCWORK_HOME", str(tmp_path))
    monkeypatch.syspath_prepend(PLUGIN)
    monkeypatch.setitem(registry.METHODS, "gated", "gated:Gated")
    return tmp_path


def page() -> AppTest:
    shown = AppTest.from_file(str(MAIN), default_timeout=120).run()
    assert not shown.exception
    return shown


def corpus(home: Path) -> Path:
    file = home / "data" / "fruit.csv"
    file.parent.mkdir(exist_ok=True)
    rows = [f"{fruit} number {i} {fruit},{fruit}" for i in range(20) for fruit in ("apple", "pear", "plum")]
    file.write_text("\n".join(["text,labels", *rows]) + "\n")
    return file


def test_an_empty_home_says_how_to_begin() -> None:
    shown = page()
    assert shown.title[0].value == "xcwork"
    assert "xcwork train" in shown.info[0].value
    assert set(shown.dataframe[0].value["dataset"]) == {"pyseealso", "synthetic"}
    assert any(caption.value.startswith("Device: ") for caption in shown.caption)


def test_datasets_in_the_home_are_listed(home: Path) -> None:
    corpus(home)
    assert "fruit.csv" in set(page().dataframe[0].value["dataset"])


def test_runs_are_listed_newest_first_with_state_and_metrics(home: Path) -> None:
    store, data = RunStore(), corpus(home)
    finished = store.create("gated", {"steps": 1}, data, name="done <b>")
    assert worker.main(finished.folder) == 0
    store.create("gated", None, data, name="waiting")
    shown = page()
    table = shown.dataframe[1].value
    assert list(table["run"]) == ["waiting", "done <b>"]
    assert list(table["data"]) == ["fruit.csv", "fruit.csv"]
    assert table["state"][1] == "finished"
    assert table["state"][0].startswith("queued")
    assert table["P@1"][1] == pytest.approx(finished.report().metrics["P@1"])
    assert table["P@1"].isna()[0]
    assert any(caption.value == "2 runs, some under way" for caption in shown.caption)


def test_a_damaged_run_does_not_hide_the_others(home: Path) -> None:
    store, data = RunStore(), corpus(home)
    damaged = store.create("gated", None, data, name="damaged")
    store.create("gated", None, data, name="sound")
    (damaged.folder / "config.json").write_text("{")
    assert list(page().dataframe[1].value["run"]) == ["sound", "damaged"]


def test_an_error_of_the_engine_is_a_sentence(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from xcwork.errors import DataError

    def refuse(*_: object) -> None:
        raise DataError("the folder cannot be read", file="data", remedy="check its permissions")

    monkeypatch.setattr("xcwork.data.load.list_datasets", refuse)
    assert page().error[0].value == "data: the folder cannot be read; check its permissions"
