"""The small files beside the matrices of a dataset: names, one per line, and filter pairs, `row label` per line."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from xcwork.data.readers.safe_files import find_file, read_lines
from xcwork.data.readers.sparse_text import read_matrix
from xcwork.errors import DataError


def read_names(path: Path, expected: int, what: str) -> list[str]:
    """Return the names in a file, one per line; there must be `expected` of them."""
    names = [line for _, line in read_lines(path)]
    if len(names) != expected:
        raise DataError(
            f"there are {len(names):,} names for {expected:,} {what}",
            file=path,
            line=min(len(names), expected) + 1,
            remedy=f"give one line for each of the {what}",
        )
    return names


def find_names(folder: Path, expected: int, what: str, *files: str) -> list[str] | None:
    """Return the names in the first of `files` that exists in `folder`, gzipped or not; None if none does."""
    file = find_file(folder, *files)
    return None if file is None else read_names(file, expected, what)


def read_filter_pairs(folder: Path, split: str, n_documents: int, n_labels: int) -> np.ndarray | None:
    """Return the (document row, label id) pairs of a split that must not be predicted; None without a file of them."""
    matrix = find_file(folder, "pos_trn_tst.txt") if split == "test" else None
    file = find_file(folder, f"filter_labels_{split}.txt")
    if file is None and matrix is not None:
        Y = read_matrix(matrix, what="label")
        _check_pairs(matrix, np.array([[Y.shape[0] - 1, Y.shape[1] - 1]]), [1], n_documents, n_labels)
        return np.column_stack(Y.nonzero()).astype(np.int64)
    if file is None:
        return None
    pairs, lines = [], []
    # The file may be empty: a dataset without such pairs.
    for number, line in read_lines(file) if file.stat().st_size else ():
        words = line.split()
        if not words:
            continue
        if len(words) != 2 or not all(word.isascii() and word.isdigit() and len(word) < 10 for word in words):
            raise DataError(
                f"{line[:40]!r} is not a pair of a document row and a label id",
                file=file,
                line=number,
                remedy="write `row label`, counted from 0",
            )
        pairs.append((int(words[0]), int(words[1])))
        lines.append(number)
    found = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    _check_pairs(file, found, lines, n_documents, n_labels)
    return found


def _check_pairs(file: Path, pairs: np.ndarray, lines: list[int], n_documents: int, n_labels: int) -> None:
    wrong = np.flatnonzero((pairs[:, 0] >= n_documents) | (pairs[:, 1] >= n_labels))
    if len(wrong):
        row, label = pairs[wrong[0]]
        raise DataError(
            f"the pair {row} {label} is beyond the {n_documents:,} documents and {n_labels:,} labels",
            file=file,
            line=lines[wrong[0]],
            remedy="use the filter file that belongs to this split",
        )
