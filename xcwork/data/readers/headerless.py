"""Tables whose first line names no columns: how they are recognised, and which columns are the text and the labels.

The first line is a document where none of its cells is a usual name of a column and one of them is content: a number, a
sentence, or a value that its column has again below.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from xcwork.data.readers.columns import CSV_SUFFIXES, RecordTable
from xcwork.data.readers.safe_files import get_bare_name

MAX_COLUMNS_OF_RECORDS = 10  # a table of more is one of measurements
MIN_WORDS_OF_SENTENCE = 5
MIN_WORDS_OF_TEXT = 2.0  # on average, of a column that is part of the text
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def is_headerless(table: RecordTable, usual_names: Collection[str]) -> bool:
    """Return whether the first line of a CSV or TSV file, which names the columns of `table`, is a document."""
    if table.path is None or Path(get_bare_name(table.path)).suffix.lower() not in CSV_SUFFIXES:
        return False
    if not 2 <= len(table.columns) <= MAX_COLUMNS_OF_RECORDS or table.find(*usual_names) is not None:
        return False
    longest = find_longest_column(table)
    is_text = _count_words(table.columns[longest]) >= MIN_WORDS_OF_TEXT
    return is_text and any(_is_content(name, cells) for name, cells in table.columns.items())


def _is_content(name: str, cells: list[Any]) -> bool:
    is_sentence = len(name.split()) >= MIN_WORDS_OF_SENTENCE
    if is_sentence or _NUMBER.fullmatch(name.strip()):
        return True
    pieces = set(_split_cell(name))
    return any(not pieces.isdisjoint(_split_cell(str(cell))) for cell in cells)


def _split_cell(cell: str) -> list[str]:
    """Return the parts of a cell that may be labels."""
    return [piece for part in re.split(r"[|;,]", cell) if (piece := part.strip())]


def choose_columns(table: RecordTable) -> tuple[list[str], str]:
    """Return (columns of the text, column of the labels) of a table without names."""
    longest = find_longest_column(table)
    labels = find_most_repeated_column(table, [longest])
    texts = [
        name
        for name, cells in table.columns.items()
        if name == longest or (name != labels and _count_words(cells) >= MIN_WORDS_OF_TEXT)
    ]
    return texts, labels


def _count_words(cells: list[Any]) -> float:
    """Return how many words a cell has on average."""
    return sum(len(str(cell).split()) for cell in cells) / max(1, len(cells))


def find_longest_column(table: RecordTable, other_than: str | None = None) -> str:
    """Return the column with the most text; lists and records as JSON are none."""
    sizes = {
        name: sum(len(cell) for cell in cells if isinstance(cell, str) and not cell.startswith(("[", "{")))
        for name, cells in table.columns.items()
    }
    return max((name for name in sizes if name != other_than), key=lambda name: sizes[name])


def find_most_repeated_column(table: RecordTable, other_than: list[str]) -> str:
    """Return a column of lists; without one, the column with the fewest distinct cells, but more than one."""

    def rank(item: tuple[str, list[Any]]) -> tuple[bool, bool, int]:
        cells = [cell for cell in item[1] if cell not in (None, "")]
        lists = any(isinstance(cell, list) or str(cell).startswith("[") for cell in cells)
        distinct = len({str(cell) for cell in cells})
        return (not lists, distinct < 2, distinct)

    others = {name: cells for name, cells in table.columns.items() if name not in other_than}
    return min(others.items(), key=rank, default=(next(iter(table.columns)), []))[0]
