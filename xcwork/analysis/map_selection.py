"""What a selection of the label map comes to: how many of its true labels are found, why not all, and where to look.

`MapFacts` looks up every true label in the stored predictions once. A selection of any size is then a mask over labels
and one pass over the true labels of the test split, so that a lasso around a million labels answers at once. Pairs of
confused labels are counted over at most twenty thousand misses, evenly spaced.

Regions are rated with Wilson's interval. Only a region with enough true labels in enough documents can be weak, and
only if even the upper end of its interval lies below the average.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from xcwork.core.dataset import Dataset
from xcwork.core.topk import MISSING, TopK
from xcwork.errors import DataError
from xcwork.layout.label_layout import LabelLayout
from xcwork.layout.regions import LabelRegions
from xcwork.metrics.ranking import Placement, place_labels

MAX_LISTED = 20  # labels, documents and pairs
MAX_MISSES_COMPARED = 20_000
MIN_TRUE_LABELS = 20  # of a region that may be weak
MIN_DOCUMENTS = 5
Z = 1.96  # of an interval that holds 95 %
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


class LabelCount(NamedTuple):
    """A label, and in how many of its test documents it is found."""

    label: int
    name: str
    found: int
    total: int


class DocumentMisses(NamedTuple):
    """A test document, and how many of the selected labels it misses."""

    document: int
    name: str
    n_missed: int


class Confusion(NamedTuple):
    """A missed label, a label that was listed instead, and in how many documents."""

    label: int
    other: int
    n_documents: int


class RegionScore(NamedTuple):
    """How well the labels of a region are found; shares from 0 to 1, NaN without true labels."""

    region: int
    n_found: int
    n_true: int
    n_documents: int
    share: float
    low: float
    high: float
    is_weak: bool


@dataclass(frozen=True, eq=False)
class SelectionFacts:
    """What a selection of labels comes to on the test split."""

    n_labels: int
    n_found: int
    n_true: int
    average: float  # share found of all labels; NaN without true labels
    why: str
    n_missing_documents: int
    most_missed: tuple[LabelCount, ...]
    documents: tuple[DocumentMisses, ...]
    confusions: tuple[Confusion, ...]

    @property
    def share(self) -> float:
        """The share of its true labels that are found; NaN without any."""
        return self.n_found / self.n_true if self.n_true else math.nan


@dataclass(frozen=True, eq=False)
class MapFacts:
    """The stored predictions of a run, ready for any selection of labels."""

    topk: TopK
    dataset: Dataset
    placement: Placement
    k: int

    @classmethod
    def from_predictions(cls, topk: TopK, dataset: Dataset, *, k: int = 5) -> MapFacts:
        """Look up all true labels; `k` are the labels listed per document."""
        return cls(topk, dataset, place_labels(topk, dataset.test.Y), k)

    @cached_property
    def in_test(self) -> np.ndarray:
        """Test documents per label, (n_labels,)."""
        return np.bincount(self.placement.truth.indices, minlength=self.dataset.test.n_labels)

    @cached_property
    def hits(self) -> np.ndarray:
        """Test documents per label that have it among the first k, (n_labels,)."""
        found = self.placement.truth.indices[self.placement.ranks <= self.k]
        return np.bincount(found, minlength=self.dataset.test.n_labels)

    @cached_property
    def predicted(self) -> np.ndarray:
        """Test documents per label for which it is listed among the first k, (n_labels,)."""
        listed = self.topk.head(self.k).ids.ravel()
        n_labels = self.dataset.test.n_labels
        return np.bincount(listed[(listed != MISSING) & (listed < n_labels)], minlength=n_labels)

    @cached_property
    def misses(self) -> np.ndarray:
        """The positions of the true labels that are not among the first k, ascending."""
        return np.flatnonzero(self.placement.ranks > self.k)

    @cached_property
    def average(self) -> float:
        """The share of all true labels that are found; NaN without any."""
        n_true = int(self.in_test.sum())
        return float(self.hits.sum()) / n_true if n_true else math.nan

    def describe_selection(self, ids: np.ndarray) -> SelectionFacts:
        """Return what the labels `ids` come to."""
        chosen = self._mark_labels(np.asarray(ids, np.int64))
        ids = np.flatnonzero(chosen)  # each once, without sorting a million
        missed = self.misses[chosen[self.placement.truth.indices[self.misses]]]
        by_document = np.bincount(self.placement.documents[missed], minlength=self.placement.n_documents)
        documents = np.flatnonzero(by_document)
        counts = by_document[documents]
        order = find_largest(counts)
        return SelectionFacts(
            n_labels=len(ids),
            n_found=int(self.hits[ids].sum()),
            n_true=int(self.in_test[ids].sum()),
            average=self.average,
            why=self._explain_misses(missed, documents),
            n_missing_documents=len(documents),
            most_missed=self._list_missed(ids),
            documents=tuple(
                DocumentMisses(document, self._name_document(document), count)
                for document, count in zip(documents[order].tolist(), counts[order].tolist(), strict=True)
            ),
            confusions=self._find_confusions(missed),
        )

    def rate_regions(self, regions: LabelRegions, layout: LabelLayout) -> tuple[RegionScore, ...]:
        """Return how well the labels of each region are found, in the order of the regions."""
        scores: dict[int, RegionScore] = {}
        places = np.full(self.dataset.test.n_labels, -1)
        for level in regions.of_label:
            places[layout.ids] = level
            region = places[self.placement.truth.indices]  # of each true label
            for index in np.unique(level[level >= 0]).tolist():
                inside = np.flatnonzero(region == index)
                n_found = int((self.placement.ranks[inside] <= self.k).sum())
                n_documents = len(np.unique(self.placement.documents[inside]))
                low, high = compute_wilson_interval(n_found, len(inside))
                enough = len(inside) >= MIN_TRUE_LABELS and n_documents >= MIN_DOCUMENTS
                share = n_found / len(inside) if len(inside) else math.nan
                is_weak = bool(enough and high < self.average)
                scores[index] = RegionScore(index, n_found, len(inside), n_documents, share, low, high, is_weak)
        return tuple(scores[index] for index in range(len(regions.regions)))

    def _mark_labels(self, ids: np.ndarray) -> np.ndarray:
        """Return which labels are chosen, (n_labels,) bool."""
        n_labels = self.dataset.test.n_labels
        if len(ids) and not 0 <= ids.min() <= ids.max() < n_labels:
            raise DataError(f"the selection has a label that is not there; ids go from 0 to {n_labels - 1}")
        chosen = np.zeros(n_labels, bool)
        chosen[ids] = True
        return chosen

    def _list_missed(self, ids: np.ndarray) -> tuple[LabelCount, ...]:
        missed = self.in_test[ids] - self.hits[ids]
        some = np.flatnonzero(missed)
        best = ids[some[find_largest(missed[some])]]
        return tuple(
            LabelCount(label, self.dataset.labels.names[label], int(self.hits[label]), int(self.in_test[label]))
            for label in best.tolist()
        )

    def _name_document(self, document: int) -> str:
        uids = self.dataset.test.uids
        return f"document {document}" if uids is None else uids[document]

    def _find_confusions(self, missed: np.ndarray) -> tuple[Confusion, ...]:
        """Return which labels stand wrongly among the first k where these true labels are missed."""
        missed = missed[:: max(1, -(-len(missed) // MAX_MISSES_COMPARED))]
        head = self.topk.head(self.k)
        n_labels = self.dataset.test.n_labels
        documents = self.placement.documents[missed]
        listed = head.ids[documents]  # (n_missed, k)
        rows, positions = np.unique(documents, return_inverse=True)
        truth = self.placement.truth[rows]
        true_keys = np.repeat(np.arange(len(rows)), np.diff(truth.indptr)) * n_labels + truth.indices
        keys = positions[:, None] * n_labels + listed
        wrong = (listed != MISSING) & (listed < n_labels) & ~np.isin(keys, true_keys)
        labels = np.repeat(self.placement.truth.indices[missed], wrong.sum(axis=1)).astype(np.int64)
        pairs, counts = np.unique(labels * n_labels + listed[wrong], return_counts=True)
        order = find_largest(counts)
        return tuple(
            Confusion(pair // n_labels, pair % n_labels, count)
            for pair, count in zip(pairs[order].tolist(), counts[order].tolist(), strict=True)
        )

    def _explain_misses(self, missed: np.ndarray, documents: np.ndarray) -> str:
        """Return in one or two sentences where the misses stand, and whether there was room for them."""
        if not len(missed):
            return ""
        ranks = self.placement.ranks[missed]
        listed = ranks[ranks <= self.topk.k]
        unseen = self.dataset.train.label_frequencies[self.placement.truth.indices[missed]] == 0
        n_lost, n_unseen = len(missed) - len(listed), int((unseen & (ranks > self.topk.k)).sum())
        whose = "The miss is" if len(missed) == 1 else f"{_name_all(len(missed), f'{len(missed):,}')} misses are"
        if not n_lost:
            where = f"{whose} ranked {format_range(int(listed.min()), int(listed.max()))}."
        elif not len(listed):
            where = f"{whose} not among the first {self.topk.k}."
        else:
            where = (
                f"{len(listed):,} of {len(missed):,} misses are ranked "
                f"{format_range(int(listed.min()), int(listed.max()))}, {n_lost:,} are not listed."
            )
        if n_unseen:
            where += f" {n_unseen:,} of these labels were never seen in training."
        return f"{where} {self._explain_room(documents)}".strip()

    def _explain_room(self, documents: np.ndarray) -> str:
        """Return how many of the documents have more labels than are listed, where that is most of them."""
        n_true = self.placement.n_true[documents]
        full = n_true[n_true > self.k]
        if 2 * len(full) <= len(documents):
            return ""
        labels = format_range(int(full.min()), int(full.max()))
        if len(documents) == 1:
            return f"Its document has {labels} labels; only {self.k} are listed."
        if len(full) == len(documents):
            whose = _name_all(len(documents), spell_number(len(documents)))
            return f"{whose} documents have {labels} labels; only {self.k} are listed."
        some = spell_number(len(full)).capitalize()
        return f"{some} of the {spell_number(len(documents))} documents have {labels} labels; only {self.k} are listed."


def find_largest(counts: np.ndarray, limit: int = MAX_LISTED) -> np.ndarray:
    """Return the positions of the largest counts, the first ones among equals, without sorting all."""
    keys = np.arange(len(counts)) - counts.astype(np.int64) * len(counts)  # all different
    if len(keys) > limit:
        best = np.argpartition(keys, limit)[:limit]
        return best[np.argsort(keys[best])]
    return np.argsort(keys)


def list_weakest_regions(scores: tuple[RegionScore, ...], *, limit: int = 2) -> list[RegionScore]:
    """Return the weak regions, the one with the lowest upper end first."""
    return sorted((score for score in scores if score.is_weak), key=lambda score: (score.high, score.region))[:limit]


def compute_wilson_interval(n_found: int, n_true: int) -> tuple[float, float]:
    """Return the interval of a share that holds the true one in 95 of 100 cases; 0 to 1 without any count."""
    if not n_true:
        return 0.0, 1.0
    share, square = n_found / n_true, Z * Z
    middle = (share + square / (2 * n_true)) / (1 + square / n_true)
    half = Z * math.sqrt(share * (1 - share) / n_true + square / (4 * n_true**2)) / (1 + square / n_true)
    return max(0.0, middle - half), min(1.0, middle + half)


def spell_number(number: int) -> str:
    """Return small numbers as words."""
    return NUMBERS[number] if 0 <= number < len(NUMBERS) else f"{number:,}"


def _name_all(number: int, words: str) -> str:
    return "Both" if number == 2 else f"All {words}"


def format_range(low: int, high: int) -> str:
    """Return `6 to 20`, or one number where both are the same."""
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
