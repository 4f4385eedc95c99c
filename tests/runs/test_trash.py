"""Deleted things wait in the trash: they come back as they were, or go for good after a day."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from xcwork.data.load import list_datasets, load_dataset, locate_options
from xcwork.errors import DataError
from xcwork.runs import Run, RunStore, identity, jobs, trash
from xcwork.runs.status import Status, format_now, read_status, write_status


@pytest.fixture
def table(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of the data folder that is only read with its stored options."""
    monkeypatch.setenv("XCWORK_HOME", str(store.home))
    file = store.home / "data" / "pets.csv"
    file.parent.mkdir(parents=True, exist_ok=True)
    rows = [f"{word} {i};{word}" for i in range(12) for word in ("cat", "dog")]
    file.write_text("\n".join(["q;t", *rows]) + "\n")
    locate_options(file).write_text(json.dumps({"text_column": "q", "labels_column": "t"}))
    return file


def list_files(folder: Path) -> dict[str, bytes]:
    """All files but the locks, whose content names who held them last."""
    files = [path for path in folder.rglob("*") if path.is_file() and "lock" not in path.name]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files if ".cache" not in path.parts}


def finish(run: Run) -> Run:
    write_status(run.folder, replace(read_status(run.folder), state="finished", updated=format_now()))
    return run


def test_a_run_comes_back_as_it_was(store: RunStore, new_run: Callable[..., Run]) -> None:
    run, other = finish(new_run()), finish(new_run())
    before = list_files(store.home)
    entry = trash.discard_run(run)
    assert [each.id for each in store.list()] == [other.id]
    assert (entry.title, entry.n_runs) == (run.name, 1)
    trash.put_back(entry)
    assert list_files(store.home) == before


def test_a_dataset_takes_its_runs_along_and_brings_them_back(store: RunStore, table: Path) -> None:
    runs = [finish(store.create("popularity", None, table)) for _ in range(2)]
    elsewhere = finish(store.create("popularity", None, "synthetic"))
    before = list_files(store.home)
    entry = trash.discard_dataset("pets.csv", store)
    assert entry.n_runs == 2
    assert [run.id for run in store.list()] == [elsewhere.id]
    assert "pets.csv" not in {each.name for each in list_datasets(store.home)}
    assert not locate_options(table).exists()
    trash.put_back(entry)
    assert list_files(store.home) == before
    assert [run.id for run in store.list()] == [*(run.id for run in runs), elsewhere.id]
    assert load_dataset("pets.csv", home=store.home).labels.names == ["cat", "dog"]


def test_a_colour_that_was_given_away_is_exchanged(store: RunStore, table: Path) -> None:
    first = finish(store.create("popularity", None, table))
    entry = trash.discard_run(first)
    second = finish(store.create("popularity", None, table))
    assert identity.read_number(second.folder) == 0, "the colour is free after the deletion"
    trash.put_back(entry)
    assert identity.read_number(first.folder) == 1


def test_what_is_there_again_is_not_overwritten(store: RunStore, table: Path) -> None:
    entry = trash.discard_dataset("pets.csv", store)
    table.write_text("new\n")
    with pytest.raises(DataError, match=r"called 'pets\.csv' again"):
        trash.put_back(entry)
    assert table.read_text() == "new\n"
    table.unlink()
    trash.put_back(entry)
    assert table.read_text().startswith("q;t")


def test_the_trash_is_emptied_after_a_day(store: RunStore, table: Path, new_run: Callable[..., Run]) -> None:
    old = trash.discard_dataset("pets.csv", store)
    yesterday = time.time() - trash.MAX_TRASH_SECONDS - 1
    os.utime(store.home / "data" / trash.TRASH_FOLDER / old.id, (yesterday, yesterday))
    new = trash.discard_run(finish(new_run()))
    with pytest.raises(DataError, match="no longer in the trash"):
        trash.put_back(old)
    trash.put_back(new)
    assert len(store.list()) == 1


@pytest.mark.parametrize("name", ["pyseealso", "../elsewhere", "/etc/hosts", "synthetic:seed=1", ".cache"])
def test_only_the_data_folder_is_touched(store: RunStore, table: Path, name: str) -> None:
    (store.home / "elsewhere").mkdir()
    with pytest.raises(DataError):
        trash.discard_dataset(name, store)
    assert (store.home / "elsewhere").is_dir()


def test_of_a_link_only_the_link_goes(store: RunStore, table: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.csv"
    shutil.copyfile(table, outside)
    (table.parent / "linked.csv").symlink_to(outside)
    entry = trash.discard_dataset("linked.csv", store)
    assert outside.read_bytes() == table.read_bytes()
    trash.put_back(entry)
    assert (table.parent / "linked.csv").is_symlink()


def test_a_run_under_way_is_cancelled_first(new_run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> None:
    run = new_run()
    write_status(run.folder, replace(read_status(run.folder), state="running", updated=format_now()))
    asked: list[str] = []

    def end(stopped: Run, **_: object) -> Status:
        ended = replace(read_status(stopped.folder), state="cancelled", updated=format_now(), ended=format_now())
        write_status(stopped.folder, ended)
        return ended

    monkeypatch.setattr(jobs, "cancel", lambda stopped: asked.append(stopped.id))
    monkeypatch.setattr(jobs, "wait", end)
    monkeypatch.setattr(Run, "status", property(lambda self: read_status(self.folder)))
    entry = trash.discard_run(run)
    assert asked == [run.id]
    trash.put_back(entry)
    assert run.state == "cancelled"
