"""Deleting and renaming runs and datasets: what a training uses is left alone, and so is everything else."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from xcwork.cli.loading import read_run_data
from xcwork.data import data_folder
from xcwork.data.load import load_dataset, locate_options
from xcwork.errors import DataError, RunError
from xcwork.runs import Run, RunStore, jobs, manage, worker
from xcwork.runs.config import write_config
from xcwork.runs.status import Status, format_now, read_status, write_status


@pytest.fixture
def dataset(store: RunStore, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tiny dataset as a folder of the data folder."""
    monkeypatch.setenv("XCWORK_HOME", str(store.home))
    place = store.home / "data" / "topics"
    shutil.copytree(corpus, place)
    return place


@pytest.fixture
def table(dataset: Path) -> Path:
    """A file of the data folder that is only read with its stored options."""
    file = dataset.with_name("pets.v2.csv")
    rows = [f"{word} {i};{word}" for i in range(12) for word in ("cat", "dog")]
    file.write_text("\n".join(["q;t", *rows]) + "\n")
    locate_options(file).write_text(json.dumps({"text_column": "q", "labels_column": "t"}))
    return file


def train(store: RunStore, data: str | Path, **options: object) -> Run:
    run = store.create("gated", {"steps": 1}, data, data_options=options, name="first name")
    assert worker.main(run.folder) == 0, run.read_log()
    return run


def set_state(run: Run, **changes: object) -> None:
    write_status(run.folder, replace(read_status(run.folder), updated=format_now(), **changes))


