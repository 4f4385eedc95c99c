"""What a training will roughly cost, from trainings that were measured: those in the home folder, else a small table.

The nearest measured training of the same method is scaled to the size of the data: time with
n_documents * sqrt(n_labels), which lies between the methods that visit every label for every document and those that do
not; memory above that of an idle process likewise. The further away the measurement, the wider the range that is given.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from xcwork.errors import RunError
from xcwork.runs.store import Run

IDLE_MB = 280.0  # a worker that has loaded its libraries
REFERENCES = Path(__file__).with_name("measured_costs.json")
NARROWEST, WIDEST = 1.3, 5.0  # factors by which the true time may differ
REPEATED = ("epochs",)  # parameters that repeat the work


@dataclass(frozen=True)
class Measurement:
    """What one training cost."""

    method: str
    params: Mapping[str, Any]
    n_train: int
    n_labels: int
    seconds: float
    memory_mb: float
    data: str
    here: bool = True  # measured in this home folder, so on this machine

    def size(self) -> float:
        return _size(self.n_train, self.n_labels)


@dataclass(frozen=True)
class Estimate:
    """Expected seconds with a range, expected memory, and where the figures come from."""

    seconds: float
    low: float
    high: float
    memory_mb: float
    basis: str


def measurement_of(run: Run) -> Measurement | None:
    """What a finished run cost; None for every other run."""
    status = run.status
    if status.state != "finished":
        return None
    try:
        config = run.config
    except RunError:
        return None
    facts = config["dataset"] or {}
    if not {"n_train", "n_labels", "name"} <= facts.keys():
        return None
    return Measurement(
        config["method"], config["params"], facts["n_train"], facts["n_labels"], status.train_seconds,
        status.peak_memory_mb, facts["name"],
    )  # fmt: skip


@cache
def references() -> tuple[Measurement, ...]:
    """The trainings that came with xcwork."""
    rows = json.loads(REFERENCES.read_text("utf-8"))
    return tuple(Measurement(**row, here=False) for row in rows)


def estimate(
    method: str, params: Mapping[str, Any], *, n_train: int, n_labels: int, known: Iterable[Measurement] = ()
) -> Estimate | None:
    """The cost of training `method` on data of this size; None when nothing like it was ever measured."""
    size = _size(n_train, n_labels)
    candidates = [each for each in (*known, *references()) if each.method == method]
    if not candidates:
        return None
    nearest = min(candidates, key=lambda each: (_distance(each, size), not each.here, _differing(each, params)))
    ratio = size / nearest.size()
    repeats = math.prod(_repeats(nearest, params, name) for name in REPEATED)
    seconds = nearest.seconds * ratio * repeats
    apart = _distance(nearest, size) + 0.2 * _differing(nearest, params) + (0.0 if nearest.here else 0.5)
    spread = min(NARROWEST * math.exp(0.4 * apart), WIDEST)
    memory = IDLE_MB + max(nearest.memory_mb - IDLE_MB, 0.0) * max(ratio, 1e-3)
    return Estimate(seconds, seconds / spread, seconds * spread, memory, _basis(nearest, params, ratio))


def _size(n_train: int, n_labels: int) -> float:
    return max(n_train, 1) * math.sqrt(max(n_labels, 1))


def _distance(measured: Measurement, size: float) -> float:
    return abs(math.log(size / measured.size()))


def _differing(measured: Measurement, params: Mapping[str, Any]) -> int:
    return sum(measured.params.get(name) != value for name, value in params.items() if name != "seed")


def _repeats(measured: Measurement, params: Mapping[str, Any], name: str) -> float:
    counts = (params.get(name), measured.params.get(name))
    # A stored run may hold anything where this version expects a number.
    now, before = (count if isinstance(count, int | float) and count > 0 else None for count in counts)
    return now / before if before and now else 1.0


def _basis(measured: Measurement, params: Mapping[str, Any], ratio: float) -> str:
    where = "a run here" if measured.here else "a measurement on another machine"
    changes = _differing(measured, params)
    notes = [f"from {where} on {measured.data}"]
    if not 0.8 < ratio < 1.25:
        notes.append(f"scaled by {ratio:,.2g}")
    if changes:
        notes.append(f"{changes} setting{'s' if changes > 1 else ''} changed since")
    return ", ".join(notes)
