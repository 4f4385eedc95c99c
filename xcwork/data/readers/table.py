"""Tables: CSV, TSV, JSON lines or Parquet with a text column and a labels column.

One file, split by hash; or a folder with `train.*`, `test.*` and optionally `labels.*`. Columns are found by their
usual names; `text_column` (one name, or several separated by commas), `labels_column`, `groups_column`, `separator` and
`label_file` say otherwise. What was found is written into the dataset's `source`.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from xcwork.data.dataset import Dataset
from xcwork.data.readers.assemble import TEST_SHARE
from xcwork.data.readers.cells import split_labels
from xcwork.data.readers.files import bare_name
from xcwork.data.readers.label_table import read_labels
from xcwork.data.readers.tables import Table, is_table, read_table
from xcwork.data.readers.texts import Documents, build_text_dataset, check_text_choice, joined_text
from xcwork.errors import ConfigError, DataError

TITLE = "a table with a text and a labels column: .csv, .tsv, .jsonl or .parquet; or train.*, test.* and labels.*"

TITLE_COLUMNS = ("title",)
BODY_COLUMNS = ("text", "content", "abstract", "document", "body", "description")
LABEL_COLUMNS = ("labels", "tags", "label", "categories", "tag", "category", "keywords")
UID_COLUMNS, GROUP_COLUMNS = ("uid", "id"), ("group",)
_TAG = re.compile(r"<[/!]?[a-zA-Z-][^<>]*>")
_MARKUP = re.compile(r"</?(?:p|div|br|a|li|span|pre|code|table|h[1-6])\b[^<>]*>", re.IGNORECASE)


@dataclass(frozen=True)
class _Files:
    train: Path
    test: Path | None = None
    labels: Path | None = None


def recognises(path: Path) -> bool:
    return _files(path) is not None


def read(
    path: Path, name: str, *, text_column: str | list[str] | None = None, labels_column: str | None = None,
    groups_column: str | None = None, separator: str | None = None, label_file: str | None = None, text: str = "both",
    label_text: str = "all", strip_html: bool | None = None, delimiter: str | None = None, encoding: str = "utf-8",
    test_share: float = TEST_SHARE, vectorizer: Mapping[str, Any] | None = None,
) -> Dataset:  # fmt: skip
    check_text_choice(text)
    files = _files(path)
    assert files is not None
    tables = [read_table(file, encoding, delimiter) for file in (files.train, files.test) if file is not None]
    titles, bodies = find_text_columns(tables[0], text_column, text)
    label_column = find_labels_column(tables[0], labels_column)
    group_column = tables[0].find(*GROUP_COLUMNS) if groups_column is None else tables[0].require(groups_column)
    for table in tables[1:]:
        table.check_columns([*titles, *bodies, label_column])
    labels, how = split_labels(tables, label_column, separator)
    texts = [document_texts(table, titles, bodies, text) for table in tables]
    strip = _has_markup(texts[0]) if strip_html is None else strip_html
    parts = [
        Documents(
            [_plain(text) for text in part] if strip else part, carried, _keys(table, UID_COLUMNS),
            _groups(table, group_column),
        )
        for table, part, carried in zip(tables, texts, labels, strict=True)
    ]  # fmt: skip
    found = _label_file(files, label_file)
    known = None if found is None else read_labels(
        found, chain(*labels), label_text=label_text, text=text, encoding=encoding
    )  # fmt: skip
    columns = " + ".join(repr(column) for column in (*titles, *bodies))
    source = f"text from {columns}{' without HTML tags' if strip else ''}, labels from {label_column!r} ({how})"
    return build_text_dataset(
        name, parts[0], parts[1] if len(parts) > 1 else None, path=path, source=source, labels=known,
        vectorizer=vectorizer, test_share=test_share,
    )  # fmt: skip


def _files(path: Path) -> _Files | None:
    """The table itself, or those of a folder: `train.*` with its companions, or the only table there is."""
    if is_table(path):
        return _Files(path)
    if not path.is_dir():
        return None
    tables = {Path(bare_name(file)).stem: file for file in sorted(path.iterdir()) if is_table(file)}
    if "train" in tables:
        names = _text_file(path, "labels") if "labels" not in tables else None
        return _Files(tables["train"], tables.get("test"), tables.get("labels", names))
    documents = [file for stem, file in tables.items() if stem != "labels"]
    return _Files(documents[0], labels=tables.get("labels")) if len(documents) == 1 else None


def _text_file(path: Path, stem: str) -> Path | None:
    file = path / f"{stem}.txt"
    return file if file.is_file() else None


def _label_file(files: _Files, option: str | None) -> Path | None:
    if option is None:
        return files.labels
    for file in (Path(option).expanduser(), files.train.parent / option):
        if file.is_file():
            return file
    raise DataError("the label file does not exist", file=option, remedy=f"give a path, absolute or from {Path.cwd()}")


def find_text_columns(table: Table, option: str | list[str] | None, choice: str) -> tuple[list[str], list[str]]:
    """(title columns, body columns)."""
    if option is not None:
        names = option.split(",") if isinstance(option, str) else list(option)
        if not all(isinstance(name, str) for name in names):
            raise ConfigError(f"text_column takes names of columns, got {str(option)[:100]}")
        return [], [table.require(name.strip()) for name in names]
    title, body = table.find(*TITLE_COLUMNS), table.find(*BODY_COLUMNS)
    if title is None and body is None:
        raise DataError(
            f"no text column was found; the columns are {table.listing()}",
            file=table.path, line=1, remedy="say which one holds the text, such as text_column='question'",
        )  # fmt: skip
    if (choice == "title" and title is None) or (choice == "content" and body is None):
        raise DataError(
            f"there is no {choice} column; the columns are {table.listing()}",
            file=table.path, line=1, remedy="leave out the option `text`, or give text_column",
        )  # fmt: skip
    return [title] if title else [], [body] if body else []


def find_labels_column(table: Table, option: str | None) -> str:
    if option is not None:
        return table.require(option)
    found = table.find(*LABEL_COLUMNS)
    if found is None:
        raise DataError(
            f"no labels column was found; the columns are {table.listing()}",
            file=table.path, line=1, remedy="say which one holds the labels, such as labels_column='topics'",
        )  # fmt: skip
    return found


def document_texts(table: Table, titles: list[str], bodies: list[str], choice: str) -> list[str]:
    def joined(columns: list[str]) -> list[str]:
        return ["\n".join(filter(None, cells)) for cells in zip(*map(table.strings, columns), strict=True)]

    if not titles or not bodies:
        return joined(titles or bodies)
    pairs = zip(joined(titles), joined(bodies), strict=True)
    return [joined_text(title, body, choice) for title, body in pairs]


def _keys(table: Table, names: tuple[str, ...]) -> list[str] | None:
    """A column that names every document, or None."""
    column = table.find(*names)
    keys = None if column is None else table.strings(column)
    return keys if keys is not None and all(keys) else None


def _groups(table: Table, column: str | None) -> list[str] | None:
    """The group of every document, empty for one without; None where none has one. A test part need not have any."""
    groups = table.strings(column) if column in table.columns else [""]
    return groups if any(groups) else None


def _has_markup(texts: list[str]) -> bool:
    sample = texts[:: max(1, len(texts) // 200)]
    return 2 * sum(_MARKUP.search(text) is not None for text in sample) > len(sample)


def _plain(text: str) -> str:
    """The text between HTML tags."""
    return " ".join(html.unescape(_TAG.sub(" ", text)).split())
