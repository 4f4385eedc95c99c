"""What became of every true label of the test split: found, outranked or not listed; and which of them to look at.

A true label is *found* when it stands among the first k of its document, *outranked* when it stands further down the
stored list, and *not listed* otherwise. Each true label has one outcome, so the three add up to all of them, and so do
the bands of frequency and the ranges of ranks. A document with more than k labels cannot have all of them found;
`cannot_fit` counts what is too much.

`select_labels` is the filter behind the lists of a page: positions of true labels, which `list_labels` and
`list_documents` group. Cost: O(true labels).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from xcwork.analysis.errors import NOT_LISTED, OUTRANKED
from xcwork.analysis.paging import look_up_names
from xcwork.core.bands import Bands
from xcwork.core.dataset import Dataset
from xcwork.errors import ConfigError
from xcwork.metrics.calibration import compute_wilson_interval
from xcwork.metrics.ranking import Placement, compute_highest_precision

if TYPE_CHECKING:
    import pandas as pd

FOUND = "found"
MISSED = "missed"  # outranked or not listed
FITTING = "fitting"  # missed, and the document has at most k labels
RANK_EDGES = (6, 11, 21, 101)  # the first ranks of the ranges
FEW_LABELS = 100  # below which a share is given with its interval


@dataclass(frozen=True)
class OutcomeCounts:
    """How many true labels have each outcome."""

    found: int
    outranked: int
    not_listed: int

    @property
    def total(self) -> int:
        return self.found + self.outranked + self.not_listed

    @property
    def missed(self) -> int:
        return self.outranked + self.not_listed

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the share that is found, in percent, where it rests on few labels; else None."""
        return compute_wilson_interval(self.found, self.total) if 0 < self.total < FEW_LABELS else None

    def round_shares(self, whole: int = 100) -> tuple[int, int, int]:
        """Return found, outranked and not listed of `whole` true labels, rounded so that they add up to it."""
        return tuple(round_parts((self.found, self.outranked, self.not_listed), whole))  # type: ignore[return-value]


@dataclass(frozen=True)
class RankRange:
    """Missed labels whose ranks lie between two ranks."""

    first: int
    last: int
    count: int

    @property
    def name(self) -> str:
        return f"rank {self.first}" if self.first == self.last else f"rank {self.first} to {self.last}"

    @property
    def id(self) -> str:
        return f"{self.first}-{self.last}"


@dataclass(frozen=True)
class Outcomes:
    """The outcomes of all true labels, by band and by rank."""

    k: int
    counts: OutcomeCounts
    bands: dict[str, OutcomeCounts]
    ranks: tuple[RankRange, ...]  # of what is outranked; with `not_listed` they are all misses
    cannot_fit: int  # true labels beyond the k-th of their document
    precision: float  # P@k in percent
    highest_precision: float  # that is possible

    @property
    def sentence(self) -> str:
        """The outcome in words, of a hundred true labels."""
        found, outranked, not_listed = self.counts.round_shares()
        return f"Of 100 true labels {found} are found, {outranked} ranked too low, {not_listed} never considered."


def count_outcomes(placement: Placement, bands: Bands, k: int) -> Outcomes:
    """Return what became of the true labels when the first k of each list count."""
    ranks, band = placement.ranks, bands.of_label[placement.truth.indices]
    size = len(bands.names)
    found, listed = ranks <= k, ranks <= placement.k
    by_band = [np.bincount(band[some], minlength=size) for some in (found, listed & ~found, ~listed & ~found)]
    counted = {name: OutcomeCounts(*(int(counts[at]) for counts in by_band)) for at, name in enumerate(bands.names)}
    totals = OutcomeCounts(*(int(counts.sum()) for counts in by_band))
    return Outcomes(
        k=k,
        counts=totals,
        bands=counted,
        ranks=tuple(
            RankRange(first, last, int(((ranks >= first) & (ranks <= last)).sum()))
            for first, last in list_rank_ranges(k, placement.k)
        ),
        cannot_fit=int(np.maximum(placement.n_true - k, 0).sum()),
        precision=100.0 * totals.found / (k * max(placement.n_documents, 1)),
        highest_precision=compute_highest_precision(placement.n_true, k),
    )


def list_rank_ranges(k: int, depth: int) -> list[tuple[int, int]]:
    """Return the ranges of ranks from k + 1 to `depth`, narrow ones first: 6 to 10, 11 to 20, 21 to 100."""
    edges = [k + 1, *(edge for edge in RANK_EDGES if k + 1 < edge <= depth), depth + 1]
    return [(low, high - 1) for low, high in pairwise(edges) if low < high]


