"""Text becomes features: tf-idf over word n-grams (or sub-word pieces), shared by documents and labels.

    value(text, term) = tf * idf(term),   idf(term) = ln((1 + n) / (1 + df(term))) + 1,   rows scaled to unit length

where tf is the number of times the term occurs in the text (or 1 + ln of it), n the number of documents fitted on and
df the number of those that contain the term. These are scikit-learn's definitions. Terms of one order (single words,
pairs, …) compete for `max_features` places by how often they occur, and all orders share one unit row.

Sub-words are scikit-learn's `char_wb` n-grams: pieces of 3 to 5 characters inside a word and its two borders, so a word
never seen before still shares pieces with its relatives.

For texts in English with many labels never seen in training, `stem=True, max_share=0.5, min_count=2` is a good start.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

from xcwork.data.dataset import Dataset, Features, LabelSpace, Propensity, Split
from xcwork.data.fingerprint import hash_content
from xcwork.data.terms import WordRules
from xcwork.data.vocabulary import Selection, Subwords, Words
from xcwork.errors import ConfigError, DataError, NotFittedError
from xcwork.mapped import is_finite
from xcwork.sparse import fill_with_ones, make_canonical, replace_values


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
    max_features: int = (
        100_000  # of each order the most frequent terms; terms that labels share with documents come on top
    )
    min_count: int = 1  # occurrences in all texts that a term needs
    max_share: float = 1.0  # a term in a larger share of the documents is left out
    stem: bool = False  # English Snowball stems instead of words
    stop_words: bool = True  # leave out English stop words
    split_underscores: bool = False  # read two_words as two
    tokens: str = "words"  # "words" or "subwords"
    sublinear: bool = False  # 1 + ln(count) instead of the count

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
        self._vocabulary: Words | Subwords | None = None
        self._idf: np.ndarray | None = None

    def fit(self, texts: Sequence[str], labels: Sequence[str] = ()) -> TextVectorizer:
        """Learn the terms of documents and of labels, and the idf of the documents."""
        self.fit_transform(texts, labels)
        return self

    def fit_transform(self, texts: Sequence[str], labels: Sequence[str] = ()) -> sparse.csr_array:
        """Learn the terms of documents and of labels, and the idf of the documents, whose rows it returns."""
        rules = WordRules(_stop_words() if self.stop_words else [], self.stem, self.split_underscores)
        selection = Selection(self.max_features, self.min_count, self.max_share)
        if self.tokens == "words":
            learned = Words.learn(_checked(texts), _checked(labels), rules, selection, self.ngrams)
        else:
            learned = Subwords.learn(_checked(texts), _checked(labels), rules, selection)
        self.__dict__.pop("feature_names", None)
        self._vocabulary, counts = learned
        self._idf = _smoothed_idf(counts)
        return self.weigh(counts)

    def transform(self, texts: Sequence[str]) -> sparse.csr_array:
        """The rows of `texts`, (n_texts, n_features) float32; a text without any known term is an empty row."""
        return self.weigh(self._fitted().count(_checked(texts)))

    @cached_property
    def feature_names(self) -> list[str]:
        return self._fitted().names()

    @property
    def idf(self) -> np.ndarray:
        """The weight of each term, (n_features,)."""
        self._fitted()
        return self._idf

    @property
    def rules(self) -> WordRules:
        """What counts as a word."""
        return self._fitted().rules

    @property
    def options(self) -> dict[str, Any]:
        """The options by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def fingerprint(self) -> str:
        """A hash of the options and of everything learned."""
        return hash_content(self.to_state())

    def to_state(self) -> dict[str, Any]:
        return {"options": self.options, "vocabulary": self._fitted().to_state(), "idf": self._idf}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> TextVectorizer:
        self = cls(**state["options"])
        self._vocabulary = (Words if self.tokens == "words" else Subwords).from_state(state["vocabulary"])
        self._idf = state["idf"]
        if not isinstance(self._idf, np.ndarray) or self._idf.dtype.kind != "f":
            raise ValueError("the weights of the terms are no numbers")
        if not is_finite(self._idf):
            raise ValueError("the weights of the terms are not finite")
        if self._idf.shape != (len(self.feature_names),):
            raise ValueError("there is not one weight a term")
        return self

    def _fitted(self) -> Words | Subwords:
        if self._vocabulary is None:
            raise NotFittedError("the text vectoriser has no vocabulary yet; fit it on texts first")
        return self._vocabulary

    @classmethod
    def of_words(cls, words: list[str], counts: sparse.csr_array) -> TextVectorizer:
        """A vectoriser of exactly these words, with the idf of documents that are already counted."""
        self = cls(ngrams=1, max_features=max(1, len(words)), stop_words=False)
        self._vocabulary = Words(words, [np.arange(len(words), dtype=np.int64)], WordRules())
        self._idf = _smoothed_idf(counts)
        return self

    def weigh(self, counts: sparse.csr_array) -> sparse.csr_array:
        """Term counts as unit rows of tf-idf values."""
        values = 1 + np.log(counts.data) if self.sublinear else counts.data
        values = values * self._idf[counts.indices]
        rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        lengths = np.sqrt(np.bincount(rows, weights=np.square(values, dtype=np.float64), minlength=counts.shape[0]))
        values = (values / lengths[rows]).astype(np.float32)
        return replace_values(counts, values)


