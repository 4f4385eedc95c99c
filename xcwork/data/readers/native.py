"""Folders of `state.json` and `arrays.safetensors` that `Dataset.save` or a `DatasetWriter` wrote.

A large one is not read but mapped: its matrices stay on disk, and training and prediction stream from them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from xcwork.core.dataset import Dataset
from xcwork.data.readers.declaration import Finding, FormatDeclaration, describe_options, look_for_files
from xcwork.errors import DataError, XcworkError
from xcwork.storage.state import ARRAYS_FILE, STATE_FILE

FORMAT = FormatDeclaration(
    name="stored",
    title="what xcwork itself writes: state.json and arrays.safetensors",
    files=(STATE_FILE, ARRAYS_FILE),
    options=describe_options(mapped="`true` leaves the matrices on disk, `false` reads them, whatever their size"),
    example_code='import xcwork\n\nxcwork.load_dataset("synthetic:n_labels=500").save("small")\n',
)


def inspect(path: Path) -> Finding:
    return look_for_files(path, STATE_FILE, ARRAYS_FILE)


def read(path: Path, name: str, *, mapped: bool | None = None) -> Dataset:
    try:
        return replace(Dataset.load(path, mapped=mapped), name=name)
    except (XcworkError, KeyError, TypeError, ValueError) as damage:
        raise DataError(f"this is not a stored dataset ({damage})", file=path, remedy="write it again") from None
