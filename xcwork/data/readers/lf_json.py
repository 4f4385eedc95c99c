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
from xcwork.data.readers.assemble import TEST_SHARE
from xcwork.data.readers.columns import Table, read_table
from xcwork.data.readers.safe_files import find
from xcwork.data.readers.split_files import read_filter
from xcwork.data.readers.texts import Documents, Labels, build_text_dataset, check_text_choice, joined_text
from xcwork.errors import DataError

TITLE = "raw LF JSON lines: trn.json.gz, tst.json.gz and lbl.json.gz with target_ind"


def recognises(path: Path) -> bool:
    return path.is_dir() and find(path, "trn.json") is not None


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
    label_file = find(path, "lbl.json")
    if label_file is None:
        raise DataError("lbl.json.gz is missing", file=path, remedy="put the file of the labels into the folder")
    table = read_table(label_file, encoding)
    titles = table.strings(table.require("title"))
    uids = table.strings(table.find("uid")) if table.find("uid") else []
    if len(set(uids)) < len(titles):
        uids = [str(row) for row in range(len(titles))]
    labels = Labels([title or uid for title, uid in zip(titles, uids, strict=True)], _texts(table, text), uids)
    parts = [_read_part(path, file, part, text, encoding, len(titles)) for file, part in _parts(path)]
    return build_text_dataset(
        name,
        parts[0],
        parts[1] if len(parts) > 1 else None,
        path=path,
        source=f"raw LF JSON lines, text: {text}",
        labels=labels,
        vectorizer=vectorizer,
        test_share=test_share,
    )


def _parts(path: Path) -> list[tuple[Path, str]]:
    named = ((find(path, "trn.json"), "train"), (find(path, "tst.json"), "test"))
    return [(file, part) for file, part in named if file is not None]


def _texts(table: Table, choice: str) -> list[str]:
    titles, contents = table.strings(table.find("title")), table.strings(table.find("content"))
    return [joined_text(title, content, choice) or title for title, content in zip(titles, contents, strict=True)]


def _read_part(path: Path, file: Path, part: str, text: str, encoding: str, n_labels: int) -> Documents:
    table = read_table(file, encoding)
    Y = _label_matrix(table, table.require("target_ind"), n_labels)
    uids = table.strings(table.find("uid")) if table.find("uid") else None
    return Documents(_texts(table, text), Y, uids, filter_pairs=read_filter(path, part, len(table), n_labels))


def _label_matrix(table: Table, column: str, n_labels: int) -> sparse.csr_array:
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
    indptr = np.cumsum([0, *map(len, rows)])
    indices = np.fromiter((label for row in rows for label in row), np.int32, int(indptr[-1]))
    return sparse.csr_array((np.ones(len(indices), np.float32), indices, indptr), shape=(len(rows), n_labels))
