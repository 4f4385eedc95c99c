"""What a training will roughly cost, from trainings that were measured: those in the home folder, else a small table.

Every training has a base cost that does not depend on the data: a process with the libraries of the method, and the
time until they are ready. It is the cost of the method's smallest training in the table, on a dataset of a few
documents. What the nearest measured training of the same method cost beyond that is scaled to the data: memory with
n_documents + n_labels + n_features, the rows and columns of what is held; time with n_documents * sqrt(n_labels), which
lies between the methods that visit every label for every document and those that do not. Nearest is meant in the
quantity that is scaled. The further away the measurement, the wider the range of the time.
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

IDLE_MB = 310.0  # a worker that has loaded what all methods need
REFERENCES = Path(__file__).with_name("measured_costs.json")
MIN_SPREAD = 1.3  # factor by which the true time may differ
MAX_SPREAD = 5.0
MAX_SIMILAR_RATIO = 1.25  # of the sizes of two datasets that are alike
MIN_MUCH_RATIO = 20.0  # from here on one is much larger
REPEATED = ("epochs",)  # parameters that repeat the work


@dataclass(frozen=True)
class Measurement:
    """What one training cost."""

    method: str
    params: Mapping[str, Any]
    n_train: int
    n_labels: int
    n_features: int
    seconds: float
    memory_mb: float
    data: str
    here: bool = True  # measured in this home folder, so on this machine

    @property
    def work(self) -> float:
        """What the time grows with."""
        return _work(self.n_train, self.n_labels)

    @property
    def extent(self) -> int:
        """What the memory grows with."""
        return self.n_train + self.n_labels + self.n_features


@dataclass(frozen=True)
class Estimate:
    """Expected seconds with a range, expected memory, and where the figures come from."""

    seconds: float
    low: float
    high: float
    memory_mb: float
    basis: str


def measurement_of(run: Run) -> Measurement | None:
    """Return what a finished run cost; None for every other run."""
    status = run.status
    if status.state != "finished":
        return None
    try:
        config = run.config
    except RunError:
        return None
    facts = config["dataset"] or {}
    if not {"n_train", "n_labels", "n_features", "name"} <= facts.keys():
        return None
    return Measurement(
        config["method"],
        config["params"],
        facts["n_train"],
        facts["n_labels"],
        facts["n_features"],
        status.train_seconds,
        status.peak_memory_mb,
        facts["name"],
    )


@cache
def references() -> tuple[Measurement, ...]:
    """Return the trainings that came with xcwork."""
    rows = json.loads(REFERENCES.read_text("utf-8"))
    return tuple(Measurement(**row, here=False) for row in rows)


def estimate(
    method: str,
    params: Mapping[str, Any],
    *,
    n_train: int,
    n_labels: int,
    n_features: int,
    known: Iterable[Measurement] = (),
) -> Estimate | None:
    """Estimate the cost of training `method` on data of this size; None when nothing like it was ever measured."""
    work, extent = _work(n_train, n_labels), n_train + n_labels + n_features
    candidates = [each for each in (*known, *references()) if each.method == method]
    if not candidates:
        return None
    nearest = min(candidates, key=lambda each: (_apart(each.work, work), not each.here, _differing(each, params)))
    alike = min(candidates, key=lambda each: (_apart(each.extent, extent), not each.here, _differing(each, params)))
    base_seconds, base_mb = _base(method)
    ratio = work / nearest.work
    repeats = math.prod(_repeats(nearest, params, name) for name in REPEATED)
    seconds = _grown(nearest.seconds, base_seconds, ratio * repeats)
    apart = _apart(nearest.work, work) + 0.2 * _differing(nearest, params) + (0.0 if nearest.here else 0.5)
    spread = min(MIN_SPREAD * math.exp(0.4 * apart), MAX_SPREAD)
    memory = _grown(alike.memory_mb, base_mb, extent / alike.extent)
    return Estimate(seconds, seconds / spread, seconds * spread, memory, _basis(nearest, params, ratio))


@cache
def _base(method: str) -> tuple[float, float]:
    """Return the seconds and megabytes that the method needs for a dataset of a few documents."""
    measured = [each for each in references() if each.method == method]
    smallest = min(measured, key=lambda each: each.work, default=None)
    return (0.0, IDLE_MB) if smallest is None else (smallest.seconds, smallest.memory_mb)


def _grown(measured: float, base: float, ratio: float) -> float:
    """Scale what was measured beyond the base; a measurement below it is a base itself."""
    base = min(base, measured)
    return base + (measured - base) * ratio


def _work(n_train: int, n_labels: int) -> float:
    return max(n_train, 1) * math.sqrt(max(n_labels, 1))


def _apart(measured: float, wanted: float) -> float:
    """Return how far two sizes are apart, as the logarithm of their ratio."""
    return abs(math.log(wanted / measured))


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
    factor = max(ratio, 1 / ratio)
    if factor > MAX_SIMILAR_RATIO:
        notes.append(f"a {'much ' if factor > MIN_MUCH_RATIO else ''}{'smaller' if ratio > 1 else 'larger'} dataset")
    if changes:
        notes.append(f"{changes} setting{'s' if changes > 1 else ''} changed since")
    return ", ".join(notes)
