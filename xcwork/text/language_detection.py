"""Which language a text is written in.

Without any training, `guess_language` looks at the script and, for scripts that several languages share, at stop words:
a word counts for every language that has it, the less the more languages do. A short or technical text often has none,
and says nothing. It is enough to find out which languages a collection has.

A collection with several languages gets a `LanguageDetector`: naive Bayes over words and, for words it does not know,
over their last three letters, learned from the texts whose language stop words give away. So "Fachwerkgebäude" alone is
German where other texts are German and English. It is stored with the vocabulary, and a new text is read as the texts
before it were.

Cost: one look-up per word of the first MAX_CHARACTERS of a text, and only where there are several languages.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from xcwork.text.languages import ENGLISH, LANGUAGES, list_stop_words

MAX_TEXTS = 500  # looked at to find the languages of a collection, spread evenly over all of them
MAX_CHARACTERS = 1000  # of each text
MIN_WORDS = 2  # that belong to a language before a text counts for it
MIN_MARGIN = 1.2  # votes of the best language over those of the next
MIN_SCRIPT_SHARE = 0.3  # of the letters of a text, written in a script
MIN_LANGUAGE_SHARE = 0.03  # of the texts; a rarer language is not read by its own rules
MIN_TOLD_SHARE = 0.05  # of the texts that say what language they are in; with fewer, it may well be chance
MAX_LEARNED_TEXTS = 20_000  # that a detector is learned from
MAX_LEARNED_WORDS = 30_000
MIN_COUNT = 3  # occurrences of a word that a detector knows
ENDING = 3  # letters
SMOOTHING = 0.5

SCRIPTS = (  # the first whose letters are frequent enough; Japanese before Chinese, whose characters it uses
    (("ja",), re.compile("[\u3040-\u30ff]"), 0.05),
    (("ko",), re.compile("[\uac00-\ud7af]"), MIN_SCRIPT_SHARE),
    (("zh",), re.compile("[\u3400-\u9fff]"), MIN_SCRIPT_SHARE),
    (("th",), re.compile("[\u0e00-\u0e7f]"), MIN_SCRIPT_SHARE),
    (("el",), re.compile("[\u0370-\u03ff]"), MIN_SCRIPT_SHARE),
    (("hy",), re.compile("[\u0530-\u058f]"), MIN_SCRIPT_SHARE),
    (("ta",), re.compile("[\u0b80-\u0bff]"), MIN_SCRIPT_SHARE),
    (("he",), re.compile("[\u0590-\u05ff]"), MIN_SCRIPT_SHARE),
    (("ru", "uk", "bg"), re.compile("[\u0400-\u04ff]"), MIN_SCRIPT_SHARE),
    (("ar", "fa"), re.compile("[\u0600-\u06ff]"), MIN_SCRIPT_SHARE),
    (("hi",), re.compile("[\u0900-\u097f]"), MIN_SCRIPT_SHARE),
)
_OTHER_SCRIPTS = frozenset(code for codes, _, _ in SCRIPTS for code in codes)
_LETTERS = re.compile(r"[^\W\d_]+")


def guess_language(text: str, among: Sequence[str] | None = None) -> str | None:
    """Return the code of the language of a text, or None where it cannot be told; `among` names the candidates.

    >>> guess_language("The label of a document is one of many, and this text has it.")
    'en'
    """
    start = text[:MAX_CHARACTERS]
    words = _LETTERS.findall(start.lower())
    candidates = _find_candidates(start, max(1, sum(map(len, words))))
    if among is not None:
        candidates = [code for code in candidates if code in among]
    votes, n_words = _count_votes(words)
    ranked = sorted(((votes[code], code) for code in candidates if n_words[code] >= MIN_WORDS), reverse=True)
    if ranked and (len(ranked) == 1 or ranked[0][0] >= MIN_MARGIN * ranked[1][0]):
        return ranked[0][1]
    return candidates[0] if candidates and candidates[0] in _OTHER_SCRIPTS and not ranked else None


def _find_candidates(text: str, n_letters: int) -> list[str]:
    """Return the languages whose script the text is in, the most likely one first."""
    if not text.isascii():
        for codes, script, share in SCRIPTS:
            if len(script.findall(text)) >= share * n_letters:
                return list(codes)
    return [code for code in LANGUAGES if code not in _OTHER_SCRIPTS]


def _count_votes(words: Sequence[str]) -> tuple[defaultdict[str, float], Counter[str]]:
    """Return (votes for each language, words that belong to it)."""
    voters = _list_voters()
    votes: defaultdict[str, float] = defaultdict(float)
    n_words: Counter[str] = Counter()
    for word in words:
        codes = voters.get(word, ())
        for code in codes:
            votes[code] += 1 / len(codes)
            n_words[code] += 1
    return votes, n_words


@cache
def _list_voters() -> dict[str, tuple[str, ...]]:
    """Return the languages that have a stop word, by word."""
    found: dict[str, list[str]] = {}
    for code in LANGUAGES:
        for word in list_stop_words(code):
            if code != "vi" or not word.isascii():  # syllables without a mark could be anything
                found.setdefault(word, []).append(code)
    return {word: tuple(codes) for word, codes in found.items()}


def estimate_languages(texts: Sequence[str]) -> dict[str, float]:
    """Return the share of each language among the texts that could be told, most frequent first; from a sample."""
    found = Counter(guess_language(text) for text in take_evenly(texts, MAX_TEXTS))
    del found[None]
    total = sum(found.values())
    return {str(code): count / total for code, count in found.most_common()}


def choose_languages(texts: Sequence[str]) -> list[str]:
    """Return the languages by whose rules texts are worth reading, most frequent first; English where few tell."""
    sample = [text for text in take_evenly(texts, MAX_TEXTS) if text.strip()]
    found = Counter(filter(None, map(guess_language, sample)))
    if _OTHER_SCRIPTS.issuperset(found):  # the others are in Latin letters, and nothing speaks against English
        found[ENGLISH] += len(sample) - found.total()
    if found.total() < MIN_TOLD_SHARE * len(sample) or not found:
        return [ENGLISH]
    first, *others = found.most_common()
    return [first[0], *(code for code, count in others if count >= MIN_LANGUAGE_SHARE * len(sample))]


def take_evenly(texts: Sequence[str], count: int) -> list[str]:
    if len(texts) <= count:
        return list(texts)
    return [texts[place] for place in np.unique(np.linspace(0, len(texts) - 1, count).round().astype(int))]


def _list_words(text: str) -> list[str]:
    return [word for word in _LETTERS.findall(text[:MAX_CHARACTERS].lower()) if len(word) > 1]


def _get_ending(word: str) -> str:
    return f"-{word[-ENDING:]}"


@dataclass(frozen=True, eq=False)
class LanguageDetector:
    """Tells the languages of a collection apart."""

    languages: list[str]
    units: list[str]  # words, and endings that begin with a hyphen
    weights: np.ndarray  # (n_units, n_languages) float32: ln P(unit | language), less its mean over the languages
    prior: np.ndarray  # (n_languages,) float32: ln P(language)

    @classmethod
    def learn(cls, texts: Sequence[str], languages: Sequence[str]) -> LanguageDetector:
        """Return the detector of `languages`, learned from the texts whose language stop words give away."""
        counts = {code: Counter[str]() for code in languages}
        n_texts = Counter[str]()
        for text in take_evenly(texts, MAX_LEARNED_TEXTS):
            if (code := guess_language(text, languages)) is not None:
                counts[code].update(_list_words(text))
                n_texts[code] += 1
        total = sum(counts.values(), Counter())
        words = [word for word, count in total.most_common(MAX_LEARNED_WORDS) if count >= MIN_COUNT]
        endings = {code: Counter[str]() for code in languages}
        for code, of_words in counts.items():
            for word in of_words:  # each word once, or the most frequent ones would decide
                endings[code][_get_ending(word)] += 1
        of_endings = sorted(sum(endings.values(), Counter()))
        weights = np.vstack([_weigh(counts, languages, words), _weigh(endings, languages, of_endings)])
        shares = np.array([n_texts[code] + 1.0 for code in languages])
        return cls(list(languages), [*words, *of_endings], weights, np.log(shares / shares.sum()).astype(np.float32))

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {unit: row for row, unit in enumerate(self.units)}

    def recognise(self, texts: Sequence[str]) -> np.ndarray:
        """Return the place of each text's language in `languages`; a text that says nothing has the most frequent."""
        return np.fromiter(map(self._recognise_one, texts), np.int64, len(texts))

    def _recognise_one(self, text: str) -> int:
        rows = [row for word in _list_words(text) if (row := self._find_row(word)) is not None]
        return int(np.argmax(self.prior + self.weights[rows].sum(axis=0)))

    def _find_row(self, word: str) -> int | None:
        row = self._rows.get(word)
        return self._rows.get(_get_ending(word)) if row is None else row

    def to_state(self) -> dict[str, Any]:
        return {"languages": self.languages, "units": self.units, "weights": self.weights, "prior": self.prior}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> LanguageDetector:
        self = cls(**state)
        shape = (len(self.units), len(self.languages))
        stored: list[tuple[Any, tuple[int, ...]]] = [(self.weights, shape), (self.prior, shape[1:])]
        if any(
            not isinstance(each, np.ndarray) or each.dtype.kind != "f" or each.shape != size for each, size in stored
        ):
            raise ValueError("the language profiles are not stored as numbers")
        return self


def _weigh(counts: dict[str, Counter[str]], languages: Sequence[str], units: Sequence[str]) -> np.ndarray:
    """Return ln P(unit | language), less its mean over the languages, (n_units, n_languages)."""
    found = np.array([[counts[code][unit] for code in languages] for unit in units], np.float64)
    found = found.reshape(len(units), len(languages)) + SMOOTHING
    logs = np.log(found / found.sum(axis=0)) if len(units) else found
    return (logs - logs.mean(axis=1, keepdims=True)).astype(np.float32)
