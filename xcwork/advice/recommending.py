"""`recommend`: three methods for a dataset, at once by a rule, or after a pilot that tries them on a sample.

    recommend(dataset)               by the rule of `rules`: milliseconds, no expected quality
    recommend(dataset, minutes=5)    by `pilot`: the methods that won on a sample, with the P@1 to expect

After a pilot the first method is the one that won. The second gives exact reasons, the third is fast; both are the
best of their kind in the race. Costs are estimated as on the Train page (`xcwork.runs.estimates`).
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from xcwork.advice.pilot import Clock, try_methods
from xcwork.advice.recommendation import BY_PILOT, BY_RULE, Recommendation, Suggestion, TriedMethod
from xcwork.advice.rules import (
    FOR_THE_BEST,
    MAX_DEEP_MIML_LABELS,
    TO_BEGIN,
    TO_UNDERSTAND,
    RolePick,
    choose_by_rule,
    find_obstacle,
)
from xcwork.advice.sampling import draw_sample
from xcwork.advice.traits import DatasetTraits, read_traits
from xcwork.compute.memory import measure_available_memory
from xcwork.methods.params import DEFAULT_PRESET
from xcwork.methods.presets import list_presets
from xcwork.methods.registry import list_usable_methods
from xcwork.progress import Callback, listen
from xcwork.runs.estimates import Estimate, Measurement, estimate_cost, find_usual_params

if TYPE_CHECKING:
    from xcwork.core.dataset import Dataset

MAX_MEMORY_SHARE = 0.5  # of what is free, that a method in a pilot may need
MAX_FAST_SHARE = 1 / 3  # of the time of the best method, up to which another one counts as fast
ALWAYS_FAST_SECONDS = 10.0
EXACT_REASONS = ("zestxml", "one_vs_all", "label_tree", "landmarks", "eagle")  # and more than a yardstick
NUMBER_OF_SUGGESTIONS = 3


def recommend(
    dataset: Dataset,
    *,
    minutes: float = 0.0,
    methods: Collection[str] | None = None,
    known: Iterable[Measurement] = (),
    traits: DatasetTraits | None = None,
    seed: int = 0,
    clock: Clock = time.monotonic,
    callbacks: Iterable[Callback] = (),
) -> Recommendation:
    """Return three methods for a dataset, the best first, with reasons, the P@1 to expect and the cost.

    Parameters
    ----------
    minutes : float
        How long to try the methods on a sample of the training split; 0 uses rules instead.
    methods : collection of str, optional
        Those to choose from; by default all that are installed.
    known : iterable of Measurement
        Runs that show what training costs on this machine.
    traits : DatasetTraits, optional
        Traits of the dataset, where they are known already.
    clock : callable
        Measures the minutes; `time.process_time` on a busy machine.
    """
    began = time.monotonic()
    traits = read_traits(dataset) if traits is None else traits
    usable = list(list_usable_methods() if methods is None else methods)
    costs = CostTable(traits, list(known))
    picks = choose_by_rule(traits, usable)
    tried: list[TriedMethod] = []
    if minutes > 0:
        promising = [pick.method for pick in picks]
        ordered = dict.fromkeys([*promising, *list_candidates(traits, usable, costs)])
        candidates = {method: costs.get_params(method) for method in ordered}
        with listen(callbacks):
            sample = draw_sample(dataset.train, dataset.test, seed=seed)
            tried = try_methods(sample, candidates, seconds=60 * minutes, n_all=len(dataset.train), clock=clock)
        picks = choose_by_pilot(tried, picks, costs) or picks
    expected = {each.method: each.expected for each in tried}
    suggestions = [
        Suggestion(
            pick.method,
            DEFAULT_PRESET,
            pick.role,
            pick.reason,
            expected.get(pick.method),
            None if (cost := costs.estimate(pick.method)) is None else round(cost.seconds, 1),
            None if cost is None else round(cost.memory_mb),
        )
        for pick in picks
    ]
    if tried:  # what was too slow to be tried stays where the rule has it: first
        suggestions.sort(key=lambda each: 100.0 if each.expected is None else each.expected.value, reverse=True)
    return Recommendation(
        dataset.name,
        dataset.fingerprint,
        traits.describe(),
        BY_PILOT if tried else BY_RULE,
        tuple(suggestions),
        tuple(tried),
        round(time.monotonic() - began, 1),
    )


class CostTable:
    """Expected costs of methods with their default settings on one dataset; no method is imported for them."""

    def __init__(self, traits: DatasetTraits, known: list[Measurement], other_load: float = 0.0) -> None:
        self._traits, self._known, self._other_load = traits, known, other_load
        self._found: dict[str, Estimate | None] = {}

    def get_params(self, method: str) -> dict[str, Any]:
        """Return the default settings of a method, fitted to the dataset."""
        return next(iter(list_presets(method, n_labels=self._traits.n_labels).values()))

    def estimate(self, method: str) -> Estimate | None:
        """Return what training the method will cost; None if nothing like it was measured."""
        if method not in self._found:
            sizes = {name: getattr(self._traits, name) for name in ("n_train", "n_labels", "n_features")}
            usual = find_usual_params(method)
            self._found[method] = estimate_cost(method, usual, **sizes, known=self._known, other_load=self._other_load)
        return self._found[method]


def list_candidates(traits: DatasetTraits, methods: Collection[str], costs: CostTable) -> list[str]:
    """Return the methods that are worth trying on a dataset, the fast ones first."""
    free = measure_available_memory() / 1e6
    found = []
    for method in methods:
        cost = costs.estimate(method)
        is_too_large = cost is not None and cost.memory_mb > MAX_MEMORY_SHARE * free
        is_hopeless = (
            method == "popularity"
            or (method == "eagle" and not traits.has_group_labels)
            or (method == "deep_miml" and traits.n_labels > MAX_DEEP_MIML_LABELS)
        )
        if not (is_too_large or is_hopeless or find_obstacle(method, traits)):
            found.append((0.0 if cost is None else cost.seconds, method))
    return [method for _, method in sorted(found)]


def choose_by_pilot(tried: list[TriedMethod], ruled: list[RolePick], costs: CostTable) -> list[RolePick]:
    """Return the winner of a race, the best with exact reasons and the best that is fast; without results, nothing.

    What the rule has for the best list is not beaten by being too slow for the race: then it takes the first place.
    """
    ranked = [each for each in tried if each.expected is not None]
    if not ranked:
        return []
    winner = ranked[0]
    picks = [RolePick(FOR_THE_BEST, winner.method, "Won on a sample of this dataset.")]
    untried = {each.method for each in tried if each.expected is None}
    if slow := [pick for pick in ruled if pick.role == FOR_THE_BEST and pick.method in untried]:
        picks = slow
    time_of_winner = _read_seconds(winner, costs)

    def is_fast(each: TriedMethod) -> bool:
        return _read_seconds(each, costs) <= max(ALWAYS_FAST_SECONDS, MAX_FAST_SHARE * time_of_winner)

    roles = (
        (TO_UNDERSTAND, "Exact reasons", [each for each in ranked if each.method in EXACT_REASONS]),
        (TO_BEGIN, "Fast", [each for each in ranked if is_fast(each)]),
    )
    for role, words, fitting in roles:
        taken = {pick.method for pick in picks}
        best = next((each for each in (*fitting, *ranked) if each.method not in taken), None)
        if best is not None:
            is_kind = any(each is best for each in fitting)
            reason = f"{words}, and the best of its kind on a sample." if is_kind else "Close behind on a sample."
            picks.append(RolePick(role, best.method, reason))
    return picks[:NUMBER_OF_SUGGESTIONS]


def _read_seconds(each: TriedMethod, costs: CostTable) -> float:
    cost = costs.estimate(each.method)
    return each.seconds[-1] if cost is None else cost.seconds
