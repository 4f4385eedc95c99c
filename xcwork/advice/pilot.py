"""A race of methods on growing samples of the training split, within a budget of time.

Round one trains every candidate on a small sample, those that the rule recommends first; each further round trains the
better ones on a larger sample, as large as the budget allows by the times of the rounds before. P@1 is measured on
documents that were held out. What a method would reach with all training documents is extrapolated from its last two
rounds: the log-odds of P@1 grow linearly with the logarithm of the number of documents. The interval is that of the
sample of held-out documents, widened by half of what was extrapolated. A method that exceeds its share of the time is
given up, and says so.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from xcwork.advice.recommendation import Expectation, TriedMethod
from xcwork.advice.sampling import PilotSample
from xcwork.core.split import Split
from xcwork.errors import Cancelled, ConfigError, DataError
from xcwork.methods.registry import create
from xcwork.progress import Callback, listen, track

FIRST_ROUND_DOCUMENTS = 1_500
MIN_PILOT_DOCUMENTS = 20  # below which nothing can be said
FIRST_ROUND_SHARE = 0.7  # of the budget, after which no further method is tried
MAX_METHOD_SHARE = 0.15  # of the budget, that one method may take in the first round
MAX_PROMISING_SHARE = 0.4  # that the first candidate may take, which is the most promising one
MIN_METHOD_SECONDS = 3.0  # that every method may take
GROWTH_POWER = 1.1  # with which training time grows with documents
SURVIVORS = (6, 4)  # at most, after the first and the second round; half of them in any case
SURVIVING_DISTANCE = 4.0  # points of P@1 below the best at which a method still stays in the race
MAX_ROUNDS = 3
Z_95 = 1.96
Clock = Callable[[], float]
MAX_LOG_ODDS_SLOPE = 1.0  # per factor e of documents; noise may look steeper


@dataclass
class Racer:
    """A method in the race."""

    method: str
    params: Mapping[str, Any]
    documents: list[int] = field(default_factory=list)
    precisions: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    note: str = ""

    def extrapolate(self, n_all: int, n_held: int) -> Expectation | None:
        """Return what the method would reach with all documents."""
        if not self.documents:
            return None
        return extrapolate_precision(self.documents, self.precisions, n_all, n_held)

    def predict_seconds(self, n_documents: int) -> float:
        """Return how long training on so many documents will take."""
        return self.seconds[-1] * (n_documents / self.documents[-1]) ** GROWTH_POWER


class Deadline(Callback):
    """Stops work when its time is over."""

    def __init__(self, seconds: float, clock: Clock) -> None:
        self._clock, self._end = clock, clock() + seconds

    @property
    def has_passed(self) -> bool:
        return self._clock() > self._end

    def on_step(self, phase: str, step: int, total: int | None) -> bool:
        return self.has_passed


def try_methods(
    sample: PilotSample,
    candidates: Mapping[str, Mapping[str, Any]],
    *,
    seconds: float,
    n_all: int,
    clock: Clock = time.monotonic,
) -> list[TriedMethod]:
    """Try the candidates (parameters by method, the promising ones first) within `seconds`; return all, the best first.

    `n_all` is the number of documents that a real training would have. `clock` counts the seconds.
    """
    if len(sample.held) == 0 or len(sample.train) < MIN_PILOT_DOCUMENTS:
        raise DataError(
            f"{len(sample.train) + len(sample.held):,} training documents are too few to try methods on",
            remedy="use the recommendation without a pilot, or more documents",
        )
    began = clock()
    racers = [Racer(method, params) for method, params in candidates.items()]
    running, n_most = list(racers), len(sample.train)
    size = min(FIRST_ROUND_DOCUMENTS, max(MIN_PILOT_DOCUMENTS, n_most // 2))
    for number in range(MAX_ROUNDS):
        part = sample.take(size)
        for racer in track(running, f"trying {len(running)} methods on {size:,} documents"):
            left = (seconds if number else FIRST_ROUND_SHARE * seconds) - (clock() - began)
            if left <= 0:
                racer.note = f"not tried on {size:,} documents, as the time was over"
                continue
            share = MAX_PROMISING_SHARE if racer is racers[0] else MAX_METHOD_SHARE
            limit = left if number else max(MIN_METHOD_SECONDS, min(left, share * seconds))
            _try_method(racer, part, sample.held, limit, clock)
        left = seconds - (clock() - began)
        running = _choose_survivors(running, size, n_all, len(sample.held), number)
        if size >= n_most or not running or left <= 0 or number + 1 == MAX_ROUNDS:
            break
        share = left if number + 2 == MAX_ROUNDS else left / 2
        larger = _choose_size(running, size, n_most, share)
        if larger <= size:
            break
        size = larger
    tried = [_describe_racer(racer, n_all, len(sample.held)) for racer in racers]
    return sorted(tried, key=lambda each: -1.0 if each.expected is None else each.expected.value, reverse=True)


def _try_method(racer: Racer, part: Split, held: Split, limit: float, clock: Clock) -> None:
    deadline, began = Deadline(limit, clock), clock()
    try:
        with listen([deadline]):
            method = create(racer.method, **racer.params).fit(part)
            found = method.predict(held, 1)
    except Cancelled:
        if not deadline.has_passed:
            raise
        racer.note = f"given up after {limit:,.0f} s on {len(part):,} documents"
        return
    except (DataError, ConfigError, MemoryError) as refusal:
        racer.note = str(refusal) or "not enough memory"
        return
    best = found.ids[:, 0]
    pairs = np.column_stack([np.arange(len(held)), np.maximum(best, 0)])
    hits = held.has_labels(pairs) & (best >= 0)
    racer.documents.append(len(part))
    racer.precisions.append(100.0 * float(hits.mean()))
    racer.seconds.append(max(clock() - began, 1e-3))


def _choose_survivors(running: Sequence[Racer], size: int, n_all: int, n_held: int, number: int) -> list[Racer]:
    """Return the racers that go on: the best by what they may reach, and all that are not far behind."""
    ended = [
        (each.extrapolate(n_all, n_held), each) for each in running if each.documents and each.documents[-1] == size
    ]
    ranked = sorted(((found.value, each) for found, each in ended if found is not None), key=lambda pair: -pair[0])
    wanted = SURVIVORS[min(number, len(SURVIVORS) - 1)]
    best = ranked[0][0] if ranked else 0.0
    chosen = [each for at, (value, each) in enumerate(ranked) if at < wanted // 2 or best - value <= SURVIVING_DISTANCE]
    return sorted(chosen[:wanted], key=lambda each: each.seconds[-1])  # the fast ones first: the time may run out


def _choose_size(running: Sequence[Racer], size: int, n_most: int, seconds: float) -> int:
    """Return the largest sample on which all racers can be trained in the given time."""
    needed = sum(racer.predict_seconds(n_most) for racer in running)
    if needed <= seconds:
        return n_most
    factor = (seconds / sum(racer.seconds[-1] for racer in running)) ** (1 / GROWTH_POWER)
    return min(n_most, int(size * factor))


def _describe_racer(racer: Racer, n_all: int, n_held: int) -> TriedMethod:
    return TriedMethod(
        racer.method,
        tuple(racer.documents),
        tuple(round(value, 2) for value in racer.precisions),
        tuple(round(value, 2) for value in racer.seconds),
        racer.extrapolate(n_all, n_held),
        racer.note,
    )


def extrapolate_precision(
    documents: Sequence[int], precisions: Sequence[float], n_all: int, n_held: int
) -> Expectation:
    """Return the P@1 to expect with `n_all` documents from what was measured with fewer."""
    last, measured = documents[-1], precisions[-1]
    error = 100.0 * Z_95 * math.sqrt(max(measured * (100 - measured), 100.0) / 1e4 / n_held)
    value = measured
    if len(documents) > 1 and n_all > last:
        before, now = (_to_log_odds(each, n_held) for each in precisions[-2:])
        slope = (now - before) / math.log(last / documents[-2])
        slope = min(max(slope, 0.0), MAX_LOG_ODDS_SLOPE)
        value = min(100.0, _to_percent(now + slope * math.log(n_all / last)) + measured - _to_percent(now))
    gain = value - measured
    basis = f"trained on {last:,} documents, measured on {n_held:,} others"
    if gain >= 0.5:
        basis += f", {gain:.1f} points added for the {n_all:,} documents there are"
    low, high = max(0.0, value - error - gain / 2), min(100.0, value + error + gain / 2)
    return Expectation(round(value, 2), round(low, 2), round(high, 2), basis)


def _to_log_odds(percent: float, n_held: int) -> float:
    share = (percent / 100 * n_held + 0.5) / (n_held + 1)  # neither 0 nor 1
    return math.log(share / (1 - share))


def _to_percent(log_odds: float) -> float:
    return 100 / (1 + math.exp(-log_odds))
