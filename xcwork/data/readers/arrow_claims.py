"""What the messages of an Arrow stream claim to unpack to, found before Arrow allocates it.

A compressed buffer begins with its unpacked size, which Arrow allocates without a look at the packed one. The places of
the buffers are in the metadata of a message, a flatbuffer: a table begins with the distance back to its vtable, which
lists where its fields are. pyarrow has verified the metadata of a message that it returned, so offsets in it are sound;
those of buffers in the body are not and are checked here.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING

from xcwork.compute.memory import check_memory
from xcwork.data.readers.safe_files import MAX_EXPANSION_RATIO, MIN_SUSPECT_BYTES
from xcwork.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

# Places of fields in the tables of Arrow's Message.fbs.
_MESSAGE_HEADER = 2
_DICTIONARY_DATA = 1
_BATCH_BUFFERS = 2
_BATCH_COMPRESSION = 3
_BUFFER_BYTES = 16  # of a place in the body: offset and length


def check_claims(stream: pa.Buffer, path: Path) -> None:
    """Reject a stream whose compressed buffers claim far more than they hold, or more than fits into memory."""
    import pyarrow as pa

    claimed = 0
    for message in pa.ipc.MessageReader.open_stream(stream):
        if message.type in ("record batch", "dictionary") and message.body is not None:
            is_dictionary = message.type == "dictionary"
            claimed += _sum_unpacked_sizes(message.metadata.to_pybytes(), message.body, is_dictionary)
    if claimed > max(MIN_SUSPECT_BYTES, MAX_EXPANSION_RATIO * stream.size):
        problem = f"the file unpacks to more than {MAX_EXPANSION_RATIO} times its size, far more than any real dataset"
        raise DataError(problem, file=path, remedy="write it again without compression")
    check_memory(claimed, "the table", path)


def _sum_unpacked_sizes(metadata: bytes, body: pa.Buffer, is_dictionary: bool) -> int:
    """Return the sum of what the buffers of one batch claim to unpack to; 0 where they are not compressed."""
    table = _follow(metadata, 0)
    batch = _find_field(metadata, table, _MESSAGE_HEADER)
    if is_dictionary and batch is not None:
        batch = _find_field(metadata, _follow(metadata, batch), _DICTIONARY_DATA)
    if batch is None:
        return 0
    batch = _follow(metadata, batch)
    places = _find_field(metadata, batch, _BATCH_BUFFERS)
    if places is None or _find_field(metadata, batch, _BATCH_COMPRESSION) is None:
        return 0
    vector = _follow(metadata, places)
    (count,) = struct.unpack_from("<I", metadata, vector)
    total = 0
    for i in range(count):
        offset, length = struct.unpack_from("<qq", metadata, vector + 4 + i * _BUFFER_BYTES)
        if length >= 8 and 0 <= offset <= body.size - 8:
            (size,) = struct.unpack("<q", body.slice(offset, 8).to_pybytes())
            total += max(0, size)  # -1: this buffer is not compressed
    return total


def _follow(metadata: bytes, at: int) -> int:
    """Return the place that the offset at `at` points to."""
    return at + int(struct.unpack_from("<I", metadata, at)[0])


def _find_field(metadata: bytes, table: int, field: int) -> int | None:
    """Return where a field of a table is, or None where the table does not have it."""
    vtable = table - struct.unpack_from("<i", metadata, table)[0]
    (size,) = struct.unpack_from("<H", metadata, vtable)
    if 4 + 2 * field >= size:
        return None
    (place,) = struct.unpack_from("<H", metadata, vtable + 4 + 2 * field)
    return table + place if place else None
