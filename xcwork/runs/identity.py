"""The number of a run, which gives it one colour and one mark wherever it appears.

A run takes the lowest number that no other run on its dataset has, when it is created. The number is stored in the run
folder as `identity.json`, so renaming and resuming keep it and deleting the run frees it. Runs of older versions get
theirs, oldest first, when the number of one of them is first asked for. `xcwork.export.palette` turns numbers into
colours and marks.
"""

from __future__ import annotations

import json
import time
import zlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from xcwork.errors import RunError
from xcwork.export.palette import LIGHT, MARKS
from xcwork.runs.config import read_config
from xcwork.runs.locks import FileLock
from xcwork.storage.atomic import write_json

IDENTITY_FILE = "identity.json"
LOCK_FILE = ".identity.lock"  # beside the run folders
N_LOOKS = len(LIGHT.runs) * len(MARKS)  # after which colours and marks begin again
MAX_NUMBER = 10**6
LOCK_SECONDS = 2.0  # two runs with one colour are better than a training that does not start
PAUSE_SECONDS = 0.01


def read_number(folder: Path) -> int | None:
    """Return the number of the run in `folder`; None where it has none that can be used."""
    try:
        stored = json.loads((folder / IDENTITY_FILE).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    number = stored.get("number") if isinstance(stored, dict) else None
    return number if type(number) is int and 0 <= number <= MAX_NUMBER else None


def write_number(folder: Path, number: int) -> None:
    """Store the number of the run in `folder`."""
    write_json(folder / IDENTITY_FILE, {"number": number})


def find_free_number(taken: Collection[int]) -> int:
    """Return the lowest number that is not taken."""
    used = set(taken)
    return next(number for number in range(len(used) + 1) if number not in used)


def choose_number(config: Mapping[str, Any], folders: Iterable[Path]) -> int:
    """Return the number for a new run with this configuration, beside the runs in `folders`."""
    return find_free_number(list_taken(config, folders))


def list_taken(config: Mapping[str, Any], folders: Iterable[Path]) -> list[int]:
    """Return the numbers that runs in `folders` on the dataset of this configuration have."""
    dataset = _name_dataset(config)
    others = [folder for folder in folders if _read_dataset(folder) == dataset]
    return [number for folder in others if (number := read_number(folder)) is not None]


def assign_numbers(folders: Iterable[Path]) -> None:
    """Give the runs in `folders`, oldest first, that have no number the lowest free one of their dataset."""
    taken: dict[str, set[int]] = defaultdict(set)
    without: list[tuple[Path, str]] = []
    for folder in folders:
        dataset, number = _read_dataset(folder), read_number(folder)
        if number is None:
            without.append((folder, dataset))
        else:
            taken[dataset].add(number)
    for folder, dataset in without:
        number = find_free_number(taken[dataset])
        taken[dataset].add(number)
        write_number(folder, number)


def guess_number(run_id: str) -> int:
    """Return a number for a run whose folder cannot be written: always the same one, perhaps that of another run."""
    return zlib.crc32(run_id.encode()) % N_LOOKS


@contextmanager
def hold_numbers(runs_folder: Path) -> Iterator[None]:
    """Keep other processes from taking numbers during the block; one that holds them for long is not waited for."""
    lock, deadline = FileLock(runs_folder / LOCK_FILE), time.monotonic() + LOCK_SECONDS
    with lock:
        while not lock.acquire(holder="identity") and time.monotonic() < deadline:
            time.sleep(PAUSE_SECONDS)
        yield


def _read_dataset(folder: Path) -> str:
    try:
        return _name_dataset(read_config(folder))
    except RunError:  # damaged: nobody knows its dataset, but it is listed and needs a look
        return ""


def _name_dataset(config: Mapping[str, Any]) -> str:
    return json.dumps([config["data"], config["data_options"]], sort_keys=True)
