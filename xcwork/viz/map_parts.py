"""Arrays as bytes for the browser: a header in JSON and the arrays behind it, read there by `parts.js` as typed arrays.

Layout: 4 bytes length of the header (little endian), the header, zeros up to a multiple of 8, the arrays, each starting
at a multiple of 8. Whole numbers and texts are compressed, because most labels are rare and most names alike; positions
are not, because they would shrink by a tenth only.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

COMPRESSION_LEVEL = 1  # a map is packed while somebody waits for it
ALIGNMENT_BYTES = 8


@dataclass(frozen=True)
class MapPart:
    """Bytes for the browser and a name that changes with their content."""

    id: str
    content: bytes


def pack_part(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], compressed: Collection[str] = ()) -> MapPart:
    """Return a header and arrays as one part; the arrays named in `compressed` are."""
    sections: list[dict[str, Any]] = []
    contents: list[bytes] = []
    offset = 0
    for name, array in arrays.items():
        content = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        if name in compressed:
            content = gzip.compress(content, COMPRESSION_LEVEL, mtime=0)
        facts = {"name": name, "type": array.dtype.name, "offset": offset, "bytes": len(content)}
        sections.append({**facts, "is_compressed": name in compressed})
        contents.append(_pad(content))
        offset += len(contents[-1])
    digest = hashlib.blake2b(digest_size=12)
    for content in (json.dumps({**header, "sections": sections}, allow_nan=False).encode("ascii"), *contents):
        digest.update(content)
    name = digest.hexdigest()
    described = json.dumps({"id": name, **header, "sections": sections}).encode("ascii")
    return MapPart(name, b"".join([_pad(len(described).to_bytes(4, "little") + described), *contents]))


def pack_names(names: Sequence[str]) -> MapPart:
    """Return all names as one text with a line per name; line breaks inside a name become spaces."""
    text = "\n".join(names)
    if text.count("\n") != len(names) - 1:
        text = "\n".join(name.replace("\n", " ") for name in names)
    encoded = f"{text}\n".encode("utf-8", "replace") if len(names) else b""
    return pack_part({}, {"names": np.frombuffer(encoded, np.uint8)}, compressed={"names"})


def _pad(content: bytes) -> bytes:
    return content + bytes(-len(content) % ALIGNMENT_BYTES)
