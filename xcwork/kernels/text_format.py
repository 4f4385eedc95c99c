"""Sparse rows as text bytes: the inverse of `xcwork.kernels.text_parse`.

A float32 is written with the fewest of 6 to 9 significant digits that the parser turns back into the same float32,
without trailing zeros; 9 are always enough. Tiny and huge values get an exponent.
"""

from __future__ import annotations

import math

import numpy as np

from xcwork.kernels.stored_code import njit
from xcwork.kernels.text_bytes import COLON, COMMA, LOWER_E, MINUS, NEWLINE, PLUS, POINT, SPACE, ZERO
from xcwork.kernels.text_parse import MAX_EXACT_POWER, POWERS_OF_TEN, scale_by_power

BYTES_PER_ENTRY = 32  # a blank, ten digits, a colon, and a value of at most 16 characters
BYTES_PER_LABEL = 11  # ten digits and a comma


@njit(cache=True, nogil=True)
def _shift_decimal(value, places):
    """Return value * 10^places."""
    while places > MAX_EXACT_POWER:
        value *= 1e22
        places -= MAX_EXACT_POWER
    return (
        value * POWERS_OF_TEN[places]
        if places >= 0
        else value / POWERS_OF_TEN[min(MAX_EXACT_POWER, -places)] / POWERS_OF_TEN[max(0, -places - MAX_EXACT_POWER)]
    )


@njit(cache=True, nogil=True)
def find_short_decimal(value):
    """Return (mantissa, exponent) of a positive float32: the short decimal that reads back as the same number."""
    leading = 0  # the power of ten of the first digit
    if value >= 10 or value < 1:
        leading = math.floor(math.log10(value))
    mantissa, exponent = np.int64(0), 0
    for digits in range(6, 10):
        exponent = leading + 1 - digits
        mantissa = np.int64(_shift_decimal(float(value), -exponent) + 0.5)
        if np.float32(scale_by_power(mantissa, exponent)) == value:
            break
    while mantissa % 10 == 0 and mantissa > 0:
        mantissa //= 10
        exponent += 1
    return mantissa, exponent


@njit(cache=True, nogil=True)
def _count_digits(number):
    """Return the number of digits."""
    length = 1
    limit = np.int64(10)
    while number >= limit:
        length += 1
        limit *= 10
    return length


@njit(cache=True, nogil=True)
def _put_integer(number, out, at):
    """Write digits; return the position after them."""
    length = _count_digits(number)
    for i in range(at + length - 1, at - 1, -1):
        out[i] = ZERO + number % 10
        number //= 10
    return at + length


@njit(cache=True, nogil=True)
def _put_value(value, out, at):
    """Write a float32; return the position after it."""
    if value < 0:
        out[at] = MINUS
        at += 1
        value = -value
    if value == 0:
        out[at] = ZERO
        return at + 1
    mantissa, exponent = find_short_decimal(value)
    length = _count_digits(mantissa)
    if exponent >= 0 and length + exponent <= 9:
        at = _put_integer(mantissa, out, at)
        out[at : at + exponent] = ZERO
        return at + exponent
    if exponent < 0 and length + exponent > -5:
        digits = -exponent  # after the point
        power = np.int64(10) ** digits
        at = _put_integer(mantissa // power, out, at)
        out[at] = POINT
        fraction = mantissa % power
        for i in range(at + digits, at, -1):
            out[i] = ZERO + fraction % 10
            fraction //= 10
        return at + 1 + digits
    at = _put_integer(mantissa, out, at)
    out[at] = LOWER_E
    out[at + 1] = PLUS if exponent >= 0 else MINUS
    return _put_integer(abs(exponent), out, at + 2)


@njit(cache=True, nogil=True)
def format_rows(first, last, labelled, label_starts, labels, starts, ids, values, out):
    """Write rows `first` to `last` (exclusive) into `out`, one per line; return the number of bytes."""
    at = 0
    for row in range(first, last):
        if labelled:
            for i in range(label_starts[row], label_starts[row + 1]):
                if i > label_starts[row]:
                    out[at] = COMMA
                    at += 1
                at = _put_integer(labels[i], out, at)
        for i in range(starts[row], starts[row + 1]):
            if labelled or i > starts[row]:
                out[at] = SPACE
                at += 1
            at = _put_integer(ids[i], out, at)
            out[at] = COLON
            at = _put_value(values[i], out, at + 1)
        out[at] = NEWLINE
        at += 1
    return at
