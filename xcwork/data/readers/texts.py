"""From raw texts to a `Dataset`: what the readers of text share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from xcwork.core.dataset import Dataset
from xcwork.core.split import take_pairs
from xcwork.data.hashing import document_hashes
from xcwork.data.readers.assemble import TEST_SHARE, choose_test, label_numbers
from xcwork.errors import ConfigError, DataError

if TYPE_CHECKING:
    from xcwork.text.vectorizer import TextVectorizer

TEXT_CHOICES = ("both", "title", "content")


@dataclass(frozen=True, eq=False)
class Documents:
    """Texts with their labels: the names or uids of each document's labels, or a ready matrix."""

    texts: list[str]
    labels: list[list[str]] | sparse.csr_array
    uids: list[str] | None = None
    groups: list[str] | None = None
    filter_pairs: np.ndarray | None = None

    def take(self, rows: np.ndarray) -> Documents:
        """The documents at `rows`, in that order."""

        def chosen(values: Sequence[Any] | None) -> list[Any] | None:
            return None if values is None else [values[row] for row in rows]

        labels = self.labels[rows] if sparse.issparse(self.labels) else chosen(self.labels)
        pairs = None if self.filter_pairs is None else take_pairs(self.filter_pairs, rows, len(self.texts))
        return Documents(chosen(self.texts) or [], labels, chosen(self.uids), chosen(self.groups), pairs)


@dataclass(frozen=True, eq=False)
class Labels:
    """What is known about the labels beside the documents that carry them."""

    names: list[str]
    texts: list[str] | None = None
    uids: list[str] | None = None
    parents: list[list[str]] | None = None


def build_text_dataset(
    name: str,
    train: Documents,
    test: Documents | None,
    *,
    path: Path,
    source: str,
    labels: Labels | None = None,
    vectorizer: Mapping[str, Any] | None = None,
    test_share: float = TEST_SHARE,
    notes: Sequence[str] = (),
) -> Dataset:
    """Documents as tf-idf rows; without a test part, a share of them becomes one."""
    from xcwork.data.build import text_dataset

    make_features = vectorizer_with(vectorizer)
    if test is None:
        hashes = document_hashes(texts=train.texts, uids=train.uids, groups=train.groups)
        held_out = choose_test(hashes, test_share, path)
        train, test = train.take(np.flatnonzero(~held_out)), train.take(np.flatnonzero(held_out))
        source += f"; {test_share:.0%} of the documents held out as test part by hash"
    for what, part in (("training", train), ("test", test)):
        if not part.texts:
            raise DataError(f"there are no {what} documents", file=path, remedy="check that the files are complete")
    if not any(text.strip() for text in train.texts):
        raise DataError("all texts are empty", file=path, remedy="name the right text column")
    if labels is None and sparse.issparse(train.labels):
        labels = Labels(label_numbers(train.labels.shape[1]), [""] * train.labels.shape[1])
    dataset = text_dataset(
        name,
        train_texts=train.texts,
        train_labels=train.labels,
        test_texts=test.texts,
        test_labels=test.labels,
        label_names=labels and labels.names,
        label_texts=labels and labels.texts,
        label_uids=labels and labels.uids,
        label_parents=labels and labels.parents,
        train_uids=train.uids,
        test_uids=test.uids,
        train_groups=train.groups,
        test_groups=test.groups,
        train_filter=train.filter_pairs,
        test_filter=test.filter_pairs,
        vectorizer=make_features,
        source=source,
    )
    if not len(dataset.labels):
        raise DataError("no document has a label", file=path, remedy="name the right labels column")
    if not dataset.features.size:
        raise DataError("the texts contain no words to learn from", file=path, remedy="name the right text column")
    return replace(dataset, notes=tuple(notes))


def vectorizer_with(options: Mapping[str, Any] | None) -> TextVectorizer:
    """The vectoriser with these options, a typing mistake in which is named."""
    from xcwork.text.vectorizer import TextVectorizer

    known = [field.name for field in fields(TextVectorizer)]
    if unknown := sorted(set(options or ()) - set(known)):
        raise ConfigError(f"the text vectoriser has no option {unknown[0]!r}; it has {', '.join(known)}")
    return TextVectorizer(**(options or {}))


def joined_text(title: str, content: str, choice: str) -> str:
    """The text of a document from its two fields."""
    if choice == "both":
        return f"{title}\n{content}" if title and content else title or content
    return title if choice == "title" else content


def check_text_choice(choice: str) -> None:
    if choice not in TEXT_CHOICES:
        raise ConfigError(f"text must be one of {', '.join(TEXT_CHOICES)}, got {choice!r}")