def _smoothed_idf(counts: sparse.csr_array) -> np.ndarray:
    n_with_term = np.bincount(counts.indices, minlength=counts.shape[1])
    return (np.log((1 + counts.shape[0]) / (1 + n_with_term)) + 1).astype(np.float32)


def _stop_words() -> list[str]:
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return sorted(ENGLISH_STOP_WORDS)


def _checked(texts: Sequence[str]) -> Sequence[str]:
    if isinstance(texts, str):
        raise ConfigError("give a list of texts; put the one text into a list")
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(f"text {row} is not a string but {type(text).__name__}", remedy="use '' for a missing text")
    return texts


def text_dataset(
    name: str,
    *,
    train_texts: Sequence[str],
    train_labels: Sequence[Sequence[str]] | sparse.csr_array,
    test_texts: Sequence[str],
    test_labels: Sequence[Sequence[str]] | sparse.csr_array,
    label_names: Sequence[str] | None = None,
    label_texts: Sequence[str] | None = None,
    label_uids: Sequence[str] | None = None,
    label_parents: Sequence[Sequence[str]] | None = None,
    train_uids: Sequence[str] | None = None,
    test_uids: Sequence[str] | None = None,
    train_groups: Sequence[str] | None = None,
    test_groups: Sequence[str] | None = None,
    train_filter: np.ndarray | None = None,
    test_filter: np.ndarray | None = None,
    vectorizer: TextVectorizer | None = None,
    propensity: Propensity | None = None,
    source: str = "",
) -> Dataset:
    """A dataset from raw text, with one vocabulary for documents and labels.

    Documents name their labels by uid where `label_uids` is given, else by name; or they bring a ready Y. Labels stand
    in the given order; labels that only documents know come after them, sorted. The text of a label is its name unless
    `label_texts` says more. `*_filter` are (document row, label id) pairs that must never be predicted. The vocabulary
    is learned from the training documents and the label texts, idf from the training documents alone.
    """
    labels = _label_space(label_names, label_texts, label_uids, label_parents, (train_labels, test_labels))
    vectorizer = TextVectorizer() if vectorizer is None else vectorizer
    train_X = vectorizer.fit_transform(train_texts, labels.texts)
    features = Features(train_X.shape[1], vectorizer.feature_names, vectorizer)
    labels = replace(labels, Z=vectorizer.transform(labels.texts), features=features)
    label_id = {key: number for number, key in enumerate(labels.uids or labels.names)}
    parts = (
        (train_X, train_texts, train_labels, train_uids, train_groups, train_filter),
        (vectorizer.transform(test_texts), test_texts, test_labels, test_uids, test_groups, test_filter),
    )
    train, test = (
        Split(
            X, _label_matrix(carried, label_id), labels, features, texts=list(texts), uids=_listed(uids),
            groups=_listed(groups), filter_pairs=pairs,
        )
        for X, texts, carried, uids, groups, pairs in parts
    )  # fmt: skip
    return Dataset(name, train, test, propensity or Propensity(), source)


def _listed(values: Sequence[str] | None) -> list[str] | None:
    return None if values is None else list(values)


def _label_space(
    names: Sequence[str] | None,
    texts: Sequence[str] | None,
    uids: Sequence[str] | None,
    parents: Sequence[Sequence[str]] | None,
    carried: tuple[Sequence[Sequence[str]] | sparse.csr_array, ...],
) -> LabelSpace:
    """The labels as given, and after them those that only documents know."""
    names = _listed(uids if names is None else names) or []
    texts = list(names if texts is None else texts)
    for what, values in (("texts", texts), ("uids", uids), ("parents", parents)):
        if values is not None and len(values) != len(names):
            raise DataError(f"there are {len(names)} label names but {len(values)} label {what}")
    keys = names if uids is None else list(uids)
    if len(set(keys)) < len(keys):
        twice = next(key for key, times in Counter(keys).items() if times > 1)
        raise DataError(f"two labels are called {twice!r}", remedy="give every label its own name or uid")
    known = set(keys)
    in_documents = {key for rows in carried if not sparse.issparse(rows) for row in rows for key in row}
    new = sorted(in_documents - known)
    return LabelSpace(
        [*names, *new], None if uids is None else [*uids, *new], [*texts, *new],
        parents=None if parents is None else [*map(list, parents), *[[] for _ in new]],
    )  # fmt: skip


def _label_matrix(carried: Sequence[Sequence[str]] | sparse.csr_array, label_id: dict[str, int]) -> sparse.csr_array:
    """Y, (n_documents, n_labels): a one for each label a document carries, however often it names it."""
    if sparse.issparse(carried):
        Y = fill_with_ones(make_canonical(sparse.csr_array(carried, dtype=np.float32)))
    else:
        rows = [sorted({label_id[key] for key in keys}) for keys in carried]
        indptr = np.cumsum([0, *map(len, rows)], dtype=np.int32)
        indices = np.fromiter(chain.from_iterable(rows), np.int32, int(indptr[-1]))
        Y = sparse.csr_array((np.ones(len(indices), np.float32), indices, indptr), shape=(len(rows), len(label_id)))
    return Y
