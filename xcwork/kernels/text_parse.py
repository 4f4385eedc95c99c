"""Sparse matrices from text bytes: one pass over the buffer, no strings in between.

A line is `label,label id:value id:value …` (XC repository, svmlight) or `id:value …` (split files). A value is read as
a decimal mantissa m of at most 18 digits and an exponent e; m * 10^e is exact in float64 up to one rounding while
m < 2^53 and |e| <= 22, so the float32 it becomes is the nearest one for all but contrived input. Whether the ids of
every row increase is noted, so that only blocks with ids out of order are sorted. Whatever the kernel cannot accept
ends it with an error code and its position.

Cost: O(bytes), about 200 MB/s per core; the GIL is released, so blocks of a file parse in threads.
"""

from __future__ import annotations

import numpy as np

from xcwork.kernels import text_codes as codes
from xcwork.kernels.stored_code import njit
from xcwork.kernels.text_bytes import (
    COLON,
    COMMA,
    HASH,
    LOWER_E,
    LOWER_I,
    LOWER_N,
    MINUS,
    NEWLINE,
    PLUS,
    POINT,
    RETURN,
    SPACE,
    TAB,
    UPPER_E,
    ZERO,
)

_MANTISSA_LIMIT = 10**17  # digits that follow no longer change a float32
_MAX_EXPONENT = 100_000  # a larger one means the same
MAX_EXACT_POWER = 22  # the largest power of ten that a float64 holds exactly
POWERS_OF_TEN = 10.0 ** np.arange(MAX_EXACT_POWER + 1)


@njit(cache=True, nogil=True)
def count_marks(text):
    """Return (newlines, commas, colons): upper bounds of the rows, labels and entries of a buffer."""
    newlines = 0
    commas = 0
    colons = 0
    for byte in text:
        newlines += byte == NEWLINE
        commas += byte == COMMA
        colons += byte == COLON
    return newlines, commas, colons


@njit(cache=True, nogil=True, inline="always")
def _is_blank(byte):
    return byte in (SPACE, TAB, RETURN)


@njit(cache=True, nogil=True)
def scale_by_power(mantissa, exponent):
    """Return mantissa * 10^exponent as float64; one rounding while the exponent lies within ±22."""
    value = float(mantissa)
    while exponent > 0 and value < np.inf and value != 0.0:
        step = min(exponent, MAX_EXACT_POWER)
        value *= POWERS_OF_TEN[step]
        exponent -= step
    while exponent < 0 and value != 0.0:
        step = min(-exponent, MAX_EXACT_POWER)
        value /= POWERS_OF_TEN[step]
        exponent += step
    return value


@njit(cache=True, nogil=True)
def _read_integer(text, at):
    """Read digits; return (value, position after them): -1 without a digit, and a value that stops growing at 10^17."""
    start = at
    end = text.shape[0]
    value = np.int64(0)
    while at < end and ZERO <= text[at] < ZERO + 10:
        if value < _MANTISSA_LIMIT:
            value = value * 10 + np.int64(text[at] - ZERO)
        at += 1
    return (np.int64(-1) if at == start else value), at


@njit(cache=True, nogil=True)
def _read_number(text, at):
    """Read a number; return (error, value, position after it)."""
    end = text.shape[0]
    negative = at < end and text[at] == MINUS
    if at < end and (text[at] == MINUS or text[at] == PLUS):
        at += 1
    mantissa = np.int64(0)
    exponent = np.int64(0)
    digits = 0
    after_point = False
    while at < end:
        byte = text[at]
        if ZERO <= byte < ZERO + 10:
            digits += 1
            if mantissa < _MANTISSA_LIMIT:
                mantissa = mantissa * 10 + np.int64(byte - ZERO)
                exponent -= after_point
            else:
                exponent += not after_point
        elif byte == POINT and not after_point:
            after_point = True
        else:
            break
        at += 1
    if digits == 0:
        letter = np.uint8(text[at] | 32) if at < end else np.uint8(0)
        return (codes.NOT_FINITE if letter in (LOWER_N, LOWER_I) else codes.BAD_VALUE), 0.0, at
    if at < end and (text[at] == UPPER_E or text[at] == LOWER_E):
        at += 1
        below = at < end and text[at] == MINUS
        if at < end and (text[at] == MINUS or text[at] == PLUS):
            at += 1
        power, at = _read_integer(text, at)
        if power < 0:
            return codes.BAD_VALUE, 0.0, at
        power = min(power, _MAX_EXPONENT)
        exponent += -power if below else power
    value = scale_by_power(mantissa, exponent)
    return codes.OK, (-value if negative else value), at


