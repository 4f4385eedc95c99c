"""Which document and which label a verdict is about, also after the dataset was sorted, split or extended again.

A document goes by its uid where there are uids, else by a hash of its text (of its features where there is no text). Of
documents that share a key the second one is `key#2`, and so on. A label goes by its uid or its name in the same way.
The hash of the content is stored in either case: it tells a document from one of another dataset with the same uid.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from xcwork.core.dataset import Dataset
from xcwork.core.split import Split
from xcwork.data.hashing import hash_rows, hash_texts

TRAIN = "train"
TEST = "test"
SPLITS = (TEST, TRAIN)


@dataclass(frozen=True, eq=False)
class SplitKeys:
    """A key for every document of a split."""

    split: Split

    @cached_property
    def keys(self) -> list[str]:
        """The key of every document."""
        return number_repeated(_hash_documents(self.split) if self.split.uids is None else self.split.uids)

    @cached_property
    def rows(self) -> dict[str, int]:
        """The row of every key."""
        return {key: row for row, key in enumerate(self.keys)}

    def hash_content(self, row: int) -> str:
        """Return the hash of a document's text or features."""
        return _hash_documents(self.split, row)[0]


@dataclass(frozen=True, eq=False)
class DatasetKeys:
    """Keys of the documents and labels of a dataset; they are computed when they are needed for the first time."""

    dataset: Dataset

    @cached_property
    def splits(self) -> dict[str, SplitKeys]:
        return {name: SplitKeys(get_split(self.dataset, name)) for name in SPLITS}

    @cached_property
    def labels(self) -> list[str]:
        labels = self.dataset.labels
        return number_repeated(labels.names if labels.uids is None else labels.uids)

    @cached_property
    def label_ids(self) -> dict[str, int]:
        return {key: label for label, key in enumerate(self.labels)}

    def find_document(self, key: str, split: str) -> tuple[str, int] | None:
        """Return split and row of a document, which is looked for in `split` first."""
        for name in sorted(SPLITS, key=lambda name: name != split):
            if (row := self.splits[name].rows.get(key)) is not None:
                return name, row
        return None


def get_split(dataset: Dataset, name: str) -> Split:
    """Return the training or the test split."""
    return dataset.train if name == TRAIN else dataset.test


def _hash_documents(split: Split, row: int | None = None) -> list[str]:
    """Return the hashes of all documents or of one."""
    rows = slice(None) if row is None else slice(row, row + 1)
    hashes = hash_rows(split.X[rows]) if split.texts is None else hash_texts(split.texts[rows])
    return [f"{number:016x}" for number in hashes.tolist()]


def number_repeated(keys: Iterable[str]) -> list[str]:
    """Return `keys` with #2, #3, … after those that occurred before."""
    seen: dict[str, int] = {}
    numbered = []
    for key in keys:
        seen[key] = count = seen.get(key, 0) + 1
        numbered.append(key if count == 1 else f"{key}#{count}")
    return numbered
