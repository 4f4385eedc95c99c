"""What is known about languages: names and codes, Snowball stemmers, stop words, and whether accents are folded.

Stop words of English are scikit-learn's, those of other languages come from the package `stop-words`. A language that
has none there gets the short words that are in many of the documents (`guess_stop_words`). Words are stemmed by
`snowballstemmer`; a language that it does not know keeps its words as they are written.

Accents are folded (é → e) after stemming in languages whose readers leave them out when they type or search. In German,
Finnish, the Scandinavian languages and others, ä and a are different letters, and the stemmer alone decides.
"""

from __future__ import annotations

import re
import runpy
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

from xcwork.errors import ConfigError

ENGLISH = "en"
MAX_DERIVED_LENGTH = 5  # characters of a stop word that is derived from documents
MIN_DERIVED_SHARE = 0.2  # of the documents that have it

_stemmer_lock = Lock()


@dataclass(frozen=True)
class Language:
    """A language by its ISO code, with what helps to read texts in it."""

    code: str
    name: str
    stemmer: str = ""  # of Snowball
    has_stop_words: bool = True  # in the package `stop-words`
    folds_accents: bool = False


_ALL = (
    Language("ar", "Arabic", "arabic"),
    Language("bg", "Bulgarian"),
    Language("ca", "Catalan", "catalan", folds_accents=True),
    Language("cs", "Czech", "czech"),
    Language("da", "Danish", "danish"),
    Language("de", "German", "german"),
    Language("el", "Greek", "greek", folds_accents=True),
    Language("en", "English", "english"),
    Language("eo", "Esperanto", "esperanto", has_stop_words=False),
    Language("es", "Spanish", "spanish", folds_accents=True),
    Language("et", "Estonian", "estonian", has_stop_words=False),
    Language("eu", "Basque", "basque", has_stop_words=False),
    Language("fa", "Persian", "persian"),
    Language("fi", "Finnish", "finnish"),
    Language("fr", "French", "french", folds_accents=True),
    Language("ga", "Irish", "irish", has_stop_words=False, folds_accents=True),
    Language("he", "Hebrew"),
    Language("hi", "Hindi", "hindi"),
    Language("hu", "Hungarian", "hungarian"),
    Language("hy", "Armenian", "armenian", has_stop_words=False),
    Language("id", "Indonesian", "indonesian"),
    Language("it", "Italian", "italian", folds_accents=True),
    Language("ja", "Japanese", has_stop_words=False),  # texts without spaces are read by pairs of characters
    Language("ko", "Korean", has_stop_words=False),
    Language("lt", "Lithuanian", "lithuanian", has_stop_words=False),
    Language("nb", "Norwegian", "norwegian"),
    Language("ne", "Nepali", "nepali", has_stop_words=False),
    Language("nl", "Dutch", "dutch", folds_accents=True),
    Language("pl", "Polish", "polish"),
    Language("pt", "Portuguese", "portuguese", folds_accents=True),
    Language("ro", "Romanian", "romanian", folds_accents=True),
    Language("ru", "Russian", "russian"),
    Language("sk", "Slovak"),
    Language("sr", "Serbian", "serbian", has_stop_words=False),
    Language("st", "Sesotho", "sesotho", has_stop_words=False),
    Language("sv", "Swedish", "swedish"),
    Language("ta", "Tamil", "tamil", has_stop_words=False),
    Language("th", "Thai", has_stop_words=False),
    Language("tr", "Turkish", "turkish"),
    Language("uk", "Ukrainian"),
    Language("vi", "Vietnamese"),
    Language("yi", "Yiddish", "yiddish", has_stop_words=False),
    Language("zh", "Chinese", has_stop_words=False),
)
LANGUAGES = {language.code: language for language in _ALL}
_OTHER_CODES = {"no": "nb", "nn": "nb"}


def find_language(written: str) -> Language:
    """Return the language of a code or name, such as `de`, `de-AT`, `German`.

    >>> find_language("german").code
    'de'
    """
    plain = written.strip().lower()
    code = re.split("[-_]", plain)[0]
    for language in _ALL:
        if language.code in (code, _OTHER_CODES.get(code)) or language.name.lower() == plain:
            return language
    raise ConfigError(f"there is no language {written.strip()!r}; there are {', '.join(LANGUAGES)}")


def stem_word(word: str, language: str = ENGLISH) -> str:
    """Return the Snowball stem of a word, without accents where the language folds them."""
    return _stem_word(word, language)


@lru_cache(maxsize=1 << 20)
def _stem_word(word: str, language: str) -> str:
    stemmer = _load_stemmer(LANGUAGES[language].stemmer)
    if stemmer is None:
        return word
    with _stemmer_lock:  # the stemmer keeps the word it works on as its own state
        return str(stemmer.stemWord(word))


@cache
def _load_stemmer(algorithm: str) -> Any:
    """Return the stemmer of Snowball; None where this version of it has none."""
    import snowballstemmer

    return snowballstemmer.stemmer(algorithm) if algorithm in snowballstemmer.algorithms() else None


def strip_accents(word: str) -> str:
    """Return a word without accents.

    >>> strip_accents("élève")
    'eleve'
    """
    if word.isascii():
        return word
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", word)))


_ACCENTS = re.compile("[\u0300-\u036f]")
_WHOLE_WORD = re.compile(r"\w{2,}")
_LISTED_WORD = re.compile(r"[\w\u0900-\u0dff]{2,}")  # vowels of Hindi are marks


@cache
def list_stop_words(code: str) -> tuple[str, ...]:
    """Return the stop words of a language in alphabetical order; none where no list is known."""
    if code == ENGLISH:
        return tuple(sorted(_load_english_stop_words()))
    if not LANGUAGES[code].has_stop_words:
        return ()
    from stop_words import get_stop_words

    listed = {unicodedata.normalize("NFC", word.lower()).strip("\"',. ") for word in get_stop_words(code)}
    if code == "sk":
        listed -= {"and", "for", "of", "the"}  # the list of Slovak has English words in it
    if LANGUAGES[code].folds_accents:
        listed |= {strip_accents(word) for word in listed}
    return tuple(sorted(filter(_LISTED_WORD.fullmatch, listed)))


def _load_english_stop_words() -> frozenset[str]:
    """Return scikit-learn's list from its own file: the library itself takes a second and 60 MB to import."""
    package = find_spec("sklearn")
    for folder in package.submodule_search_locations or () if package else ():
        path = Path(folder) / "feature_extraction" / "_stop_words.py"
        if path.is_file():
            return frozenset(runpy.run_path(str(path))["ENGLISH_STOP_WORDS"])
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(ENGLISH_STOP_WORDS)


def guess_stop_words(texts: Sequence[str]) -> list[str]:
    """Return the short words that are in many of the texts, for a language without a list."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(set(_WHOLE_WORD.findall(text.lower())))
    least = max(2.0, MIN_DERIVED_SHARE * len(texts))
    found = (word for word, count in counts.items() if count >= least and len(word) <= MAX_DERIVED_LENGTH)
    return sorted(word for word in found if not any(map(str.isdigit, word)))
