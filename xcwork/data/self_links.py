"""Self links: documents that are labels themselves, as in "see also" data, and must not be predicted for themselves.

A document is a label when both have the same uid. Where uids are plain numbers, documents and labels may have been
counted independently of each other, so their titles must be the same as well; `self_links="filter"` trusts such uids,
too, and `self_links="keep"` lets documents be predicted for themselves. A pair that is a true label is always kept.

The title of a document is the first line of its text, compared without regard to case and spacing. The same title under
another uid is only a hint, because two different things may share it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np

from xcwork.core.dataset import Dataset
from xcwork.core.split import Split
from xcwork.errors import ConfigError

SELF_LINK_CHOICES = ("auto", "filter", "keep")


def check_choice(choice: str) -> None:
    """Reject what `self_links` cannot be."""
    if choice not in SELF_LINK_CHOICES:
        raise ConfigError(f"self_links must be one of {', '.join(SELF_LINK_CHOICES)}, got {choice!r}")


def filter_self_links(dataset: Dataset, choice: str = "auto") -> Dataset:
    """Return the dataset with filter pairs for documents that are labels themselves, and a note that says so."""
    check_choice(choice)
    if choice == "keep":
        return dataset
    train, test = (_filter_split(split, trust_numbers=choice == "filter") for split in (dataset.train, dataset.test))
    n_filtered = sum(count_filtered_self_links(split) for split in (train, test))
    if not n_filtered:
        return dataset
    one = "1 document is a label itself and is never predicted for itself"
    many = f"{n_filtered:,} documents are labels themselves and are never predicted for themselves"
    note = one if n_filtered == 1 else many
    return replace(dataset, train=train, test=test, notes=(*dataset.notes, note))


def find_self_links(split: Split, *, trust_numbers: bool = False) -> np.ndarray:
    """Return the (document row, label id) pairs of the same thing that are no true labels, (n_pairs, 2) int64."""
    pairs = _find_equal_uids(split)
    if not trust_numbers and split.uids is not None:
        is_number = [uid.strip().isdecimal() for uid in split.uids]
        pairs = pairs[[not is_number[row] or _has_same_title(split, row, label) for row, label in pairs]]
    return pairs[~split.has_labels(pairs)]


def count_filtered_self_links(split: Split) -> int:
    """Return how many filter pairs are self links."""
    return int(np.count_nonzero(_are_filtered(split, _find_equal_uids(split))))


def count_open_self_links(split: Split) -> int:
    """Return how many documents could be predicted for themselves."""
    return int(np.count_nonzero(~_are_filtered(split, find_self_links(split))))


def count_shared_titles(split: Split) -> int:
    """Return how many documents have the title of a label without being known to be it or to have it."""
    if split.texts is None:
        return 0
    labels_called = defaultdict[str, list[int]](list)
    for label, name in enumerate(split.labels.names):
        labels_called[_normalise_title(name)].append(label)
    titles = [(row, _read_title(text)) for row, text in enumerate(split.texts)]
    pairs = _make_pairs([(row, label) for row, title in titles if title for label in labels_called.get(title, ())])
    settled = pairs[split.has_labels(pairs) | _are_filtered(split, pairs), 0]
    return len(np.setdiff1d(pairs[:, 0], np.concatenate([settled, find_self_links(split)[:, 0]])))


def _filter_split(split: Split, *, trust_numbers: bool) -> Split:
    found = find_self_links(split, trust_numbers=trust_numbers)
    found = found[~_are_filtered(split, found)]
    if not len(found):
        return split
    given = [] if split.filter_pairs is None else [split.filter_pairs]
    return replace(split, filter_pairs=np.concatenate([*given, found]))


def _find_equal_uids(split: Split) -> np.ndarray:
    keys = split.labels.names if split.labels.uids is None else split.labels.uids
    label_called = {key: label for label, key in enumerate(keys)}
    uids = (uid.strip() for uid in split.uids or ())
    return _make_pairs([(row, label_called[uid]) for row, uid in enumerate(uids) if uid in label_called])


def _make_pairs(pairs: list[tuple[int, int]]) -> np.ndarray:
    return np.array(pairs, np.int64).reshape(-1, 2)


def _are_filtered(split: Split, pairs: np.ndarray) -> np.ndarray:
    """Return whether each pair is among the filter pairs, (n_pairs,) bool."""
    if split.filter_pairs is None:
        return np.zeros(len(pairs), bool)
    factors = np.array([split.n_labels, 1])
    return np.isin(pairs @ factors, split.filter_pairs @ factors)


def _has_same_title(split: Split, row: int, label: int) -> bool:
    return split.texts is not None and _read_title(split.texts[row]) == _normalise_title(split.labels.names[label])


def _read_title(text: str) -> str:
    return _normalise_title(text.strip().partition("\n")[0])


def _normalise_title(title: str) -> str:
    return " ".join(title.split()).casefold()
