"""The verbs that delete and rename: they ask first, answer in one document, and say which runs a dataset has."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from xcwork.cli import app
from xcwork.runs import Run, RunStore, worker
from xcwork.runs.status import Status, format_now, write_status


def xcwork(*arguments: str, answer: str = "") -> tuple[int, str, str]:
    done = CliRunner().invoke(app, arguments, input=answer, catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture
def run(home: Path) -> Run:
    """A finished run on a table of the data folder."""
    (home / "data").mkdir()
    rows = [(f"a note on {label} {i}", label) for label in ("wind", "rain") for i in range(10)]
    with (home / "data" / "weather.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("text", "labels"), *rows])
    made = RunStore().create("popularity", {}, "weather.csv", name="first \x1b[31mname")
    assert worker.main(made.folder) == 0
    return made


@pytest.mark.parametrize("answer", ["", "n\n", "\n", "maybe\n"])
@pytest.mark.parametrize("what", [("run", "last"), ("data", "weather.csv")])
def test_without_a_yes_nothing_is_deleted(run: Run, home: Path, what: tuple[str, str], answer: str) -> None:
    code, out, err = xcwork("delete", *what, answer=answer)
    assert (code, out) == (2, "")
    assert "nothing was deleted" in err
    assert "\x1b" not in err
    assert run.folder.is_dir()
    assert (home / "data" / "weather.csv").is_file()


def test_a_yes_deletes_the_run_that_the_question_names(run: Run, home: Path) -> None:
    code, out, err = xcwork("delete", "run", "last", answer="y\n")
    assert code == 0
    assert f"Delete run {run.id} (first" in err
    assert f"run {run.id}" in out
    assert not run.folder.exists()
    assert (home / "data" / "weather.csv").is_file()


def test_the_question_says_how_many_runs_a_dataset_has(run: Run, home: Path) -> None:
    code, out, err = xcwork("delete", "data", "weather.csv", answer="yes\n")
    assert code == 0
    assert "Delete dataset weather.csv, which 1 run was trained on?" in err
    assert f"can still be opened: {run.id}" in out
    assert not (home / "data" / "weather.csv").exists()
    assert xcwork("evaluate", run.id)[0] == 0


def test_scripts_get_one_document_and_must_say_yes(run: Run, home: Path) -> None:
    code, out, _ = xcwork("delete", "run", run.id, "--json")
    assert code == 2
    assert "--yes" in json.loads(out)["error"]
    found = json.loads(xcwork("delete", "data", "weather.csv", "--yes", "--json")[1])
    assert found == {"deleted": "weather.csv", "kind": "data", "runs": [run.id]}
    assert json.loads(xcwork("delete", "run", run.id, "--yes", "--json")[1]) == {"deleted": run.id, "kind": "run"}
    assert RunStore().list() == []


def test_names_change_and_everything_stays_together(run: Run) -> None:
    found = json.loads(xcwork("rename", "run", run.id, "second name", "--json")[1])
    assert found == {"renamed": run.id, "kind": "run", "name": "second name"}
    found = json.loads(xcwork("rename", "data", "weather.csv", "climate", "--json")[1])
    assert found == {"renamed": "weather.csv", "kind": "data", "name": "climate.csv", "runs": [run.id]}
    listed = json.loads(xcwork("runs", "--json")[1])["runs"]
    assert [(entry["name"], entry["data"]) for entry in listed] == [
        ("second name", str(run.home / "data" / "climate.csv"))
    ]
    assert xcwork("evaluate", run.id, "--data", "climate.csv")[0] == 0
    assert "climate.csv" in xcwork("datasets")[1]


@pytest.mark.parametrize(
    "verb",
    [
        ("delete", "run", "last", "--yes"),
        ("rename", "run", "last", "other"),
        ("delete", "data", "weather.csv", "--yes"),
        ("rename", "data", "weather.csv", "other"),
    ],
    ids=" ".join,
)
def test_what_is_running_is_one_sentence_and_exit_code_2(run: Run, home: Path, verb: tuple[str, ...]) -> None:
    write_status(run.folder, Status(state="running", updated=format_now()))
    code, out, err = xcwork(*verb)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert "is in use (running); wait for it, or cancel it first" in err
    assert run.folder.is_dir()
    assert (home / "data" / "weather.csv").is_file()


def test_built_in_data_and_unknown_kinds_are_refused(run: Run) -> None:
    assert "built in" in xcwork("delete", "data", "pyseealso", "--yes")[2]
    assert "'run', 'data'" in xcwork("delete", "model", "last")[2]
    assert "there is no run" in xcwork("delete", "run", "nothing", "--yes")[2]
