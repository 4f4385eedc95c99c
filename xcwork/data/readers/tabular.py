"""Tables: CSV, TSV, JSON lines or Parquet with a text column and a labels column.

One file, split by hash; or a folder with `train.*`, `test.*` and optionally `labels.*`. Columns are found by their
usual names; `text_column` (one name, or several separated by commas), `labels_column`, `groups_column`, `separator`,
`label_field`, `header` and `label_file` say otherwise, and `test` names another file to test on, such as `dev`. What
was found is written into the dataset's `source`, and what could be read otherwise into its `notes`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from xcwork.core.dataset import Dataset
from xcwork.data.build import TEST_SHARE, build_dataset
from xcwork.data.raw import RawDataset, RawLabels, RawSplit
from xcwork.data.readers.columns import RecordTable, is_table, read_table
from xcwork.data.readers.declaration import Finding, FormatDeclaration, describe_options, join_names
from xcwork.data.readers.headerless import choose_columns, is_headerless
from xcwork.data.readers.label_cells import split_labels
from xcwork.data.readers.label_file import NamedLabels, describe_labels, find_label_file, name_labels
from xcwork.data.readers.markup import has_markup, strip_markup
from xcwork.data.readers.safe_files import (
    VALIDATION_NAMES,
    find_delimiter,
    find_file,
    get_bare_name,
    list_files,
    peek_lines,
)
from xcwork.data.readers.split_names import SPLIT_NAMES, find_split
from xcwork.data.readers.subject_vocabulary import VOCABULARY_WORDS, has_only_subjects, is_uri, is_vocabulary
from xcwork.data.readers.table_roles import (
    GROUP_COLUMNS,
    INDICATOR_COLUMN,
    UID_COLUMNS,
    USUAL_NAMES,
    find_labels_column,
    find_text_columns,
    join_columns,
    join_indicators,
)
from xcwork.data.readers.text_options import check_text_choice, make_vectorizer
from xcwork.errors import DataError

FORMAT = FormatDeclaration(
    name="table",
    title="a table with a text and a labels column: .csv, .tsv, .jsonl or .parquet; or train.*, test.* and labels.*",
    files=("name.csv", "train.csv", "test.csv", "labels.csv"),
    options=describe_options(
        "label_file",
        "language",
        "text",
        "label_text",
        "delimiter",
        "encoding",
        "test",
        "test_share",
        "vectorizer",
        text_column="column of the text; separate several with commas",
        labels_column="column of the labels",
        groups_column="column of the group each document belongs to (default `group`), where labels are known for "
        "groups only; an empty cell is a group of its own",
        separator="what separates labels in a cell; an empty one means that a cell is one label",
        label_field="field that names the label, where labels are records",
        header="`false` for a CSV or TSV file whose first line is a document; then its columns are `column 1`, …",
        strip_html="`true` or `false` instead of looking",
    ),
    example={
        "recipes.csv": 'id,title,content,tags\n1,Chewy cookies,"Soft sugar, butter",baking|sweet\n'
        "2,Crisp bacon,In the oven,meat|oven\n"
    },
)

CANONICAL_NAMES = {"trn": "train", "training": "train", "tst": "test", "testing": "test"}
LABEL_NAME_FILES = ("labels.txt", "classes.txt")  # one name per line
MAX_KEYS_TO_LOOK_AT = 1000  # whether labels are URIs


@dataclass(frozen=True)
class TableFiles:
    """The files of a dataset of tables."""

    train: Path
    test: Path | None = None
    labels: Path | None = None
    notes: tuple[str, ...] = ()


def inspect(path: Path) -> Finding:
    tables = _list_tables(path)
    if (file := _find_training_table(tables)) is not None:
        return Finding.accept(file.name)
    if tables:
        seen = join_names([file.name for file in tables.values()][:5])
        return Finding.refuse("one of the tables called train, or a single table", seen=seen, nearness=0.6)
    missing = "a .csv, .tsv, .jsonl or .parquet file"
    if path.is_file() and find_delimiter(peek_lines(path)) is not None:
        return Finding.refuse(f"{missing}: rename it, if it is one", seen="lines with fields", nearness=0.5)
    return Finding.refuse(missing)


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
    language: str | None = None,
    text: str = "both",
    label_text: str = "all",
    strip_html: bool | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    test: str | None = None,
    test_share: float = TEST_SHARE,
    vectorizer: Mapping[str, Any] | None = None,
) -> Dataset:
    files = _choose_files(path, test)
    paths = [file for file in (files.train, files.test) if file is not None]
    tables = [read_table(file, encoding, delimiter, header=header is not False) for file in paths]
    names_nothing = text_column is None and labels_column is None
    if header is None and names_nothing and is_headerless(tables[0], USUAL_NAMES):
        header = False
        tables = [read_table(file, encoding, delimiter, header=False) for file in paths]
        note = f"the first line of {paths[0].name} names no columns and is read as a document; header=true changes this"
        files = replace(files, notes=(*files.notes, note))
    if header is False and names_nothing:
        text_column, labels_column = choose_columns(tables[0])
    return build_from_tables(
        tables,
        name,
        path=path,
        text_column=text_column,
        labels_column=labels_column,
        groups_column=groups_column,
        separator=separator,
        label_field=label_field,
        files=files,
        label_file=label_file,
        language=language,
        text=text,
        label_text=label_text,
        strip_html=strip_html,
        encoding=encoding,
        test_share=test_share,
        vectorizer=vectorizer,
    )


def build_from_tables(
    tables: Sequence[RecordTable],
    name: str,
    *,
    path: Path | None = None,
    text_column: str | list[str] | None = None,
    labels_column: str | None = None,
    groups_column: str | None = None,
    separator: str | None = None,
    label_field: str | None = None,
    files: TableFiles | None = None,
    label_file: str | None = None,
    language: str | None = None,
    text: str = "both",
    label_text: str = "all",
    strip_html: bool | None = None,
    encoding: str = "utf-8",
    test_share: float = TEST_SHARE,
    vectorizer: Mapping[str, Any] | None = None,
) -> Dataset:
    """Return the dataset of one table, or of a training and a test table; the options are those of `read`.

    `files` are those the tables come from, beside which a label file may be; None for tables in memory.
    """
    check_text_choice(text)
    text_columns = find_text_columns(tables[0], text_column, text)
    if labels_column is None:
        tables = join_indicators(tables)
        labels_column = INDICATOR_COLUMN if INDICATOR_COLUMN in tables[0].columns else None
    label_column = find_labels_column(tables[0], labels_column)
    group_column = tables[0].find(*GROUP_COLUMNS) if groups_column is None else tables[0].require(groups_column)
    for table in tables[1:]:
        table.check_columns([*text_columns, label_column])
    cells = split_labels(tables, label_column, separator, label_field)
    texts = [join_columns(table, text_columns) for table in tables]
    if strip_html is None:
        strip_html = has_markup(texts[0])
    named = NamedLabels(RawLabels(), cells.labels)
    if files is not None:
        named = _name_table_labels(
            files, cells.labels, label_file, language=language, label_text=label_text, text=text, encoding=encoding
        )
    if named.known.names is None and named.known.uids is None:
        named = replace(named, known=RawLabels(names=tables[0].class_names.get(label_column)))
    splits = [
        RawSplit(
            texts=[strip_markup(text) for text in documents] if strip_html else documents,
            labels=labels,
            uids=_read_uids(table),
            groups=_read_groups(table, group_column),
        )
        for table, documents, labels in zip(tables, texts, named.of_splits, strict=True)
    ]
    text_source = " + ".join(map(repr, text_columns)) + (" without HTML tags" if strip_html else "")
    raw = RawDataset(
        train=splits[0],
        test=splits[1] if len(splits) > 1 else None,
        labels=named.known,
        source=f"text from {text_source}, labels from {label_column!r} ({cells.how})",
        notes=[
            *(files.notes if files else ()),
            *chain.from_iterable(table.notes for table in tables),
            *cells.notes,
            *named.notes,
        ],
        path=path,
    )
    return build_dataset(raw, name=name, vectorizer=make_vectorizer(vectorizer), test_share=test_share)


def _list_tables(path: Path) -> dict[str, Path]:
    """Return the tables of a folder by their stems, such as `train`; a table is its own folder."""
    if is_table(path):
        return {"train": path}
    files = [file for file in list_files(path) if is_table(file)] if path.is_dir() else []
    tables = {Path(get_bare_name(file)).stem: file for file in files if not _is_vocabulary_beside(file)}
    # `Train_sample.json` is the training table where no file is called `train` alone, and no other one has this word.
    for word in (*SPLIT_NAMES,):
        named = [stem for stem in tables if word in re.split(r"[^a-z]+", stem.lower())]
        if word not in tables and len(named) == 1 and named[0] not in SPLIT_NAMES:
            tables[CANONICAL_NAMES.get(word, word)] = tables.pop(named[0])
    return tables


def _is_vocabulary_beside(file: Path) -> bool:
    """Return whether a table describes subjects, so that it is not one of documents."""
    words = re.split(r"[^a-z]+", file.name.lower())
    is_named = not VOCABULARY_WORDS.isdisjoint(words)
    return is_vocabulary(file) if is_named else find_split(file) is None and has_only_subjects(file)


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
    names = find_file(path, *LABEL_NAME_FILES) if "train" in tables and path.is_dir() else None
    labels = tables.get("labels") or names
    return TableFiles(train, splits.get(chosen), labels, tuple(notes))


def _name_table_labels(
    files: TableFiles, labels: list[list[list[str]]], option: str | None, **options: Any
) -> NamedLabels:
    """Return the labels with what is known about them: from `label_file`, `labels.*`, or a vocabulary of their URIs."""
    if option is not None:
        return describe_labels(find_label_file(option, files.train.parent), labels, **options)
    if files.labels is not None:
        return describe_labels(files.labels, labels, **options)
    keys = list(islice(chain.from_iterable(chain.from_iterable(labels)), MAX_KEYS_TO_LOOK_AT))
    if 2 * sum(map(is_uri, keys)) <= len(keys):
        return NamedLabels(RawLabels(), labels)
    options.pop("text")
    return name_labels(files.train.parent, labels, documents=filter(None, (files.train, files.test)), **options)


def _read_uids(table: RecordTable) -> list[str] | None:
    """Return the column that names every document, or None."""
    uids = table.list_strings(table.find(*UID_COLUMNS))
    return uids if all(uids) else None


def _read_groups(table: RecordTable, column: str | None) -> list[str] | None:
    """Return the group of every document, empty for one without; None where none has one, as in most test splits."""
    groups = table.list_strings(column) if column in table.columns else [""]
    return groups if any(groups) else None
