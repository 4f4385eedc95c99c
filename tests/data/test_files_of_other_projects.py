"""Other projects' own files (MEKA, Mulan, doccano, Project Gutenberg) give the counts that these projects document."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import SHARED_DATA, needs_shared_data
from xcwork.core.dataset import Dataset
from xcwork.data.load import load_dataset
from xcwork.errors import DataError

FORMATS = SHARED_DATA / "formats"


@dataclass(frozen=True)
class RightAnswer:
    """What a file of another project holds."""

    path: str
    n_documents: int
    n_labels: int
    n_pairs: int  # of a document and a label
    n_features: int | None = None  # None: made from text
    n_training: int | None = None  # None: a test split is held out
    options: dict[str, Any] = field(default_factory=dict)
    note: str = ""


RIGHT_ANSWERS = [
    RightAnswer("meka-yeast", 2417, 14, 10241, n_features=103, n_training=1500),
    RightAnswer(
        "meka-music-missing-classes",
        592,
        6,
        0,
        n_features=71,
        note="3,552 values of labels in 592 documents are missing",
    ),
    RightAnswer("mulan-corel5k", 5000, 374, 17610, n_features=499, n_training=4500),
    # 1,186 attributes are no labels; one of them, `protein`, names the rows.
    RightAnswer("mulan-genbase", 662, 27, 829, n_features=1185, n_training=463, note="'protein' names the rows"),
    RightAnswer(
        "mulan-hierarchical", 1600, 364, 11408, n_features=86, n_training=800, note="2,926 values of 3 attributes"
    ),
    RightAnswer("doccano/example.jsonl", 3, 2, 3),
    RightAnswer("doccano/example_out_of_order_columns.csv", 3, 2, 2),
    RightAnswer("doccano/example.utf16.csv", 3, 2, 3, options={"encoding": "utf-16"}),
    RightAnswer("gutenberg-catalog", 7660, 6536, 21011, options={"labels_column": "Subjects"}),
]


def load(path: str, home: Path, **options: Any) -> Dataset:
    return load_dataset(FORMATS / path, home=home, **options)


@needs_shared_data("formats")
@pytest.mark.parametrize("right", RIGHT_ANSWERS, ids=lambda right: right.path)
def test_counts(tmp_path: Path, right: RightAnswer) -> None:
    dataset = load(right.path, tmp_path, **right.options)
    assert len(dataset.train) + len(dataset.test) == right.n_documents
    assert len(dataset.labels) == right.n_labels
    assert dataset.train.Y.nnz + dataset.test.Y.nnz == right.n_pairs
    if right.n_features is not None:
        assert dataset.features.size == right.n_features
    if right.n_training is not None:
        assert len(dataset.train) == right.n_training
    assert right.note in " ".join(dataset.notes)


@needs_shared_data("formats/mulan-hierarchical")
def test_nested_labels_have_parents(tmp_path: Path) -> None:
    labels = load("mulan-hierarchical", tmp_path).labels
    assert labels.parents is not None
    parents = dict(zip(labels.names, labels.parents, strict=True))
    assert parents["01"] == []
    assert parents["01/01/03/01/02"] == ["01/01/03/01"]
    assert all(above in parents for listed in parents.values() for above in listed)


@needs_shared_data("formats/doccano")
def test_a_broken_file_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 2: the record has 3 fields, but the first line names 2"):
        load("doccano/example.invalid.2.csv", tmp_path)


@needs_shared_data("formats/meka-music-missing-classes")
def test_missing_classes_are_what_the_user_chooses(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there are no training documents"):
        load("meka-music-missing-classes", tmp_path, missing_labels="drop")
    with pytest.raises(DataError, match="line 84: the value of a label is missing"):
        load("meka-music-missing-classes", tmp_path, missing_labels="refuse")