@njit(cache=True, nogil=True)
def _read_labels(text, at, base, limit, labels, n, seen):
    """Read the `3,7,12` that opens a line, if it is there; return (error, position, number of labels so far)."""
    end = text.shape[0]
    start = at
    previous = np.int64(-1)
    while True:
        if at < end and text[at] == MINUS:
            return codes.NEGATIVE_LABEL, at, n
        if at < end and text[at] == PLUS:
            at += 1
        label, after = _read_integer(text, at)
        if label < 0:
            return codes.BAD_LABEL, at, n
        if after < end and text[after] == COLON and at == start:
            return codes.OK, start, n  # `id:value`: the document has no labels
        label -= base
        if label < 0:
            return codes.LABEL_BELOW_BASE, at, n
        if label > limit:
            return codes.LABEL_TOO_LARGE, at, n
        if label == limit and seen[codes.PLACE_OF_LIMIT_LABEL] < 0:
            seen[codes.PLACE_OF_LIMIT_LABEL] = at
        if label <= previous:
            seen[codes.LABELS_MIXED] = 1
        previous = label
        seen[codes.MIN_LABEL] = min(seen[codes.MIN_LABEL], label)
        seen[codes.MAX_LABEL] = max(seen[codes.MAX_LABEL], label)
        labels[n] = label
        n += 1
        at = after
        if at >= end or text[at] == NEWLINE or _is_blank(text[at]):
            return codes.OK, at, n
        if text[at] != COMMA:
            return codes.BAD_LABEL, at, n
        at += 1


@njit(cache=True, nogil=True)
def _read_entries(text, at, base, limit, allow_negative, comments, ids, values, n, seen):
    """Read the `id:value` pairs up to the end of the line; return (error, position, number of entries so far)."""
    end = text.shape[0]
    previous = np.int64(-1)
    while True:
        while at < end and _is_blank(text[at]):
            at += 1
        if at >= end or text[at] == NEWLINE:
            return codes.OK, at, n
        if comments and text[at] == HASH:
            while at < end and text[at] != NEWLINE:
                at += 1
            return codes.OK, at, n
        if text[at] == MINUS:
            return codes.NEGATIVE_ID, at, n
        start = at
        number, at = _read_integer(text, at)
        if number < 0:
            return codes.BAD_ID, start, n
        if at >= end or text[at] != COLON:
            return codes.MISSING_COLON, start, n
        number -= base
        if number < 0:
            return codes.ID_BELOW_BASE, start, n
        if number > limit:
            return codes.ID_TOO_LARGE, start, n
        if number == limit and seen[codes.PLACE_OF_LIMIT_ID] < 0:
            seen[codes.PLACE_OF_LIMIT_ID] = start
        if number <= previous:
            seen[codes.IDS_MIXED] = 1
        previous = number
        seen[codes.MIN_ID] = min(seen[codes.MIN_ID], number)
        seen[codes.MAX_ID] = max(seen[codes.MAX_ID], number)
        error, number_value, after = _read_number(text, at + 1)
        value = np.float32(number_value)
        if error == codes.OK and not np.isfinite(value):
            error = codes.NOT_FINITE
        if error == codes.OK and value < 0 and not allow_negative:
            error = codes.NEGATIVE_VALUE
        if error == codes.OK and after < end and not (text[after] == NEWLINE or _is_blank(text[after])):
            error = codes.BAD_VALUE
        if error != codes.OK:
            return error, at + 1, n
        ids[n] = number
        values[n] = value
        n += 1
        at = after


@njit(cache=True, nogil=True)
def parse_rows(
    text,
    labelled,
    id_base,
    id_limit,
    label_base,
    label_limit,
    allow_negative,
    comments,
    labels,
    label_ends,
    ids,
    values,
    ends,
    seen,
):
    """Parse every line of `text` into the arrays given; return (error, position, rows).

    `ids` and `values` take the entries of all rows, `ends[r]` where row r ends in them; `labels` and `label_ends` do
    the same for the labels. Ids run from `base` to `base + limit`. The limit itself is one too much, but it is only
    noted in `seen`: whether it betrays a file that counts from 1 is known at the end of the file.
    """
    # Not the literal 0, for which numba would compile the functions below a second time.
    at = np.int64(0)
    row = np.int64(0)
    n = np.int64(0)  # entries so far
    m = np.int64(0)  # labels so far
    while at < text.shape[0]:
        if comments and text[at] == HASH:
            while at < text.shape[0] and text[at] != NEWLINE:
                at += 1
            at += 1
            continue
        if labelled and text[at] != NEWLINE and not _is_blank(text[at]):
            error, at, m = _read_labels(text, at, label_base, label_limit, labels, m, seen)
            if error != codes.OK:
                return error, at, row
        error, at, n = _read_entries(text, at, id_base, id_limit, allow_negative, comments, ids, values, n, seen)
        if error != codes.OK:
            return error, at, row
        ends[row] = n
        label_ends[row] = m
        row += 1
        at += 1
    return codes.OK, at, row
