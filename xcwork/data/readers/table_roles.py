"""Which columns of a table are the text and the labels: those with the usual names, or those the user names.

Where no column is called like labels, columns that have only 0 and 1 say whether a document has the label of their
name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xcwork.data.readers.columns import RecordTable
from xcwork.data.readers.record_columns import RecordColumns
from xcwork.errors import ConfigError, DataError

TITLE_COLUMNS = ("title", "titles")
BODY_COLUMNS = (
    "text",
    "content",
    "abstract",
    "document",
    "body",
    "description",
    "features_content",
    "texts",
    "abstracts",
    "summary",
    "summaries",
    "overview",
    "comment_text",
    "sentence",
    "question",
    "message",
    "comment",
    "review",
    "post",
    "article",
)
LABEL_COLUMNS = (
    "labels",
    "tags",
    "label",
    "categories",
    "tag",
    "category",
    "genres",
    "keywords",
    "subjects",
    "labels_index",
    "genre",
    "topics",
    "topic",
    "terms",
    "classes",
    "class",
    "annotations",
)
UID_COLUMNS = ("uid", "id", "document_id", "testid")
USUAL_NAMES = (*TITLE_COLUMNS, *BODY_COLUMNS, *LABEL_COLUMNS, *UID_COLUMNS)
GROUP_COLUMNS = ("group",)
INDICATOR_COLUMN = "columns of 0 and 1"  # what the column is called that is made of them
MIN_INDICATORS = 2
_ABSENT = frozenset({"0", "0.0", "false"})
_PRESENT = frozenset({"1", "1.0", "true"})


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
            remedy="say which one holds the text, such as text_column='request'",
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
    return [
        "\n".join(filter(None, cells)) for cells in zip(*(_read_texts(table, name) for name in columns), strict=True)
    ]


def _read_texts(table: RecordTable, column: str) -> list[str]:
    """Return the values of a column as text; a list of words is joined with spaces."""
    values = table.columns[column]
    if not any(isinstance(value, list) for value in values):
        return table.list_strings(column)
    is_words = all(isinstance(word, str) for value in values if isinstance(value, list) for word in value)
    if not is_words:
        return table.list_strings(column)
    texts = [" ".join(value) if isinstance(value, list) else value for value in values]
    return RecordTable.from_columns(table.path, {column: texts}, table.lines).list_strings(column)


def join_indicators(tables: Sequence[RecordTable]) -> list[RecordTable]:
    """Return tables without a labels column with one more: the names of the columns that have 1 in a record.

    Tables that have a labels column, or fewer than MIN_INDICATORS columns of 0 and 1, are returned as they are.
    """
    first = tables[0]
    if first.find(*LABEL_COLUMNS) is not None:
        return list(tables)
    ids = {name for name in first.columns if name.strip().lower() in UID_COLUMNS}
    names = [name for name in first.columns if name.strip() and name not in ids and _has_indicators(first, name)]
    if len(names) < MIN_INDICATORS or not all(name in table.columns for table in tables for name in names):
        return list(tables)
    note = f"{len(names):,} columns that have only 0 and 1 are labels, from {names[0]!r} to {names[-1]!r}"
    joined = [_add_column(table, _list_present(table, names)) for table in tables]
    return [replace(joined[0], notes=(*joined[0].notes, note)), *joined[1:]]


def _has_indicators(table: RecordTable, name: str) -> bool:
    values = {str(value).strip().lower() for value in table.columns[name]}
    return bool(values) and values <= _ABSENT | _PRESENT


def _list_present(table: RecordTable, names: list[str]) -> list[list[str]]:
    """Return the names of the columns that have 1, for every record."""
    present: list[list[str]] = [[] for _ in range(len(table))]
    for name in names:
        for row, value in enumerate(table.columns[name]):
            text = str(value).strip().lower()
            if text in _PRESENT:
                present[row].append(name.strip())
            elif text not in _ABSENT:
                raise DataError(
                    f"{text[:40]!r} in column {name!r} is neither 0 nor 1",
                    file=table.path,
                    line=table.lines[row],
                    remedy="write 0 or 1, or say which column holds the labels, such as labels_column='topics'",
                )
    return present


def _add_column(table: RecordTable, labels: list[list[str]]) -> RecordTable:
    return replace(table, columns=RecordColumns({**table.columns, INDICATOR_COLUMN: labels}))
