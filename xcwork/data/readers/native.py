"""Folders of `state.json` and `arrays.safetensors` that `Dataset.save` or a `DatasetWriter` wrote.

A large one is not read but mapped: its matrices stay on disk, and training and prediction stream from them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from xcwork.core.dataset import Dataset
from xcwork.errors import DataError, XcworkError
from xcwork.storage.state import ARRAYS_FILE, STATE_FILE

TITLE = "xcwork dataset folder: state.json, arrays.safetensors"


def recognises(path: Path) -> bool:
    return path.is_dir() and all((path / file).is_file() for file in (STATE_FILE, ARRAYS_FILE))


def read(path: Path, name: str, *, mapped: bool | None = None) -> Dataset:
    try:
        return replace(Dataset.load(path, mapped=mapped), name=name)
    except (XcworkError, KeyError, TypeError, ValueError) as damage:
        raise DataError(f"this is not a stored dataset ({damage})", file=path, remedy="write it again") from None
