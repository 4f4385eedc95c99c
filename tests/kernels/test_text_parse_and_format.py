"""The two text kernels against Python's own number parsing and printing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from xcwork.kernels import text_codes as codes
from xcwork.kernels.text_format import BYTES_PER_ENTRY, format_rows
from xcwork.kernels.text_parse import parse_rows


def parse_values(text: bytes) -> tuple[int, np.ndarray]:
    """(error, values) of one row of entries."""
    buffer = np.frombuffer(text, np.uint8)
    size = text.count(b":")
    ids, values, ends = np.empty(size, np.int32), np.empty(size, np.float32), np.empty(len(text) + 1, np.int64)
    error, _, _ = parse_rows(
        buffer,
        False,
        0,
        2**31 - 2,
        0,
        0,
        True,
        False,
        np.empty(0, np.int32),
        np.zeros(len(text) + 1, np.int64),
        ids,
        values,
        ends,
        codes.make_empty_seen(),
    )
    return error, values


def written(values: np.ndarray) -> bytes:
    starts = np.array([0, len(values)], np.int32)
    out = np.empty(BYTES_PER_ENTRY * len(values) + 1, np.uint8)
    size = format_rows(0, 1, False, starts, starts[:0], starts, np.arange(len(values), dtype=np.int32), values, out)
    return out[:size].tobytes()


finite = st.floats(width=32, allow_nan=False, allow_infinity=False)


@settings(max_examples=300, deadline=None)
@given(st.lists(finite, min_size=1, max_size=20))
@example([1.0, 10.0, 0.1, 0.5, 1e-45, 3.4028234663852886e38, 1.17549435e-38, 123456.0, 1234567.0, 16777216.0])
def test_written_values_read_back_as_the_same_float32(numbers):
    values = np.array(numbers, np.float32)
    text = written(values)
    error, parsed = parse_values(text)
    assert error == codes.OK
    np.testing.assert_array_equal(parsed, values)
    by_python = [float(entry.partition(b":")[2]) for entry in text.split()]
    np.testing.assert_array_equal(np.array(by_python).astype(np.float32), values)


@settings(max_examples=300, deadline=None)
@given(
    st.floats(-1e38, 1e38, allow_nan=False), st.sampled_from(["{!r}", "{:.3f}", "{:.12e}", "{:+.5g}", "{:.0f}", "{:E}"])
)
def test_values_are_read_as_python_reads_them(number, style):
    text = style.format(number)
    error, parsed = parse_values(f"0:{text}".encode())
    assert error == codes.OK
    assert parsed[0] == np.float32(float(text))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.1", "0.1"),
        ("1", "1"),
        ("1e-7", "1e-7"),
        ("12.5", "12.5"),
        ("300000", "300000"),
        ("1e30", "1e+30"),
        ("0.00012", "0.00012"),
        ("-2.5", "-2.5"),
    ],
)
def test_short_numbers_are_written_short(text, value):
    assert written(np.array([float(text)], np.float32)) == f"0:{value}\n".encode()


def test_long_runs_of_digits():
    digits = "0." + "0" * 30 + "1" * 40
    assert parse_values(f"0:{digits}".encode())[1][0] == np.float32(float(digits))
    digits = "1" * 30 + ".5"
    assert parse_values(f"0:{digits}".encode())[1][0] == np.float32(float(digits))
    assert parse_values(b"0:1e-99999999999999999999")[1][0] == 0


@pytest.mark.parametrize("text", ["", "-", ".", "e5", "1e", "1e+", "0x1", "1_0", "--1", "+-1", "1..2", "1,5"])
def test_what_is_no_number(text):
    assert parse_values(f"0:{text}".encode())[0] == codes.BAD_VALUE


@pytest.mark.parametrize("text", ["nan", "NaN", "inf", "-Infinity", "1e39", "9" * 60])
def test_what_is_not_finite(text):
    assert parse_values(f"0:{text}".encode())[0] == codes.NOT_FINITE
