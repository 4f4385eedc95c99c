"""What of a dataset decides which method suits it: its size, documents per label, texts, unseen labels, groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from xcwork.core.dataset import Dataset

MAX_SHORT_TERMS = 300  # different terms, pairs of words included, up to which a text is called short


@dataclass(frozen=True)
class DatasetTraits:
    """A dataset as the rule of recommendation sees it."""

    n_train: int
    n_labels: int
    n_features: int
    n_unseen_labels: int
    documents_per_label: float  # on average, of labels that training documents have
    terms_per_document: float
    has_texts: bool
    has_label_texts: bool
    has_group_labels: bool  # labels are known for groups of documents only

    def describe(self) -> str:
        """Return the traits in words: "short texts, about 3 documents per label, 364 unseen labels"."""
        texts = (
            ("short texts" if self.terms_per_document <= MAX_SHORT_TERMS else "long texts") if self.has_texts else ""
        )
        per_label = f"{self.documents_per_label:,.0f}" if self.documents_per_label >= 1.5 else "1"
        words = [texts or "features without texts"]
        words.append(f"about {per_label} document{'' if per_label == '1' else 's'} per label")
        if self.n_unseen_labels:
            words.append(f"{self.n_unseen_labels:,} unseen label{'s' if self.n_unseen_labels > 1 else ''}")
        if not self.has_label_texts:
            words.append("no label texts")
        if self.has_group_labels:
            words.append("labels known for groups")
        return ", ".join(words)


def read_traits(dataset: Dataset) -> DatasetTraits:
    """Return the traits of a dataset."""
    from xcwork.decisions.held_out_documents import shares_labels_in_groups

    train = dataset.train
    frequencies = train.label_frequencies
    seen = frequencies[frequencies > 0]
    return DatasetTraits(
        n_train=len(train),
        n_labels=len(dataset.labels),
        n_features=dataset.features.size,
        n_unseen_labels=len(frequencies) - len(seen),
        documents_per_label=float(np.mean(seen)) if len(seen) else 0.0,
        terms_per_document=train.X.nnz / max(1, len(train)),
        has_texts=dataset.features.vectorizer is not None,
        has_label_texts=dataset.labels.Z is not None,
        has_group_labels=train.groups is not None and shares_labels_in_groups(train),
    )
