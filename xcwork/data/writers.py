"""Datasets as the two text formats that every tool of the field reads: XC-repository files and split files.

`write_xc` gives `train.txt` and `test.txt`, `write_splits` one matrix per file (and label features, if any).
Both add `Y.txt` and `Xf.txt`, the names of labels and features, and `filter_labels_*.txt`; `load_dataset` reads all of
it back. Texts and groups have no place in these formats. A folder appears complete or not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from scipy import sparse

from xcwork.core.dataset import Dataset
from xcwork.core.split import Split
from xcwork.errors import DataError
from xcwork.progress import track
from xcwork.storage.atomic import create_folder

ENTRIES_PER_BLOCK = 2**18


def write_xc(dataset: Dataset, folder: str | Path) -> None:
    """Write XC-repository files: header `N F L`, then `label,label id:value id:value` per document."""
    with create_folder(check_free(folder)) as target:
        for part, split in (("train", dataset.train), ("test", dataset.test)):
            header = f"{len(split)} {split.X.shape[1]} {split.n_labels}"
            _write_rows(target / f"{part}.txt", header, split.X, split.Y)
            _write_filter(target, part, split)
        _write_names(target / "Y.txt", dataset.labels.names)
        _write_names(target / "Xf.txt", dataset.features.names)


def write_stored(dataset: Dataset, folder: str | Path) -> None:
    """Write xcwork's own format, which keeps everything and can be mapped into memory."""
    dataset.save(check_free(folder))


def write_splits(dataset: Dataset, folder: str | Path) -> None:
    """Write split files: header `rows columns`, then `id:value id:value` per row.

    Label features that share the columns of the documents go to `lbl_X_Xf.txt`; others make it a ZestXML folder with
    `Y_Yf.txt` and `Yf.txt`.
    """
    labels = dataset.labels
    with create_folder(check_free(folder)) as target:
        for prefix, part, split in (("trn", "train", dataset.train), ("tst", "test", dataset.test)):
            _write_matrix(target / f"{prefix}_X_Xf.txt", split.X)
            _write_matrix(target / f"{prefix}_X_Y.txt", split.Y)
            _write_filter(target, part, split)
        _write_names(target / "Y.txt", labels.names)
        _write_names(target / "Xf.txt", dataset.features.names)
        if labels.Z is not None and labels.features is dataset.features:
            _write_matrix(target / "lbl_X_Xf.txt", labels.Z)
        elif labels.Z is not None:
            _write_matrix(target / "Y_Yf.txt", labels.Z)
            _write_names(target / "Yf.txt", None if labels.features is None else labels.features.names)


def check_free(folder: str | Path) -> Path:
    """Return the folder to write, which must not hold anything that would be lost."""
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DataError("this path exists already", file=folder, remedy="give a folder that is empty or does not exist")
    return folder


def _write_matrix(path: Path, matrix: sparse.csr_array) -> None:
    _write_rows(path, f"{matrix.shape[0]} {matrix.shape[1]}", matrix, None)


def _write_rows(path: Path, header: str, X: sparse.csr_array, Y: sparse.csr_array | None) -> None:
    from xcwork.kernels.text_format import BYTES_PER_ENTRY, BYTES_PER_LABEL, format_rows

    label_starts, labels = (X.indptr, X.indices[:0]) if Y is None else (Y.indptr, Y.indices)
    with path.open("wb") as file:
        file.write(f"{header}\n".encode())
        for first, last in track(list(_split_rows(X, Y)), f"writing {path.name}"):
            n_labels = 0 if Y is None else int(label_starts[last] - label_starts[first])
            n_entries = int(X.indptr[last] - X.indptr[first])
            out = np.empty(BYTES_PER_ENTRY * n_entries + BYTES_PER_LABEL * n_labels + last - first, np.uint8)
            size = format_rows(
                first,
                last,
                Y is not None,
                label_starts,
                labels,
                X.indptr,
                X.indices,
                X.data.astype(np.float32, copy=False),
                out,
            )
            file.write(out[:size].data)


def _split_rows(X: sparse.csr_array, Y: sparse.csr_array | None) -> Iterator[tuple[int, int]]:
    """Yield ranges of rows with a bounded number of entries and labels."""
    weight = X.indptr.astype(np.int64) + (0 if Y is None else Y.indptr) + np.arange(X.shape[0] + 1)
    first = 0
    while first < X.shape[0]:
        last = int(np.searchsorted(weight, weight[first] + ENTRIES_PER_BLOCK, side="right")) - 1
        last = max(last, first + 1)
        yield first, last
        first = last


def _write_filter(target: Path, part: str, split: Split) -> None:
    if split.filter_pairs is not None:
        lines = (f"{row} {label}" for row, label in split.filter_pairs.tolist())
        write_lines(target / f"filter_labels_{part}.txt", lines)


def _write_names(path: Path, names: list[str] | None) -> None:
    if names is not None:
        write_lines(path, (name.replace("\r", " ").replace("\n", " ") for name in names))


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines as UTF-8."""
    with path.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)