def select_labels(placement: Placement, bands: Bands, k: int, *, outcome: str = FITTING, band: str = "") -> np.ndarray:
    """Return positions (in `placement.truth.indices`) of the true labels with an outcome, of one band or of all.

    `outcome` is one of found, missed, fitting, outranked, not listed, or a range of ranks such as "6-10".
    """
    ranks = placement.ranks
    if outcome == FOUND:
        keep = ranks <= k
    elif outcome == OUTRANKED:
        keep = (ranks > k) & (ranks <= placement.k)
    elif outcome == NOT_LISTED:
        keep = (ranks > k) & (ranks > placement.k)
    elif outcome == MISSED:
        keep = ranks > k
    elif outcome == FITTING:
        keep = (ranks > k) & (placement.n_true[placement.documents] <= k)
    else:
        first, _, last = outcome.partition("-")
        if not (first.isdecimal() and last.isdecimal()):
            raise ConfigError(
                f"there is no outcome {outcome!r}; take found, outranked, not listed or ranks such as 6-10"
            )
        keep = (ranks > k) & (ranks >= int(first)) & (ranks <= int(last))
    if band:
        if band not in bands.names:
            raise ConfigError(f"there is no band {band!r}; the bands are {', '.join(bands.names)}")
        keep &= bands.of_label[placement.truth.indices] == bands.names.index(band)
    return np.flatnonzero(keep)


def list_labels(placement: Placement, positions: np.ndarray, dataset: Dataset, *, k: int) -> pd.DataFrame:
    """Return the labels of the selected true labels, most of them first.

    Columns: label_id, label, selected, found and test_documents (of the whole test split), train_documents.
    """
    import pandas as pd

    labels, n_labels = placement.truth.indices, placement.truth.shape[1]
    selected = np.bincount(labels[positions], minlength=n_labels)
    in_test = np.bincount(labels, minlength=n_labels)
    found = np.bincount(labels[placement.ranks <= k], minlength=n_labels)
    chosen = np.flatnonzero(selected)
    share = found[chosen] / in_test[chosen]
    chosen = chosen[np.lexsort((chosen, share, -selected[chosen]))]
    return pd.DataFrame(
        {
            "label_id": chosen,
            "label": look_up_names(dataset.labels, chosen),
            "selected": selected[chosen],
            "found": found[chosen],
            "test_documents": in_test[chosen],
            "train_documents": dataset.train.label_frequencies[chosen],
        }
    )


def list_documents(placement: Placement, positions: np.ndarray, dataset: Dataset, *, k: int) -> pd.DataFrame:
    """Return the documents of the selected true labels, most of them first, then those with the fewest found.

    Columns: document, (uid,) selected, found, true_labels. Their labels are found by `name_selected`.
    """
    import pandas as pd

    documents, n = placement.documents, placement.n_documents
    selected = np.bincount(documents[positions], minlength=n)
    found = placement.count_hits(k)
    chosen = np.flatnonzero(selected)
    chosen = chosen[np.lexsort((chosen, found[chosen], -selected[chosen]))]
    uids = {} if dataset.test.uids is None else {"uid": [dataset.test.uids[i] for i in chosen.tolist()]}
    return pd.DataFrame(
        {
            "document": chosen,
            **uids,
            "selected": selected[chosen],
            "found": found[chosen],
            "true_labels": placement.n_true[chosen],
        }
    )


def name_selected(
    placement: Placement, positions: np.ndarray, dataset: Dataset, documents: Sequence[int]
) -> list[list[str]]:
    """Return the names of the selected true labels of each of some documents; positions ascend."""
    owners = placement.documents[positions]
    labels = placement.truth.indices[positions]
    starts, ends = (np.searchsorted(owners, documents, side) for side in ("left", "right"))
    return [
        [str(name) for name in look_up_names(dataset.labels, labels[low:high])]
        for low, high in zip(starts.tolist(), ends.tolist(), strict=True)
    ]


def describe_ranks(ranks: np.ndarray, k: int, depth: int, *, limit: int = 6) -> str:
    """Return where the test documents of one label have it, as a sentence: "Never found: rank 7, 7, 9 and 12."."""
    if not len(ranks):
        return "No test document has it."
    missed = np.sort(ranks[ranks > k])
    n_found, n = len(ranks) - len(missed), len(ranks)
    lead = "Never found" if not n_found else f"Found in {n_found:,} of {n:,} documents"
    if not len(missed):
        return f"{lead}."
    listed, n_absent = missed[missed <= depth], int((missed > depth).sum())
    phrases = []
    if len(listed):
        shown = [str(rank) for rank in listed[:limit].tolist()]
        more = [f"{len(listed) - limit:,} lower"] if len(listed) > limit else []
        phrases.append(f"rank {_join_words([*shown, *more])}")
    if n_absent:
        times = "" if len(missed) == n_absent == 1 else " once" if n_absent == 1 else f" {n_absent:,} times"
        phrases.append(f"not listed{times}")
    return f"{lead}{': ' if not n_found else ', else '}{', '.join(phrases)}."


def round_parts(parts: Sequence[int], whole: int) -> list[int]:
    """Return shares of `whole` that add up to it: the largest remainders are rounded up."""
    total = sum(parts)
    if not total:
        return [0] * len(parts)
    floors = [whole * part // total for part in parts]
    by_remainder = sorted(range(len(parts)), key=lambda at: (-(whole * parts[at] % total), at))
    for at in by_remainder[: whole - sum(floors)]:
        floors[at] += 1
    return floors


def _join_words(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
