"""Label sets as classes: who has the same set has the same class, and predictions are compared whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from xcwork.core.split import Split
from xcwork.data.synthetic import make_synthetic
from xcwork.studies.label_sets import make_set_classes, measure_sets, predict_sets

QUICK = {"width": 32, "epochs": 20, "dropout": 0.0}


@pytest.fixture(scope="module")
def split() -> Split:
    """Documents of four sets of five labels, of which each is recognised by a word."""
    base = make_synthetic(n_documents=120, n_labels=20, n_topics=2, seed=1).train.take(range(80))
    sets = np.array([[1, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 0]], np.float32)
    which = np.arange(80) % 4
    X = sparse.csr_array((np.ones(80, np.float32), (np.arange(80), which)), shape=base.X.shape)
    Y = sparse.csr_array(np.pad(sets[which], ((0, 0), (0, base.n_labels - 5))))
    return replace(base, X=X, Y=Y)


def test_documents_with_the_same_set_have_the_same_class(split: Split) -> None:
    classes = make_set_classes(split)
    assert classes.sets.shape == (4, split.n_labels)
    assert (np.diff(classes.split.Y.indptr) == 1).all()
    assert (classes.sets[classes.split.Y.indices] != split.Y).nnz == 0


@pytest.mark.parametrize("method", ["flat", "mhp", "mhc", "mhs"])
def test_every_way_finds_sets_that_words_give_away(split: Split, method: str) -> None:
    found = measure_sets(predict_sets(method, split, split, **QUICK), split, split)
    assert found["exact match %"] > 95
    assert found["Hamming loss %"] < 1


def test_the_cascade_chooses_among_the_sets_that_it_knows(split: Split) -> None:
    found = predict_sets("mhc", split, split, **QUICK | {"epochs": 1})
    known = {row.tobytes() for row in split.Y.toarray()}
    assert {row.tobytes() for row in found.toarray()} <= known


def test_new_sets_are_counted_by_themselves(split: Split) -> None:
    other = replace(split, Y=sparse.csr_array(np.roll(split.Y.toarray(), 1, axis=1)))
    measured = measure_sets(other.Y, split, other)
    assert measured["exact match %"] == measured["new sets right %"] == 100
    assert np.isnan(measure_sets(split.Y, split, split)["new sets right %"])
