"""Datasets of Hugging Face on disk: what `save_to_disk` writes, and folders of shards as hub and cache have them.

    dataset_dict.json, train/data-00000-of-00002.arrow, test/…    a DatasetDict that was saved
    state.json, dataset_info.json, data-00000-of-00001.arrow      a single Dataset that was saved
    data/train-00000-of-00001.parquet, data/test-…                a repository of the hub, also below a configuration
    name-train.arrow, name-test.arrow, dataset_info.json          the cache of the package `datasets`

The package itself is not needed. Shards of a split are read in the order of their names; then a split is a table like
any other, and columns, labels and notes are found as in the format `table`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xcwork.core.dataset import Dataset
from xcwork.data.build import TEST_SHARE
from xcwork.data.readers.arrow_tables import (
    ARROW_SUFFIXES,
    PARQUET_SUFFIX,
    convert_columns,
    find_class_names,
    parse_class_names,
    read_arrow_file,
)
from xcwork.data.readers.columns import RecordTable
from xcwork.data.readers.declaration import Finding, FormatDeclaration, describe_options, join_names
from xcwork.data.readers.safe_files import VALIDATION_NAMES, read_bytes
from xcwork.data.readers.tabular import TableFiles, build_from_tables
from xcwork.errors import DataError
from xcwork.progress import track

EXAMPLE_CODE = """\
import json

import pyarrow
import pyarrow.parquet

