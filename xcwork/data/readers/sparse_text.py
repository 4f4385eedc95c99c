"""The three sparse text formats share one parser: XC files, split files and svmlight lines become CSR matrices here.

The file is read in blocks of whole lines; the kernel parses blocks in threads while the next one is read or unpacked.
What exists at any time is the parsed blocks, the blocks in flight and, while the blocks are joined, one array of the
result: at most about twice the size of the matrices.

Why not `sklearn.datasets.load_svmlight_file`: it takes 7.4 times the processor time (benchmarks/parsing.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy import sparse

from xcwork.compute.memory import check_memory
from xcwork.compute.parallel import stream_map
from xcwork.data.readers.parse_errors import describe_beyond_header, describe_error
from xcwork.data.readers.safe_files import open_bytes
from xcwork.data.readers.sparse_header import MATRIX_NAMES, MAX_ID, read_header
from xcwork.errors import ConfigError, DataError
from xcwork.kernels import text_codes as codes
from xcwork.progress import track
from xcwork.sparse import sort_entries

BLOCK_BYTES = 4 * 2**20


@dataclass(frozen=True)
class TextRules:
    """What the user says about the numbers in a file."""

    one_based: str = ""  # which ids count from 1: "", "features", "labels" or "both"
    allow_negative: bool = False


@dataclass(frozen=True)
class TextLayout:
    """What a file is expected to contain; sizes of None come from the content."""

    labelled: bool  # does a line start with labels?
    n_rows: int | None = None
    n_columns: int | None = None
    n_labels: int | None = None
    what: str = "feature"  # what the columns are
    one_based: str = ""  # "", "features", "labels" or "both"
    allow_negative: bool = False
    comments: bool = False

    def starts_at(self, what: str) -> int:
        return int(self.one_based in ("both", f"{what}s"))


def parse_one_based(value: bool | str) -> str:
    """Return the option `one_based` as `TextRules` wants it."""
    if isinstance(value, bool):
        return "both" if value else ""
    if value in ("features", "labels", "both"):
        return value
    raise ConfigError(f"one_based must be true, false, 'features' or 'labels', got {value!r}")


@dataclass(frozen=True)
class ParsedText:
    """The matrices of a file: X of the `id:value` entries, Y of the labels that open the lines."""

    X: sparse.csr_array
    Y: sparse.csr_array
    min_id: int  # the smallest column id met; `codes.NO_ID` when there is none


class _Malformed(Exception):
    """A line the kernel refused; which line of the file it is, only the caller knows."""

    def __init__(self, error: int, lines_before: int, line: bytes, at: int) -> None:
        self.error, self.lines_before, self.line, self.at = error, lines_before, line, at


@dataclass
class _ParsedBlock:
    """The rows of one block."""

    lines: int
    ends: np.ndarray  # where each row ends in ids and values
    ids: np.ndarray
    values: np.ndarray
    label_ends: np.ndarray
    labels: np.ndarray
    seen: np.ndarray  # as in the kernel, but places are lines of the block


def read_matrix(path: Path, rules: TextRules | None = None, *, what: str = "feature") -> sparse.csr_array:
    """Return the matrix of a split file: header `rows columns`, then one row of `id:value` entries per line."""
    rules = rules or TextRules()
    rows, columns = read_header(path, MATRIX_NAMES)
    layout = TextLayout(
        labelled=False,
        n_rows=rows,
        n_columns=columns,
        what=what,
        one_based=rules.one_based,
        allow_negative=rules.allow_negative,
    )
    return parse_file(path, layout).X


def parse_file(path: Path, layout: TextLayout) -> ParsedText:
    """Read a whole file; the first malformed line ends it with a `DataError`."""
    blocks: list[_ParsedBlock] = []
    first_line = 1 if layout.n_rows is None else 2
    used = 0
    with open_bytes(path, streamed=True) as stream:
        if layout.n_rows is not None:
            stream.readline()
        total = None if path.suffix in (".gz", ".zip") else -(-path.stat().st_size // BLOCK_BYTES)
        lines = track(_read_blocks(stream), f"reading {path.name}", total=total)
        try:
            # In the order of the file, so that of several malformed lines the first is reported.
            for block in stream_map(lambda content: _parse_block(content, layout), lines):
                blocks.append(block)
                used += block.ids.nbytes + block.values.nbytes
                check_memory(used // 2, "joining the blocks that were read so far", path)
        except _Malformed as found:
            line = first_line + sum(block.lines for block in blocks) + found.lines_before
            columns, labels = layout.n_columns or MAX_ID, layout.n_labels or MAX_ID
            problem, remedy = describe_error(found.error, found.line, found.at, layout.what, columns, labels)
            raise DataError(problem, file=path, line=line, remedy=remedy) from None
    _check_limits(blocks, first_line, path, layout)
    _check_rows(blocks, first_line, path, layout)
    return _join_blocks(blocks, layout)


def _read_blocks(stream: BufferedReader) -> Iterator[bytes]:
    """Yield the rest of the stream in pieces that end with a line."""
    rest: list[bytes] = []
    while content := stream.read(BLOCK_BYTES):
        end = content.rfind(b"\n") + 1
        if end == 0:
            rest.append(content)
            continue
        yield b"".join([*rest, content[:end]])
        rest = [content[end:]]
    if any(rest):
        yield b"".join(rest)


def _parse_block(block: bytes, layout: TextLayout) -> _ParsedBlock:
    from xcwork.kernels.text_parse import count_marks, parse_rows

    text = np.frombuffer(block, dtype=np.uint8)
    newlines, commas, colons = count_marks(text)
    label_room = newlines + 1 + commas if layout.labelled else 0
    labels, label_ends = np.empty(label_room, np.int32), np.zeros(newlines + 1, np.int64)
    ids, values, ends = np.empty(colons, np.int32), np.empty(colons, np.float32), np.empty(newlines + 1, np.int64)
    seen = codes.make_empty_seen()
    error, at, rows = parse_rows(
        text,
        layout.labelled,
        layout.starts_at(layout.what),
        MAX_ID if layout.n_columns is None else layout.n_columns,
        layout.starts_at("label"),
        MAX_ID if layout.n_labels is None else layout.n_labels,
        layout.allow_negative,
        layout.comments,
        labels,
        label_ends,
        ids,
        values,
        ends,
        seen,
    )
    if error != codes.OK:
        start = block.rfind(b"\n", 0, at) + 1
        line = block[start:].partition(b"\n")[0]
        raise _Malformed(error, block.count(b"\n", 0, start), line, at - start)
    for place in (codes.PLACE_OF_LIMIT_ID, codes.PLACE_OF_LIMIT_LABEL):
        if seen[place] >= 0:
            seen[place] = block.count(b"\n", 0, int(seen[place]))
    ends, label_ends = ends[:rows].copy(), label_ends[:rows].copy()
    n, m = (int(ends[-1]), int(label_ends[-1])) if rows else (0, 0)
    ids, values, labels = ids[:n].copy(), values[:n].copy(), labels[:m].copy()  # release the generous buffers
    if seen[codes.IDS_MIXED]:
        _sort_rows(block, ends, ids, values, codes.DUPLICATE)
    if seen[codes.LABELS_MIXED]:
        _sort_rows(block, label_ends, labels, np.empty(m, np.int8), codes.DUPLICATE_LABEL)
    if np.count_nonzero(values) < n:
        kept = values != 0
        ends, ids, values = np.concatenate([[0], np.cumsum(kept)])[ends], ids[kept], values[kept]
    return _ParsedBlock(newlines + (not block.endswith(b"\n")), ends, ids, values, label_ends, labels, seen)


def _sort_rows(block: bytes, ends: np.ndarray, ids: np.ndarray, values: np.ndarray, error: int) -> None:
    """Sort the ids within each row, in place; an id that occurs twice makes its line malformed."""
    indptr = np.concatenate([[0], ends]).astype(np.int32)
    rows = sort_entries(sparse.csr_array((values, ids, indptr), shape=(len(ends), MAX_ID + 1)))
    starts = np.zeros(len(ids) + 1, bool)
    starts[indptr] = True
    repeated = np.flatnonzero((np.diff(rows.indices) == 0) & ~starts[1:-1])
    if len(repeated):
        row = int(np.searchsorted(ends, repeated[0], side="right"))
        rows_at = [(at, line) for at, line in enumerate(block.split(b"\n")) if not line.startswith(b"#")]
        number, line = rows_at[row]
        raise _Malformed(error, number, line, 0)
    ids[:], values[:] = rows.indices, rows.data


def _check_limits(blocks: list[_ParsedBlock], first_line: int, path: Path, layout: TextLayout) -> None:
    """Reject an id that equals the number of columns: it is one too large, or the file counts from 1."""
    line = first_line
    smallest, _ = _find_extremes(blocks)
    for block in blocks:
        for place, lowest, what, count in (
            (codes.PLACE_OF_LIMIT_LABEL, codes.MIN_LABEL, "label", layout.n_labels),
            (codes.PLACE_OF_LIMIT_ID, codes.MIN_ID, layout.what, layout.n_columns),
        ):
            if count is not None and block.seen[place] >= 0:
                from_one = smallest[lowest] >= 1 and not layout.starts_at(what)
                problem, remedy = describe_beyond_header(what, count, bool(from_one))
                raise DataError(problem, file=path, line=line + int(block.seen[place]), remedy=remedy)
        line += block.lines


def _check_rows(blocks: list[_ParsedBlock], first_line: int, path: Path, layout: TextLayout) -> None:
    """Reject content with other rows than the header promises; blank lines after them do no harm."""
    if layout.n_rows is None:
        return
    found = sum(len(block.ends) for block in blocks)
    if found < layout.n_rows:
        raise DataError(
            f"the file ends after {found:,} of the {layout.n_rows:,} rows that the header promises",
            file=path,
            line=first_line + found,
            remedy="complete the file or correct the header",
        )
    surplus = found - layout.n_rows
    for block in reversed(blocks):
        if surplus <= 0:
            return
        kept = max(0, len(block.ends) - surplus)
        used, used_labels = (block.ends[kept - 1], block.label_ends[kept - 1]) if kept else (0, 0)
        if used != len(block.ids) or used_labels != len(block.labels):
            raise DataError(
                f"there are more rows than the {layout.n_rows:,} that the header promises",
                file=path,
                line=first_line + layout.n_rows,
                remedy="correct the header or remove the surplus",
            )
        surplus -= len(block.ends) - kept
        block.ends, block.label_ends = block.ends[:kept], block.label_ends[:kept]


def _join_blocks(blocks: list[_ParsedBlock], layout: TextLayout) -> ParsedText:
    smallest, largest = _find_extremes(blocks)
    columns = largest[codes.MAX_ID] + 1 if layout.n_columns is None else layout.n_columns
    n_labels = largest[codes.MAX_LABEL] + 1 if layout.n_labels is None else layout.n_labels
    indptr = _join_row_starts([block.ends for block in blocks])
    label_indptr = _join_row_starts([block.label_ends for block in blocks])
    shape = (len(indptr) - 1, int(columns))
    label_shape = (len(indptr) - 1, int(n_labels))
    labels = np.concatenate([np.empty(0, np.int32), *(block.labels for block in blocks)])
    Y = sparse.csr_array((np.ones(len(labels), np.float32), labels, label_indptr), shape=label_shape)
    X = sparse.csr_array((_drain(blocks, "values", np.float32), _drain(blocks, "ids", np.int32), indptr), shape=shape)
    return ParsedText(X, Y, int(smallest[codes.MIN_ID]))


def _find_extremes(blocks: list[_ParsedBlock]) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and the largest value in every place of `seen`."""
    seen = np.array([codes.make_empty_seen(), *(block.seen for block in blocks)])
    return seen.min(axis=0), seen.max(axis=0)


def _join_row_starts(ends: list[np.ndarray]) -> np.ndarray:
    lengths = [np.diff(end, prepend=0) for end in ends]
    starts = np.concatenate([np.zeros(1, np.int64), *lengths]).cumsum()
    return starts.astype(np.int32) if starts[-1] <= MAX_ID else starts


def _drain(blocks: list[_ParsedBlock], name: str, dtype: type) -> np.ndarray:
    """Return one array of all blocks, each of which gives up its own as soon as it is copied."""
    sizes = np.cumsum([0, *(len(getattr(block, name)) for block in blocks)])
    whole = np.empty(sizes[-1], dtype)
    for block, (start, end) in zip(blocks, pairwise(sizes), strict=True):
        whole[start:end] = getattr(block, name)
        setattr(block, name, whole[:0])
    return whole
