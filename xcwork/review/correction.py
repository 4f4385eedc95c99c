"""Labels as people say they are: the answers to an item become one decision, and decisions a corrected dataset.

Of several people the majority of *right* against *wrong* decides; *unsure* does not count. Where they are even, the
annotation stays as it is and the item is disputed. The dataset itself is never changed: a correction is a new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy import sparse

from xcwork.core.dataset import Dataset
from xcwork.core.split import Split
from xcwork.data.writers import write_stored
from xcwork.export.text import count_noun
from xcwork.review.documents import TEST, TRAIN, get_split
from xcwork.review.verdicts import Answer, ReviewVerdict, VerdictLog
from xcwork.sparse import make_canonical

Item = tuple[str, int, int]  # split, document row, label id


@dataclass(frozen=True)
class LabelDecisions:
    """What the answers to each item come to."""

    has_label: Mapping[Item, bool]  # items that were decided
    disputed: tuple[Item, ...]  # as many say right as wrong

    def take_split(self, name: str) -> dict[tuple[int, int], bool]:
        """Return the decisions about one split by (document row, label id)."""
        return {(document, label): has for (split, document, label), has in self.has_label.items() if split == name}


@dataclass(frozen=True)
class CorrectionCounts:
    """How many labels a correction adds and takes away."""

    added: int
    removed: int
    confirmed: int  # decisions that agree with the annotation
    disputed: int


def decide_items(verdicts: VerdictLog) -> LabelDecisions:
    """Return the decision about every item that has a majority."""
    has_label: dict[Item, bool] = {}
    disputed: list[Item] = []
    for item, answers in verdicts.group_by_item().items():
        balance = _count_balance(answers)
        if balance:
            has_label[item] = balance > 0
        elif any(answer.verdict != ReviewVerdict.unsure for answer in answers):
            disputed.append(item)
    return LabelDecisions(has_label, tuple(disputed))


def _count_balance(answers: Iterable[Answer]) -> int:
    """Return how many more people say right than wrong."""
    return sum((answer.verdict == ReviewVerdict.right) - (answer.verdict == ReviewVerdict.wrong) for answer in answers)


def correct_labels(Y: sparse.csr_array, has_label: Mapping[tuple[int, int], bool]) -> sparse.csr_array:
    """Return `Y` with the labels that were decided to be there and without those that were decided not to be."""
    if not has_label:
        return Y
    Y = make_canonical(Y)
    pairs = np.array(list(has_label), np.int64)
    wanted = np.fromiter(has_label.values(), bool, len(has_label))
    codes = pairs[:, 0] * Y.shape[1] + pairs[:, 1]
    present = np.repeat(np.arange(Y.shape[0], dtype=np.int64), np.diff(Y.indptr)) * Y.shape[1] + Y.indices
    kept = np.union1d(present[~np.isin(present, codes[~wanted])], codes[wanted])
    indptr = np.searchsorted(kept, np.arange(Y.shape[0] + 1, dtype=np.int64) * Y.shape[1])
    return make_canonical(sparse.csr_array((np.ones(len(kept), np.float32), kept % Y.shape[1], indptr), shape=Y.shape))


def correct_dataset(
    dataset: Dataset, verdicts: VerdictLog, *, name: str | None = None
) -> tuple[Dataset, CorrectionCounts]:
    """Return a new dataset with the decided labels, and how many labels that changes."""
    decisions = decide_items(verdicts)
    splits: dict[str, Split] = {}
    added = removed = 0
    for part in (TRAIN, TEST):
        split, has_label = get_split(dataset, part), decisions.take_split(part)
        splits[part] = replace(split, Y=correct_labels(split.Y, has_label)) if has_label else split
        if has_label:
            was = split.has_labels(np.array(list(has_label), np.int64))
            now = np.fromiter(has_label.values(), bool, len(has_label))
            added, removed = added + int((now & ~was).sum()), removed + int((was & ~now).sum())
    counts = CorrectionCounts(added, removed, len(decisions.has_label) - added - removed, len(decisions.disputed))
    note = f"Reviews of {dataset.name} added {count_noun(counts.added, 'label')} and removed {counts.removed:,}."
    corrected = replace(
        dataset, name=name or dataset.name, train=splits[TRAIN], test=splits[TEST], notes=(*dataset.notes, note)
    )
    return corrected, counts


def write_corrected_dataset(dataset: Dataset, verdicts: VerdictLog, folder: str | Path) -> CorrectionCounts:
    """Write the corrected dataset into a new folder, from which it loads and trains like any other."""
    corrected, counts = correct_dataset(dataset, verdicts, name=Path(folder).name)
    write_stored(corrected, folder)
    return counts


def phrase_corrections(added: int, removed: int, confirmed: int, disputed: int) -> str:
    """Return what answers come to, as a sentence."""
    said = f"The answers add {count_noun(added, 'label')}, remove {removed:,} and confirm {confirmed:,}"
    return f"{said}; people disagree about {count_noun(disputed, 'item')}." if disputed else f"{said}."
