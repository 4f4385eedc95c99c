"""What a training has achieved so far, kept in a checkpoint so that it can be resumed.

`Progress` keeps states under names: what is expensive and finished. What comes before is the same every time and is
simply done again. `Blocks` is the commonest such state: one row of weights and one number a label, trained block by
block.
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

SAVE_EVERY = 20  # saving may take a twentieth of the time


class Progress:
    """Named states of one training; those of another training or other data are ignored."""

    def __init__(self, checkpoint: Checkpoint | None, train: Split, params: dict[str, Any]) -> None:
        self._checkpoint = checkpoint
        self._states: dict[str, Any] = {}
        self._makers: dict[str, Callable[[], dict[str, Any]]] = {}
        self._saved_at, self._cost = -np.inf, 0.0
        if checkpoint is not None:
            self._key = hash_content({"params": params, "train": train})
            stored = checkpoint.restore()
            if stored is not None and stored.get("key") == self._key:
                self._states = stored["states"]

    def state(self, name: str) -> dict[str, Any] | None:
        """What was stored under `name`."""
        return self._states.get(name)

    def update(self, name: str, make_state: Callable[[], dict[str, Any]]) -> None:
        """The state called `name` has changed; everything is stored if the last time is long enough ago."""
        if self._checkpoint is None:
            return
        self._makers[name] = make_state
        if time.monotonic() - self._saved_at > SAVE_EVERY * self._cost:
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
        self._cost = self._saved_at - started


class Blocks:
    """A row of weights and a number for each label, in the order of training, remembered by a `Progress`."""

    def __init__(self, progress: Progress, name: str) -> None:
        self._progress, self._name = progress, name
        state = progress.state(name)
        self._parts: list[tuple[sparse.csr_array, np.ndarray]] = []
        if state is not None:
            self._parts = [(state["rows"], state["numbers"])]

    def __len__(self) -> int:
        """Labels so far."""
        return sum(len(numbers) for _, numbers in self._parts)

    def add(self, rows: sparse.csr_array, numbers: np.ndarray) -> None:
        """The next labels' weights (n_labels, n_features) and numbers (n_labels,)."""
        self._parts.append((rows, numbers))
        self._progress.update(self._name, lambda: dict(zip(("rows", "numbers"), self.joined(), strict=True)))

    def joined(self) -> tuple[sparse.csr_array, np.ndarray]:
        """All rows and numbers so far."""
        rows = sparse.csr_array(sparse.vstack([rows for rows, _ in self._parts]))
        self._parts = [(rows, np.concatenate([numbers for _, numbers in self._parts]))]
        return self._parts[0]


class Checkpoint:
    """The newest complete state of a training, in numbered folders below one folder."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def _numbers(self) -> list[int]:
        if not self.folder.is_dir():
            return []
        return sorted(int(entry.name) for entry in self.folder.iterdir() if entry.name.isdigit())

    def save(self, state: Mapping[str, Any]) -> None:
        """Store `state`; only then drop the ones before it."""
        numbers = self._numbers()
        write_state(self.folder / f"{numbers[-1] + 1 if numbers else 1:06d}", state)
        for number in numbers:
            shutil.rmtree(self.folder / f"{number:06d}")

    def restore(self) -> dict[str, Any] | None:
        """The newest state that can be read, or None."""
        for number in reversed(self._numbers()):
            try:
                return read_state(self.folder / f"{number:06d}")
            except XcworkError:
                continue
        return None
