"""The same data, split again: how much of a difference is the luck of the split?

A method without anything random gives the same figure for every seed. What varies is which documents it was trained on,
and a deviation over splits says how far two methods must be apart to be told apart.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from xcwork.core.dataset import Dataset
from xcwork.core.split import Split
from xcwork.errors import DataError


def draw_new_split(dataset: Dataset, seed: int) -> Dataset:
    """Return the dataset with training and test documents drawn at random from all, as many of each as before.

    Texts stay with their documents. Features are as they are: their weights were learned on the first training split.
    """
    if dataset.train.filter_pairs is not None or dataset.test.filter_pairs is not None:
        raise DataError("pairs that are filtered belong to one split", remedy="load the dataset without them")
    whole = join_splits(dataset.train, dataset.test)
    order = np.random.default_rng((seed, 23)).permutation(len(whole))
    n_train = len(dataset.train)
    return replace(dataset, train=whole.take(order[:n_train]), test=whole.take(order[n_train:]))


def join_splits(first: Split, second: Split) -> Split:
    """Return the documents of both splits, one after the other; what only one of them knows is left out."""
    X, Y = (sparse.csr_array(sparse.vstack(parts)) for parts in ((first.X, second.X), (first.Y, second.Y)))
    return replace(
        first,
        X=X,
        Y=Y,
        texts=_join_lists(first.texts, second.texts),
        uids=_join_lists(first.uids, second.uids),
        groups=_join_lists(first.groups, second.groups),
    )


def _join_lists(first: list[str] | None, second: list[str] | None) -> list[str] | None:
    return None if first is None or second is None else first + second