labels = {"_type": "Sequence", "feature": {"_type": "ClassLabel", "names": ["fruit", "drink"]}}
table = pyarrow.table({"text": ["red apples", "dry wine"], "labels": [[0], [1]]})
table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": {"labels": labels}}})})
pyarrow.parquet.write_table(table, "train-00000-of-00001.parquet")
"""

FORMAT = FormatDeclaration(
    name="huggingface",
    title="a dataset of Hugging Face: dataset_dict.json with train/*.arrow, or shards train-00000-of-00001.parquet",
    files=("dataset_dict.json", "state.json", "train-00000-of-00001.parquet"),
    options=describe_options(
        "label_file",
        "language",
        "text",
        "label_text",
        "test",
        "test_share",
        "vectorizer",
        config="the configuration to read, a subfolder, where there are several",
        text_column="column of the text; separate several with commas",
        labels_column="column of the labels",
        groups_column="column of the group each document belongs to (default `group`)",
        separator="what separates labels in a cell; an empty one means that a cell is one label",
        label_field="field that names the label, where labels are records",
        strip_html="`true` or `false` instead of looking",
    ),
    example_code=EXAMPLE_CODE,
)
DICT_FILE = "dataset_dict.json"
INFO_FILE = "dataset_info.json"
STATE_FILE = "state.json"
SUFFIXES = (PARQUET_SUFFIX, *ARROW_SUFFIXES)
_NUMBERED = re.compile(r"-\d{5}-of-\d{5}$")
SPLIT_NAMES = ("train", "test", *VALIDATION_NAMES)
SINGLE_SPLIT = "data"  # what `save_to_disk` calls the shards of a dataset without splits


@dataclass(frozen=True)
class ShardFolder:
    """The shards of each split, in order, and the folder they lie in."""

    folder: Path
    splits: Mapping[str, list[Path]]


def inspect(path: Path) -> Finding:
    if not path.is_dir():
        return Finding.refuse("a folder of Arrow or Parquet shards", seen="a single file")
    found = _find_configurations(path)
    if found:
        splits = sorted({split for shards in found.values() for split in shards.splits})
        return Finding.accept(f"shards of {join_names(splits[:5])}")
    return Finding.refuse(
        f"{DICT_FILE}, {STATE_FILE} with .arrow files, or shards such as train-00000-of-00001.parquet"
    )


def read(
    path: Path,
    name: str,
    *,
    config: str | None = None,
    text_column: str | list[str] | None = None,
    labels_column: str | None = None,
    groups_column: str | None = None,
    separator: str | None = None,
    label_field: str | None = None,
    label_file: str | None = None,
    language: str | None = None,
    text: str = "both",
    label_text: str = "all",
    strip_html: bool | None = None,
    test: str | None = None,
    test_share: float = TEST_SHARE,
    vectorizer: Mapping[str, Any] | None = None,
) -> Dataset:
    shards = _choose_configuration(path, config)
    train, tested, notes = _choose_splits(shards, path, test)
    tables = [_read_split(shards, split) for split in (train, tested) if split is not None]
    return build_from_tables(
        tables,
        name,
        path=path,
        text_column=text_column,
        labels_column=labels_column,
        groups_column=groups_column,
        separator=separator,
        label_field=label_field,
        files=TableFiles(shards.splits[train][0], notes=tuple(notes)),
        label_file=label_file,
        language=language,
        text=text,
        label_text=label_text,
        strip_html=strip_html,
        test_share=test_share,
        vectorizer=vectorizer,
    )


def _find_configurations(path: Path) -> dict[str, ShardFolder]:
    """Return the folders with shards by their names; the folder itself is called ''."""
    if (path / DICT_FILE).is_file():
        splits = {folder.name: _list_saved_shards(folder) for folder in sorted(path.iterdir()) if folder.is_dir()}
        found = {split: shards for split, shards in splits.items() if shards}
        return {"": ShardFolder(path, found)} if found else {}
    if shards := _list_saved_shards(path):
        return {"": ShardFolder(path, {"train": shards})}
    if own := _group_shards(path):
        return {"": ShardFolder(path, own)}
    inside = {folder.name: _group_shards(folder) for folder in sorted(path.iterdir()) if folder.is_dir()}
    return {name: ShardFolder(path / name, splits) for name, splits in inside.items() if splits}


def _list_saved_shards(folder: Path) -> list[Path]:
    """Return the shards that `save_to_disk` lists in a folder, where caches may lie beside them."""
    files = {file.name: file for file in _list_shards(folder)}
    state = _read_json(folder / STATE_FILE) if files else {}
    listed = state.get("_data_files")
    names = [each.get("filename") for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    return [files[name] for name in names if isinstance(name, str) and name in files]


def _read_json(path: Path) -> dict[str, Any]:
    """Return the record in a file; an empty one where the file is missing or something else."""
    if not path.is_file() or path.stat().st_size == 0:
        return {}
    try:
        stored = json.loads(read_bytes(path))
    except (ValueError, RecursionError):
        return {}
    return stored if isinstance(stored, dict) else {}


def _list_shards(folder: Path) -> list[Path]:
    return [file for file in sorted(folder.iterdir()) if file.is_file() and file.suffix.lower() in SUFFIXES]


def _group_shards(folder: Path) -> dict[str, list[Path]]:
    """Return the shards of a folder by split; nothing where the files are not called as `datasets` calls them."""
    files = _list_shards(folder)
    is_numbered = [_NUMBERED.search(file.stem) is not None for file in files]
    is_cache = (folder / INFO_FILE).is_file()
    if not files or not (is_cache or any(is_numbered)):
        return {}
    splits: dict[str, list[Path]] = {}
    for file in files:
        stem = _NUMBERED.sub("", file.stem)
        known = [split for split in SPLIT_NAMES if re.search(rf"(?:^|[-_.]){split}$", stem)]
        splits.setdefault(known[0] if known else stem, []).append(file)
    return splits


def _choose_configuration(path: Path, wanted: str | None) -> ShardFolder:
    found = _find_configurations(path)
    if wanted is not None:
        if wanted not in found:
            known = ", ".join(repr(name) for name in found if name) or "none"
            raise DataError(f"there is no configuration {wanted!r}", file=path, remedy=f"there are: {known}")
        return found[wanted]
    if len(found) > 1 and SINGLE_SPLIT not in found:
        known = ", ".join(map(repr, found))
        raise DataError(
            f"the folder holds {len(found)} configurations: {known}",
            file=path,
            remedy=f"say which, such as config={next(iter(found))!r}",
        )
    return found.get(SINGLE_SPLIT) or next(iter(found.values()))


def _choose_splits(shards: ShardFolder, path: Path, test: str | None) -> tuple[str, str | None, list[str]]:
    """Return (training split, test split or None, notes); `test` names the test split, an empty one holds out."""
    splits = shards.splits
    train = "train" if "train" in splits else next(iter(splits))
    others = [split for split in ("test", *VALIDATION_NAMES) if split in splits and split != train]
    others += [split for split in splits if split not in (train, *others)]
    if "train" not in splits and len(splits) > 1:
        known = ", ".join(map(repr, splits))
        raise DataError(f"there is no split 'train', only {known}", file=path, remedy="give the folder of one split")
    chosen = next((split for split in others if split in ("test", *VALIDATION_NAMES)), "") if test is None else test
    if chosen and chosen not in others:
        known = ", ".join(map(repr, others)) or "none"
        raise DataError(f"there is no split {chosen!r} to test on", file=path, remedy=f"splits to test on: {known}")
    notes = [
        f"the split {split!r} is not used; test={split!r} makes it the test split"
        for split in others
        if split != chosen
    ]
    if test is None and chosen in VALIDATION_NAMES:
        notes.append(f"the split {chosen!r} is the test split, because there is no split called 'test'")
    return train, chosen or None, notes


def _read_split(shards: ShardFolder, split: str) -> RecordTable:
    """Return all shards of a split as one table, whose records are numbered."""
    columns: dict[str, list[Any]] = {}
    class_names: dict[str, list[str]] = {}
    files = shards.splits[split]
    for file in track(files, f"reading {split}"):
        table = read_arrow_file(file)
        names = find_class_names(table.schema) or parse_class_names(_read_json(file.parent / INFO_FILE).get("features"))
        values = convert_columns(table, file, names)
        if file is files[0]:
            columns, class_names = values, names
            continue
        if list(values) != list(columns) or names != class_names:
            raise DataError(
                f"its columns or classes differ from those of {files[0].name}",
                file=file,
                remedy="use shards that belong together",
            )
        for name in columns:
            columns[name] += values[name]
    if not any(columns.values()):
        raise DataError("the file has no records", file=files[0], remedy="check that it is complete")
    return RecordTable.from_columns(files[0] if len(files) == 1 else files[0].parent, columns, class_names=class_names)
