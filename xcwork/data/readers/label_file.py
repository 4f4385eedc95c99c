"""The file that describes labels: `labels.*` of a dataset folder, or the option `label_file`.

A table with `uid` and `title` (or `name`, `label`, `text`), optionally `content`, `alt_labels` and `parents`; or a text
file with one name per line. Documents may refer to labels by uid, by title, or (text file) by line number from 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from xcwork.data.raw import RawLabels
from xcwork.data.readers.columns import RecordTable, read_table
from xcwork.data.readers.label_cells import split_labels
from xcwork.data.readers.safe_files import get_bare_name, read_lines
from xcwork.data.readers.text_options import join_fields
from xcwork.errors import ConfigError, DataError


def read_labels(
    path: Path, used: Iterable[list[str]], *, label_text: str = "all", text: str = "both", encoding: str = "utf-8"
) -> RawLabels:
    """Return the labels of a file; `used` are the labels of the documents, which decide what their keys are."""
    if label_text not in ("all", "title"):
        raise ConfigError(f"label_text must be 'all' or 'title', got {label_text!r}")
    keys_used = set(chain.from_iterable(used))
    if Path(get_bare_name(path)).suffix == ".txt":
        names = [line for _, line in read_lines(path, encoding)]
        by_number = all(key.isdigit() for key in keys_used) and not keys_used <= set(names)
        keys = [str(number) for number in range(len(names))] if by_number else names
        _check_unique(path, keys, list(range(1, len(keys) + 1)))
        return RawLabels(names=names, texts=names, uids=keys if by_number else None)
    return _read_table_of_labels(read_table(path, encoding), keys_used, label_text, text)


def _read_table_of_labels(table: RecordTable, keys_used: set[str], label_text: str, text: str) -> RawLabels:
    uid_column = table.find("uid", "id")
    title_column = table.find("title", "name", "label", "text")
    if title_column is None:
        if uid_column is None:
            raise DataError(
                f"there is no column with label names; the columns are {table.list_columns()}",
                file=table.path,
                line=1,
                remedy="call one of them `title` (and the one with the keys `uid`)",
            )
        title_column = uid_column
    titles = [" ".join(title.split()) for title in table.strings(title_column)]
    uids = [uid.strip() for uid in table.strings(uid_column)] if uid_column else titles
    # Documents may name labels by title even where uids exist; the majority of their keys tells.
    by_title = len(keys_used.intersection(titles)) > len(keys_used.intersection(uids))
    keys = titles if by_title else uids
    _check_unique(table.path, keys, table.lines)
    content_column = table.find("content", "description")
    contents = table.strings(content_column)
    texts = [join_fields(title, content, text) or title for title, content in zip(titles, contents, strict=True)]
    alternatives = _read_lists(table, table.find("alt_labels"))
    if label_text == "all" and alternatives is not None:
        # A blank line keeps word pairs from crossing from one name of the label into the next.
        texts = ["\n\n".join([own, *others]) for own, others in zip(texts, alternatives, strict=True)]
    names = [title or uid for title, uid in zip(titles, uids, strict=True)]
    return RawLabels(
        names=names,
        texts=texts,
        uids=None if by_title else uids,
        parents=_read_lists(table, table.find("parents")),
    )


def _read_lists(table: RecordTable, column: str | None) -> list[list[str]] | None:
    """Return the names that each cell of a column lists; None without the column."""
    return None if column is None else split_labels([table], column).labels[0]


def _check_unique(path: Path, keys: list[str], lines: list[int]) -> None:
    first: dict[str, int] = {}
    for key, line in zip(keys, lines, strict=True):
        if key in first:
            raise DataError(
                f"the label {key!r} is in line {first[key]} already",
                file=path,
                line=line,
                remedy="give every label a key of its own",
            )
        first[key] = line
