"""Datasets of Hugging Face on disk, in the layouts that `datasets` 5.2 writes, made with pyarrow alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from xcwork.core.dataset import Dataset
from xcwork.data.load import load_dataset
from xcwork.data.readers import choose_reader, get_format_name
from xcwork.data.readers.columns import read_table
from xcwork.errors import DataError

NAMES = ["fruit", "drink", "never used"]
CLASSES = {"names": NAMES, "_type": "ClassLabel"}
FEATURES = {
    "text": {"dtype": "string", "_type": "Value"},
    "labels": {"feature": CLASSES, "_type": "List"},
    "kind": CLASSES,
    "vector": {"feature": {"dtype": "float32", "_type": "Value"}, "_type": "List"},
    "picture": {"_type": "Image"},
}


def make_table(n_rows: int = 12, features: Any = FEATURES, first: int = 0) -> pa.Table:
    numbers = range(first, first + n_rows)
    table = pa.table(
        {
            "text": [f"words number{i}" for i in numbers],
            "labels": pa.array([[0, 1][: 1 + i % 2] for i in numbers], pa.list_(pa.int64())),
            "kind": pa.array([i % 2 for i in numbers], pa.int64()),
            "vector": pa.array([[0.5, 1.5]] * n_rows, pa.list_(pa.float32())),
            "picture": pa.array([b"\x00\x01"] * n_rows, pa.binary()),
        }
    )
    return table.replace_schema_metadata(
        {"huggingface": json.dumps({"info": {"features": features}})} if features else {}
    )


def write_stream(path: Path, table: pa.Table) -> Path:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=5)
    return path


def save_to_disk(folder: Path, table: pa.Table, n_shards: int = 1) -> None:
    folder.mkdir(parents=True)
    size = -(-len(table) // n_shards)
    names = [f"data-{i:05d}-of-{n_shards:05d}.arrow" for i in range(n_shards)]
    for i, name in enumerate(names):
        write_stream(folder / name, table.slice(i * size, size))
    (folder / "dataset_info.json").write_text(json.dumps({"citation": "", "features": FEATURES}))
    state = {"_data_files": [{"filename": name} for name in names], "_fingerprint": "a0c58096bfec8c90", "_split": None}
    (folder / "state.json").write_text(json.dumps(state))


def load(path: Path, **options: Any) -> Dataset:
    return load_dataset(path, home=path.parent / "home", **options)


def get_texts(dataset: Dataset) -> list[str]:
    return sorted([*dataset.train.texts, *dataset.test.texts])


EXPECTED_TEXTS = sorted(f"words number{i}" for i in range(12))


@pytest.mark.parametrize("n_shards", [1, 3])
def test_a_saved_dataset(tmp_path: Path, n_shards: int) -> None:
    save_to_disk(tmp_path / "saved", make_table(), n_shards)
    write_stream(tmp_path / "saved" / "cache-1b2f.arrow", make_table(3, first=90))  # of a later `map`
    dataset = load(tmp_path / "saved")
    assert get_format_name(choose_reader(tmp_path / "saved")) == "huggingface"
    assert get_texts(dataset) == EXPECTED_TEXTS
    assert dataset.labels.names == NAMES
    assert dataset.train.Y.nnz + dataset.test.Y.nnz == 18
    assert load(tmp_path / "saved", labels_column="kind").train.Y.sum(axis=1).max() == 1


def test_a_saved_dictionary_of_splits(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    for split, n_rows in (("train", 12), ("test", 3), ("validation", 2)):
        save_to_disk(folder / split, make_table(n_rows))
    (folder / "dataset_dict.json").write_text('{"splits": ["train", "test", "validation"]}')
    dataset = load(folder)
    assert (len(dataset.train), len(dataset.test)) == (12, 3)
    assert dataset.notes == ("the split 'validation' is not used; test='validation' makes it the test split",)
    assert len(load(folder, test="validation").test) == 2
    assert len(load(folder, test="").train) < 12
    with pytest.raises(DataError, match="no split 'exam' to test on; splits to test on: 'test', 'validation'"):
        load(folder, test="exam")


def test_validation_is_the_test_split_where_there_is_no_other(tmp_path: Path) -> None:
    folder = tmp_path / "hub"
    folder.mkdir()
    parquet.write_table(make_table(), folder / "train-00000-of-00001.parquet")
    parquet.write_table(make_table(4), folder / "validation-00000-of-00001.parquet")
    dataset = load(folder)
    assert len(dataset.test) == 4
    assert "because there is no split called 'test'" in dataset.notes[0]


def test_a_repository_of_the_hub(tmp_path: Path) -> None:
    for config in ("data", "raw"):
        (tmp_path / "hub" / config).mkdir(parents=True)
    for i in range(2):
        parquet.write_table(make_table(6, first=6 * i), tmp_path / "hub" / "data" / f"train-0000{i}-of-00002.parquet")
    parquet.write_table(make_table(5), tmp_path / "hub" / "data" / "test-00000-of-00001.parquet")
    parquet.write_table(make_table(9), tmp_path / "hub" / "raw" / "train-00000-of-00001.parquet")
    (tmp_path / "hub" / "README.md").write_text("---\nlicense: mit\n---\n")
    dataset = load(tmp_path / "hub")
    assert dataset.train.texts == [f"words number{i}" for i in range(12)]
    assert len(dataset.test) == 5
    assert len(get_texts(load(tmp_path / "hub", config="raw"))) == 9
    (tmp_path / "hub" / "data").rename(tmp_path / "hub" / "simplified")
    with pytest.raises(DataError, match=r"2 configurations: 'raw', 'simplified'; say which, such as config='raw'"):
        load(tmp_path / "hub")
    with pytest.raises(DataError, match="no configuration 'x'; there are: 'raw', 'simplified'"):
        load(tmp_path / "hub", config="x")


def test_a_folder_of_the_cache(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    write_stream(folder / "go_emotions-train.arrow", make_table(features=None))  # names in dataset_info.json only
    write_stream(folder / "go_emotions-test.arrow", make_table(4, features=None))
    (folder / "dataset_info.json").write_text(json.dumps({"features": FEATURES}))
    dataset = load(folder)
    assert (len(dataset.train), len(dataset.test)) == (12, 4)
    assert dataset.labels.names == NAMES


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".feather", ".ipc"])
def test_single_files_are_tables(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x{suffix}"
    write = {".parquet": parquet.write_table, ".feather": feather.write_feather}
    if suffix in write:
        write[suffix](make_table(), path)
    else:
        write_stream(path, make_table())
    dataset = load(path)
    assert dataset.labels.names == NAMES
    assert get_texts(dataset) == EXPECTED_TEXTS
    table = read_table(path)
    assert list(table.columns) == ["text", "labels", "kind"]  # no vectors, no pictures
    assert len(read_table(path, max_records=7)) == 7


@pytest.mark.parametrize(
    "feature",
    [
        {"feature": CLASSES, "_type": "Sequence"},
        {"feature": CLASSES, "length": -1, "_type": "Sequence"},
        {"feature": CLASSES, "_type": "LargeList"},
        [CLASSES],
    ],
)
def test_spellings_of_a_list_of_classes(tmp_path: Path, feature: Any) -> None:
    parquet.write_table(make_table(features={"labels": feature}), tmp_path / "x.parquet")
    assert load(tmp_path / "x.parquet").labels.names == NAMES


@pytest.mark.parametrize(
    "features", [None, {}, [], "x", {"labels": {"_type": "ClassLabel", "names": None}}, {"labels": 1}]
)
def test_without_names_numbers_stay_numbers(tmp_path: Path, features: Any) -> None:
    parquet.write_table(make_table(features=features), tmp_path / "x.parquet")
    assert load(tmp_path / "x.parquet").labels.names == ["0", "1"]


def test_metadata_that_is_not_json_is_no_metadata(tmp_path: Path) -> None:
    table = make_table().replace_schema_metadata({"huggingface": b"\xff{"})
    parquet.write_table(table, tmp_path / "x.parquet")
    assert load(tmp_path / "x.parquet").labels.names == ["0", "1"]


def test_a_class_that_is_not_known_is_no_label_and_one_beyond_is_an_error(tmp_path: Path) -> None:
    table = make_table()
    for number, n_labels in ((-1, 0), (2, 1)):
        kinds = pa.array([number] * 11 + [0], pa.int64())
        parquet.write_table(table.set_column(2, "kind", kinds), tmp_path / "x.parquet")
        dataset = load(tmp_path / "x.parquet", labels_column="kind")
        assert dataset.train.Y.nnz + dataset.test.Y.nnz == 1 + 11 * n_labels
    parquet.write_table(table.set_column(2, "kind", pa.array([0] * 11 + [3], pa.int64())), tmp_path / "x.parquet")
    with pytest.raises(DataError, match=r"line 12: 3 in column 'kind' is not one of its 3 classes"):
        load(tmp_path / "x.parquet", labels_column="kind")


def test_shards_that_differ_are_refused(tmp_path: Path) -> None:
    save_to_disk(tmp_path / "saved", make_table(), n_shards=2)
    write_stream(tmp_path / "saved" / "data-00001-of-00002.arrow", make_table(6).drop_columns(["kind"]))
    with pytest.raises(DataError, match="its columns or classes differ from those of data-00000"):
        load(tmp_path / "saved")


@pytest.mark.parametrize(
    "state", ["", "[]", "{", '{"_data_files": 3}', '{"_data_files": [{"filename": "../x.arrow"}]}']
)
def test_a_state_that_lists_no_shards_is_not_followed(tmp_path: Path, state: str) -> None:
    write_stream(tmp_path / "x.arrow", make_table())
    save_to_disk(tmp_path / "saved", make_table())
    (tmp_path / "saved" / "state.json").write_text(state)
    dataset = load(tmp_path / "saved")  # the one file in the folder, found by its name
    assert dataset.train.texts


@pytest.mark.parametrize("cut", [8, 200, 900, -1])
def test_a_damaged_shard_is_one_sentence(tmp_path: Path, cut: int) -> None:
    save_to_disk(tmp_path / "saved", make_table())
    shard = tmp_path / "saved" / "data-00000-of-00001.arrow"
    content = shard.read_bytes()
    shard.write_bytes(content[:cut] if cut > 0 else content.replace(b"\x05\x00\x00\x00", b"\xff\xff\xff\x7f"))
    with pytest.raises(DataError, match="Arrow file is damaged") as caught:
        load(tmp_path / "saved")
    assert caught.value.file == shard


def test_rows_that_take_no_bytes_do_not_take_memory(tmp_path: Path) -> None:
    schema = pa.schema([("text", pa.null())])
    batch = pa.RecordBatch.from_arrays([pa.Array.from_buffers(pa.null(), 2**31 - 1, [None])], schema=schema)
    with pa.OSFile(str(tmp_path / "x.arrow"), "wb") as sink, pa.ipc.new_stream(sink, schema) as writer:
        for _ in range(100):
            writer.write_batch(batch)
    with pytest.raises(DataError, match="would need"):
        load(tmp_path / "x.arrow")


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["text", "text"])
    write_stream(tmp_path / "x.arrow", table)
    with pytest.raises(DataError, match="the column 'text' occurs twice"):
        load(tmp_path / "x.arrow")
