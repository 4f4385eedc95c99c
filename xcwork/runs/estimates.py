"""What a run will roughly cost, from runs that were measured: those in the home folder, else a small table.

All is counted in processor seconds first, because a machine that does other things, too, changes them little: reading
the data, training, calibration, evaluation. Only then they become the time that a person waits for once the run has its
turn (`xcwork.compute.busyness`), by the cores of this machine and by how busy it is now.

The training of the nearest measurement of the same method is scaled to the data. Every training has a base cost that
does not depend on the data: that of the method's smallest training in the table, on a dataset of a few documents. What
was needed beyond that grows with n_documents * sqrt(n_labels), which lies between the methods that visit every label
for every document and those that do not; memory grows with n_documents + n_labels + n_features, the rows and columns of
what is held. Nearest is meant in the quantity that is scaled and, for time, in the number of features. The further away
the measurement, the wider the range of the time.

The calibration of most methods trains further models (`decisions.held_out_documents`); what else a run does grows with
the documents. Of the very same training that was done here before, all is known.

The table was measured on another machine. How fast this one is shows in the last runs here, whatever their methods, if
the table has their settings: the processor seconds of the table are multiplied by the factor by which those runs
differed from it. The more these factors differ among themselves, the wider the range.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

from xcwork.compute.busyness import estimate_clock_seconds, limit_load, measure_load
from xcwork.decisions.held_out_documents import AUTO, SPARING, list_refit_sizes, needs_refits
from xcwork.errors import RunError
from xcwork.methods.names import SLOW_METHODS, count_refits
from xcwork.runs.status import Status, count_seconds_since
from xcwork.runs.store import Run

IDLE_WORKER_MB = 310.0  # a worker that has loaded what all methods need
REFERENCES_FILE = Path(__file__).with_name("measured_costs.json")
MIN_SPREAD_FACTOR = 1.3  # by which the true time may differ
MAX_SPREAD_FACTOR = 5.0
MAX_SIMILAR_RATIO = 1.25  # of the sizes of two datasets that are alike
MIN_MUCH_RATIO = 20.0  # from here on one is much larger
FURTHER_EPOCHS = ("classifier_epochs",)  # parameters with passes over the documents beside `epochs`
FEATURE_WEIGHT = 0.5  # of the distance in features beside that in work
ELSEWHERE_DISTANCE = 0.5  # by which a measurement on another machine counts as further away
SETTING_DISTANCE = 0.2  # by which a measurement with one other setting counts as further away
OVERHEAD_CPU_SECONDS = 1.0  # of a run beside training and calibration: reading, evaluation
OVERHEAD_CPU_SECONDS_PER_DOCUMENT = 2e-4
REFIT_CPU_SECONDS_PER_DOCUMENT = 1.6e-4  # of a refit beside its training: texts are read again, held-out ones predicted
REFIT_SHARE = 0.9  # of the time of the training: a refit has fewer documents
RUNS_THAT_TELL_SPEED = 5  # the last ones
MIN_TELLING_RUNS = 3  # fewer tell nothing: the first run also builds the dataset, and the first of a method compiles
MIN_TELLING_SECONDS = 1.0  # of a run that tells how fast this machine is
MAX_FELT_SECONDS = 900.0  # since the end of a run, after which the load knows nothing of it
MAX_TELLING_AGE_SECONDS = 300.0  # since the end of a run that tells how busy it is


@dataclass(frozen=True)
class Measurement:
    """What one run cost."""

    method: str
    params: Mapping[str, Any]
    n_train: int
    n_labels: int
    n_features: int
    train_cpu_seconds: float
    memory_mb: float
    data: str
    here: bool = True  # measured in this home folder, so on this machine
    cpu_seconds: float | None = None  # of the whole run; None: not measured

    @property
    def work(self) -> float:
        """What the time grows with."""
        return _compute_work(self.n_train, self.n_labels)

    @property
    def total_cpu_seconds(self) -> float:
        """The processor time of the whole run: as measured, else with a usual calibration and evaluation."""
        if self.cpu_seconds is not None:
            return self.cpu_seconds
        return _add_rest(self.method, self.train_cpu_seconds, self.n_train)

    @property
    def extent(self) -> int:
        """What the memory grows with."""
        return self.n_train + self.n_labels + self.n_features


@dataclass(frozen=True)
class Estimate:
    """Expected seconds of a run with a range, expected memory, and where the figures come from."""

    seconds: float  # on the clock, on this machine, as busy as it is
    low: float
    high: float
    memory_mb: float
    basis: str
    cpu_seconds: float


@dataclass(frozen=True)
class Slowness:
    """How this machine compares with that of the table, in processor time."""

    factor: float  # by which runs take more of it
    spread: float  # by which single runs differ from that


def measure_run(run: Run) -> Measurement | None:
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
        status.train_cpu_seconds or status.train_seconds,  # older versions know the clock only
        status.peak_memory_mb,
        facts["name"],
        cpu_seconds=status.cpu_seconds or None,
    )


@cache
def read_references() -> tuple[Measurement, ...]:
    """Return the trainings that came with xcwork."""
    rows = json.loads(REFERENCES_FILE.read_text("utf-8"))
    return tuple(Measurement(**row, here=False) for row in rows)


def find_usual_params(method: str) -> Mapping[str, Any]:
    """Return the default settings of a method as they were measured, without importing it; nothing if never."""
    return next((each.params for each in read_references() if each.method == method), {})


def measure_other_load(statuses: Iterable[Status]) -> float:
    """Return how busy this machine is with other things than runs of this home folder, which take their turns.

    It is the load of the operating system, or less if a run that has just ended met less.
    """
    own, last = [], None
    oldest = (datetime.now(UTC) - timedelta(seconds=MAX_FELT_SECONDS)).isoformat()  # sorts as text, as all times do
    for status in statuses:
        if status.state == "queued" or (not status.is_active and (status.ended or status.updated) < oldest):
            continue
        age = 0.0 if status.is_active else count_seconds_since(status.ended or status.updated)
        own.append((age + status.work_seconds, age))
        tells = status.state == "finished" and status.cpu_seconds >= MIN_TELLING_SECONDS
        if tells and age <= MAX_TELLING_AGE_SECONDS and (last is None or age < last[0]):
            last = (age, status.work_seconds, status.cpu_seconds)
    load = measure_load(own)
    return load if last is None else limit_load(load, *last[1:])


def estimate_cost(
    method: str,
    params: Mapping[str, Any],
    *,
    n_train: int,
    n_labels: int,
    n_features: int,
    known: Iterable[Measurement] = (),
    other_load: float = 0.0,
) -> Estimate | None:
    """Estimate the cost of training `method` on data of this size; None when nothing like it was ever measured.

    `other_load` is how many threads of others want a core (`measure_other_load`).
    """
    work, extent = _compute_work(n_train, n_labels), n_train + n_labels + n_features
    known = list(known)
    # The latest first, which counts among equals: it knows best how busy the machine is.
    candidates = [each for each in (*reversed(known), *read_references()) if each.method == method]
    if not candidates:
        return None
    nearest = min(
        candidates,
        key=lambda each: (
            _compute_distance(each.work, work)
            + FEATURE_WEIGHT * _compute_distance(max(each.n_features, 1), max(n_features, 1))
            + SETTING_DISTANCE * _count_differing(each, params)
            + (0.0 if each.here else ELSEWHERE_DISTANCE)
        ),
    )
    alike = min(
        candidates,
        key=lambda each: (_compute_distance(each.extent, extent), not each.here, _count_differing(each, params)),
    )
    slowness = None if nearest.here else measure_slowness(known)
    cpu_seconds = _scale_run(nearest, params, n_train, n_labels, 1.0 if slowness is None else slowness.factor)
    is_sure = nearest.here or slowness is not None
    apart = (
        _compute_distance(nearest.work, work)
        + SETTING_DISTANCE * _count_differing(nearest, params)
        + (0.0 if is_sure else ELSEWHERE_DISTANCE)
    )
    doubt = 1.0 if slowness is None else slowness.spread
    spread = min(MIN_SPREAD_FACTOR * math.exp(0.4 * apart) * doubt, MAX_SPREAD_FACTOR)
    memory = _scale_cost(alike.memory_mb, _find_base(method)[1], extent / alike.extent)
    seconds = estimate_clock_seconds(cpu_seconds, other_load)
    basis = _describe_basis(nearest, params, work / nearest.work)
    return Estimate(seconds, seconds / spread, seconds * spread, memory, basis, cpu_seconds)


def _scale_run(
    measured: Measurement, params: Mapping[str, Any], n_train: int, n_labels: int, factor: float = 1.0
) -> float:
    """Return the processor seconds of a run like a measured one, on data of this size."""
    ratio = _compute_work(n_train, n_labels) / measured.work * _compare_passes(measured, params, n_train)
    if ratio == 1.0 and measured.cpu_seconds is not None and n_train == measured.n_train:
        return factor * measured.cpu_seconds
    training = _scale_cost(measured.train_cpu_seconds, _find_base(measured.method)[0], ratio)
    return _add_rest(measured.method, factor * training, n_train, factor)


def _add_rest(method: str, training: float, n_train: int, factor: float = 1.0) -> float:
    """Return the processor seconds of a whole run, from those of its training."""
    rest = factor * (OVERHEAD_CPU_SECONDS + OVERHEAD_CPU_SECONDS_PER_DOCUMENT * n_train)
    if not needs_refits(SPARING if method in SLOW_METHODS else AUTO, n_train):
        return training + rest
    refit = REFIT_SHARE * training + factor * REFIT_CPU_SECONDS_PER_DOCUMENT * n_train
    return training + len(list_refit_sizes(n_train, count_refits(method))) * refit + rest


def measure_slowness(known: Sequence[Measurement]) -> Slowness | None:
    """Return by which factor the last runs here took more than the table says; None if too few of them tell."""
    ratios: list[float] = []
    for run in reversed(known):  # the last ones, and no more of them than needed: there may be thousands
        if len(ratios) == RUNS_THAT_TELL_SPEED:
            break
        alike = [each for each in read_references() if each.method == run.method]
        if run.here and alike and run.total_cpu_seconds >= MIN_TELLING_SECONDS:
            nearest = min(alike, key=lambda each: _compute_distance(each.work, run.work))
            if _count_differing(nearest, run.params):
                continue  # what it took more or less may come from its settings
            ratios.append(run.total_cpu_seconds / _scale_run(nearest, run.params, run.n_train, run.n_labels))
    if len(ratios) < MIN_TELLING_RUNS:
        return None
    return Slowness(median(ratios), math.sqrt(max(ratios) / min(ratios)))


@cache
def _find_base(method: str) -> tuple[float, float]:
    """Return the seconds and megabytes that the method needs for a training on a few documents.

    Where a training on more data took less time, the small one tells no base.
    """
    measured = [each for each in read_references() if each.method == method]
    if not measured:
        return 0.0, IDLE_WORKER_MB
    smallest = min(measured, key=lambda each: each.work)
    is_base = smallest.train_cpu_seconds <= min(each.train_cpu_seconds for each in measured)
    return smallest.train_cpu_seconds if is_base else 0.0, smallest.memory_mb


def _scale_cost(measured: float, base: float, ratio: float) -> float:
    """Scale what was measured beyond the base; a measurement below it is a base itself."""
    base = min(base, measured)
    return base + (measured - base) * ratio


def _compute_work(n_train: int, n_labels: int) -> float:
    return max(n_train, 1) * math.sqrt(max(n_labels, 1))


def _compute_distance(measured: float, wanted: float) -> float:
    """Return how far two sizes are apart, as the logarithm of their ratio."""
    return abs(math.log(wanted / measured))


def _count_differing(measured: Measurement, params: Mapping[str, Any]) -> int:
    """Return how many settings differ. One that is newer than the measurement and left to xcwork does not."""
    usual = {"seed": params.get("seed")} | {name: value for name, value in params.items() if value == "auto"}
    known = {**usual, **measured.params}
    return sum(known.get(name) != value for name, value in params.items() if name != "seed")


def _compare_passes(measured: Measurement, params: Mapping[str, Any], n_train: int) -> float:
    """Return how much more often a training goes over its documents than the measured one did."""
    now, before = _count_passes(params, n_train), _count_passes(measured.params, measured.n_train)
    return now / before if now and before else 1.0


def _count_passes(params: Mapping[str, Any], n_train: int) -> float:
    """Return how often a training goes over its documents; 0 where the parameters do not say it.

    A method may have two parts with passes of their own, of which only one gets fewer in a quick look, and a least
    number of steps, which a training on few documents needs more passes for.
    """
    epochs = _read_count(params, "epochs")
    if not epochs:
        return 0.0
    steps_per_epoch = math.ceil(max(n_train, 1) / (_read_count(params, "batch_size") or 1.0))
    least = math.ceil(_read_count(params, "min_steps") / steps_per_epoch)
    return max(epochs, least) + sum(_read_count(params, name) for name in FURTHER_EPOCHS)


def _read_count(params: Mapping[str, Any], name: str) -> float:
    """Return a number of the parameters, or 0: a stored run may hold anything where this version expects one."""
    count = params.get(name)
    return float(count) if isinstance(count, int | float) and count > 0 else 0.0


def _describe_basis(measured: Measurement, params: Mapping[str, Any], ratio: float) -> str:
    where = "a run here" if measured.here else "a measurement on another machine"
    changes = _count_differing(measured, params)
    notes = [f"from {where} on {measured.data}"]
    factor = max(ratio, 1 / ratio)
    if factor > MAX_SIMILAR_RATIO:
        notes.append(f"a {'much ' if factor > MIN_MUCH_RATIO else ''}{'smaller' if ratio > 1 else 'larger'} dataset")
    if changes:
        notes.append(f"{changes} setting{'s' if changes > 1 else ''} changed since")
    return ", ".join(notes)
