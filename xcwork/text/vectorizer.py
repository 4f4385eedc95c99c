"""Text becomes features: tf-idf over word n-grams (or sub-word pieces), shared by documents and labels.

    value(text, term) = tf * idf(term),   idf(term) = ln((1 + n) / (1 + df(term))) + 1,   rows scaled to unit length

where tf is the number of times the term occurs in the text (or 1 + ln of it), n the number of documents fitted on and
df the number of those that contain the term. These are scikit-learn's definitions. Terms of one order (single words,
pairs, …) compete for `max_features` places by how often they occur, and all orders share one unit row.

Sub-words are scikit-learn's `char_wb` n-grams: pieces of 3 to 5 characters inside a word and its two borders, so a word
never seen before still shares pieces with its relatives.

Texts are read in their own language (`reading`): it is found out from the texts, and where a collection has several,
for each text. `language` names it instead, such as "de" or "de,en".

For texts in English with many labels never seen in training, `stem=True, max_share=0.5, min_count=2` is a good start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from xcwork.errors import ConfigError, DataError, NotFittedError
from xcwork.sparse import count_in_columns, cut_rows, replace_values
from xcwork.storage.fingerprint import hash_content
from xcwork.storage.mapped_arrays import is_finite
from xcwork.storage.state import register_storable
from xcwork.text.reading import AUTOMATIC, ReadingOptions, ReadingRules, parse_languages
from xcwork.text.vocabulary import Subwords, TermSelection, Words
from xcwork.text.word_rules import WordRules

UNFITTED = "the text vectoriser has no vocabulary yet; fit it on texts first"


@register_storable
@dataclass(kw_only=True, eq=False)
class TextVectorizer:
    """Turns texts into unit rows of tf-idf values.

    >>> vectorizer = TextVectorizer(ngrams=2).fit(["red apples", "green apples", "red wine"])
    >>> vectorizer.feature_names
    ['apples', 'green', 'red', 'wine', 'green apples', 'red apples', 'red wine']
    >>> row = vectorizer.transform(["green wine"])
    >>> [(vectorizer.feature_names[i], round(float(value), 2)) for i, value in zip(row.indices, row.data)]
    [('green', 0.71), ('wine', 0.71)]
    """

    ngrams: int = 2  # longest word n-gram, 1 to 3
    max_features: int = 100_000  # of each order the most frequent; terms that labels share with documents are extra
    min_count: int = 1  # occurrences in all texts that a term needs
    max_share: float = 1.0  # a term in a larger share of the documents is left out
    stem: bool | None = None  # Snowball stems instead of words; not given: in every language but English
    stop_words: bool = True  # leave out the stop words of the language
    split_underscores: bool = False  # read two_words as two
    tokens: str = "words"  # "words" or "subwords"
    sublinear: bool = False  # 1 + ln(count) instead of the count
    language: str = AUTOMATIC  # of the texts: a code, several separated by commas, or "auto"
    compounds: bool | None = None  # also the parts of compounds; not given: in languages that write them as one word
    char_ngrams: int = 0  # also pieces of that many characters of long words, for compounds; 0: none

    def __post_init__(self) -> None:
        if not 1 <= self.ngrams <= 3:
            raise ConfigError(f"ngrams must be 1, 2 or 3, got {self.ngrams}")
        if self.tokens not in ("words", "subwords"):
            raise ConfigError(f"tokens must be 'words' or 'subwords', got {self.tokens!r}")
        for name in ("max_features", "min_count"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not 0 < self.max_share <= 1:
            raise ConfigError(f"max_share must be above 0 and at most 1, got {self.max_share}")
        if self.char_ngrams and not 2 <= self.char_ngrams <= 12:
            raise ConfigError(f"char_ngrams must be 0, or 2 to 12 characters, got {self.char_ngrams}")
        parse_languages(self.language)
        self._vocabulary: Words | Subwords | None = None
        self._idf: np.ndarray | None = None

    def fit(self, texts: Sequence[str], labels: Sequence[str] = ()) -> TextVectorizer:
        """Learn the terms of documents and of labels, and the idf of the documents."""
        self.fit_transform(texts, labels)
        return self

    def fit_transform(self, texts: Sequence[str], labels: Sequence[str] = ()) -> sparse.csr_array:
        """Learn the terms of documents and of labels, and the idf of the documents, whose rows it returns."""
        selection = TermSelection(self.max_features, self.min_count, self.max_share)
        _check_texts(texts)
        _check_texts(labels)
        self.__dict__.pop("feature_names", None)
        rules = ReadingRules.learn(texts, self._choose_reading(), labels)
        if self.tokens == "words":
            self._vocabulary, counts = Words.learn(texts, labels, rules, selection, self.ngrams)
        else:
            self._vocabulary, counts = Subwords.learn(texts, labels, rules, selection)
        self._idf = _compute_idf(counts)
        return self.weigh(counts)

    def transform(self, texts: Sequence[str]) -> sparse.csr_array:
        """Return the rows of `texts`, (n_texts, n_features) float32; a text without any known term is an empty row."""
        _check_texts(texts)
        return self.weigh(self._get_vocabulary().count(texts))

    @cached_property
    def feature_names(self) -> list[str]:
        return self._get_vocabulary().list_names()

    @property
    def idf(self) -> np.ndarray:
        """The weight of each term, (n_features,)."""
        if self._idf is None:
            raise NotFittedError(UNFITTED)
        return self._idf

    def choose_rules(self, text: str) -> WordRules:
        """Return what counts as a word in a text."""
        return self._get_vocabulary().rules.choose(text)

    @property
    def languages(self) -> list[str]:
        """Codes of the languages by whose rules texts are read, most frequent first."""
        return self._get_vocabulary().rules.languages

    def count_languages(self, texts: Sequence[str]) -> dict[str, int]:
        """Return how many texts are read by the rules of each language."""
        rules = self._get_vocabulary().rules
        found = rules.recognise(texts)
        counts = [len(texts)] if found is None else np.bincount(found, minlength=len(rules.languages)).tolist()
        return dict(zip(rules.languages, counts, strict=True))

    def _choose_reading(self) -> ReadingOptions:
        names = (field.name for field in fields(ReadingOptions))
        return ReadingOptions(**{name: getattr(self, name) for name in names})

    @property
    def options(self) -> dict[str, Any]:
        """The options by name; once it is fitted, the languages are those that were found.

        Where English texts alone are read, everything is as it was before other languages were known, so that data
        and models keep their fingerprints.
        """
        options = {field.name: getattr(self, field.name) for field in fields(self)}
        if self._vocabulary is not None:
            rules = self._vocabulary.rules
            if rules.is_plain:
                options["stem"] = bool(self.stem)
            else:
                options["language"] = ",".join(rules.languages)
        new = {"language": AUTOMATIC, "compounds": None, "char_ngrams": 0}
        return {name: value for name, value in options.items() if name not in new or value != new[name]}

    @property
    def fingerprint(self) -> str:
        """A hash of the options and of everything learned."""
        return hash_content(self.to_state())

    def to_state(self) -> dict[str, Any]:
        return {"options": self.options, "vocabulary": self._get_vocabulary().to_state(), "idf": self._idf}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> TextVectorizer:
        self = cls(**state["options"])
        self._vocabulary = (Words if self.tokens == "words" else Subwords).from_state(state["vocabulary"])
        self._idf = state["idf"]
        if not isinstance(self._idf, np.ndarray) or self._idf.dtype.kind != "f":
            raise ValueError("the weights of the terms are not numbers")
        if not is_finite(self._idf):
            raise ValueError("the weights of the terms are not finite")
        if self._idf.shape != (len(self._vocabulary),):
            raise ValueError("there is not one weight per term")
        return self

    def _get_vocabulary(self) -> Words | Subwords:
        if self._vocabulary is None:
            raise NotFittedError(UNFITTED)
        return self._vocabulary

    @classmethod
    def from_words(cls, words: list[str], counts: sparse.csr_array) -> TextVectorizer:
        """Return a vectoriser of exactly these words, with the idf of documents that are already counted."""
        self = cls(ngrams=1, max_features=max(1, len(words)), stop_words=False)
        every = [np.arange(len(words), dtype=np.int64)]
        self._vocabulary = Words(words, every, ReadingRules((WordRules(),)))
        self._idf = _compute_idf(counts)
        return self

    def weigh(self, counts: sparse.csr_array) -> sparse.csr_array:
        """Return term counts as unit rows of tf-idf values."""
        weighed = np.empty(counts.nnz, np.float32)
        for first, last in cut_rows(counts.indptr):
            cells = slice(counts.indptr[first], counts.indptr[last])
            values = 1 + np.log(counts.data[cells]) if self.sublinear else counts.data[cells]
            values = values * self.idf[counts.indices[cells]]
            rows = np.repeat(np.arange(last - first), np.diff(counts.indptr[first : last + 1]))
            lengths = np.sqrt(np.bincount(rows, weights=np.square(values, dtype=np.float64), minlength=last - first))
            weighed[cells] = values / lengths[rows]
        return replace_values(counts, weighed)


def _compute_idf(counts: sparse.csr_array) -> np.ndarray:
    """Return the idf of each term in the documents counted, (n_terms,) float32."""
    n_with_term = count_in_columns(counts)
    return (np.log((1 + counts.shape[0]) / (1 + n_with_term)) + 1).astype(np.float32)


def _check_texts(texts: Sequence[str]) -> None:
    """Reject a text instead of a list, and a list that holds anything but texts."""
    if isinstance(texts, str):
        raise ConfigError("give a list of texts; put the one text into a list")
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(f"text {row} is not a string but {type(text).__name__}", remedy="use '' for a missing text")
