"""The one road from raw data to a `Dataset`: hold out a test split, collect the labels, vectorise, align, check.

Without a test split, a document belongs to it if the hash of its group, uid, text or features (the first of these that
it has) falls into the lowest `test_share` of all hashes. The choice depends on nothing but the document itself: it
survives reordering and new documents, and equal documents never end up on both sides.

Documents and labels that are texts share one vocabulary. It is learned from the training documents and the label texts,
idf from the training documents alone.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
from scipy import sparse

from xcwork.core.dataset import Dataset
from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.propensity import Propensity
from xcwork.core.split import Split
from xcwork.data.hashing import hash_documents
from xcwork.data.raw import RawDataset, RawLabels, RawSplit
from xcwork.errors import ConfigError, DataError
from xcwork.sparse import drop_zeros, fill_with_ones, merge_duplicates
from xcwork.text.vectorizer import TextVectorizer

TEST_SHARE = 0.2  # of the documents, where a source has no test split


def build_dataset(
    raw: RawDataset,
    *,
    name: str,
    vectorizer: TextVectorizer | None = None,
    test_share: float = TEST_SHARE,
    propensity: Propensity | None = None,
) -> Dataset:
    """Return the dataset that `raw` describes.

    Labels come in the given order; labels that only documents name follow, sorted.

    Parameters
    ----------
    vectorizer : TextVectorizer, optional
        Turns texts into features; it is fitted here, and ignored where the features are ready-made.
    test_share : float
        Share of the documents to hold out where `raw.test` is None.

    Raises
    ------
    DataError
        If something is missing or does not fit together; it names `raw.path`.
    """
    _check_given(raw)
    train, test, source = raw.train, raw.test, raw.source
    if test is None:
        train, test = _hold_out_test(train, test_share, raw.path)
        source += f"; {test_share:.0%} of the documents held out as test split by hash"
    labels = _collect_labels(raw.labels, train, test)
    features = raw.features or Features(train.n_features)
    if train.X is None:
        train, test, labels, features = _vectorise(train, test, labels, vectorizer or TextVectorizer(), raw.path)
    label_ids = {key: number for number, key in enumerate(labels.uids or labels.names)}
    train_split, test_split = (
        Split(
            split.X,
            _make_label_matrix(split, label_ids),
            labels,
            features,
            texts=None if split.texts is None else list(split.texts),
            uids=None if split.uids is None else list(split.uids),
            groups=None if split.groups is None else list(split.groups),
            filter_pairs=split.filter_pairs,
        )
        for split in (train, test)
    )
    return Dataset(name, train_split, test_split, propensity or Propensity(), source, tuple(raw.notes))


def _check_given(raw: RawDataset) -> None:
    """Reject splits without documents and matrices without columns."""
    for what, split in (("training", raw.train), ("test", raw.test)):
        if split is not None and not len(split):
            raise DataError(f"there are no {what} documents", file=raw.path, remedy="check that the files are complete")
    for what, matrix in (("features", raw.train.X), ("labels", raw.train.Y)):
        if matrix is not None and matrix.shape[1] == 0:
            raise DataError(f"there are no {what}", file=raw.path, remedy="check that the files are complete")


def _hold_out_test(documents: RawSplit, share: float, path: Path | None) -> tuple[RawSplit, RawSplit]:
    """Return (training split, test split) of the documents; both get at least one."""
    if not 0 < share < 1:
        raise ConfigError(f"test_share must lie between 0 and 1, got {share!r}")
    hashes = hash_documents(X=documents.X, texts=documents.texts, uids=documents.uids, groups=documents.groups)
    if len(np.unique(hashes)) < 2:
        raise DataError(
            "there are not two different documents, so no test split can be held out",
            file=path,
            remedy="give more documents, or a train and a test file",
        )
    is_test = hashes < np.uint64(share * 2.0**64)
    if not is_test.any():
        is_test = hashes == hashes.min()
    elif is_test.all():
        is_test = hashes != hashes.max()
    return documents.take(np.flatnonzero(~is_test)), documents.take(np.flatnonzero(is_test))


def _collect_labels(known: RawLabels, train: RawSplit, test: RawSplit) -> LabelSpace:
    """Return the labels as given, and after them those that only documents name."""
    is_numbered = known.names is None and known.uids is None and train.Y is not None
    if is_numbered:
        names = number_labels(train.n_labels)
    else:
        names = list(known.uids or () if known.names is None else known.names)
    texts = known.texts
    if texts is None and train.X is None:  # a number is not a text
        texts = [""] * len(names) if is_numbered else names
    for what, values in (
        ("texts", texts),
        ("uids", known.uids),
        ("parents", known.parents),
        ("notations", known.notations),
    ):
        if values is not None and len(values) != len(names):
            raise DataError(f"there are {len(names)} label names but {len(values)} label {what}")
    keys = names if known.uids is None else list(known.uids)
    lists = [split.labels for split in (train, test) if split.labels is not None]
    if lists and len(set(keys)) < len(keys):
        twice = next(key for key, times in Counter(keys).items() if times > 1)
        raise DataError(f"two labels are called {twice!r}", remedy="give every label its own name or uid")
    in_documents = {key for rows in lists for row in rows for key in row}
    new = sorted(in_documents - set(keys))
    return LabelSpace(
        [*names, *new],
        uids=None if known.uids is None else [*known.uids, *new],
        texts=None if texts is None else [*texts, *new],
        Z=known.Z,
        features=known.features,
        parents=None if known.parents is None else [*map(list, known.parents), *[[] for _ in new]],
        notations=None if known.notations is None else [*known.notations, *[""] * len(new)],
    )


def number_labels(count: int) -> list[str]:
    """Return names for labels that have none."""
    return [f"label {number}" for number in range(count)]


def _vectorise(
    train: RawSplit, test: RawSplit, labels: LabelSpace, vectorizer: TextVectorizer, path: Path | None
) -> tuple[RawSplit, RawSplit, LabelSpace, Features]:
    """Return both splits with X, the labels with Z, and the features that are the columns of all three."""
    train_texts = train.texts or ()
    label_texts = labels.texts or ()
    if not any(text.strip() for text in train_texts):
        raise DataError("all texts are empty", file=path, remedy="name the right text column")
    if not len(labels):
        raise DataError("no document has a label", file=path, remedy="name the right labels column")
    train_X = vectorizer.fit_transform(train_texts, label_texts)
    if not train_X.shape[1]:
        raise DataError("the texts contain no words to learn from", file=path, remedy="name the right text column")
    features = Features(train_X.shape[1], vectorizer.feature_names, vectorizer)
    return (
        replace(train, X=train_X),
        replace(test, X=vectorizer.transform(test.texts or ())),
        replace(labels, Z=vectorizer.transform(label_texts), features=features),
        features,
    )


def _make_label_matrix(split: RawSplit, label_ids: dict[str, int]) -> sparse.csr_array:
    """Return Y, (n_documents, n_labels): a one for each label of a document, however often it is named."""
    if split.labels is None:
        return fill_with_ones(drop_zeros(merge_duplicates(sparse.csr_array(split.Y, dtype=np.float32))))
    rows = [sorted({label_ids[key] for key in keys}) for keys in split.labels]
    indptr = np.cumsum([0, *map(len, rows)], dtype=np.int32)
    indices = np.fromiter(chain.from_iterable(rows), np.int32, int(indptr[-1]))
    return sparse.csr_array((np.ones(len(indices), np.float32), indices, indptr), shape=(len(rows), len(label_ids)))
