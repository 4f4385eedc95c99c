"""Datasets from lists, data frames and Arrow tables are those that the same data make as a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import xcwork
from xcwork.core.dataset import Dataset
from xcwork.errors import ConfigError, DataError

TEXTS = [f"words number{i}" for i in range(12)]
LABELS = [["a", "b"][: 1 + i % 2] for i in range(12)]


def assert_same(first: Dataset, second: Dataset) -> None:
    assert first.labels.names == second.labels.names
    for one, other in ((first.train, second.train), (first.test, second.test)):
        assert one.texts == other.texts
        assert (one.X != other.X).nnz == 0
        assert (one.Y != other.Y).nnz == 0


@pytest.fixture
def from_file(tmp_path: Path) -> Dataset:
    file = tmp_path / "x.jsonl"
    file.write_text(
        "".join(json.dumps({"text": t, "labels": each}) + "\n" for t, each in zip(TEXTS, LABELS, strict=True))
    )
    return xcwork.load_dataset(file, home=tmp_path)


def test_lists_frames_and_tables_make_the_same_dataset_as_a_file(from_file: Dataset) -> None:
    assert_same(xcwork.from_lists(TEXTS, LABELS), from_file)
    columns = {"text": TEXTS, "labels": LABELS}
    assert_same(xcwork.from_frame(pd.DataFrame(columns)), from_file)
    assert_same(xcwork.from_frame(pd.DataFrame(columns | {"labels": [np.array(each) for each in LABELS]})), from_file)
    assert_same(
        xcwork.from_frame(pd.DataFrame({"a": TEXTS, "b": ["|".join(x) for x in LABELS]}), text="a", labels="b"),
        from_file,
    )
    table = pa.table(columns)
    assert_same(xcwork.from_arrow(table), from_file)
    assert_same(xcwork.from_arrow(table.to_reader().read_all().combine_chunks()), from_file)
    assert_same(xcwork.from_arrow(table.to_batches()[0]), from_file)


def test_a_test_split_of_its_own() -> None:
    frame = pd.DataFrame({"text": TEXTS, "labels": LABELS})
    table = pa.Table.from_pandas(frame)
    for dataset in (
        xcwork.from_lists(TEXTS, LABELS, test=(TEXTS[:3], LABELS[:3])),
        xcwork.from_frame(frame, test=frame[:3]),
        xcwork.from_arrow(table, test=table.slice(0, 3)),
        xcwork.from_arrow({"train": table, "validation": table.slice(0, 3), "extra": table}),
    ):
        assert dataset.train.texts == TEXTS
        assert dataset.test.texts == TEXTS[:3]


def test_label_names_keep_their_order_and_unused_labels() -> None:
    dataset = xcwork.from_lists(TEXTS, LABELS, label_names=["z", "b", "a"])
    assert dataset.labels.names == ["z", "b", "a"]


class ChosenRows:
    """What `from_arrow` uses of a dataset of Hugging Face: its rows may be a choice of those it holds."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self.features: dict[str, Any] = {}

    def with_format(self, kind: str) -> ChosenRows:
        assert kind == "arrow"
        return self

    def __getitem__(self, rows: slice) -> pa.Table:
        assert rows == slice(None)
        return self._table.slice(2)


def test_a_dataset_of_hugging_face_gives_its_chosen_rows() -> None:
    metadata = {
        "huggingface": json.dumps({"info": {"features": {"label": {"_type": "ClassLabel", "names": ["n", "y"]}}}})
    }
    table = pa.table({"text": TEXTS, "label": [i % 2 for i in range(12)]}).replace_schema_metadata(metadata)
    dataset = xcwork.from_arrow(ChosenRows(table))
    assert len(dataset.train) + len(dataset.test) == 10
    assert dataset.labels.names == ["n", "y"]


def test_missing_cells_of_a_frame() -> None:
    frame = pd.DataFrame({"text": [*TEXTS, None], "labels": [*(",".join(each) for each in LABELS), float("nan")]})
    dataset = xcwork.from_frame(frame, separator=",")
    assert len(dataset.train) + len(dataset.test) == 13
    assert "" in [*dataset.train.texts, *dataset.test.texts]
    numbers = pd.DataFrame({"text": TEXTS, "label": pd.array([1, None] * 6, "Int64")})
    assert xcwork.from_frame(numbers).labels.names == ["1"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: xcwork.from_lists(["a"], []), "1 texts but 0 lists"),
        (lambda: xcwork.from_lists(["a", 7], [["x"], ["y"]]), "text 1 is a int"),
        (lambda: xcwork.from_lists(["a", "b"], ["x", "y"]), "labels of text 0 are not a list"),
        (lambda: xcwork.from_lists(["a", "b"], [["x"], [3]]), "labels of text 1 are not a list"),
        (lambda: xcwork.from_frame(pd.DataFrame({"text": [], "labels": []})), "no records"),
        (lambda: xcwork.from_frame(pd.DataFrame([["a", "b"]], columns=["text", "text"])), "occurs twice"),
        (lambda: xcwork.from_frame(pd.DataFrame({"q": ["a"], "labels": ["b"]})), "no text column was found"),
        (lambda: xcwork.from_frame(pd.DataFrame({"text": ["a"]}), labels="x"), "no column 'x'"),
        (lambda: xcwork.from_arrow({"test": pa.table({"text": ["a"]})}), "no split 'train'"),
    ],
)
def test_what_does_not_fit_is_one_sentence(call: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        call()


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ConfigError, match="no option 'delimiter'; there are separator"):
        xcwork.from_frame(pd.DataFrame({"text": ["a"], "labels": ["b"]}), delimiter=";")
    with pytest.raises(ConfigError, match="a int is not a table of Arrow"):
        xcwork.from_arrow(7)
