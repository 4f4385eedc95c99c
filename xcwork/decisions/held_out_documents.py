"""Which training documents a calibration is learned on.

`held_out`: the model itself is trained without a twentieth of the documents. `refit`: the model is trained on all
documents; the scores come from further models, each trained without another part of them: the first without a fifth,
the others without a tenth. There are more of them where a method trains fast (`methods/names.py`) and where documents
are few, until 6,000 were held out: a number that does not depend on how busy the machine is, lest the same run has
other probabilities. Training takes longer, but no document is lost. `auto` refits up to 20,000 documents and holds out
beyond, where calibrating costs next to nothing. `sparing`, for methods that train for minutes on few
documents, refits only where a tenth of them would be too few to learn probabilities from.

Two things make a threshold miss its precision on new documents. Held-out documents are few: of 2,500 the precision at a
threshold is known to about two points, of 12,000 to about one. And models trained on fewer documents have lower scores
than the final one; a tenth less matters half as much as a fifth less.

Where all members of a group have the same labels, or test documents come from groups of their own, whole groups are
held out; where a test split has documents of the training split's groups, single documents are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from xcwork.core.held_out import keep_groups_whole, number_groups
from xcwork.core.split import Split
from xcwork.errors import ConfigError

AUTO = "auto"
SPARING = "sparing"
HELD_OUT = "held_out"
REFIT = "refit"
NONE = "none"
CHOICES = (AUTO, SPARING, HELD_OUT, REFIT, NONE)
MAX_REFIT_DOCUMENTS = 20_000  # training documents up to which `auto` refits
HELD_OUT_SHARE = 0.05  # of the training documents, that the model itself does without
MAX_HELD_OUT_SHARE = 0.1  # where the share above is fewer than the documents below
WANTED_HELD_OUT_DOCUMENTS = 2_000
MIN_SPARING_DOCUMENTS = 200  # held-out ones: with fewer, `sparing` refits
MAX_HELD_OUT_DOCUMENTS = 5_000
N_TENTHS = 10  # of the documents: two for the first refit, one for each of the others
USUAL_REFITS = 4  # of a method that trains in seconds on a few thousand documents
USUAL_DOCUMENTS = 3_000  # of them; fewer are trained on faster, so there are more refits
WANTED_REFIT_DOCUMENTS = 6_000  # that all refits do without together; no further ones are trained beyond
FEW_PARTS = 3  # of equal size, where a fifth of the documents would be fewer than the documents below
MAX_REFIT_PART_DOCUMENTS = 4_000
MIN_HELD_OUT_DOCUMENTS = 50  # of the first model: below it there is no probability rather than a wrong one
MIN_TRAINING_DOCUMENTS = FEW_PARTS * MIN_HELD_OUT_DOCUMENTS  # that any way needs


@dataclass(frozen=True, eq=False)
class HoldingOut:
    """How a run is calibrated: the way, and the rows of the training split that each scoring model does without."""

    way: str  # HELD_OUT, REFIT or NONE
    parts: tuple[np.ndarray, ...] = ()  # rising rows each, disjoint
    reason: str = ""  # why there is no calibration

    def take_training_split(self, train: Split) -> Split:
        """Return what the model of the run is trained on."""
        if self.way != HELD_OUT:
            return train
        return train.take(np.setdiff1d(np.arange(len(train)), self.parts[0]))


def plan_holding_out(
    choice: str, train: Split, test: Split | None = None, *, seed: int = 0, refits: int = USUAL_REFITS
) -> HoldingOut:
    """Return the plan for a choice of `CHOICES`, with `refits` further models on a few thousand documents.

    The same arguments give the same documents.
    """
    if choice not in CHOICES:
        raise ConfigError(f"the calibration must be one of {', '.join(CHOICES)}, got {choice!r}")
    if choice == NONE:
        return HoldingOut(NONE, reason="the run was started without a calibration")
    n = len(train)
    way = REFIT if needs_refits(choice, n) else HELD_OUT
    sizes = list_refit_sizes(n, refits) if way == REFIT else [count_held_out_documents(n)]
    if sizes[0] < MIN_HELD_OUT_DOCUMENTS:
        few = f"{n:,} training documents are too few to hold out the {MIN_HELD_OUT_DOCUMENTS} that a calibration needs"
        return HoldingOut(NONE, reason=few)
    drawn = np.random.default_rng([seed, n]).permutation(n)
    groups = number_groups(train.groups) if train.groups is not None and keeps_groups_whole(train, test) else None
    return HoldingOut(way, tuple(_draw_parts(drawn, sizes, groups)))


def needs_refits(choice: str, n: int) -> bool:
    """Return whether a choice of `CHOICES` trains further models, given the number of training documents."""
    if choice == SPARING:
        return count_held_out_documents(n) < MIN_SPARING_DOCUMENTS
    return choice == REFIT or (choice == AUTO and n <= MAX_REFIT_DOCUMENTS)


def _draw_parts(drawn: np.ndarray, sizes: Sequence[int], groups: np.ndarray | None) -> Iterator[np.ndarray]:
    """Yield disjoint parts of about these sizes, in the order of `drawn`; with `groups` no group is torn apart."""
    for size in sizes:
        part = np.intersect1d(keep_groups_whole(drawn[:size], groups), drawn)
        if len(part):
            yield part
        drawn = drawn[~np.isin(drawn, part)]


def count_held_out_documents(n: int) -> int:
    """Return how many of n training documents the model itself does without."""
    wanted = max(WANTED_HELD_OUT_DOCUMENTS, round(HELD_OUT_SHARE * n))
    return min(wanted, round(MAX_HELD_OUT_SHARE * n), MAX_HELD_OUT_DOCUMENTS)


def list_refit_sizes(n: int, refits: int = USUAL_REFITS) -> list[int]:
    """Return how many of n training documents each refit does without; of fewer than 3,000 there are more refits."""
    first, others = 2 * n // N_TENTHS, n // N_TENTHS
    sizes = [first, *[others] * (N_TENTHS - 2)] if first >= MIN_HELD_OUT_DOCUMENTS else [n // FEW_PARTS] * FEW_PARTS
    sizes = [min(size, MAX_REFIT_PART_DOCUMENTS) for size in sizes]
    n_enough = int(np.searchsorted(np.cumsum(sizes), WANTED_REFIT_DOCUMENTS)) + 1
    allowed = max(refits, refits * USUAL_DOCUMENTS // max(n, 1)) if refits > 1 else 1
    return sizes[: min(allowed, n_enough)]


def keeps_groups_whole(train: Split, test: Split | None) -> bool:
    """Return whether documents of one group must be held out together to resemble new documents."""
    if train.groups is None:
        return False
    known = {group for group in train.groups if group}
    if test is not None and test.groups is not None and any(test.groups):
        return sum(group in known for group in test.groups) < len(test) / 2
    return shares_labels_in_groups(train)


def shares_labels_in_groups(train: Split) -> bool:
    """Return whether most documents of groups with several members have exactly the labels of their group."""
    assert train.groups is not None
    numbers = number_groups(train.groups)
    sizes = np.bincount(numbers)
    # A label set as one number: the sum of random numbers of its labels.
    codes = train.Y @ np.random.default_rng(0).integers(1, 2**50, train.n_labels).astype(np.float64)
    first = np.full(len(sizes), -1, np.int64)
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]
    compared = (sizes[numbers] > 1) & (first[numbers] != np.arange(len(numbers)))
    return bool(compared.any() and (codes == codes[first[numbers]])[compared].mean() > 0.5)
