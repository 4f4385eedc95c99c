"""Which encoding fits a text file that is not UTF-8, and whether a file is text at all."""

from __future__ import annotations

import codecs
from pathlib import Path

from xcwork.data.readers.safe_files import choose_encoding, read_head

LOOKED_AT_BYTES = 2**20
MAX_CONTROL_SHARE = 0.01  # of the bytes of a text; line ends and tabs are none
_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\r\f")
_UNUSED_IN_CP1252 = bytes((0x81, 0x8D, 0x8F, 0x90, 0x9D))
_ONLY_IN_CP1252 = bytes(range(0x80, 0xA0))  # quotes, dashes and the euro; control characters in Latin-1


def suggest_encoding(path: Path) -> str | None:
    """Return the encoding in which a file can be read: `utf-8` wherever possible; None where it is not text.

    Every byte means something in Latin-1, so it fits whatever is left; only a person can say whether it is right.
    """
    head = read_head(path, LOOKED_AT_BYTES)
    marked = choose_encoding(head, "utf-8")
    if marked != "utf-8":
        return marked
    if len(head.translate(None, _CONTROLS)) < (1 - MAX_CONTROL_SHARE) * len(head):
        return None
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)  # the last character may be cut off
    except UnicodeDecodeError:
        used = set(head)
        is_windows = not used.isdisjoint(_ONLY_IN_CP1252) and used.isdisjoint(_UNUSED_IN_CP1252)
        return "cp1252" if is_windows else "latin-1"
    return "utf-8"
