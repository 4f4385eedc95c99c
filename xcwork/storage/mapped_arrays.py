"""Arrays that stay on disk: a stored file mapped into memory, of which only the parts in use are resident.

A CSR matrix over mapped arrays is an ordinary one: `X[rows]` copies those rows and nothing else. The operating system
keeps pages that were touched as long as there is room, which looks like memory in use; `release_pages` gives them back,
so a loop over the rows of a matrix of any size keeps the memory of one batch. Mapped arrays are read-only.

The layout on disk is that of safetensors: 8 bytes with the length of a JSON header, the header with type, shape and
place of every array, then the arrays. The library reads and writes whole files; here they are mapped, and written from
arrays that are themselves mapped (`RowFiles` collects rows for that), a piece at a time.
"""

from __future__ import annotations

import json
import math
import mmap
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from scipy import sparse

from xcwork.sparse import sort_entries

NUMPY_TYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "|i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "|u1",
    "BOOL": "|b1",
}
SAFETENSORS_TYPES = {np.dtype(kind): name for name, kind in NUMPY_TYPES.items()}
MAX_HEADER_BYTES = 100_000_000  # the limit of the library
PIECE_BYTES = 2**26  # handled at a time
NUMBERS_PER_BLOCK = 2**20  # of a temporary array
MAX_INT32 = 2**31 - 1


def map_arrays(path: str | Path) -> dict[str, np.ndarray]:
    """Return the arrays of a safetensors file, read-only and not yet read; a ValueError when it is none."""
    with Path(path).open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= min(size - 8, MAX_HEADER_BYTES):
            raise ValueError("the header of the file is damaged")
        header = json.loads(file.read(length))
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    header.pop("__metadata__", None)
    return {name: _view_array(mapping, 8 + length, size, facts) for name, facts in header.items()}


def _view_array(mapping: mmap.mmap, start: int, size: int, facts: Mapping[str, Any]) -> np.ndarray:
    kind, shape, (begin, end) = np.dtype(NUMPY_TYPES[facts["dtype"]]), tuple(facts["shape"]), facts["data_offsets"]
    count = math.prod(shape)
    if not all(type(n) is int and n >= 0 for n in (*shape, begin, end)) or end > size - start:
        raise ValueError("an array lies outside of the file")
    if end - begin != count * kind.itemsize:
        raise ValueError("an array has another size than its shape says")
    if count == 0:
        return np.empty(shape, kind)
    return np.frombuffer(mapping, kind, count, start + begin).reshape(shape)


def find_mapping(array: Any) -> mmap.mmap | None:
    """Return what an array is mapped from; None for one in memory."""
    while isinstance(array, np.ndarray):
        array = array.base
    if isinstance(array, memoryview):
        array = array.obj
    return array if isinstance(array, mmap.mmap) else None


def release_pages(matrix: sparse.csr_array) -> None:
    """Give back the pages of a mapped matrix that are resident; nothing happens to one in memory."""
    if not hasattr(mmap, "MADV_DONTNEED"):
        return
    for mapping in {find_mapping(part) for part in (matrix.data, matrix.indices)}:
        if mapping is not None:
            mapping.madvise(mmap.MADV_DONTNEED)


def split_pieces(array: np.ndarray) -> Iterator[np.ndarray]:
    """Yield a contiguous array as flat parts one after the other: a mapped one in small parts, each released behind."""
    flat, mapping = np.ascontiguousarray(array).reshape(-1), find_mapping(array)
    if mapping is None:
        yield flat
        return
    step = max(1, PIECE_BYTES // flat.itemsize)
    for start in range(0, len(flat), step):
        yield flat[start : start + step]
        if hasattr(mmap, "MADV_DONTNEED"):
            mapping.madvise(mmap.MADV_DONTNEED)


def is_finite(array: np.ndarray, *, nan: bool = False) -> bool:
    """Return whether all numbers are finite, or NaN where that is allowed, with little memory besides the array."""
    return not any(
        np.isinf(block).any() if nan else not np.isfinite(block).all()
        for piece in split_pieces(array)
        for block in (piece[start : start + NUMBERS_PER_BLOCK] for start in range(0, len(piece), NUMBERS_PER_BLOCK))
    )


def write_arrays(arrays: Mapping[str, np.ndarray], path: str | Path) -> None:
    """Write a safetensors file with `arrays`, of which never more than a piece is in memory."""
    # Wide types first, so that every array starts at a multiple of its width.
    order = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
    header, end = {}, 0
    for name in order:
        begin, end = end, end + arrays[name].nbytes
        facts = {
            "dtype": SAFETENSORS_TYPES[arrays[name].dtype],
            "shape": list(arrays[name].shape),
            "data_offsets": [begin, end],
        }
        header[name] = facts
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with Path(path).open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in order:
            for piece in split_pieces(arrays[name]):
                file.write(piece.view(np.uint8).data)


class RowFiles:
    """The rows of a CSR matrix collected in files, block by block; memory holds one number per row."""

    def __init__(self, folder: Path, n_columns: int) -> None:
        self._folder, self.n_columns = folder, n_columns
        folder.mkdir(parents=True)
        self._files: dict[str, BinaryIO] = {name: (folder / name).open("wb") for name in ("data", "indices")}
        self._lengths: list[np.ndarray] = []

    def add(self, rows: sparse.csr_array) -> None:
        """Append these rows."""
        if rows.shape[1] != self.n_columns:
            raise ValueError(f"rows of {rows.shape[1]} columns cannot follow rows of {self.n_columns}")
        rows = sort_entries(sparse.csr_array(rows))
        self._files["data"].write(np.ascontiguousarray(rows.data, "<f4").data)
        self._files["indices"].write(np.ascontiguousarray(rows.indices, "<i4").data)
        self._lengths.append(np.diff(rows.indptr))

    def map_matrix(self) -> sparse.csr_array:
        """Return all rows, mapped from the files."""
        for file in self._files.values():
            file.close()
        lengths = np.concatenate(self._lengths) if self._lengths else np.zeros(0, np.int64)
        starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        data, indices = (self._map_file(name, kind) for name, kind in (("data", "<f4"), ("indices", "<i4")))
        if len(data) <= MAX_INT32:
            starts = starts.astype(np.int32)
        else:  # scipy wants both of one type
            wide = np.memmap(self._folder / "wide", "<i8", "w+", shape=indices.shape)
            step = max(1, PIECE_BYTES // wide.itemsize)
            for start in range(0, len(indices), step):
                wide[start : start + step] = indices[start : start + step]
            indices = wide
        return sparse.csr_array((data, indices, starts), shape=(len(lengths), self.n_columns))

    def _map_file(self, name: str, kind: str) -> np.ndarray:
        path = self._folder / name
        return np.memmap(path, kind, "r") if path.stat().st_size else np.empty(0, kind)
