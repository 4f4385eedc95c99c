"""Every method reads its data without writing into them, in whatever form the arrays come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from tests.support.brief_training import briefly, train_briefly
from xcwork.core.dataset import Dataset
from xcwork.core.split import Split
from xcwork.core.topk import TopK
from xcwork.methods.base import Method
from xcwork.storage.mapped_arrays import find_mapping

Same = Callable[[TopK, TopK], None]
Change = Callable[[sparse.csr_array], sparse.csr_array]


def freeze(matrix: sparse.csr_array) -> sparse.csr_array:
    """Return a copy whose arrays cannot be written."""
    frozen = matrix.copy()
    for part in (frozen.data, frozen.indices, frozen.indptr):
        part.flags.writeable = False
    return frozen


def scramble(matrix: sparse.csr_array) -> sparse.csr_array:
    """Return the same matrix with its entries out of order and a stored zero in every column that a row lacks."""
    dense, n_columns = matrix.toarray(), matrix.shape[1]
    order = np.random.default_rng(1).permutation(n_columns)
    indptr = np.arange(0, dense.size + 1, n_columns)
    return sparse.csr_array((dense[:, order].ravel(), np.tile(order, len(dense)), indptr), shape=matrix.shape)


def change_matrices(dataset: Dataset, change: Change) -> Dataset:
    """Return the dataset with `change` applied to X, Y and Z."""
    labels = replace(dataset.labels, Z=change(dataset.labels.Z))
    train, test = (
        replace(split, X=change(split.X), Y=change(split.Y), labels=labels) for split in (dataset.train, dataset.test)
    )
    return replace(dataset, train=train, test=test)


def read_arrays(dataset: Dataset) -> Iterator[np.ndarray]:
    """Yield every array of the dataset's matrices."""
    for matrix in (dataset.train.X, dataset.train.Y, dataset.test.X, dataset.test.Y, dataset.labels.Z):
        yield from (matrix.data, matrix.indices, matrix.indptr)


def ask_everything(method: Method, test: Split) -> list[TopK]:
    """Return what a trained method answers; explanations and embeddings are computed, too."""
    found = [method.predict(test, k=11), method.predict(test.X, k=3, among=[1, 2, 8])]
    for document in range(3):
        method.explain(test.X[[document]], 0)
    method.label_embeddings()
    method.diagnose(test)
    return found


@pytest.fixture(params=["mapped", "read-only and unordered with stored zeros", "writeable and unordered"])
def other_form(request: pytest.FixtureRequest, jumble: Dataset, tmp_path: Path) -> Dataset:
    """The jumble over arrays of another kind (those of a mapped file are read-only, too), or in another order."""
    if request.param == "mapped":
        jumble.save(tmp_path / "jumble")
        stored = Dataset.load(tmp_path / "jumble", mapped=True)
        assert find_mapping(stored.labels.Z.data) is not None
        assert not any(part.flags.writeable for part in read_arrays(stored))
        return stored
    if request.param == "writeable and unordered":
        return change_matrices(jumble, scramble)
    return change_matrices(jumble, lambda matrix: freeze(scramble(matrix)))


@pytest.mark.slow
def test_data_of_any_form_give_the_same_answers_and_stay_as_they_are(
    name: str, jumble: Dataset, other_form: Dataset, same: Same
) -> None:
    before = [part.tobytes() for part in read_arrays(other_form)]
    found = ask_everything(briefly(name).fit(other_form.train), other_form.test)
    assert [part.tobytes() for part in read_arrays(other_form)] == before
    for mine, expected in zip(found, ask_everything(train_briefly(name, jumble), jumble.test), strict=True):
        same(mine, expected)
