"""Training from the command line: real workers, real signals, and a method whose every step a test can hold up."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.support.fruit import write_fruit
from tests.support.gated_runs import end_workers, install_gated
from tests.support.waiting import PATIENCE_SECONDS, until
from xcwork.cli import app
from xcwork.runs import Run, RunStore

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def gated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The method `gated` exists here and in every process started here."""
    install_gated(monkeypatch)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "home"
    monkeypatch.setenv("XCWORK_HOME", str(folder))
    yield folder
    end_workers(folder)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_fruit(tmp_path / "fruit.csv")


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    folder = tmp_path / "gate"
    folder.mkdir()
    return folder


def xcwork(*arguments: object) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr


def only_run(home: Path) -> Run:
    (run,) = RunStore(home).list()
    return run


def test_a_training_prints_one_document_and_its_progress_elsewhere(home: Path, data: Path, gate: Path) -> None:
    arguments = ["train", "gated", "--data", data, "--set", "steps=2", "--set", f"gate={gate}"]
    notes = gate / "stderr"
    with notes.open("w") as stderr:
        command = subprocess.Popen(
            [sys.executable, "-m", "xcwork", *map(str, arguments), "--name", "My run", "--json"],
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
    # Both steps are held up until their phase was printed, so that it is seen on a fast machine, too.
    until(lambda: re.search(r"^climbing: \d", notes.read_text(), flags=re.MULTILINE), "a line about the phase")
    (gate / "open").touch()
    out, _ = command.communicate(timeout=PATIENCE_SECONDS)
    err = notes.read_text()
    assert command.returncode == 0, err
    found = json.loads(out)
    run = only_run(home)
    assert (found["run"], found["state"], found["method"], found["name"]) == (run.id, "finished", "gated", "My run")
    assert found["params"]["steps"] == 2
    wanted = {f"{metric}@{k}" for metric in ("P", "nDCG", "PSP") for k in (1, 3, 5)}
    for part in ("metrics", "seen", "unseen"):
        assert wanted <= set(found[part])
        assert all(value == round(value, 2) for value in found[part].values())
    assert found["metrics"]["recall_micro@3"] == 100.0  # three labels, so the best three hold every true one
    for figure in ("train_seconds", "predict_ms_per_document", "peak_memory_mb", "model_bytes"):
        assert found[figure] >= 0
    assert run.id in err
    assert "Traceback" not in err


def test_what_a_method_says_about_itself_is_shown(data: Path) -> None:
    code, out, err = xcwork("train", "landmarks", "--data", data, "--set", "landmarks=2")
    assert code == 0, err
    assert "landmarks 2, outliers 1, decoded labels 0" in out
    assert "landmarks only P@1" in out
    assert "one vs rest P@1 100, one vs rest nDCG@1 100" in out
    code, out, err = xcwork("evaluate", "last", "--data", data, "--json")
    assert code == 0, err
    assert json.loads(out)["diagnostics"]["outliers"] == 1


def _heeding_ctrl_c() -> None:
    """Tests that run in the background inherit an ignored SIGINT; somebody at a terminal does not."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_cancels_and_resume_goes_on(home: Path, data: Path, gate: Path) -> None:
    arguments = ["train", "gated", "--data", data, "--set", f"gate={gate}", "--json"]
    command = subprocess.Popen(
        [sys.executable, "-m", "xcwork", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_heeding_ctrl_c,
    )
    until(lambda: (gate / "reached-1").exists() or (gate / "open-0").touch(), "the second step")
    command.send_signal(signal.SIGINT)
    until(lambda: (only_run(home).folder / "cancel").exists(), "the cancel flag")
    (gate / "open").touch()
    out, err = command.communicate(timeout=PATIENCE_SECONDS)
    run = only_run(home)
    assert command.returncode == 130
    document = json.loads(out)
    assert (document["run"], document["state"]) == (run.id, "cancelled")
    assert f"xcwork resume {run.id}" in document["error"]
    assert f"xcwork resume {run.id}" in err
    code, out, err = xcwork("resume", run.id[:15], "--json")
    assert code == 0, err
    assert (json.loads(out)["state"], json.loads(out)["attempt"]) == ("finished", 2)
    steps = [event for event in run.read_events() if event["phase"] == "climbing" and "loss" in event]
    assert len(steps) == 4  # over both attempts: none was lost, none was done twice


def test_a_detached_training_is_listed_cancelled_and_resumed(home: Path, data: Path, gate: Path) -> None:
    code, out, err = xcwork("train", "gated", "--data", data, "--set", f"gate={gate}", "--detach", "--json")
    assert (code, err) == (0, "")
    run = json.loads(out)["run"]
    until(lambda: (gate / "reached-0").exists(), "the first step")
    listed = json.loads(xcwork("runs", "--json")[1])["runs"]
    assert [(entry["run"], entry["state"]) for entry in listed] == [(run, "running")]
    refused = xcwork("resume", run)
    assert refused[0] == 2
    assert "worker already" in refused[2]
    assert json.loads(xcwork("cancel", run, "--json")[1]) == {"run": run, "state": "cancelling"}
    (gate / "open").touch()
    until(lambda: only_run(home).state == "cancelled", "the end of the worker")
    assert xcwork("resume", run)[0] == 0
    assert only_run(home).state == "finished"


def test_a_run_that_fails_says_why_in_one_line(home: Path, data: Path) -> None:
    code, out, err = xcwork("train", "gated", "--data", data, "--set", "error=memory", "--json")
    assert code == 2
    document = json.loads(out)
    assert document["state"] == "failed"
    assert document["run"] == only_run(home).id
    assert "failed: " in document["error"]
    assert err.splitlines()[-1] == f"xcwork: {document['error']}"
    assert "Traceback" not in err


def test_damaged_data_fails_the_run_with_file_and_line(home: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text("2 3 4\n0 0:1\n9 1:1\n")
    code, out, err = xcwork("train", "gated", "--data", tmp_path / "bad.txt")
    assert (code, out) == (2, "")
    assert "bad.txt, line 3" in err.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("train", "gatid", "--data", "{data}"), "there is no method called 'gatid'"),
        (("train", "gated", "--data", "{data}", "--set", "stops=3"), "has no parameter 'stops'; it has seed, steps"),
        (("train", "gated", "--data", "{data}", "--set", "steps=many"), "steps must be a whole number"),
        (("train", "gated", "--data", "{data}", "--set", "steps=0"), "steps must be at least 1"),
        (("train", "gated", "--data", "{data}", "--set", "steps"), "--set takes name=value"),
        (("train", "gated", "--data", "nowhere.csv"), "there is no dataset 'nowhere.csv'"),
        (("train", "gated"), "--data"),
        (("resume", "nothing"), "there is no run 'nothing'"),
        (("cancel", "../etc"), "cannot be a run id"),
    ],
)
def test_a_request_that_cannot_work_leaves_no_run(
    home: Path, data: Path, arguments: tuple[str, ...], says: str
) -> None:
    code, out, err = xcwork(*(argument.format(data=data) for argument in arguments))
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert says in err
    assert RunStore(home).list() == []


def test_a_preset_is_trained_and_stored(home: Path, data: Path) -> None:
    code, out, err = xcwork("train", "label_tree", "--data", data, "--preset", "paper", "--set", "trees=1", "--json")
    assert code == 0, err
    assert json.loads(out)["preset"] == "paper"
    config = only_run(home).config
    assert (config["preset"], config["params"]["max_passes"], config["params"]["trees"]) == ("paper", 20, 1)
    assert "Preset: paper" in (only_run(home).folder / "model" / "README.md").read_text("utf-8")
    code, _, err = xcwork("train", "label_tree", "--data", data, "--preset", "brisk")
    assert (code, "it has default, quick, paper" in err) == (2, True)
