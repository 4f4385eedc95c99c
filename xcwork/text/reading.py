"""By which rules texts are read: those of one language, or of several with a detector that says which a text needs.

English texts alone are read as they always were. Texts in other languages are stemmed unless told otherwise: an English
word has few forms, a German or Finnish one many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from xcwork.errors import ConfigError
from xcwork.text.compounds import LANGUAGES_WITH_COMPOUNDS, count_terms
from xcwork.text.language_detection import (
    MAX_LEARNED_TEXTS,
    LanguageDetector,
    choose_languages,
    guess_language,
    take_evenly,
)
from xcwork.text.languages import ENGLISH, LANGUAGES, find_language, guess_stop_words, list_stop_words
from xcwork.text.segmentation import make_script_splitter
from xcwork.text.word_rules import WordRules

AUTOMATIC = "auto"


@dataclass(frozen=True)
class ReadingOptions:
    """What the user says about words; None leaves it to the language."""

    language: str = AUTOMATIC  # codes or names, separated by commas
    stem: bool | None = None
    stop_words: bool = True
    split_underscores: bool = False
    compounds: bool | None = None
    char_ngrams: int = 0


@dataclass(frozen=True, eq=False)
class ReadingRules:
    """The rules of each language, most frequent language first, and what tells the languages apart."""

    of_languages: tuple[WordRules, ...]
    detector: LanguageDetector | None = None

    @classmethod
    def learn(cls, texts: Sequence[str], options: ReadingOptions, labels: Sequence[str] = ()) -> ReadingRules:
        """Return the rules for texts and labels like these."""
        languages = parse_languages(options.language) or choose_languages(texts)
        any_script = languages != [ENGLISH]
        every = []
        for code in languages:
            stop_words = _choose_stop_words(code, languages, texts) if options.stop_words else []
            stem = code != ENGLISH if options.stem is None else options.stem
            every.append(WordRules(stop_words, stem, options.split_underscores, code, any_script, options.char_ngrams))
        self = cls(tuple(every), LanguageDetector.learn(texts, languages) if len(languages) > 1 else None)
        return self._learn_compounds(texts, labels, options.compounds)

    def _learn_compounds(self, texts: Sequence[str], labels: Sequence[str], wanted: bool | None) -> ReadingRules:
        """Return the rules with what compounds may be made of, in the languages that have them."""
        splits = [wanted if wanted is not None else code in LANGUAGES_WITH_COMPOUNDS for code in self.languages]
        if not any(splits):
            return self
        sample = take_evenly(texts, MAX_LEARNED_TEXTS)
        places = [self.recognise(some) for some in (sample, labels)]
        every = list(self.of_languages)
        for number, rules in enumerate(self.of_languages):
            if splits[number]:
                documents, names = (
                    _split_texts(some, place, number, rules)
                    for some, place in zip((sample, labels), places, strict=True)
                )
                every[number] = replace(rules, lexicon=count_terms(documents, names, rules.make_term))
        return replace(self, of_languages=tuple(every))

    @property
    def languages(self) -> list[str]:
        return [rules.language for rules in self.of_languages]

    @cached_property
    def is_plain(self) -> bool:
        """Whether these are the rules of English texts alone."""
        return len(self.of_languages) == 1 and not self.of_languages[0].any_script

    def recognise(self, texts: Sequence[str]) -> np.ndarray | None:
        """Return the place of each text's rules; None where there is one language."""
        return None if self.detector is None else self.detector.recognise(texts)

    def choose(self, text: str) -> WordRules:
        """Return the rules for one text."""
        found = self.recognise([text])
        return self.of_languages[0 if found is None else int(found[0])]

    def to_state(self) -> dict[str, Any]:
        if self.detector is None:
            return self.of_languages[0].to_state()
        every = [rules.to_state() for rules in self.of_languages]
        return {"of_languages": every, "detector": self.detector.to_state()}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> ReadingRules:
        """Return the stored rules; anything else is damage."""
        if "of_languages" not in state:
            return cls((WordRules.from_state(state),))
        detector = LanguageDetector.from_state(state["detector"])
        self = cls(tuple(map(WordRules.from_state, state["of_languages"])), detector)
        if self.languages != detector.languages:
            raise ValueError("the word rules and the language profiles are for different languages")
        return self


def parse_languages(written: str) -> list[str]:
    """Return the codes in `de`, `de,en` or `German`; none for `auto`.

    >>> parse_languages("German, en")
    ['de', 'en']
    """
    if written.strip().lower() == AUTOMATIC:
        return []
    found = list(dict.fromkeys(find_language(name).code for name in written.split(",") if name.strip()))
    if not found:
        raise ConfigError(f"language must be {AUTOMATIC!r} or codes such as 'de' or 'de,en', got {written!r}")
    return found


def _choose_stop_words(code: str, languages: list[str], texts: Sequence[str]) -> list[str]:
    """Return the listed stop words of a language, or those that its texts give away."""
    if LANGUAGES[code].has_stop_words:
        return list(list_stop_words(code))
    if len(languages) > 1:
        texts = [text for text in texts if guess_language(text, languages) == code]
    return guess_stop_words(texts)


def _split_texts(
    texts: Sequence[str], languages: np.ndarray | None, number: int, rules: WordRules
) -> Iterator[list[str]]:
    """Yield the words of the texts in one language."""
    split = make_script_splitter(rules.split_underscores, rules.any_script).list_words
    for row, text in enumerate(texts):
        if languages is None or languages[row] == number:
            yield split(text.lower())
