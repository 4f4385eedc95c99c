"""What counts as a word in one language, and which term stands for it.

A word may have parts beside its term: pieces of `char_ngrams` characters, written `fach*`, `*werk*`, `*haus`. A
compound that was never seen shares them with its relatives. Parts are terms of their own and never stand in pairs.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from xcwork.text.languages import ENGLISH, LANGUAGES, stem_word, strip_accents

PIECE_SIGN = "*"
_NEW_FIELDS = ("language", "any_script", "char_ngrams")  # left out where English texts alone are read


@dataclass(frozen=True)
class WordRules:
    """What counts as a word in one language, and which term stands for it."""

    stop_words: list[str] = field(default_factory=list)
    stem: bool = False
    split_underscores: bool = False
    language: str = ENGLISH
    any_script: bool = False  # whether words of scripts without spaces, and accents of their own, are looked for
    char_ngrams: int = 0  # characters of the pieces that words are cut into beside; 0: none

    @cached_property
    def _stop_words(self) -> frozenset[str]:
        return frozenset(self.stop_words)

    def make_term(self, word: str) -> str | None:
        """Return the term of a word in lower case; None for a stop word."""
        if not self.any_script:
            return None if word in self._stop_words else stem_word(word, self.language) if self.stem else word
        plain = unicodedata.normalize("NFC", word)
        if plain in self._stop_words:
            return None
        term = stem_word(plain, self.language) if self.stem else plain
        return strip_accents(term) if LANGUAGES[self.language].folds_accents else term

    def list_parts(self, word: str) -> Iterator[str]:
        """Yield the pieces of a long word."""
        for _, _, piece in self.find_pieces(word):
            yield piece

    def find_pieces(self, word: str) -> Iterator[tuple[int, int, str]]:
        """Yield (start, end, term) of the pieces of a word; one that is hardly longer than a piece has none."""
        size = self.char_ngrams
        if not size or len(word) <= size + 1:
            return
        for start in range(len(word) - size + 1):
            end = start + size
            before, after = PIECE_SIGN * (start > 0), PIECE_SIGN * (end < len(word))
            yield start, end, f"{before}{word[start:end]}{after}"

    def to_state(self) -> dict[str, Any]:
        state = asdict(self)
        if all(state[name] == getattr(WordRules, name) for name in _NEW_FIELDS):
            for name in _NEW_FIELDS:
                del state[name]
        return state

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> WordRules:
        """Return the stored rules of words; anything else is damage."""
        rules = cls(**state)
        listed = rules.stop_words
        if not isinstance(listed, list) or not all(isinstance(word, str) for word in listed):
            raise ValueError("a list of stop words holds something else")
        flags = (rules.stem, rules.split_underscores, rules.any_script)
        is_known = rules.language in LANGUAGES and type(rules.char_ngrams) is int
        if set(map(type, flags)) != {bool} or not is_known:
            raise ValueError("the rules of words are not stored as such")
        return rules
