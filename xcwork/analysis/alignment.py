"""Another dataset's test split in the terms of a trained model, so that a run can be measured on data it never met.

Texts become the model's features through its own vectoriser; labels are matched by the source's uids, or by name where
one side has none. A label the model does not know is added from its text when the method is zero-shot, and then counts
as unseen. Otherwise it is left out of the true labels, with a note that says how many positives that costs. Label
frequencies and propensities stay those of the training the model really had.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from xcwork.core.dataset import Dataset
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.errors import DataError
from xcwork.sparse import enlarge, fill_with_ones

if TYPE_CHECKING:
    from xcwork.methods.base import Method

UNKNOWN = -1


def align_dataset(other: Dataset, trained_on: Dataset, model: Method) -> tuple[Dataset, list[str]]:
    """Return (`trained_on` with the test split of `other`, notes for the user); `model` may get labels."""
    if other.fingerprint == trained_on.fingerprint:
        return other, []
    test, notes = other.test, list[str]()
    X = _convert_features(test, model)
    ids = _match_labels(other.labels, trained_on.labels)  # (n_labels of other,)
    strange = np.flatnonzero((ids == UNKNOWN) & (test.label_frequencies > 0))
    labels = trained_on.labels
    if len(strange) and model.capabilities.zero_shot and other.labels.texts is not None:
        ids[strange] = model.add_labels(
            [other.labels.texts[i] for i in strange], [other.labels.names[i] for i in strange]
        )
        labels = model.labels_
        notes.append(f"{len(strange)} labels the run was not trained on take part through their text")
    elif len(strange):
        lost, total = int(test.label_frequencies[strange].sum()), int(test.label_frequencies.sum())
        notes.append(f"{len(strange)} labels are unknown to the run; {lost} of {total} test positives are left out")
    if (ids == UNKNOWN).all():
        raise DataError(
            f"{other.name} has no label in common with the data of the run", remedy="check label names and uids"
        )
    aligned = replace(
        test,
        X=X,
        Y=_renumber_labels(test.Y, ids, len(labels)),
        labels=labels,
        features=model.features_,
        filter_pairs=_renumber_pairs(test.filter_pairs, ids),
    )
    Y = enlarge(trained_on.train.Y, (len(trained_on.train), len(labels)))  # labels may have been added
    train = replace(trained_on.train, Y=Y, labels=labels)
    aligned_data = replace(
        trained_on, name=other.name, train=train, test=aligned, source=other.source, notes=other.notes
    )
    return aligned_data, notes


def _convert_features(test: Split, model: Method) -> sparse.csr_array:
    if model.features_.vectorizer is not None and test.texts is not None:
        return model.features_.transform(test.texts)
    same_names = model.features_.names == test.features.names
    if model.features_.size == test.features.size and same_names and model.features_.vectorizer is None:
        return test.X
    raise DataError(
        "the documents cannot be expressed in the features of the run",
        remedy="the run and the data both need text, or the very same feature columns",
    )


def _match_labels(labels: LabelSpace, known: LabelSpace) -> np.ndarray:
    """Return the id in `known` of every label, or UNKNOWN."""
    by_uid = labels.uids is not None and known.uids is not None
    mine, theirs = (labels.uids, known.uids) if by_uid else (labels.names, known.names)
    ids: dict[str, int] = {}
    for label, key in enumerate(theirs or ()):
        ids.setdefault(key, label)
    return np.array([ids.get(key, UNKNOWN) for key in mine or ()], dtype=np.int64)


def _renumber_labels(Y: sparse.csr_array, ids: np.ndarray, n_labels: int) -> sparse.csr_array:
    rows = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
    columns = ids[Y.indices]
    kept = columns != UNKNOWN
    matrix = sparse.csr_array(
        (np.ones(int(kept.sum()), np.float32), (rows[kept], columns[kept])), shape=(Y.shape[0], n_labels)
    )
    return fill_with_ones(matrix)  # two labels of the other data may be one label here


def _renumber_pairs(pairs: np.ndarray | None, ids: np.ndarray) -> np.ndarray | None:
    if pairs is None or len(pairs) == 0:
        return pairs
    renumbered = np.column_stack([pairs[:, 0], ids[pairs[:, 1]]])
    return renumbered[renumbered[:, 1] != UNKNOWN]
