"""Words of scripts that need more than letters in a row.

Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese put no spaces between words, or add endings to them that no
stemmer here knows: a run of such characters becomes its overlapping pairs, 日本語 → 日本 本語, and one character alone
is a word. Signs for vowels in the scripts of India, and accents that are characters of their own, belong to the word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

FIRST_UNSPACED = "\u0e00"
PAIR = 2  # characters
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003ffff"
)
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0dff"


class ScriptSplitter:
    """Finds the words of texts; `any_script` says whether scripts other than plain letters are cared for."""

    def __init__(self, split_underscores: bool, any_script: bool) -> None:
        plain = r"[^\W_]" if split_underscores else r"\w"
        letter = f"(?:(?![{_UNSPACED}])(?:{plain}|[{_MARKS}]))"
        self._needs_care = re.compile(f"[{_UNSPACED}{_MARKS}]" if any_script else "(?!)").search  # (?!) is never found
        self._plain = re.compile(rf"{plain}{{2,}}|\n\n")
        self._any = re.compile(rf"(?P<run>[{_UNSPACED}]+)|{letter}{{2,}}|\n\n")

    def list_words(self, lowered: str) -> list[str]:
        """Return the words of a text in lower case; a blank line is one of them."""
        if self._needs_care(lowered) is None:
            return self._plain.findall(lowered)
        return [lowered[start:end] for start, end in self.find_words(lowered)]

    def find_words(self, lowered: str) -> Iterator[tuple[int, int]]:
        """Yield where words begin and end."""
        pattern = self._plain if self._needs_care(lowered) is None else self._any
        for found in pattern.finditer(lowered):
            if pattern is self._any and found.group("run") is not None:
                yield from ((at, min(at + PAIR, found.end())) for at in _list_pair_starts(*found.span()))
            else:
                yield found.span()


def _list_pair_starts(start: int, end: int) -> range:
    return range(start, max(start + 1, end - PAIR + 1))


make_script_splitter = cache(ScriptSplitter)
