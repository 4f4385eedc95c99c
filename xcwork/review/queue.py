"""The queue: labels that deserve a person's eye, the most doubtful first, each with its reason in a sentence.

Three queues look at one split: labels that are likely *missing*, labels that are likely *wrong* (see `evidence.py`),
and predictions near the *threshold* from which labels are assigned without asking. A fourth one holds what people put
there themselves (*requested*). The order does not depend on the answers, so a page can be left and opened again. The
rest of what a person needs to see is in `details.py`.

An item is named `test:47:1234`: split, row of the document, id of the label.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from xcwork.core.dataset import Dataset
from xcwork.core.topk import TopK
from xcwork.errors import ConfigError
from xcwork.review.documents import TEST, get_split
from xcwork.review.evidence import DEPTH, OVERLOOKED, LabelEvidence, PairEvidence
from xcwork.review.verdicts import REQUESTED, ReviewRequest, ReviewVerdict, VerdictLog, check_item

MAX_ITEMS = 1000  # of a queue; nobody answers more before the next training
MAX_DISTANCE = 0.1  # from the threshold
ASSIGN_THRESHOLD = 0.8  # probability from which a label is assigned, where a run says nothing else
MIN_MISSING_PROBABILITY = 0.5  # a label that is more likely absent than present is no omission
MIN_FOUND = 1  # other documents in which a label is found: one that is never found says nothing about its annotation


class QueueName(StrEnum):
    """What a person is asked about."""

    missing = "missing"
    wrong = "wrong"
    threshold = "threshold"
    requested = REQUESTED


@dataclass(frozen=True)
class ReviewItem:
    """One label of one document that a person should look at."""

    split: str
    document: int  # row
    label: int  # id
    queue: QueueName
    rank: int | None  # None: the label is not listed
    probability: float
    is_annotated: bool
    reason: str

    @property
    def id(self) -> str:
        return f"{self.split}:{self.document}:{self.label}"

    @property
    def place(self) -> tuple[str, int, int]:
        """What verdicts call the item."""
        return self.split, self.document, self.label


@dataclass(frozen=True, eq=False)
class ReviewQueue:
    """The items of one queue in order, as arrays; `items` makes them readable."""

    name: QueueName
    split: str
    pairs: PairEvidence
    is_annotated: np.ndarray  # (n,) bool
    n_annotated: np.ndarray  # (n_labels,) documents of the split that have the label
    n_found: np.ndarray  # (n_labels,) documents of these in which predictions find it
    thresholds: np.ndarray | None = None  # (n,) what each item is close to; None: this is another queue
    requests: Mapping[tuple[str, int, int], ReviewRequest] = field(default_factory=dict)  # who put an item here

    def __len__(self) -> int:
        return len(self.pairs)

    def list_items(self, start: int = 0, size: int | None = None) -> list[ReviewItem]:
        """Return `size` items from number `start` on."""
        stop = len(self) if size is None else min(start + size, len(self))
        return [self._make_item(number) for number in range(start, stop)]

    def list_places(self) -> Iterator[tuple[str, int, int]]:
        """Yield what verdicts call the items, in order."""
        for document, label in zip(self.pairs.documents.tolist(), self.pairs.labels.tolist(), strict=True):
            yield self.split, document, label

    def count_answered(self, verdicts: VerdictLog) -> dict[str, int]:
        """Return how many items were answered and how many are waiting; the newest answer to each counts."""
        answers = verdicts.group_by_item()
        newest = [answers[place][-1].verdict for place in self.list_places() if place in answers]
        counts = {verdict.value: newest.count(verdict) for verdict in ReviewVerdict}
        return {"total": len(self), "answered": len(newest), "waiting": len(self) - len(newest)} | counts

    def _make_item(self, number: int) -> ReviewItem:
        pairs = self.pairs
        rank, p, label = int(pairs.ranks[number]), float(pairs.probabilities[number]), int(pairs.labels[number])
        return ReviewItem(
            self.split,
            int(pairs.documents[number]),
            label,
            self.name,
            rank or None,
            p,
            bool(self.is_annotated[number]),
            self._explain(number, rank, p, label),
        )

    def _name_source(self, number: int) -> str:
        """Return who put an item into the review."""
        place = self.split, int(self.pairs.documents[number]), int(self.pairs.labels[number])
        return f"added by {self.requests[place].by}"

    def _explain(self, number: int, rank: int, p: float, label: int) -> str:
        """Return why the item is in the queue."""
        if self.name == QueueName.requested:
            here = "not predicted" if rank == 0 else f"predicted at rank {rank} with {_show_percent(p)}"
            return f"{self._name_source(number)}; {here}"
        if self.thresholds is not None:
            return f"{_show_percent(p)} is close to the threshold of {_show_percent(float(self.thresholds[number]))}"
        if self.name == QueueName.missing:
            return f"predicted at rank {rank} with {_show_percent(p)}, but not annotated"
        others, found = int(self.n_annotated[label]) - 1, int(self.n_found[label]) - (p >= OVERLOOKED)
        here = "not predicted" if rank == 0 else f"only at rank {rank} with {100 * p:.1f} %"
        return f"annotated, but {here}; found in {found:,} of the {others:,} other documents with this label"


def build_queue(
    name: QueueName | str,
    topk: TopK,
    dataset: Dataset,
    *,
    split: str = TEST,
    probabilities: np.ndarray | None = None,
    threshold: float | np.ndarray = ASSIGN_THRESHOLD,
    limit: int = MAX_ITEMS,
    evidence: LabelEvidence | None = None,
    requests: Sequence[ReviewRequest] = (),
) -> ReviewQueue:
    """Return a queue of at most `limit` items for one split of `dataset`.

    `topk` are predictions for the documents of that split by a model that did not learn from them; `probabilities`
    (n_documents, k) belong to its slots, and are estimated from the shares of right predictions if not given.
    `threshold` is one probability or one for each slot, where bands or labels have their own.
    `evidence` spares computing it again for several queues. `requests` are what people put into the review.
    """
    if name not in list(QueueName):
        raise ConfigError(f"there is no queue {str(name)!r}; it is one of {', '.join(QueueName)}")
    if limit < 1:
        raise ConfigError(f"at least 1 item must be asked for, got {limit}")
    given = np.asarray(threshold)
    if not np.all((given >= 0) & ((given <= 1) | np.isposinf(given))):  # infinite: such labels are never assigned
        raise ConfigError(f"the threshold is a probability between 0 and 1, got {threshold}")
    if evidence is None:
        evidence = LabelEvidence.from_predictions(topk, get_split(dataset, split), probabilities)
    name = QueueName(name)
    if name == QueueName.missing:
        pairs = evidence.find_missing(min_probability=MIN_MISSING_PROBABILITY)
    elif name == QueueName.wrong:
        pairs = evidence.find_wrong(min_found=MIN_FOUND)
    elif name == QueueName.requested:
        requests = [each for each in requests if each.split == split and each.document < len(topk)]
        pairs = _find_requested(evidence, requests)
    else:
        pairs = _find_near_threshold(evidence, threshold)
    pairs = pairs.take_strongest(limit)
    thresholds = None
    if name == QueueName.threshold:
        thresholds = np.broadcast_to(threshold, evidence.topk.ids.shape)[pairs.documents, pairs.ranks - 1]
    codes = np.column_stack([pairs.documents, pairs.labels])
    is_annotated = evidence.split.has_labels(codes) if len(codes) else np.zeros(0, bool)
    asked = {each.item: each for each in requests}
    return ReviewQueue(name, split, pairs, is_annotated, *evidence.count_found(), thresholds, asked)


def parse_item(text: str, dataset: Dataset) -> tuple[str, int, int]:
    """Return split, document row and label id of an item called like `test:47:1234`."""
    split, *numbers = text.split(":")
    if len(numbers) != 2 or not all(number.isdecimal() for number in numbers):
        raise ConfigError(f"{text!r} is not an item; items are called like test:47:1234 (split, document, label id)")
    item = split, int(numbers[0]), int(numbers[1])
    check_item(dataset, item)
    return item


def describe_item(item: ReviewItem, dataset: Dataset) -> dict[str, Any]:
    """Return an item for scripts: everything about it but what `details.py` computes."""
    split = get_split(dataset, item.split)
    return {
        "item": item.id,
        "queue": item.queue.value,
        "split": item.split,
        "document": item.document,
        "uid": None if split.uids is None else split.uids[item.document],
        "label": dataset.labels.names[item.label],
        "label_id": item.label,
        "rank": item.rank,
        "probability": round(item.probability, 4),
        "is_annotated": item.is_annotated,
        "reason": item.reason,
    }


def _show_percent(probability: float) -> str:
    return f"{100 * probability:.0f} %"


def _find_requested(evidence: LabelEvidence, requests: Sequence[ReviewRequest]) -> PairEvidence:
    """Return what people asked about, in the order in which they did."""
    documents = np.array([each.document for each in requests], np.int64)
    labels = np.array([each.label for each in requests], np.int64)
    is_here = evidence.topk.ids[documents] == labels[:, None]
    slots, is_listed = is_here.argmax(axis=1), is_here.any(axis=1)
    return PairEvidence(
        documents,
        labels,
        np.where(is_listed, slots + 1, 0),
        np.where(is_listed, evidence.probabilities[documents, slots], 0.0).astype(np.float64),
        -np.arange(len(requests), dtype=np.float64),
    )


def _find_near_threshold(evidence: LabelEvidence, threshold: float | np.ndarray) -> PairEvidence:
    """Return the predictions near the top whose probability is close to the threshold, the closest strongest."""
    thresholds = np.broadcast_to(threshold, evidence.topk.ids.shape)[:, :DEPTH]
    distances = np.abs(evidence.probabilities[:, :DEPTH] - thresholds)
    documents, slots = np.nonzero(evidence.is_known & (distances <= MAX_DISTANCE))
    return PairEvidence(
        documents,
        evidence.topk.ids[documents, slots],
        slots + 1,
        evidence.probabilities[documents, slots].astype(np.float64),
        -distances[documents, slots].astype(np.float64),
    )
