"""Raw LF datasets: JSON lines `trn.json.gz`, `tst.json.gz` and `lbl.json.gz`.

A document has `uid`, `title`, `content` and `target_ind`, the rows of its labels in the label file; a label has `uid`,
`title` and sometimes `content`. `filter_labels_train.txt` and `filter_labels_test.txt` may lie beside them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from xcwork.core.dataset import Dataset
from xcwork.data.build import TEST_SHARE, build_dataset
from xcwork.data.raw import RawDataset, RawLabels, RawSplit
from xcwork.data.readers.columns import RecordTable, read_table
from xcwork.data.readers.companion_files import read_filter_pairs
from xcwork.data.readers.declaration import Finding, FormatDeclaration, describe_options, look_for_files
from xcwork.data.readers.safe_files import find_file
from xcwork.data.readers.text_options import check_text_choice, join_fields, make_vectorizer
from xcwork.errors import DataError

FORMAT = FormatDeclaration(
    name="lf_json",
    title="raw LF JSON lines: trn.json, tst.json and lbl.json with target_ind",
    files=("trn.json", "tst.json", "lbl.json", "filter_labels_train.txt", "filter_labels_test.txt"),
    options=describe_options("text", "encoding", "test_share", "vectorizer"),
    example={
        "trn.json": '{"uid": "a", "title": "Red wine", "content": "Grapes and time.", "target_ind": [0]}\n'
        '{"uid": "b", "title": "Green tea", "content": "Leaves and water.", "target_ind": [1]}\n',
        "lbl.json": '{"uid": "x", "title": "Wine"}\n{"uid": "y", "title": "Tea"}\n',
    },
)


def inspect(path: Path) -> Finding:
    return look_for_files(path, "trn.json")


def read(
    path: Path,
    name: str,
    *,
    text: str = "both",
    encoding: str = "utf-8",
    test_share: float = TEST_SHARE,
    vectorizer: Mapping[str, Any] | None = None,
) -> Dataset:
    check_text_choice(text)
    label_file = find_file(path, "lbl.json")
    if label_file is None:
        raise DataError("lbl.json.gz is missing", file=path, remedy="put the file of the labels into the folder")
    table = read_table(label_file, encoding)
    titles = table.list_strings(table.require("title"))
    uids = table.list_strings(table.find("uid")) if table.find("uid") else []
    if len(set(uids)) < len(titles):
        uids = [str(row) for row in range(len(titles))]
    names = [title or uid for title, uid in zip(titles, uids, strict=True)]

    def read_split(file: Path, split: str) -> RawSplit:
        documents = read_table(file, encoding)
        return RawSplit(
            texts=_join_texts(documents, text),
            Y=_make_label_matrix(documents, documents.require("target_ind"), len(titles)),
            uids=documents.list_strings(documents.find("uid")) if documents.find("uid") else None,
            filter_pairs=read_filter_pairs(path, split, len(documents), len(titles)),
        )

    train_file = find_file(path, "trn.json")
    test_file = find_file(path, "tst.json")
    assert train_file is not None  # or nobody would have recognised it
    raw = RawDataset(
        train=read_split(train_file, "train"),
        test=None if test_file is None else read_split(test_file, "test"),
        labels=RawLabels(names=names, texts=_join_texts(table, text), uids=uids),
        source=f"raw LF JSON lines, text: {text}",
        path=path,
    )
    return build_dataset(raw, name=name, vectorizer=make_vectorizer(vectorizer), test_share=test_share)


def _join_texts(table: RecordTable, choice: str) -> list[str]:
    """Return the text of every record from its title and content; the title where that would be empty."""
    titles = table.list_strings(table.find("title"))
    contents = table.list_strings(table.find("content"))
    return [join_fields(title, content, choice) or title for title, content in zip(titles, contents, strict=True)]


def _make_label_matrix(table: RecordTable, column: str, n_labels: int) -> sparse.csr_array:
    """Return Y, (n_records, n_labels), of the row numbers that `column` lists."""
    rows: list[list[int]] = []
    for targets, line in zip(table.columns[column], table.lines, strict=True):
        if not isinstance(targets, list) or not all(type(target) is int for target in targets):
            raise DataError(
                f"{column} is not a list of row numbers", file=table.path, line=line, remedy="write it as [3, 17]"
            )
        if targets and not 0 <= min(targets) <= max(targets) < n_labels:
            raise DataError(
                f"{column} holds {min(targets) if min(targets) < 0 else max(targets)}, but there are "
                f"{n_labels:,} labels, numbered from 0",
                file=table.path,
                line=line,
                remedy="use the label file that belongs to these documents",
            )
        rows.append(sorted(set(targets)))
    indptr = np.cumsum([0, *map(len, rows)], dtype=np.int32)
    indices = np.fromiter((label for row in rows for label in row), np.int32, int(indptr[-1]))
    return sparse.csr_array((np.ones(len(indices), np.float32), indices, indptr), shape=(len(rows), n_labels))