def everything(folder: Path) -> dict[str, bytes]:
    """All files but the locks, whose content names who held them last."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "lock"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_a_deleted_run_is_gone_and_the_others_are_as_before(store: RunStore, dataset: Path) -> None:
    gone, stays = train(store, dataset), train(store, dataset)
    before = everything(stays.folder)
    manage.delete_run(gone)
    assert [run.id for run in store.list()] == [stays.id]
    assert [entry.name for entry in store.folder.iterdir() if entry.is_dir()] == [stays.id]
    assert everything(stays.folder) == before
    assert dataset.is_dir()


def test_a_damaged_run_can_be_deleted(store: RunStore, new_run: Callable[..., Run]) -> None:
    run = new_run()
    (run.folder / "config.json").write_text("{")
    (run.folder / "status.json").unlink()
    manage.delete_run(run)
    assert store.list() == []


@pytest.mark.parametrize("change", [manage.delete_run, lambda run: manage.rename_run(run, "new")])
@pytest.mark.parametrize("state", ["queued", "running", "evaluating"])
def test_a_run_at_work_is_left_alone(new_run: Callable[..., Run], change: Callable[[Run], None], state: str) -> None:
    run = new_run()
    set_state(run, state=state)
    before = everything(run.folder)
    with pytest.raises(RunError, match=rf"run {run.id} is in use \({state}\); wait for it, or cancel it first"):
        change(run)
    assert everything(run.folder) == before


def test_a_run_that_a_worker_just_took_is_left_alone(new_run: Callable[..., Run]) -> None:
    run = new_run()
    write_status(run.folder, Status(state="cancelled", updated=format_now()))
    with run.open_lock() as lock:
        assert lock.acquire("a worker")
        with pytest.raises(RunError, match="is in use"):
            manage.delete_run(run)
    assert run.folder.is_dir()


@pytest.mark.slow
def test_a_live_worker_is_refused_and_then_cancelled(
    store: RunStore, new_run: Callable[..., Run], gate: Path, until: Callable[..., None]
) -> None:
    run = jobs.launch(new_run(gate=str(gate)))
    until(lambda: (gate / "reached-0").exists(), "the first step")
    with pytest.raises(RunError, match=r"is in use \(running\)"):
        manage.delete_run(run)
    jobs.cancel(run)
    (gate / "open").touch()
    until(lambda: run.status.is_over, "the end of the worker")
    manage.delete_run(run)
    assert store.list() == []


def test_a_link_in_a_run_is_deleted_and_not_followed(new_run: Callable[..., Run], tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("mine")
    run = new_run()
    write_status(run.folder, Status(state="cancelled", updated=format_now()))
    (run.folder / "model").symlink_to(precious)
    manage.delete_run(run)
    assert (precious / "file").read_text() == "mine"


def test_a_lock_that_is_a_link_is_not_followed(new_run: Callable[..., Run], tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    run = new_run()
    write_status(run.folder, Status(state="cancelled", updated=format_now()))
    (run.folder / "lock").symlink_to(precious)
    with pytest.raises(OSError, match="symbolic links"):
        manage.delete_run(run)
    assert precious.read_text() == "mine"


def test_a_renamed_run_keeps_its_id_and_its_notes(store: RunStore, dataset: Path) -> None:
    run = train(store, dataset)
    run.write_notes("before\n# first name\nremarks\n# another heading\n")
    manage.rename_run(run, "  second\nname ")
    assert run.read_notes() == "before\n# second name\nremarks\n# another heading\n"
    assert (store.open(run.id).name, store.list()[0].id) == ("second name", run.id)
    card = (run.folder / "model" / "README.md").read_text()
    assert "# second name" in card
    assert "first name" not in card


def test_a_run_without_notes_gets_a_name_and_never_an_empty_one(new_run: Callable[..., Run]) -> None:
    run = new_run()
    write_status(run.folder, Status(state="cancelled", updated=format_now()))
    manage.rename_run(run, "mine")
    assert run.name == "mine"
    with pytest.raises(RunError, match="empty name"):
        manage.rename_run(run, " \n ")
    assert run.name == "mine"


def test_a_deleted_dataset_leaves_nothing_and_its_runs_stay_readable(
    store: RunStore, dataset: Path, table: Path
) -> None:
    run, other = train(store, table), train(store, "topics")
    load_dataset(table, test_share=0.5)
    cache = dataset.parent / ".cache"
    assert len([entry for entry in cache.iterdir() if entry.name.startswith("pets")]) == 2
    report = run.read_report().metrics
    assert [each.id for each in manage.delete_dataset("pets.v2.csv", store)] == [run.id]
    assert sorted(entry.name for entry in dataset.parent.iterdir()) == [".cache", "topics"]
    assert not [entry for entry in cache.iterdir() if not entry.name.startswith("topics")]
    assert store.open(run.id).read_report().metrics == report
    assert run.load_model() is not None
    assert read_run_data(other).name == "topics"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("pyseealso", "is built in"),
        ("synthetic:seed=1", "is built in"),
        ("absent.csv", "no dataset 'absent.csv'"),
        ("README.md", "no dataset 'README.md'"),
        ("labels.xml", "no dataset 'labels.xml'"),
        (".cache", "only what lies in the data folder"),
        ("", "only what lies in the data folder"),
        ("..", "only what lies in the data folder"),
        ("../data", "only what lies in the data folder"),
        ("topics/train.jsonl", "only what lies in the data folder"),
        ("/etc/passwd", "only what lies in the data folder"),
        ("{corpus}", "only what lies in the data folder"),
    ],
)
def test_only_datasets_of_the_data_folder_can_be_changed(
    store: RunStore, dataset: Path, corpus: Path, name: str, sentence: str
) -> None:
    load_dataset(dataset)
    for file in ("README.md", "labels.xml"):
        (dataset.parent / file).write_text("text")
    before = everything(corpus.parent)
    name = name.format(corpus=corpus)
    with pytest.raises(DataError, match=sentence):
        manage.delete_dataset(name, store)
    with pytest.raises(DataError, match=sentence):
        manage.rename_dataset(name, "other", store)
    assert everything(corpus.parent) == before


@pytest.mark.parametrize("state", ["queued", "running"])
def test_a_dataset_that_a_training_uses_is_left_alone(store: RunStore, dataset: Path, table: Path, state: str) -> None:
    by_path = store.create("gated", {}, dataset)
    label_file = store.create("gated", {}, "topics", data_options={"label_file": str(table)})
    before = everything(dataset.parent)
    for run, name in ((by_path, "topics"), (label_file, "pets.v2.csv")):
        set_state(run, state=state)
        with pytest.raises(DataError, match=rf"is the data of run .* in use \({state}\); wait for it"):
            manage.delete_dataset(name, store)
        with pytest.raises(DataError, match="cancel it first"):
            manage.rename_dataset(name, "other", store)
    assert everything(dataset.parent) == before


def test_a_renamed_dataset_takes_its_runs_along(store: RunStore, dataset: Path, table: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(dataset)
    runs = [train(store, data) for data in (dataset, "topics", dataset / "train.jsonl", link)]
    assert runs[1].config["data"] == str(dataset)
    write_config(runs[1].folder, runs[1].config | {"data": "topics"})  # as earlier versions stored it
    other = train(store, table)
    untouched = everything(other.folder)
    place, taken = manage.rename_dataset("topics", "new topics", store)
    assert place == dataset.with_name("new topics")
    assert [run.id for run in taken] == [run.id for run in runs]
    assert [run.config["data"] for run in runs] == [str(place), "new topics", str(place / "train.jsonl"), str(place)]
    for run in runs:
        assert read_run_data(run).fingerprint == run.config["dataset"]["fingerprint"]
    assert everything(other.folder) == untouched
    with pytest.raises(DataError, match="no dataset 'topics'"):
        load_dataset("topics")


def test_a_renamed_table_keeps_its_suffix_and_its_options(store: RunStore, table: Path) -> None:
    run = train(store, "pets.v2.csv")
    place, _ = manage.rename_dataset(table, "animals", store)
    assert place.name == "animals.csv"
    assert sorted(entry.name for entry in place.parent.iterdir()) == [
        ".animals.csv.options.json",
        ".cache",
        "animals.csv",
        "topics",
    ]
    assert read_run_data(run).labels.names == ["cat", "dog"]
    assert manage.rename_dataset("animals.csv", "beasts.csv", store)[0].name == "beasts.csv"


@pytest.mark.parametrize("name", ["", " ", "..", ".hidden", "a/b", "/etc/x", "a\nb", "pyseealso", "README.md", "a:b"])
def test_a_name_that_cannot_be_is_refused(store: RunStore, dataset: Path, name: str) -> None:
    with pytest.raises(DataError, match="cannot be the name of a dataset"):
        manage.rename_dataset("topics", name, store)
    assert dataset.is_dir()


def test_a_name_that_is_taken_is_refused(store: RunStore, dataset: Path, table: Path) -> None:
    before = everything(dataset.parent)
    for name in ("topics", "pets.v2.csv"):
        with pytest.raises(DataError, match=r"already has something called"):
            manage.rename_dataset("topics", name, store)
    assert everything(dataset.parent) == before


def test_an_arff_file_is_not_torn_from_its_xml_file(store: RunStore, dataset: Path) -> None:
    for name in ("scene.arff", "scene.xml"):
        (dataset.parent / name).write_text("@relation x")
    with pytest.raises(DataError, match="XML file beside it"):
        manage.rename_dataset("scene.arff", "views", store)


def test_a_renaming_that_fails_changes_nothing(
    store: RunStore, dataset: Path, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = train(store, table)
    before = everything(run.folder), everything(dataset.parent)
    monkeypatch.setattr(
        data_folder, "rename_dataset", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device"))
    )
    with pytest.raises(OSError, match="No space"):
        manage.rename_dataset("pets.v2.csv", "animals", store)
    assert (everything(run.folder), everything(dataset.parent)) == before


def test_files_that_cannot_move_leave_no_options_behind(
    store: RunStore, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = everything(table.parent)
    monkeypatch.setattr(Path, "rename", lambda *_: (_ for _ in ()).throw(PermissionError(13, "Permission denied")))
    with pytest.raises(PermissionError):
        manage.rename_dataset("pets.v2.csv", "animals", store)
    assert everything(table.parent) == before


def test_a_killed_renaming_is_completed_by_doing_it_again(
    store: RunStore, dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = train(store, dataset), train(store, dataset)
    write_config(first.folder, first.config | {"data": str(dataset.with_name("new"))})  # how far it had come
    manage.rename_dataset("topics", "new", store)
    for run in (first, second):
        assert read_run_data(run).name == "new"


def test_of_a_link_in_the_data_folder_only_the_link_goes(store: RunStore, dataset: Path, corpus: Path) -> None:
    link = dataset.with_name("elsewhere")
    link.symlink_to(corpus)
    run = train(store, link)
    place, taken = manage.rename_dataset("elsewhere", "there", store)
    assert [each.id for each in taken] == [run.id]
    assert place.is_symlink()
    assert [each.id for each in manage.delete_dataset("there", store)] == [run.id]
    assert not os.path.lexists(place)
    assert sorted(path.name for path in corpus.iterdir()) == ["labels.jsonl", "test.jsonl", "train.jsonl"]


@pytest.mark.parametrize("data", ["a\0b", "\ud800", "~nobody/x", "x" * 5000, "synthetic:seed=1"])
def test_runs_with_odd_paths_are_in_nobodys_way(store: RunStore, dataset: Path, data: str) -> None:
    run = store.create("gated", {}, "synthetic")
    write_config(run.folder, run.config | {"data": data})
    assert manage.delete_dataset("topics", store) == []
