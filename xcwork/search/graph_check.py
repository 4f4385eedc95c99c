"""Whether the file of a search graph can be trusted: hnswlib follows every number in it without looking.

The file is a header, one record per element (links of the ground level, vector, id) and the links of the higher levels
of each element. Every link must lead to an element that reaches that level, every count must fit its list, and the
sizes must be those that dimension and number of links give. Checking is a few passes over arrays.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from xcwork.errors import DataError

HEADER = struct.Struct("<6QiI3QdQ")
COUNT_BYTES = 4  # before the links of a list: their number in two bytes, and marks


def check_graph(path: Path, dimension: int) -> None:
    """Refuse a graph that could make hnswlib read outside of itself."""
    try:
        _check_structure(path.read_bytes(), dimension)
    except (ValueError, struct.error) as problem:
        raise DataError(f"the search graph is damaged ({problem})", file=path, remedy="build the index again") from None


def _check_structure(content: bytes, dimension: int) -> None:
    (first, room, n, record, id_at, vector_at, top_level, entry, most, most_at_ground, M, _, _) = HEADER.unpack_from(
        content
    )
    ground = most_at_ground * 4 + COUNT_BYTES
    expected = (0, ground, ground + 4 * dimension, ground + 4 * dimension + 8)
    if (first, vector_at, id_at, record) != expected or not 0 < M == most == most_at_ground // 2 < 2**15 or room < n:
        raise ValueError("its header contradicts itself")
    end = HEADER.size + n * record
    if end > len(content):
        raise ValueError("it is cut off")
    # (n, record) bytes, looked at in place
    records = np.frombuffer(content, np.uint8, n * record, HEADER.size).reshape(n, record)
    ids = np.ascontiguousarray(records[:, id_at:]).view(np.uint64).ravel()
    if n and (ids.max() >= n or len(np.unique(ids)) != n):
        raise ValueError("its elements are not numbered one by one")
    higher, levels = _read_higher_links(content, end, n, most * 4 + COUNT_BYTES)
    if n and (entry >= n or top_level != levels.max() or levels[entry] != top_level):
        raise ValueError("its entry is not at the top")
    _check_links(
        np.ascontiguousarray(records[:, :ground]).view(np.uint32), np.zeros(n, np.int64), levels, most_at_ground
    )
    if len(higher):
        _check_links(higher[:, 1:], higher[:, 0].astype(np.int64), levels, most)


def _read_higher_links(content: bytes, at: int, n: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (one row per list above the ground: level, count, links; the highest level of each element)."""
    levels, lists = np.zeros(n, np.int64), []
    for element in range(n):
        if at + 4 > len(content):
            raise ValueError("it is cut off")
        length = int.from_bytes(content[at : at + 4], "little")
        at += 4
        if length % size or at + length > len(content):
            raise ValueError("the links of an element are cut off")
        levels[element] = length // size
        for level in range(length // size):
            links = np.frombuffer(content, np.uint32, size // 4, at + level * size)
            lists.append(np.concatenate([np.array([level + 1], np.uint32), links]))
        at += length
    if at != len(content):
        raise ValueError("something follows its end")
    return np.array(lists, np.uint32).reshape(len(lists), size // 4 + 1), levels


def _check_links(lists: np.ndarray, at_level: np.ndarray, levels: np.ndarray, most: int) -> None:
    """Check that a row is a count (in its lower half) and room for `most` links to elements that reach its level."""
    counts = lists[:, 0] & 0xFFFF
    if len(counts) and counts.max() > most:
        raise ValueError("an element has more links than there is room for")
    used = np.arange(most) < counts[:, None]
    links = lists[:, 1 : most + 1][used]
    if len(links) and links.max() >= len(levels):
        raise ValueError("a link leads nowhere")
    if (levels[links] < np.repeat(at_level, counts)).any():
        raise ValueError("a link leads to an element that is not there")
