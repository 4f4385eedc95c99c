"""The run store: ids, files, and folders that are damaged or not what they should be."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xcwork.errors import ConfigError, DataError, RunError, XcworkError
from xcwork.runs import Run, RunStore, events
from xcwork.runs import store as store_module
from xcwork.runs.status import write_status


def test_a_new_run_is_complete_and_queued(store, corpus):
    run = store.create("gated", {"steps": 2}, corpus, data_options={"separator": ";"}, name=" two\nlines ")
    config = run.config
    assert config["method"] == "gated"
    assert config["params"] == {"seed": 0, "steps": 2, "gate": "", "error": ""}
    assert (config["data"], config["data_options"], config["dataset"]) == (str(corpus), {"separator": ";"}, None)
    assert (config["schema"], config["seed"], config["device"]) == (1, 0, "cpu")
    assert {"python", "xcwork", "numpy", "torch"} <= set(config["versions"])
    assert (run.state, run.name, run.home) == ("queued", "two lines", store.home)
    files = ["config.json", "identity.json", "notes.md", "status.json"]
    assert sorted(path.name for path in run.folder.iterdir()) == files


def test_the_preset_is_stored_with_the_run(store, corpus):
    run = store.create("eagle", {"seed": 3}, corpus, preset="paper")
    assert (run.config["preset"], run.to_dict()["preset"]) == ("paper", "paper")
    assert (run.config["params"]["assign"], run.config["params"]["seed"]) == ("one", 3)


def test_the_preset_of_given_parameters_is_found(store, corpus):
    paper = {"careful": False, "assign": "one", "centre": False}
    assert store.create("eagle", None, corpus).config["preset"] == "default"
    assert store.create("eagle", paper, corpus).config["preset"] == "paper"
    assert store.create("eagle", {"steps": 3}, corpus).config["preset"] == ""


def test_a_relative_path_means_the_same_from_every_folder(store, corpus, monkeypatch):
    monkeypatch.chdir(corpus.parent)
    assert store.create("gated", {}, "corpus").config["data"] == str(corpus)
    assert store.create("gated", {}, "pyseealso").config["data"] == "pyseealso"


def test_a_name_of_the_data_folder_becomes_its_path(store, corpus):
    inside = shutil.copytree(corpus, store.home / "data" / "inside")
    assert store.create("gated", {}, "inside").config["data"] == str(inside)


def test_data_that_cannot_be_read_leave_no_run(store, corpus, tmp_path):
    with pytest.raises(DataError, match="there is no dataset"):
        store.create("gated", {}, tmp_path / "nowhere")
    with pytest.raises(XcworkError, match="format"):
        store.create("gated", {}, corpus, data_options={"format": "unheard of"})
    assert store.list() == []


@pytest.mark.parametrize(("method", "params"), [("no_such", {}), ("gated", {"steps": 0}), ("gated", {"strides": 1})])
def test_what_cannot_train_leaves_no_folder(store, corpus, method, params):
    with pytest.raises(ConfigError):
        store.create(method, params, corpus)
    assert store.list() == []


def test_options_that_json_cannot_hold_are_refused(store, corpus):
    with pytest.raises(RunError, match="data options"):
        store.create("gated", {}, corpus, data_options={"columns": {1, 2}})


def test_ids_are_unique_and_sort_by_age(store, corpus):
    def create_some(_: int) -> list[str]:
        return [store.create("gated", {}, corpus).id for _ in range(10)]

    with ThreadPoolExecutor(8) as pool:
        created = list(pool.map(create_some, range(8)))
    assert all(ids == sorted(ids) for ids in created)
    assert [run.id for run in store.list()] == sorted(run_id for ids in created for run_id in ids)
    assert len(store.list()) == 80


def test_an_id_that_is_taken_is_not_shared(store, corpus, monkeypatch):
    wanted = iter(["one", "one", "two"])
    monkeypatch.setattr(store_module, "make_run_id", lambda method: next(wanted))
    assert [store.create("gated", {}, corpus).id for _ in range(2)] == ["one", "two"]


def test_open_takes_an_id_a_prefix_or_last(store, corpus, monkeypatch):
    wanted = iter(["alpha-1", "alpha-12", "beta-1"])
    monkeypatch.setattr(store_module, "make_run_id", lambda method: next(wanted))
    with pytest.raises(RunError, match="no runs below"):
        store.open("last")
    for _ in range(3):
        store.create("gated", {}, corpus)
    assert store.open("last").id == "beta-1"
    assert store.open("be").id == "beta-1"
    assert store.open("alpha-1").id == "alpha-1"
    with pytest.raises(RunError, match="2 runs start with 'alpha'"):
        store.open("alpha")
    with pytest.raises(RunError, match="no run 'gamma'"):
        store.open("gamma")


@pytest.mark.parametrize(
    "escape", ["", ".", "..", "../home/runs/a", "/etc", "a/../..", "a/b", ".queue-cpu.lock", "a\0b", "-rf", "a b"]
)
def test_ids_cannot_leave_the_runs_folder(store, corpus, escape):
    store.create("gated", {}, corpus)
    with pytest.raises(RunError, match="cannot be a run id"):
        store.open(escape)


def test_links_drafts_and_stray_files_are_not_runs(store, corpus, tmp_path):
    run = store.create("gated", {}, corpus)
    elsewhere = tmp_path / "elsewhere"
    run.folder.rename(elsewhere)
    (store.folder / "link").symlink_to(elsewhere)
    (store.folder / ".new-1234").mkdir()
    (store.folder / "empty").mkdir()
    (store.folder / "file").touch()
    assert store.list() == []


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "null",
        '{"state": "running", "step": "x"}',
        '{"state": 3}',
        '{"state": "flying"}',
        "\x00\xff",
        "[" * 100_000,
    ],
)
def test_a_damaged_status_reads_as_lost(store, corpus, content):
    run = store.create("gated", {}, corpus)
    (run.folder / "status.json").write_text(content, "latin-1")
    assert run.state == "lost"
    assert "status.json cannot be read" in run.status.message
    assert store.open("last").to_dict()["state"] == "lost"


def test_a_missing_status_reads_as_lost(store, corpus):
    run = store.create("gated", {}, corpus)
    (run.folder / "status.json").unlink()
    assert (run.state, "is missing" in run.status.message) == ("lost", True)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "cannot be read"),
        ("[]", "does not describe"),
        ('{"schema": 99}', "update xcwork"),
        ('{"schema": 1}', "'method'"),
    ],
)
def test_a_damaged_config_is_one_sentence_and_the_list_still_works(store, corpus, content, words):
    run = store.create("gated", {}, corpus)
    (run.folder / "config.json").write_text(content)
    with pytest.raises(RunError, match=words):
        run.check()
    assert words in store.list()[0].to_dict()["message"]


def test_results_that_do_not_exist_yet_are_announced(store, corpus):
    run = store.create("gated", {}, corpus)
    for result in (run.load_model, run.read_report, run.read_topk):
        with pytest.raises(RunError, match=r"is queued and has no (trained model|evaluation) yet"):
            result()
    assert (run.read_events(), run.read_log(), run.read_log(5), run.read_notes(), run.name) == ([], "", "", "", run.id)


def test_a_failed_run_says_how_to_try_again(store, corpus):
    run = store.create("gated", {}, corpus)
    write_status(run.folder, replace(run.status, state="failed"))
    with pytest.raises(RunError, match=rf"run {run.id} failed and has no trained model; `xcwork resume {run.id}`"):
        run.load_model()


def test_log_gives_the_last_lines(store, corpus):
    run = store.create("gated", {}, corpus)
    (run.folder / "log.txt").write_text("".join(f"line {i}\n" for i in range(20_000)))
    assert run.read_log(2) == "line 19998\nline 19999"
    assert run.read_log().count("\n") == 20_000


@given(cut=st.integers(0, 200), more=st.booleans())
def test_a_torn_line_costs_one_event_at_most(tmp_path_factory, cut, more):
    path = tmp_path_factory.mktemp("events") / "metrics.jsonl"
    for step in range(5):
        events.append_event(path, {"step": step, "loss": float("nan"), "phase": "é"})
    whole = path.read_bytes()
    path.write_bytes(whole[:cut])
    complete = whole[:cut].count(b"\n")
    assert [event["step"] for event in events.read_events(path)] == list(range(complete))
    events.append_event(path, {"step": 99})
    # A line that was torn exactly before its newline is whole again.
    survived = complete + (whole[:cut] != b"" and whole[cut : cut + 1] == b"\n")
    assert [event["step"] for event in events.read_events(path)] == [*range(survived), 99]


def test_lines_that_are_not_events_are_left_out(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"step": 1}\n\n[1]\n"x"\n{"step": \xff}\n{"step": 2}\n{"st')
    assert events.read_events(path) == [{"step": 1}, {"step": 2}]


def test_tail_gives_only_what_is_new(tmp_path):
    tail = events.Tail(tmp_path / "metrics.jsonl")
    assert tail.read() == []
    events.append_event(tail.path, {"step": 1})
    assert tail.read() == [{"step": 1}]
    with tail.path.open("a") as file:
        file.write('{"step"')
    assert tail.read() == []
    with tail.path.open("a") as file:
        file.write(": 2}\n")
    assert tail.read() == [{"step": 2}]


def test_the_home_of_the_environment_is_the_default(tmp_path, monkeypatch):
    monkeypatch.setenv("XCWORK_HOME", str(tmp_path))
    assert RunStore().folder == Path(tmp_path) / "runs"
    assert json.dumps(str(Run(tmp_path / "runs/x").home)) == json.dumps(str(tmp_path))
