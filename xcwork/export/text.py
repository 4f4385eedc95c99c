"""Text from outside made safe to show: the one place that decides which characters are not passed on.

Label names, documents and names of runs come from files of unknown origin. Control characters are obeyed by terminals,
marks that reorder text deceive readers everywhere, and UTF-8 cannot hold a lone surrogate.
"""

from __future__ import annotations

import re

# C0 and C1 control characters, DEL, line and paragraph separators, marks that reorder text, lone surrogates.
UNSAFE_CHARACTERS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_MARKDOWN_SIGNS = re.compile(r"([\\`*~|$\[\]{}#!]|(?<!\w)_|_(?!\w))")  # an underscore inside a word is one


def clean_text(text: object, max_length: int | None = None) -> str:
    r"""Return `text` on one line, cut at `max_length`, with every character that could deceive made visible.

    >>> clean_text("red \x1b[31m label\nsecond line")
    'red \\x1b[31m label second line'
    """
    shown = UNSAFE_CHARACTERS.sub(_show_code, " ".join(re.split(r"[\t\r\n\v\f]+", str(text))))
    return shown if max_length is None or len(shown) <= max_length else shown[: max_length - 1] + "…"


def clean_name(text: object, max_length: int | None = None) -> str:
    """Return the words of `text` with single blanks between them, cleaned, as a name or a heading needs them."""
    return clean_text(" ".join(str(text).split()), max_length)


def count_noun(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: "1 label", "1,130 labels", "2 misses"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def escape_markdown(text: object) -> str:
    """Return Markdown that shows `text` on one line: no link, image, formula, emphasis or HTML is seen in it."""
    harmless = clean_text(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKDOWN_SIGNS.sub(r"\\\1", harmless)


def _show_code(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
