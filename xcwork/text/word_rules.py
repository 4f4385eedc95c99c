"""What counts as a word in one language, and which term stands for it.

A word may have parts beside its term, which a compound that was never seen shares with its relatives: the words it is
made of (`compounds`), and pieces of `char_ngrams` characters, written `fach*`, `*werk*`, `*haus`. They are terms, too,
but never stand in pairs.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from xcwork.text.compounds import WordPart, split_compound
from xcwork.text.languages import ENGLISH, LANGUAGES, stem_word, strip_accents

PIECE_SIGN = "*"


@dataclass(frozen=True)
class WordRules:
    """What counts as a word in one language, and which term stands for it."""

    stop_words: list[str] = field(default_factory=list)
    stem: bool = False
    split_underscores: bool = False
    language: str = ENGLISH
    any_script: bool = False  # whether words of scripts without spaces, and accents of their own, are looked for
    char_ngrams: int = 0  # characters of the pieces that words are cut into beside; 0: none
    lexicon: dict[str, int] = field(default_factory=dict)  # terms that may be parts of compounds, and how frequent

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

    @property
    def has_parts(self) -> bool:
        return bool(self.char_ngrams or self.lexicon)

    def find_parts(self, word: str) -> Iterator[WordPart]:
        """Yield the parts of a word with their places in it."""
        if self.lexicon and (term := self.make_term(word)) is not None:
            parts = split_compound(term, self.lexicon)
            # A stem is shorter than its word, and the ending belongs to the last part.
            yield from (part._replace(end=len(word)) if part is parts[-1] else part for part in parts)
        yield from self._find_pieces(word)

    def _find_pieces(self, word: str) -> Iterator[WordPart]:
        """Yield the pieces of a word; one that is hardly longer than a piece has none."""
        size = self.char_ngrams
        if not size or len(word) <= size + 1:
            return
        for start in range(len(word) - size + 1):
            end = start + size
            before, after = PIECE_SIGN * (start > 0), PIECE_SIGN * (end < len(word))
            yield WordPart(start, end, f"{before}{word[start:end]}{after}")

    def to_state(self) -> dict[str, Any]:
        state: dict[str, Any] = {
            "stop_words": self.stop_words,
            "stem": self.stem,
            "split_underscores": self.split_underscores,
        }
        if self != WordRules(**state):
            state |= {"language": self.language, "any_script": self.any_script, "char_ngrams": self.char_ngrams}
            state |= {"lexicon": list(self.lexicon), "counts": np.fromiter(self.lexicon.values(), np.int64)}
        return state

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> WordRules:
        """Return the stored rules of words; anything else is damage."""
        given = dict(state)
        words, counts = given.pop("lexicon", []), given.pop("counts", np.empty(0, np.int64))
        for listed in (words, given["stop_words"]):
            if not isinstance(listed, list) or not all(isinstance(word, str) for word in listed):
                raise ValueError("a list of words holds something else")
        if not isinstance(counts, np.ndarray) or counts.dtype != np.int64 or counts.shape != (len(words),):
            raise ValueError("the parts of compounds are not stored as such")
        rules = cls(**given, lexicon=dict(zip(words, counts.tolist(), strict=True)))
        flags = (rules.stem, rules.split_underscores, rules.any_script)
        is_known = rules.language in LANGUAGES and type(rules.char_ngrams) is int
        if set(map(type, flags)) != {bool} or not is_known:
            raise ValueError("the rules of words are not stored as such")
        return rules
