"""Sentences for the malformed lines that the parser of sparse text refuses."""

from __future__ import annotations

import re
from collections import Counter

from xcwork.kernels import text_codes as codes

TOKEN = re.compile(rb"[^\s,:]*")
VALUE = re.compile(rb"\S*")
MAX_SHOWN_CHARACTERS = 40


def describe_error(error: int, line: bytes, at: int, what: str, columns: int, labels: int) -> tuple[str, str]:
    """Return (problem, remedy) of `error` at byte `at` of `line`; `columns` and `labels` limit the ids."""
    token = _quote(line, at)
    entry = f"write entries as `{what} id:value`, separated by spaces"
    match error:
        case codes.BAD_ID:
            return f"expected a {what} id but found {token}", entry
        case codes.MISSING_COLON:
            return f"{token} has no `:value`", entry
        case codes.BAD_VALUE if at >= len(line.rstrip()):
            return "the value after the last `:` is missing", entry
        case codes.BAD_VALUE:
            return f"the value {_quote(line, at, VALUE)} is not a number", entry
        case codes.NOT_FINITE:
            return f"the value {token} is not a finite number", "remove the entry or give it a number"
        case codes.NEGATIVE_VALUE:
            return f"the value {token} is negative", "correct it, or give allow_negative=True if this is intended"
        case codes.DUPLICATE:
            return f"the {what} id {_find_repeated(line)} occurs twice", "keep one of the two entries"
        case codes.NEGATIVE_ID:
            return f"the {what} id {token} is negative", "ids start at 0"
        case codes.ID_TOO_LARGE:
            return _describe_beyond(what, token, columns)
        case codes.ID_BELOW_BASE:
            return f"the {what} id 0 cannot be in a file that counts from 1", "leave out one_based"
    return _describe_label_error(error, line, token, labels)


def _describe_label_error(error: int, line: bytes, token: str, labels: int) -> tuple[str, str]:
    match error:
        case codes.NEGATIVE_LABEL:
            return f"the label id {token} is negative", "ids start at 0"
        case codes.LABEL_TOO_LARGE:
            return _describe_beyond("label", token, labels)
        case codes.LABEL_BELOW_BASE:
            return "the label id 0 cannot be in a file that counts from 1", "leave out one_based"
        case codes.DUPLICATE_LABEL:
            return f"the label id {_find_repeated(line, labels=True)} occurs twice", "keep one of the two"
    return f"expected label ids but found {token}", "write them as `3,7,12`; a line without labels starts with a space"


def describe_beyond_header(what: str, count: int, from_one: bool) -> tuple[str, str]:
    """Return (problem, remedy) of an id that equals the number of columns."""
    if from_one:
        problem = f"the {what} ids run from 1 to {count}, so the file seems to count from 1 instead of 0"
        return problem, "load it with one_based=True"
    return _describe_beyond(what, str(count), count)


def _describe_beyond(what: str, token: str, count: int) -> tuple[str, str]:
    problem = f"the {what} id {token} is beyond the {count:,} {what}s of the header (ids 0 to {count - 1:,})"
    return problem, "correct the header or the id"


def _quote(line: bytes, at: int, pattern: re.Pattern[bytes] = TOKEN) -> str:
    found = pattern.match(line, at)
    text = (found.group() if found else b"") or line[at : at + 1]
    shown = text[:MAX_SHOWN_CHARACTERS].decode("utf-8", "replace") + ("…" if len(text) > MAX_SHOWN_CHARACTERS else "")
    return repr(shown) if shown else "the end of the line"


def _find_repeated(line: bytes, labels: bool = False) -> int:
    """Return the id that occurs more than once in a line."""
    words = line.split()
    ids = words[0].split(b",") if labels else [word.partition(b":")[0] for word in words if b":" in word]
    return Counter(map(int, ids)).most_common(1)[0][0]
