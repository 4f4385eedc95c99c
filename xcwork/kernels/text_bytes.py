"""The bytes that text files of sparse rows are made of, as ASCII numbers them."""

from __future__ import annotations

TAB = 9
NEWLINE = 10
RETURN = 13
SPACE = 32
HASH = 35
PLUS = 43
COMMA = 44
MINUS = 45
POINT = 46
ZERO = 48
COLON = 58
UPPER_E = 69
LOWER_E = 101
LOWER_I = 105
LOWER_N = 110
