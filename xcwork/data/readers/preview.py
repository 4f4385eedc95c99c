"""The first records of a table as documents, before it becomes a dataset: which columns, which labels, what texts.

Columns are found as the reader finds them. Where the usual names are missing, the longest texts are the text, and the
column whose cells repeat most is the labels; the caller may say otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from xcwork.data.readers.columns import RecordTable, read_table
from xcwork.data.readers.headerless import find_longest_column, find_most_repeated_column
from xcwork.data.readers.label_cells import split_labels
from xcwork.data.readers.table_roles import find_labels_column, find_text_columns, join_columns
from xcwork.errors import DataError

PREVIEW_RECORDS = 2000  # enough to tell how most label columns are separated


@dataclass(frozen=True)
class Preview:
    """What a table looks like as documents with labels; `columns` are known even where `error` says why it does not."""

    columns: list[str]
    text_columns: list[str]
    labels_column: str
    needs_options: bool  # whether the reader would not have found these columns by itself
    how: str = ""  # how the cells of the labels column are understood
    notes: list[str] = field(default_factory=list)  # what these cells could mean otherwise
    texts: list[str] = field(default_factory=list)
    labels: list[list[str]] = field(default_factory=list)
    error: DataError | None = None  # why texts or labels cannot be read from these columns; then there are none


def preview_table(
    path: Path,
    *,
    text_columns: list[str] | None = None,
    labels_column: str | None = None,
    separator: str | None = None,
    label_field: str | None = None,
    encoding: str = "utf-8",
    max_records: int = PREVIEW_RECORDS,
) -> Preview:
    """Return the first `max_records` of the table at `path`; columns that are not given are guessed.

    Whether the columns can be read as texts and labels or not, the preview names them: see `Preview.error`. All records
    together decide how label cells are read, so the card of the dataset may say something else than `how`.
    """
    table = read_table(path, encoding, max_records=max_records)
    if len(table.columns) < 2:
        raise DataError(
            f"the table has one column ({table.list_columns()}), but a text and a labels column are needed",
            file=path,
            line=1,
            remedy="check what separates its fields",
        )
    found = _find_columns(table)
    texts_from = text_columns or (found[0] if found else [find_longest_column(table, labels_column)])
    labels_from = labels_column or (found[1] if found else find_most_repeated_column(table, texts_from))
    seen = Preview(list(table.columns), texts_from, labels_from, needs_options=found != (texts_from, labels_from))
    try:
        texts = join_columns(table, texts_from)
        cells = split_labels([table], labels_from, separator, label_field)
    except DataError as error:
        return replace(seen, error=error)
    return replace(seen, how=cells.how, notes=cells.notes, texts=texts, labels=cells.labels[0])


def _find_columns(table: RecordTable) -> tuple[list[str], str] | None:
    """Return the columns the reader finds by their usual names."""
    try:
        return find_text_columns(table, None, "both"), find_labels_column(table, None)
    except DataError:
        return None
