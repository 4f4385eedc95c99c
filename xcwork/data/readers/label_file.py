"""The file that describes labels: `labels.*` of a dataset folder, or the option `label_file`.

A table with `uid` and `title` (or `name`, `label`, `text`), optionally `content`, `alt_labels` and `parents`; a text
file with one name per line; or a vocabulary of subjects (see `subject_vocabulary`). Documents may refer to labels by
uid, by title, by line number from 0 or 1 (text file), or by notation (vocabulary).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from xcwork.data.raw import RawLabels
from xcwork.data.readers.columns import RecordTable, read_table
from xcwork.data.readers.label_cells import split_labels
from xcwork.data.readers.safe_files import get_bare_name, read_lines
from xcwork.data.readers.subject_vocabulary import clean_uri, find_vocabulary, is_vocabulary, read_vocabulary
from xcwork.data.readers.text_options import join_fields
from xcwork.errors import ConfigError, DataError
from xcwork.paths import find_named_file


@dataclass(frozen=True, eq=False)
class NamedLabels:
    """The labels that a file describes, and those of the documents by the same keys."""

    known: RawLabels
    of_splits: list[list[list[str]]]  # labels of each document of each split
    notes: tuple[str, ...] = ()


def name_labels(
    folder: Path,
    of_splits: list[list[list[str]]],
    *,
    label_file: str | None = None,
    language: str | None = None,
    label_text: str = "all",
    encoding: str = "utf-8",
    documents: Iterable[Path] = (),
    names: Mapping[str, str] | None = None,
) -> NamedLabels:
    """Return the labels of documents with names: from the label file, from a vocabulary in `folder`, or from `names`.

    `documents` are the files of the documents themselves, which are not their vocabulary; `names` are those that the
    documents give for their own labels.
    """
    cleaned = [[list(dict.fromkeys(map(clean_uri, row))) for row in rows] for rows in of_splits]
    if label_file is not None:
        file = find_label_file(label_file, folder)
        return describe_labels(file, cleaned, language=language, label_text=label_text, encoding=encoding)
    file_beside, notes = find_vocabulary(folder, documents)
    if file_beside is not None:
        named = describe_labels(file_beside, cleaned, language=language, label_text=label_text, encoding=encoding)
        return replace(named, notes=(*notes, *named.notes))
    used = sorted({key for rows in cleaned for row in rows for key in row})
    if not names or not used:
        return NamedLabels(RawLabels(), cleaned, tuple(notes))
    known = RawLabels(names=[names.get(key, key) for key in used], uids=used)
    return NamedLabels(known, cleaned, tuple(notes))


def find_label_file(option: str, folder: Path) -> Path:
    """Return the file that the option `label_file` names."""
    if (found := find_named_file(option, folder)) is None:
        raise DataError(
            "the label file does not exist", file=option, remedy=f"give a path, absolute or from {Path.cwd()}"
        )
    return found


def describe_labels(
    path: Path,
    of_splits: list[list[list[str]]],
    *,
    language: str | None = None,
    label_text: str = "all",
    text: str = "both",
    encoding: str = "utf-8",
) -> NamedLabels:
    """Return the labels of documents with what a label file says about them."""
    if not is_vocabulary(path):
        known = read_labels(path, chain(*of_splits), label_text=label_text, text=text, encoding=encoding)
        return NamedLabels(known, of_splits)
    used = {key for rows in of_splits for row in rows for key in row}
    vocabulary = read_vocabulary(path, language=language, encoding=encoding, used=used)
    resolved = [vocabulary.resolve_labels(rows) for rows in of_splits]
    notes = list(vocabulary.notes)
    unknown = sorted({key for rows in resolved for row in rows for key in row}.difference(vocabulary.uris))
    if unknown:
        notes.append(f"{len(unknown):,} of {len(used):,} labels are not in {path.name}, such as {unknown[0][:80]!r}")
    return NamedLabels(vocabulary.to_raw_labels(label_text), resolved, tuple(notes))


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
        # Where the last label is counted and none is 0, ids count from 1.
        first = int(by_number and "0" not in keys_used and str(len(names)) in keys_used)
        keys = [str(number) for number in range(first, first + len(names))] if by_number else names
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
    titles = [" ".join(title.split()) for title in table.list_strings(title_column)]
    uids = [uid.strip() for uid in table.list_strings(uid_column)] if uid_column else titles
    # Documents may name labels by title even where uids exist; the majority of their keys tells.
    by_title = len(keys_used.intersection(titles)) > len(keys_used.intersection(uids))
    keys = titles if by_title else uids
    _check_unique(table.path, keys, table.lines)
    content_column = table.find("content", "description")
    contents = table.list_strings(content_column)
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


def _check_unique(path: Path | None, keys: list[str], lines: list[int]) -> None:
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
