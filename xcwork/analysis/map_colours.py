"""What a label map can be coloured by: for every label with a place a class with a name, or a value from 0 to 1.

Which colour a class gets is decided where it is drawn; here stands what it means.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from xcwork.analysis.map_selection import MapFacts
from xcwork.core.bands import Bands
from xcwork.core.labels import LabelSpace
from xcwork.layout.regions import LabelRegions

FOUND_NAMES = ("never", "up to half", "mostly", "always", "not in the test split")
NOT_IN_TEST = 4
MAX_PARENTS = 20  # that have a class of their own


@dataclass(frozen=True, eq=False)
class LabelClasses:
    """One of several classes per label."""

    title: str
    codes: np.ndarray  # (n,) uint16, indices into `names`
    names: tuple[str, ...]
    background: int | None = None  # the class that says nothing: drawn small and below the others


class ShareKind(Enum):
    """What low and high values mean."""

    quality = "from what should be looked at to what is fine"
    amount = "from little to much"
    difference = "from less to more, with no difference in the middle"


@dataclass(frozen=True, eq=False)
class LabelShares:
    """A value from 0 to 1 per label; NaN is unknown."""

    title: str
    values: np.ndarray  # (n,) float32
    low: str = "0 %"
    high: str = "100 %"
    kind: ShareKind = ShareKind.quality


def colour_by_found(facts: MapFacts, ids: np.ndarray) -> LabelClasses:
    """Return how often each label is found among the first k of its test documents."""
    hits, in_test = facts.hits[ids], facts.in_test[ids]
    cases = [in_test == 0, hits == 0, hits == in_test, 2 * hits <= in_test]
    codes = np.select(cases, [NOT_IN_TEST, 0, 3, 1], 2)
    return LabelClasses(f"Found among the first {facts.k}", codes.astype(np.uint16), FOUND_NAMES, NOT_IN_TEST)


def colour_by_band(bands: Bands, ids: np.ndarray) -> LabelClasses:
    """Return the frequency band of each label."""
    return LabelClasses("Frequency", bands.of_label[ids].astype(np.uint16), bands.names)


def colour_by_precision(facts: MapFacts, ids: np.ndarray) -> LabelShares:
    """Return the share of each label's predictions that are right; unknown where it is never predicted."""
    return LabelShares("Right when listed", _divide(facts.hits[ids], facts.predicted[ids]))


def colour_by_recall(facts: MapFacts, ids: np.ndarray) -> LabelShares:
    """Return the share of each label's test documents that list it; unknown where there are none."""
    return LabelShares("Share found", _divide(facts.hits[ids], facts.in_test[ids]))


def colour_by_probability(labels: np.ndarray, probabilities: np.ndarray, ids: np.ndarray) -> LabelShares:
    """Return the probability of the labels listed for one document; all others are unknown. `ids` are ascending."""
    values = np.full(len(ids), np.nan, np.float32)
    rows = np.searchsorted(ids, labels)
    known = (rows < len(ids)) & (ids[np.minimum(rows, len(ids) - 1)] == labels) if len(ids) else np.zeros(0, bool)
    values[rows[known]] = np.clip(np.asarray(probabilities, np.float32)[known], 0, 1)
    return LabelShares("Probability for this document", values, kind=ShareKind.amount)


def colour_by_region(regions: LabelRegions, level: int = 0) -> LabelClasses:
    """Return the region of each label at one level; labels outside of all are background."""
    of_label = regions.of_label[level] if level < regions.n_levels else np.zeros(regions.of_label.shape[1], int) - 1
    used = np.unique(of_label[of_label >= 0])
    names = tuple(regions.regions[index].name for index in used.tolist())
    codes = np.where(of_label >= 0, np.searchsorted(used, of_label), len(used))
    return LabelClasses("Region", codes.astype(np.uint16), (*names, "in no region"), len(used))


def colour_by_parent(labels: LabelSpace, ids: np.ndarray) -> LabelClasses | None:
    """Return the first broader label of each label, the most frequent ones by name; None where none are known."""
    if labels.parents is None:
        return None
    first = np.array([(labels.parents[label] or [""])[0] for label in ids.tolist()])
    uids, codes, counts = np.unique(first, return_inverse=True, return_counts=True)
    kept = [at for at in np.argsort(-counts, kind="stable").tolist() if uids[at]][:MAX_PARENTS]
    if not kept:
        return None
    names = dict(zip(labels.uids or (), labels.names, strict=False))
    numbers = np.full(len(uids), len(kept))
    numbers[kept] = np.arange(len(kept))
    titles = tuple(str(names.get(str(uids[at]), uids[at])) for at in kept)
    return LabelClasses("Broader label", numbers[codes].astype(np.uint16), (*titles, "other or none"), len(kept))


def colour_by_difference(one: MapFacts, other: MapFacts, ids: np.ndarray) -> LabelShares:
    """Return where the other run finds more (above 0.5) or less (below) of a label's test documents."""
    ours, theirs = (_divide(facts.hits[ids], facts.in_test[ids]) for facts in (one, other))
    values = (0.5 + (theirs - ours) / 2).astype(np.float32)
    return LabelShares("Found by the second run", values, "less often", "more often", ShareKind.difference)


def _divide(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.full(len(part), np.nan, np.float32), where=whole > 0, casting="unsafe")
