"""Starting the dashboard, its demo runs, and benchmarks."""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.support.paths import ROOT
from xcwork.cli import app, bench, demo
from xcwork.methods import names
from xcwork.runs import jobs


def xcwork(*arguments: object) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """What `xcwork app` would become."""
    monkeypatch.setenv("XCWORK_HOME", str(tmp_path))
    seen: dict[str, Any] = {}

    def become(program: str, command: list[str], environment: dict[str, str]) -> None:
        seen.update(program=program, command=command, environment=environment)
        raise SystemExit  # the process would be the server from here on

    monkeypatch.setattr(os, "execve", become)
    return seen


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_the_dashboard_is_streamlit_on_the_loopback_address(server: dict[str, Any], port: int, tmp_path: Path) -> None:
    code, out, _ = xcwork("app", "--port", port, "--home", tmp_path / "mine")
    assert code == 0
    command = server["command"]
    assert command[:5] == [sys.executable, "-P", "-m", "streamlit", "run"]
    assert Path(command[5]) == ROOT / "app" / "main.py"
    settings = dict(zip(command[6::2], command[7::2], strict=True))
    assert settings["--server.address"] == "127.0.0.1"
    assert settings["--server.port"] == str(port)
    assert settings["--browser.gatherUsageStats"] == "false"
    assert server["environment"]["XCWORK_HOME"] == str(tmp_path / "mine")
    assert f"http://127.0.0.1:{port}" in out


def test_a_port_in_use_is_one_sentence(server: dict[str, Any]) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        code, out, err = xcwork("app", "--port", other.getsockname()[1])
    assert (code, out) == (2, "")
    assert "is in use" in err
    assert "--port" in err
    assert not server


def test_every_method_gets_a_demo_run_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XCWORK_HOME", str(tmp_path))
    monkeypatch.setattr(names, "METHODS", {"first": "", "second": "", "third": "", "fourth": ""})
    monkeypatch.setattr(demo, "read_data", lambda *_: None)
    monkeypatch.setattr(demo, "DEMO_METHODS", ("first", "second", "third", "fourth"))
    events: list[tuple[str, str]] = []

    def run(method: str, state: str, data: str = "pyseealso") -> SimpleNamespace:
        return SimpleNamespace(id=f"{method}-{state}", state=state, config={"method": method, "data": data})

    class Store:
        def list(self) -> list[SimpleNamespace]:
            return [
                run("first", "failed"),
                run("first", "finished"),
                run("second", "lost"),
                run("third", "cancelled"),
                run("fourth", "finished", data="other"),
            ]

        def create(self, method: str, params: None, data: str, *, name: str) -> SimpleNamespace:
            return run(method, "new", data)

    monkeypatch.setattr("xcwork.runs.RunStore", Store)
    for verb in ("launch", "resume"):
        monkeypatch.setattr(jobs, verb, lambda run, verb=verb: events.append((verb, run.id)) or run)
    assert demo.queue_demo_runs() == ["second-lost", "fourth-new"]
    assert events == [("resume", "second-lost"), ("launch", "fourth-new")]


def test_demo_runs_are_worth_looking_at_and_fast_ones_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who has just opened the dashboard should not wait for the slowest method."""
    placed = demo.list_demo_trainings(["siamesexml", "zestxml", "deep_miml", "label_tree", "eagle", "tfidf"])
    assert [method for method, preset in placed if not preset] == ["tfidf", "label_tree", "zestxml", "siamesexml"]
    settings = {"Default": {"seed": 0}, demo.PAPER_PRESET: {"seed": 1}}
    monkeypatch.setattr("xcwork.methods.presets.list_presets", lambda method: settings)
    placed = demo.list_demo_trainings(["tfidf", "zestxml"])
    assert placed == [("tfidf", ""), ("zestxml", ""), ("zestxml", demo.PAPER_PRESET)]


@pytest.fixture
def checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(bench, "CHECKOUT", tmp_path)
    (tmp_path / "pyproject.toml").touch()
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "_common.py").touch()
    (folder / "parsing.py").write_text("import sys\nprint('rows', *sys.argv[1:])\nsys.exit(len(sys.argv) == 2)\n")
    return tmp_path


def test_benchmarks_are_listed_and_run_with_their_arguments(checkout: Path) -> None:
    assert json.loads(xcwork("bench", "--json")[1]) == {"benchmarks": ["parsing"]}
    assert xcwork("bench")[1] == "parsing\n"
    code, out, _ = xcwork("bench", "parsing", "--json", "--size", "10")
    assert code == 0
    assert json.loads(out) == {"benchmark": "parsing", "arguments": ["--size", "10"], "output": "rows --size 10\n"}


def test_a_benchmark_that_fails_or_is_missing_is_an_error(checkout: Path) -> None:
    assert "exit code 1" in xcwork("bench", "parsing", "once", "--json")[2]
    assert "choose one of parsing" in xcwork("bench", "speed")[2]
    (checkout / "benchmarks" / "parsing.py").unlink()
    assert "source tree" in xcwork("bench")[2]


def test_benchmarks_are_a_verb_of_the_checkout_only(checkout: Path) -> None:
    assert bench.find_benchmarks() == ["parsing"]
    assert " bench " in xcwork("--help")[1]
    (checkout / "pyproject.toml").unlink()  # as where packages are installed, with a folder of that name beside them
    assert bench.find_benchmarks() == []
