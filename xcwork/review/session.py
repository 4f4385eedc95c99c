"""The review of one run: its queues, the answers so far, and what they change. Pages and commands need only this."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xcwork.core.dataset import Dataset
from xcwork.core.topk import TopK
from xcwork.errors import ConfigError, RunError, XcworkError
from xcwork.review.correction import correct_dataset
from xcwork.review.details import find_rank
from xcwork.review.documents import SPLITS, TRAIN, DatasetKeys, get_split
from xcwork.review.effect import MetricChange, measure_changes, measure_if_confirmed
from xcwork.review.evidence import LabelEvidence
from xcwork.review.out_of_fold import read_out_of_fold
from xcwork.review.queue import ASSIGN_THRESHOLD, MAX_ITEMS, QueueName, ReviewQueue, build_queue
from xcwork.review.reviewer_agreement import compare_reviewers
from xcwork.review.verdicts import (
    Answer,
    ReviewRequest,
    ReviewVerdict,
    VerdictLog,
    load_verdicts,
    store_answer,
    undo_answer,
)

if TYPE_CHECKING:
    import pandas as pd

    from xcwork.runs.store import Run

MAX_OTHER_RUNS = 8  # whose opinion is shown, the newest ones


@dataclass(frozen=True, eq=False)
class RunReview:
    """Everything about reviewing the labels of one split with the predictions of one run.

    Queues are computed once; verdicts are read from the file each time, because other people answer too.
    """

    home: Path
    run: str  # its id
    dataset: Dataset
    split: str
    topk: TopK
    threshold: float | np.ndarray = ASSIGN_THRESHOLD  # or one for each slot of `topk`
    limit: int = MAX_ITEMS
    _queues: dict[str, ReviewQueue] = field(default_factory=dict, repr=False)

    @classmethod
    def from_run(
        cls,
        run: Run,
        dataset: Dataset,
        *,
        split: str = "test",
        threshold: float | np.ndarray | None = None,
        limit: int = MAX_ITEMS,
    ) -> RunReview:
        """Return the review of a finished run; `dataset` is the one it was trained on.

        Without a `threshold` the queue near it is about the thresholds stored with the run.
        """
        if split not in SPLITS:
            raise ConfigError(f"there is no split {split!r}; it is one of {', '.join(SPLITS)}")
        topk = read_predictions(run, split)
        if topk is None:
            raise RunError(
                f"run {run.id} has no predictions for the training split by models that did not see it; "
                f"`xcwork review {run.id} --split train --folds 3` makes them"
            )
        if threshold is None:
            threshold = run.read_decisions().assign_thresholds(topk.ids, dataset.train.label_frequencies)
        return cls(run.home, run.id, dataset, split, topk, threshold, limit)

    @cached_property
    def keys(self) -> DatasetKeys:
        return DatasetKeys(self.dataset)

    @cached_property
    def evidence(self) -> LabelEvidence:
        # Predictions of a calibrated run have probabilities; of others they are estimated.
        probabilities = getattr(self.topk, "probabilities", None)
        return LabelEvidence.from_predictions(self.topk, get_split(self.dataset, self.split), probabilities)

    def queue(self, name: QueueName | str) -> ReviewQueue:
        """Return one of the queues; that of requests is read each time, because people add to it."""
        if name == QueueName.requested:
            return self._build_queue(name, self.read_verdicts().requests)
        if name not in self._queues:
            self._queues[str(name)] = self._build_queue(name)
        return self._queues[str(name)]

    def _build_queue(self, name: QueueName | str, requests: Sequence[ReviewRequest] = ()) -> ReviewQueue:
        return build_queue(
            name,
            self.topk,
            self.dataset,
            split=self.split,
            threshold=self.threshold,
            limit=self.limit,
            evidence=self.evidence,
            requests=requests,
        )

    def read_verdicts(self) -> VerdictLog:
        """Return what people have answered by now."""
        return load_verdicts(self.home, self.keys)

    def answer(
        self, item: tuple[str, int, int], verdict: ReviewVerdict | str, *, by: str, note: str = "", queue: str = ""
    ) -> Answer:
        """Store the answer of a person to an item."""
        return store_answer(
            self.home,
            self.keys,
            item,
            verdict,
            by=by,
            run=self.run,
            queue=queue,
            probability=self.get_probability(item),
            note=note,
        )

    def undo(self, *, by: str) -> Answer | None:
        """Take back the newest answer of a person and return it; None if there is none."""
        answer = self.read_verdicts().find_last(by)
        if answer is not None:
            undo_answer(self.home, self.keys, answer, by=by)
        return answer

    def get_probability(self, item: tuple[str, int, int]) -> float | None:
        """Return the probability of an item; None if the run says nothing about it."""
        split, document, label = item
        if split != self.split or document >= len(self.topk):
            return None
        rank = find_rank(self.topk, document, label)
        return None if rank is None else round(float(self.evidence.probabilities[document, rank - 1]), 4)

    def measure_changes(self, verdicts: VerdictLog) -> list[MetricChange]:
        """Return the metrics under the annotated and the corrected labels."""
        return measure_changes(self.topk, self.dataset, verdicts, split=self.split)

    def summarise(self) -> dict[str, Any]:
        """Return progress, agreement and what the answers change, for scripts and pages."""
        verdicts = self.read_verdicts()
        queues = {}
        for name in QueueName:
            queue = self.queue(name)
            confirmed = measure_if_confirmed(self.topk, self.dataset, verdicts, queue)
            queues[name.value] = queue.count_answered(verdicts) | {"if_confirmed": _round(confirmed)}
        return {
            "run": self.run,
            "dataset": self.dataset.name,
            "split": self.split,
            "queues": queues,
            "corrections": asdict(correct_dataset(self.dataset, verdicts)[1]),
            "metrics": [_describe_change(change) for change in self.measure_changes(verdicts)],
            "agreement": [
                {"reviewers": list(pair.reviewers), "items": pair.n_items, "share": round(pair.share, 2)}
                | {"kappa": None if pair.kappa is None else round(pair.kappa, 4)}
                for pair in compare_reviewers(verdicts)
            ],
            "problems": list(verdicts.problems),
        }


def read_predictions(run: Run, split: str) -> TopK | None:
    """Return the stored predictions of a run for a split: those of its evaluation, or out-of-fold ones."""
    return read_out_of_fold(run) if split == TRAIN else run.read_topk()


def read_other_runs(run: Run, others: Iterable[Run], dataset: Dataset, split: str) -> dict[str, TopK]:
    """Return the predictions of the newest other runs on the same data, by name; runs that cannot be read are left out.

    Runs of the same name are told apart by their ids.
    """
    found: dict[str, TopK] = {}
    for other in sorted(others, key=lambda each: each.id, reverse=True):
        if other.id == run.id or len(found) == MAX_OTHER_RUNS:
            continue
        try:
            fingerprint = (other.config.get("dataset") or {}).get("fingerprint")
            topk = read_predictions(other, split) if fingerprint and dataset.recognises(fingerprint) else None
        except XcworkError:  # not finished or damaged; this is no place to say so
            continue
        if topk is not None and len(topk) == len(get_split(dataset, split)):
            found[other.id if other.name in found else other.name] = topk
    return found


def tabulate_answers(dataset: Dataset, verdicts: VerdictLog) -> pd.DataFrame:
    """Return one row per answer that counts, with names instead of ids."""
    import pandas as pd

    columns = ["split", "document", "uid", "label", "verdict", "note", "by", "when", "run", "queue", "probability"]
    rows: list[Mapping[str, Any]] = [
        asdict(answer)
        | {
            "uid": "" if (uids := get_split(dataset, answer.split).uids) is None else uids[answer.document],
            "label": dataset.labels.names[answer.label],
            "verdict": answer.verdict.value,
        }
        for answer in verdicts.answers
    ]
    return pd.DataFrame(rows, columns=columns)


def _describe_change(change: MetricChange) -> dict[str, Any]:
    intervals = {
        "original_interval": change.original_interval,
        "corrected_interval": change.corrected_interval,
        "change_interval": change.change_interval,
    }
    figures = {"original": change.original, "corrected": change.corrected, "change": change.change}
    rounded = {name: [round(low, 2), round(high, 2)] for name, (low, high) in intervals.items()}
    return {"metric": change.metric} | _round(figures) | rounded


def _round(figures: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 2) for name, value in figures.items()}
