"""Whole label sets as classes: the experiment of multi-head encoding's table 1, with MHC and MHS.

A document's set of labels is one class, so that a method for one label per document predicts sets. With b labels there
are 2^b sets; MHP codes all of them, a few labels per head (`coding=powerset`). The cascade and sampling keep an
embedding for every class, so their classes are the sets that occur in training: they are chosen among those, and a set
that never occurred cannot be predicted. The measure is the share of documents whose set is right, label for label.

Reference: Liang et al., Multi-head encoding, TPAMI 2025, section 6.1 and table 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.methods.registry import create

CUT = 0.5  # probability from which on a method for several labels gives a label


@dataclass(frozen=True, eq=False)
class SetClasses:
    """The label sets that occur in a split, as classes."""

    sets: sparse.csr_array  # (n_sets, n_labels)
    split: Split  # the same documents with the class of their set as their one label


def make_set_classes(split: Split) -> SetClasses:
    """Return a class for every label set of the split, the empty one too."""
    keys = [
        split.Y.indices[first:last].tobytes() for first, last in zip(split.Y.indptr, split.Y.indptr[1:], strict=False)
    ]
    numbers: dict[bytes, int] = {}
    of_document = np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)
    first_rows = np.unique(of_document, return_index=True)[1]
    names = [f"set {number}" for number in range(len(numbers))]
    entries = (np.ones(len(split), np.float32), of_document, np.arange(len(split) + 1))
    Y = sparse.csr_array(entries, shape=(len(split), len(names)))
    return SetClasses(sparse.csr_array(split.Y[first_rows]), replace(split, Y=Y, labels=LabelSpace(names)))


def predict_sets(method: str, train: Split, test: Split, **params: Any) -> sparse.csr_array:
    """Return the label sets that a trained method gives to the test documents, (n_documents, n_labels).

    `mhp` codes the powerset, `mhc` and `mhs` choose among the sets of the training documents, and any other method
    gives the labels whose probability is at least one half.
    """
    if method == "mhp":
        return create("mhp", coding="powerset", **params).fit(train).predict_sets(test)  # type: ignore[attr-defined]
    if method in ("mhc", "mhs"):
        classes = make_set_classes(train)
        best = create(method, **params).fit(classes.split).predict(test.X, k=1).ids[:, 0]
        return sparse.csr_array(classes.sets[best])
    scores = create(method, **params).fit(train).predict(test, k=train.n_labels)
    return sparse.csr_array((scores.to_csr(train.n_labels) >= CUT).astype(np.float32))


def measure_sets(found: sparse.csr_array, train: Split, test: Split) -> dict[str, float]:
    """Return the percentage of exact matches, of those among sets that are new in test, and the Hamming loss."""
    wrong = np.asarray((found.astype(np.float32) != test.Y).sum(axis=1)).ravel()
    seen = {row.tobytes() for row in train.Y.toarray() > 0}
    is_new = np.array([row.tobytes() not in seen for row in test.Y.toarray() > 0])
    return {
        "exact match %": 100 * float((wrong == 0).mean()),
        "new sets right %": 100 * float((wrong[is_new] == 0).mean()) if is_new.any() else float("nan"),
        "Hamming loss %": 100 * float(wrong.mean()) / train.n_labels,
    }
