"""Label features in the columns of the documents."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.errors import DataError
from xcwork.sparse import normalise_rows, renumber_columns

ONE_VOCABULARY = "load the dataset from raw text, which gives documents and labels one vocabulary"


def read_label_rows(Z: sparse.csr_array, labels: LabelSpace, features: Features) -> sparse.csr_array:
    """Return unit rows of label features in the columns of the documents, (n_labels, n_features)."""
    return align_columns(normalise_rows(Z), labels.features, features)


def align_columns(Z: sparse.csr_array, theirs: Features | None, ours: Features) -> sparse.csr_array:
    """Return label features in the columns of the documents: the same vocabulary, or the terms of the same name."""
    if theirs is None or theirs is ours or (theirs.names is not None and theirs.names == ours.names):
        if Z.shape[1] != ours.size:
            raise DataError(f"labels have {Z.shape[1]} features but documents have {ours.size}", remedy=ONE_VOCABULARY)
        return Z
    if ours.names is None or theirs.names is None:
        problem = "label terms cannot be found among document terms: features have no names"
        raise DataError(problem, remedy=ONE_VOCABULARY)
    column = {name: i for i, name in enumerate(ours.names)}
    known = np.array([column.get(name, -1) for name in theirs.names], np.int64)
    kept = sparse.csr_array(Z[:, np.flatnonzero(known >= 0)])
    return renumber_columns(kept, known[known >= 0], ours.size)
