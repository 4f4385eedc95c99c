"""The number of a run, which decides its colour and mark: the lowest free one of its dataset, kept for ever."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xcwork.export import palette
from xcwork.runs import Run, RunStore, identity, jobs, manage


def create(store: RunStore, data: Path | str, **options: object) -> Run:
    return store.create("gated", {"steps": 1}, data, data_options=options)


def forget_numbers(store: RunStore) -> None:
    """Leave the runs as an older version would have."""
    for run in store.list():
        (run.folder / identity.IDENTITY_FILE).unlink()


def test_runs_take_the_lowest_free_number_of_their_dataset(store: RunStore, corpus: Path) -> None:
    first, second, third = (create(store, corpus) for _ in range(3))
    elsewhere = create(store, "pyseealso")
    assert [run.number for run in (first, second, third, elsewhere)] == [0, 1, 2, 0]
    shutil.rmtree(second.folder)
    assert create(store, corpus).number == 1
    assert create(store, corpus).number == 3
    assert first.number == 0


def test_other_reading_options_are_another_dataset(store: RunStore, corpus: Path) -> None:
    assert create(store, corpus).number == 0
    assert create(store, corpus, test_share=0.4).number == 0


def test_a_number_is_kept_through_renaming_and_resuming_and_free_after_deletion(store: RunStore, corpus: Path) -> None:
    create(store, corpus)
    run = create(store, corpus)
    jobs.cancel(run)
    assert run.number == 1
    manage.rename_run(run, "another name")
    assert run.number == 1
    jobs.resume(run)
    assert (jobs.wait(run).state, run.number) == ("finished", 1)
    manage.delete_run(run)
    assert create(store, corpus).number == 1


def test_runs_from_before_get_numbers_by_age_when_one_is_asked_for(store: RunStore, corpus: Path) -> None:
    runs = [create(store, corpus) for _ in range(4)]
    forget_numbers(store)
    identity.write_number(runs[2].folder, 0)
    assert runs[3].number == 3
    assert [identity.read_number(run.folder) for run in runs] == [1, 2, 0, 3]


def test_a_damaged_run_has_a_number_as_well(store: RunStore, corpus: Path) -> None:
    damaged = create(store, corpus)
    (damaged.folder / "config.json").write_text("{")
    forget_numbers(store)
    assert damaged.number == 0
    assert create(store, corpus).number == 0, "nobody knows its dataset"


@pytest.mark.parametrize("content", ["", "[1]", '{"number": -1}', '{"number": true}', '{"number": "1"}', "[" * 10000])
def test_a_number_that_cannot_be_is_replaced(store: RunStore, corpus: Path, content: str) -> None:
    create(store, corpus)
    run = create(store, corpus)
    (run.folder / identity.IDENTITY_FILE).write_text(content)
    assert run.number == 1
    assert identity.read_number(run.folder) == 1


def test_a_folder_that_can_only_be_read_has_a_look_all_the_same(
    store: RunStore, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = create(store, corpus)
    forget_numbers(store)

    def refuse(folder: Path, number: int) -> None:
        raise PermissionError(folder)

    monkeypatch.setattr(identity, "write_number", refuse)
    assert run.number == run.number == identity.guess_number(run.id)
    assert 0 <= run.number < identity.N_LOOKS


def test_runs_created_together_take_different_numbers(store: RunStore, corpus: Path, monkeypatch) -> None:
    monkeypatch.setattr(identity, "LOCK_SECONDS", 120.0)  # a busy machine may let a thread wait
    with ThreadPoolExecutor(8) as pool:
        numbers = [run.number for run in pool.map(lambda _: create(store, corpus), range(16))]
    assert sorted(numbers) == list(range(16))


@given(st.sets(st.integers(0, 40)))
def test_the_free_number_is_the_lowest(taken: set[int]) -> None:
    number = identity.find_free_number(taken)
    assert number not in taken
    assert set(range(number)) <= taken


def test_twenty_one_looks_differ() -> None:
    looks = [(palette.LIGHT.pick_run(number), palette.pick_mark(number)) for number in range(identity.N_LOOKS)]
    assert len(set(looks)) == identity.N_LOOKS == 21
    assert looks[0] == ("#0072B2", "disc")
    assert looks[7] == ("#0072B2", "ring")
    assert looks[20] == ("#1C2440", "square")
