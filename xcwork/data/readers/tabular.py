"""Tables: CSV, TSV, JSON lines or Parquet with a text column and a labels column.

One file, split by hash; or a folder with `train.*`, `test.*` and optionally `labels.*`. Columns are found by their
usual names; `text_column` (one name, or several separated by commas), `labels_column`, `groups_column`, `separator`,
`label_field` and `label_file` say otherwise, and `test` names another file to test on, such as `dev`. What was found is
written into the dataset's `source`, and what could be read otherwise into its `notes`.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from xcwork.core.dataset import Dataset
from xcwork.data.build import TEST_SHARE, build_dataset
from xcwork.data.raw import RawDataset, RawLabels, RawSplit
from xcwork.data.readers.columns import RecordTable, is_table, read_table
from xcwork.data.readers.label_cells import split_labels
from xcwork.data.readers.label_file import read_labels
from xcwork.data.readers.safe_files import VALIDATION_NAMES, get_bare_name
from xcwork.data.readers.text_options import check_text_choice, make_vectorizer
from xcwork.errors import ConfigError, DataError
from xcwork.paths import find_named_file

TITLE = "a table with a text and a labels column: .csv, .tsv, .jsonl or .parquet; or train.*, test.* and labels.*"

TITLE_COLUMNS = ("title",)
BODY_COLUMNS = ("text", "content", "abstract", "document", "body", "description")
LABEL_COLUMNS = ("labels", "tags", "label", "categories", "tag", "category", "keywords")
UID_COLUMNS = ("uid", "id")
GROUP_COLUMNS = ("group",)
_TAG = re.compile(r"<[/!]?[a-zA-Z-][^<>]*>")
_MARKUP = re.compile(r"</?(?:p|div|br|a|li|span|pre|code|table|h[1-6])\b[^<>]*>", re.IGNORECASE)


@dataclass(frozen=True)
class TableFiles:
    """The files of a dataset of tables."""

    train: Path
    test: Path | None = None
    labels: Path | None = None
    notes: tuple[str, ...] = ()


def recognises(path: Path) -> bool:
    return _find_training_table(_list_tables(path)) is not None


def read(
    path: Path,
    name: str,
    *,
    text_column: str | list[str] | None = None,
    labels_column: str | None = None,
    groups_column: str | None = None,
    separator: str | None = None,
    label_field: str | None = None,
    label_file: str | None = None,
    text: str = "both",
    label_text: str = "all",
    strip_html: bool | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    test: str | None = None,
    test_share: float = TEST_SHARE,
    vectorizer: Mapping[str, Any] | None = None,
) -> Dataset:
    check_text_choice(text)
    files = _choose_files(path, test)
    tables = [read_table(file, encoding, delimiter) for file in (files.train, files.test) if file is not None]
    text_columns = find_text_columns(tables[0], text_column, text)
    label_column = find_labels_column(tables[0], labels_column)
    group_column = tables[0].find(*GROUP_COLUMNS) if groups_column is None else tables[0].require(groups_column)
    for table in tables[1:]:
        table.check_columns([*text_columns, label_column])
    cells = split_labels(tables, label_column, separator, label_field)
    texts = [join_columns(table, text_columns) for table in tables]
    if strip_html is None:
        strip_html = _has_markup(texts[0])
    splits = [
        RawSplit(
            texts=[_strip_markup(text) for text in documents] if strip_html else documents,
            labels=labels,
            uids=_read_uids(table),
            groups=_read_groups(table, group_column),
        )
        for table, documents, labels in zip(tables, texts, cells.labels, strict=True)
    ]
    known = RawLabels()
    if (file := _find_label_file(files, label_file)) is not None:
        known = read_labels(file, chain(*cells.labels), label_text=label_text, text=text, encoding=encoding)
    text_source = " + ".join(map(repr, text_columns)) + (" without HTML tags" if strip_html else "")
    raw = RawDataset(
        train=splits[0],
        test=splits[1] if len(splits) > 1 else None,
        labels=known,
        source=f"text from {text_source}, labels from {label_column!r} ({cells.how})",
        notes=[*files.notes, *cells.notes],
        path=path,
    )
    return build_dataset(raw, name=name, vectorizer=make_vectorizer(vectorizer), test_share=test_share)


def _list_tables(path: Path) -> dict[str, Path]:
    """Return the tables of a folder by their stems, such as `train`; a table is its own folder."""
    if is_table(path):
        return {"train": path}
    files = sorted(path.iterdir()) if path.is_dir() else []
    return {Path(get_bare_name(file)).stem: file for file in files if is_table(file)}


def _find_training_table(tables: Mapping[str, Path]) -> Path | None:
    """Return the table called `train`, or the only one there is."""
    documents = [file for stem, file in tables.items() if stem != "labels"]
    return tables.get("train") or (documents[0] if len(documents) == 1 else None)


def _choose_files(path: Path, test: str | None) -> TableFiles:
    """Return the files to read; `test` names the table of the test split, or is empty to hold out documents."""
    tables = _list_tables(path)
    train = _find_training_table(tables)
    assert train is not None  # or nobody would have recognised it
    splits = {stem: tables[stem] for stem in ("test", *VALIDATION_NAMES) if stem in tables and tables[stem] != train}
    chosen = next(iter(splits), "") if test is None else test
    if chosen and chosen not in splits:
        known = ", ".join(map(repr, splits)) or "none"
        raise DataError(f"there is no table {chosen!r} to test on", file=path, remedy=f"tables to test on: {known}")
    notes = [
        f"{splits[stem].name} is not used; test={stem!r} makes it the test split" for stem in splits if stem != chosen
    ]
    if test is None and chosen in VALIDATION_NAMES:
        notes.append(f"{splits[chosen].name} is the test split, because there is no test file")
    names = path / "labels.txt"
    labels = tables.get("labels") or (names if "train" in tables and path.is_dir() and names.is_file() else None)
    return TableFiles(train, splits.get(chosen), labels, tuple(notes))


def _find_label_file(files: TableFiles, option: str | None) -> Path | None:
    """Return the file that describes the labels: the one that the option names, or the one beside the tables."""
    if option is None:
        return files.labels
    if (found := find_named_file(option, files.train.parent)) is None:
        raise DataError(
            "the label file does not exist", file=option, remedy=f"give a path, absolute or from {Path.cwd()}"
        )
    return found


def find_text_columns(table: RecordTable, option: str | list[str] | None, choice: str) -> list[str]:
    """Return the columns that make up the text of a document."""
    if option is not None:
        names = option.split(",") if isinstance(option, str) else list(option)
        if not all(isinstance(name, str) for name in names):
            raise ConfigError(f"text_column takes names of columns, got {str(option)[:100]}")
        return [table.require(name.strip()) for name in names]
    wanted = {"title": (TITLE_COLUMNS,), "content": (BODY_COLUMNS,), "both": (TITLE_COLUMNS, BODY_COLUMNS)}[choice]
    found = [column for names in wanted if (column := table.find(*names)) is not None]
    if not found:
        what = "text" if choice == "both" else choice
        raise DataError(
            f"no {what} column was found; the columns are {table.list_columns()}",
            file=table.path,
            line=1,
            remedy="say which one holds the text, such as text_column='question'",
        )
    return found


def find_labels_column(table: RecordTable, option: str | None) -> str:
    if option is not None:
        return table.require(option)
    found = table.find(*LABEL_COLUMNS)
    if found is None:
        raise DataError(
            f"no labels column was found; the columns are {table.list_columns()}",
            file=table.path,
            line=1,
            remedy="say which one holds the labels, such as labels_column='topics'",
        )
    return found


def join_columns(table: RecordTable, columns: list[str]) -> list[str]:
    """Return the text of every document: its cells in `columns`, one below the other."""
    return ["\n".join(filter(None, cells)) for cells in zip(*map(table.strings, columns), strict=True)]


def _read_uids(table: RecordTable) -> list[str] | None:
    """Return the column that names every document, or None."""
    uids = table.strings(table.find(*UID_COLUMNS))
    return uids if all(uids) else None


def _read_groups(table: RecordTable, column: str | None) -> list[str] | None:
    """Return the group of every document, empty for one without; None where none has one, as in most test splits."""
    groups = table.strings(column) if column in table.columns else [""]
    return groups if any(groups) else None


def _has_markup(texts: list[str]) -> bool:
    """Return whether most of about 200 texts contain HTML tags."""
    sample = texts[:: max(1, len(texts) // 200)]
    return 2 * sum(_MARKUP.search(text) is not None for text in sample) > len(sample)


def _strip_markup(text: str) -> str:
    """Return the text between HTML tags."""
    return " ".join(html.unescape(_TAG.sub(" ", text)).split())
