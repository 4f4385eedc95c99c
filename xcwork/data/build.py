"""From raw texts, features and label names to a `Dataset`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
from scipy import sparse

from xcwork.core.dataset import Dataset
from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.propensity import Propensity
from xcwork.core.split import Split
from xcwork.errors import DataError
from xcwork.sparse import fill_with_ones, make_canonical
from xcwork.text.vectorizer import TextVectorizer


def text_dataset(
    name: str,
    *,
    train_texts: Sequence[str],
    train_labels: Sequence[Sequence[str]] | sparse.csr_array,
    test_texts: Sequence[str],
    test_labels: Sequence[Sequence[str]] | sparse.csr_array,
    label_names: Sequence[str] | None = None,
    label_texts: Sequence[str] | None = None,
    label_uids: Sequence[str] | None = None,
    label_parents: Sequence[Sequence[str]] | None = None,
    train_uids: Sequence[str] | None = None,
    test_uids: Sequence[str] | None = None,
    train_groups: Sequence[str] | None = None,
    test_groups: Sequence[str] | None = None,
    train_filter: np.ndarray | None = None,
    test_filter: np.ndarray | None = None,
    vectorizer: TextVectorizer | None = None,
    propensity: Propensity | None = None,
    source: str = "",
) -> Dataset:
    """A dataset from raw text, with one vocabulary for documents and labels.

    Documents name their labels by uid where `label_uids` is given, else by name; or they bring a ready Y. Labels stand
    in the given order; labels that only documents know come after them, sorted. The text of a label is its name unless
    `label_texts` says more. `*_filter` are (document row, label id) pairs that must never be predicted. The vocabulary
    is learned from the training documents and the label texts, idf from the training documents alone.
    """
    labels = _label_space(label_names, label_texts, label_uids, label_parents, (train_labels, test_labels))
    vectorizer = TextVectorizer() if vectorizer is None else vectorizer
    train_X = vectorizer.fit_transform(train_texts, labels.texts)
    features = Features(train_X.shape[1], vectorizer.feature_names, vectorizer)
    labels = replace(labels, Z=vectorizer.transform(labels.texts), features=features)
    label_id = {key: number for number, key in enumerate(labels.uids or labels.names)}
    parts = (
        (train_X, train_texts, train_labels, train_uids, train_groups, train_filter),
        (vectorizer.transform(test_texts), test_texts, test_labels, test_uids, test_groups, test_filter),
    )
    train, test = (
        Split(
            X,
            _label_matrix(carried, label_id),
            labels,
            features,
            texts=list(texts),
            uids=_listed(uids),
            groups=_listed(groups),
            filter_pairs=pairs,
        )
        for X, texts, carried, uids, groups, pairs in parts
    )
    return Dataset(name, train, test, propensity or Propensity(), source)


def _listed(values: Sequence[str] | None) -> list[str] | None:
    return None if values is None else list(values)


def _label_space(
    names: Sequence[str] | None,
    texts: Sequence[str] | None,
    uids: Sequence[str] | None,
    parents: Sequence[Sequence[str]] | None,
    carried: tuple[Sequence[Sequence[str]] | sparse.csr_array, ...],
) -> LabelSpace:
    """The labels as given, and after them those that only documents know."""
    names = _listed(uids if names is None else names) or []
    texts = list(names if texts is None else texts)
    for what, values in (("texts", texts), ("uids", uids), ("parents", parents)):
        if values is not None and len(values) != len(names):
            raise DataError(f"there are {len(names)} label names but {len(values)} label {what}")
    keys = names if uids is None else list(uids)
    if len(set(keys)) < len(keys):
        twice = next(key for key, times in Counter(keys).items() if times > 1)
        raise DataError(f"two labels are called {twice!r}", remedy="give every label its own name or uid")
    known = set(keys)
    in_documents = {key for rows in carried if not sparse.issparse(rows) for row in rows for key in row}
    new = sorted(in_documents - known)
    return LabelSpace(
        [*names, *new],
        None if uids is None else [*uids, *new],
        [*texts, *new],
        parents=None if parents is None else [*map(list, parents), *[[] for _ in new]],
    )


def _label_matrix(carried: Sequence[Sequence[str]] | sparse.csr_array, label_id: dict[str, int]) -> sparse.csr_array:
    """Y, (n_documents, n_labels): a one for each label a document carries, however often it names it."""
    if sparse.issparse(carried):
        Y = fill_with_ones(make_canonical(sparse.csr_array(carried, dtype=np.float32)))
    else:
        rows = [sorted({label_id[key] for key in keys}) for keys in carried]
        indptr = np.cumsum([0, *map(len, rows)], dtype=np.int32)
        indices = np.fromiter(chain.from_iterable(rows), np.int32, int(indptr[-1]))
        Y = sparse.csr_array((np.ones(len(indices), np.float32), indices, indptr), shape=(len(rows), len(label_id)))
    return Y
