"""What a dataset looks like beyond its counts: a verdict in one sentence, its checks, frequent labels, odd names.

The counts are those of its `Card`. Everything else is one pass over labels and a sample of texts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xcwork.core.dataset import Dataset
from xcwork.data.card import Card
from xcwork.data.label_names import find_similar_names
from xcwork.text.language_detection import estimate_languages
from xcwork.text.languages import LANGUAGES

MAX_FREQUENT_LABELS = 50
MAX_SIMILAR_GROUPS = 100
MAX_HISTOGRAM_BARS = 12  # the last one is for all documents with more labels
RARE_DOCUMENTS = 5  # a label with more is no rare one


@dataclass(frozen=True)
class HealthCheck:
    """Something that was looked at in a dataset."""

    name: str  # what holds when it is passed
    is_passed: bool


@dataclass(frozen=True)
class LabelFrequency:
    """A label and how many training documents have it."""

    label: int
    name: str
    n_documents: int


@dataclass(frozen=True)
class DatasetProfile:
    """What the page about a dataset shows beside its card."""

    verdict: str
    checks: tuple[HealthCheck, ...]
    frequent_labels: tuple[LabelFrequency, ...]  # most frequent first
    labels_per_document: dict[str, int]  # documents by their number of labels: "0", "1", …, "12+"
    similar_names: tuple[tuple[str, ...], ...]  # groups of names that probably mean the same
    n_similar_groups: int  # also those beyond the limit
    languages: dict[str, float]  # name: share of the texts that could be told, most frequent first; empty without texts

    @property
    def n_passed(self) -> int:
        return sum(check.is_passed for check in self.checks)


def make_profile(dataset: Dataset, card: Card) -> DatasetProfile:
    """Return the profile of a dataset whose card is known."""
    names, frequencies = dataset.labels.names, dataset.train.label_frequencies
    order = np.argsort(-frequencies, kind="stable")[:MAX_FREQUENT_LABELS]
    groups = find_similar_names(names)
    texts = [*(dataset.train.texts or ()), *(dataset.test.texts or ())]
    return DatasetProfile(
        verdict=judge_dataset(card),
        checks=list_checks(card),
        frequent_labels=tuple(
            LabelFrequency(int(label), names[label], int(frequencies[label])) for label in order if frequencies[label]
        ),
        labels_per_document=count_labels_per_document(dataset),
        similar_names=tuple(tuple(names[label] for label in group) for group in groups[:MAX_SIMILAR_GROUPS]),
        n_similar_groups=len(groups),
        languages={LANGUAGES[code].name: share for code, share in estimate_languages(texts).items()},
    )


def list_checks(card: Card) -> tuple[HealthCheck, ...]:
    """Return what is checked in every dataset; label texts only where it has some."""
    checks = {
        "Every document has features": not any(card.empty_documents.values()),
        "Every document has a label": not any(card.unlabelled_documents.values()),
        "No document occurs twice": not any(card.duplicate_documents.values()),
        "No test document occurs in training": not card.overlapping_documents,
        "Every label occurs somewhere": not card.orphan_labels,
        "No two labels have the same name": not card.duplicate_label_names,
    }
    if card.missing_label_texts is not None:
        checks["Every label has a text"] = not card.missing_label_texts
    return tuple(HealthCheck(name, is_passed) for name, is_passed in checks.items())


def judge_dataset(card: Card) -> str:
    """Return in one sentence whether a dataset can be trained on, and what makes it hard."""
    checks = list_checks(card)
    failed = [check for check in checks if not check.is_passed]
    if not card.n_train or not card.n_seen_labels:
        return "Cannot be trained on: no training document has a label."
    lead = "Ready to train" if not failed else f"Can be trained, but {len(failed)} of {len(checks)} checks failed"
    median = card.train_documents_per_label["median"]
    documents = f"{median:,.0f} training document{'' if median == 1 else 's'}"
    if median <= RARE_DOCUMENTS:
        tail = f"half of the labels have at most {documents}, so most of them are rare"
    else:
        tail = f"half of the labels have at least {documents}"
    count = card.n_unseen_labels
    unseen = f", and {count:,} {'label has' if count == 1 else 'labels have'} none" if count else ""
    return f"{lead}: {tail}{unseen}."


def count_labels_per_document(dataset: Dataset) -> dict[str, int]:
    """Return how many documents have 0, 1, 2, … labels; long tails are one bar."""
    counts = np.concatenate([np.diff(dataset.train.Y.indptr), np.diff(dataset.test.Y.indptr)])
    documents = np.bincount(counts, minlength=1)
    last = MAX_HISTOGRAM_BARS
    shown = {str(labels): int(count) for labels, count in enumerate(documents[:last])}
    if len(documents) > last:
        shown[f"{last}+"] = int(documents[last:].sum())
    if not shown["0"]:
        del shown["0"]
    return shown
