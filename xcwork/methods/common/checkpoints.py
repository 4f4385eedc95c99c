"""What a training has achieved so far, kept in a checkpoint so that it can be resumed.

`Checkpoint` is the folder. `TrainingProgress` keeps states under names in it: what is expensive and finished. What
comes before is the same every time and is simply done again. `TrainedBlocks` is the most common such state: one row of
weights and one number per label, trained block by block.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from xcwork.core.split import Split
from xcwork.errors import XcworkError
from xcwork.storage.fingerprint import hash_content
from xcwork.storage.state import read_state, write_state

MIN_SAVING_TIMES_BETWEEN_SAVES = 20  # how many times as long as saving takes


class Checkpoint:
    """The newest complete state of a training, in numbered folders below one folder."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def save(self, state: Mapping[str, Any]) -> None:
        """Store `state`; only then drop the ones before it."""
        numbers = self._find_numbers()
        write_state(self.folder / f"{numbers[-1] + 1 if numbers else 1:06d}", state)
        for number in numbers:
            shutil.rmtree(self.folder / f"{number:06d}")

    def restore(self) -> dict[str, Any] | None:
        """Return the newest state that can be read, or None."""
        for number in reversed(self._find_numbers()):
            try:
                return read_state(self.folder / f"{number:06d}")
            except XcworkError:
                continue
        return None

    def _find_numbers(self) -> list[int]:
        """Return the numbers of the stored states, the newest last."""
        if not self.folder.is_dir():
            return []
        return sorted(int(entry.name) for entry in self.folder.iterdir() if entry.name.isdigit())


class TrainingProgress:
    """Named states of one training; those of another training or other data are ignored."""

    def __init__(self, checkpoint: Checkpoint | None, train: Split, params: Mapping[str, Any]) -> None:
        self._checkpoint = checkpoint
        self._states: dict[str, Any] = {}
        self._makers: dict[str, Callable[[], dict[str, Any]]] = {}
        self._saved_at = -np.inf
        self._saving_seconds = 0.0
        if checkpoint is not None:
            self._key = hash_content({"params": dict(params), "train": train})
            stored = checkpoint.restore()
            if stored is not None and stored.get("key") == self._key:
                self._states = stored["states"]

    def get_state(self, name: str) -> dict[str, Any] | None:
        """Return what was stored under `name`."""
        return self._states.get(name)

    def update(self, name: str, make_state: Callable[[], dict[str, Any]]) -> None:
        """Note that the state called `name` has changed, and store everything if the last time is long enough ago."""
        if self._checkpoint is None:
            return
        self._makers[name] = make_state
        if time.monotonic() - self._saved_at > MIN_SAVING_TIMES_BETWEEN_SAVES * self._saving_seconds:
            self.save()

    def save(self) -> None:
        """Store what is new now; how long it takes decides when that happens again."""
        if self._checkpoint is None or not self._makers:
            return
        started = time.monotonic()
        self._states |= {name: make_state() for name, make_state in self._makers.items()}
        self._makers.clear()
        self._checkpoint.save({"key": self._key, "states": self._states})
        self._saved_at = time.monotonic()
        self._saving_seconds = self._saved_at - started


class TrainedBlocks:
    """A row of weights and a number for each label, in the order of training, remembered by a `TrainingProgress`."""

    def __init__(self, progress: TrainingProgress, name: str) -> None:
        self._progress = progress
        self._name = name
        state = progress.get_state(name)
        self._parts: list[tuple[sparse.csr_array, np.ndarray]] = []
        if state is not None:
            self._parts = [(state["rows"], state["numbers"])]

    def __len__(self) -> int:
        """Return the number of labels so far."""
        return sum(len(numbers) for _, numbers in self._parts)

    def add(self, rows: sparse.csr_array, numbers: np.ndarray) -> None:
        """Add the weights (n_labels, n_features) and numbers (n_labels,) of the next labels."""
        self._parts.append((rows, numbers))
        self._progress.update(self._name, self.to_state)

    def to_state(self) -> dict[str, Any]:
        """Return what a later training resumes from."""
        rows, numbers = self.join()
        return {"rows": rows, "numbers": numbers}

    def join(self) -> tuple[sparse.csr_array, np.ndarray]:
        """Return all rows and numbers so far."""
        rows = sparse.csr_array(sparse.vstack([rows for rows, _ in self._parts]))
        self._parts = [(rows, np.concatenate([numbers for _, numbers in self._parts]))]
        return self._parts[0]
