"""The terms a text vectoriser knows, and how often each occurs in a text: whole words, or pieces of words.

`Words` keeps the word n-grams as integers (see `xcwork.text.ngrams`). `Subwords` keeps scikit-learn's `char_wb` pieces:
character n-grams inside a word and its two borders. What pieces a word has depends on the word alone, so the counts of
the texts are a product: (texts × words) @ (words × pieces).

Which terms are kept: of every order those that occur most often, and beside them every term of the label texts that
occurs in a document, because that is what a label never seen in training can be found by. Among equally frequent terms
the alphabetically first wins, so the result does not depend on the order of the texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from xcwork.compute.parallel import parallel_map
from xcwork.sparse import sort_entries
from xcwork.text import ngrams as terms
from xcwork.text.ngrams import Tokens, WordIds, WordRules

SUBWORD_SIZES = (3, 5)  # characters, the borders of the word included


@dataclass(frozen=True)
class Selection:
    """Which terms are worth a column."""

    max_features: int
    min_count: int  # occurrences a term needs
    max_share: float  # a term in a larger share of the documents says too little

    def choose(
        self,
        in_texts: np.ndarray,
        in_labels: np.ndarray,
        n_texts: int,
        n_with_term: Callable[[np.ndarray], np.ndarray],
    ) -> np.ndarray:
        """Ascending positions of the terms to keep, from their counts; `n_with_term` counts documents, when needed."""
        counts = in_texts + in_labels
        allowed = counts >= self.min_count
        most = self.max_share * n_texts
        suspects = np.flatnonzero(in_texts > most)  # a term is in at most as many documents as it has occurrences
        if self.max_share < 1 and len(suspects):
            allowed[suspects[n_with_term(suspects) > most]] = False
        frequent = terms.most_frequent(np.where(allowed, counts, 0), self.max_features)
        return np.union1d(frequent, np.flatnonzero(allowed & (in_texts > 0) & (in_labels > 0)))


class Words:
    """Word n-grams: the words in use, and for each order the ascending codes of the n-grams kept."""

    def __init__(self, words: list[str], codes: list[np.ndarray], rules: WordRules) -> None:
        self.words, self.codes, self.rules = words, codes, rules
        self.bits = terms.bits_a_word(len(codes))

    @cached_property
    def _ids(self) -> WordIds:
        """Made when the first text comes, because millions of words take a while and some models never meet one."""
        return WordIds(self.rules, self.words, grows=False)

    @classmethod
    def learn(
        cls, texts: Sequence[str], labels: Sequence[str], rules: WordRules, selection: Selection, ngrams: int
    ) -> tuple[Words, sparse.csr_array]:
        """(the vocabulary of documents and labels, the counts of the documents)."""
        words, blocks, label_blocks = _read(texts, labels, rules)
        bits = terms.bits_a_word(ngrams)
        counts = terms.word_counts(blocks + label_blocks, len(words))
        # An n-gram is at most as frequent as its rarest word, so rare words can go before n-grams are counted.
        kept = terms.most_frequent(np.where(counts >= selection.min_count, counts, 0), 1 << bits)
        words, blocks, label_blocks = _keep_words(words, kept, blocks, label_blocks)
        codes = [
            _chosen_ngrams(blocks, label_blocks, order, bits, selection, len(texts)) for order in range(1, ngrams + 1)
        ]

        parts = [terms.split_codes(some, order, bits) for order, some in enumerate(codes, start=1)]
        used = np.unique(np.concatenate([part.ravel() for part in parts]))
        words, blocks, _ = _keep_words(words, used, blocks, [])
        vocabulary = cls(words, [terms.join_ids(np.searchsorted(used, part), bits) for part in parts], rules)
        return vocabulary, vocabulary._count_blocks(blocks)

    def count(self, texts: Sequence[str]) -> sparse.csr_array:
        """How often each term occurs in each text."""
        return self._count_blocks(terms.read_texts(texts, self._ids))

    def _count_blocks(self, blocks: list[Tokens]) -> sparse.csr_array:
        return _stacked(self._count_block, blocks)

    def _count_block(self, block: Tokens) -> sparse.csr_array:
        orders = enumerate(self.codes, start=1)
        parts = [terms.count_matrix(block, codes, order, self.bits) for order, codes in orders]
        return sparse.csr_array(sparse.hstack(parts))

    def names(self) -> list[str]:
        names: list[str] = []
        for order, codes in enumerate(self.codes, start=1):
            places = terms.split_codes(codes, order, self.bits).T.tolist()  # the first words of all terms, the second …
            names += map(" ".join, zip(*([self.words[i] for i in place] for place in places), strict=True))
        return names

    def to_state(self) -> dict[str, Any]:
        return {"words": self.words, "codes": self.codes, "rules": asdict(self.rules)}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Words:
        words, codes = state["words"], state["codes"]
        if not all(isinstance(some, np.ndarray) and some.dtype == np.int64 and some.ndim == 1 for some in codes):
            raise ValueError("the terms are not stored as numbers")
        return cls(_texts(words), codes, _rules(state["rules"]))


class Subwords:
    """Character n-grams inside words."""

    def __init__(self, pieces: list[str], rules: WordRules) -> None:
        self.pieces, self.rules = pieces, rules
        self._counter = _piece_counter({piece: column for column, piece in enumerate(pieces)})

    @classmethod
    def learn(
        cls, texts: Sequence[str], labels: Sequence[str], rules: WordRules, selection: Selection
    ) -> tuple[Subwords, sparse.csr_array]:
        """(the vocabulary of documents and labels, the counts of the documents)."""
        words, blocks, label_blocks = _read(texts, labels, rules)
        if not words:
            return cls([], rules), sparse.csr_array((len(texts), 0), dtype=np.float32)
        counter = _piece_counter(None)
        pieces_of_word = sparse.csr_array(counter.fit_transform(words))  # (n_words, n_pieces)

        def n_with_piece(pieces: np.ndarray) -> np.ndarray:
            counts = _piece_counts(blocks, pieces_of_word[:, pieces])
            return np.bincount(counts.indices, minlength=len(pieces))

        in_texts, in_labels = (
            terms.word_counts(some, len(words)) @ pieces_of_word.astype(np.int64) for some in (blocks, label_blocks)
        )
        kept = selection.choose(in_texts, in_labels, len(texts), n_with_piece)
        vocabulary = cls(counter.get_feature_names_out()[kept].tolist(), rules)
        return vocabulary, _piece_counts(blocks, pieces_of_word[:, kept])

    def count(self, texts: Sequence[str]) -> sparse.csr_array:
        """How often each piece occurs in each text."""
        ids = WordIds(self.rules, grows=True)
        blocks = terms.read_texts(texts, ids)
        if not self.pieces or not ids.terms:
            return sparse.csr_array((len(texts), len(self.pieces)), dtype=np.float32)
        return _piece_counts(blocks, sparse.csr_array(self._counter.transform([*ids.terms])))

    def names(self) -> list[str]:
        return list(self.pieces)

    def to_state(self) -> dict[str, Any]:
        return {"pieces": self.pieces, "rules": asdict(self.rules)}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Subwords:
        return cls(_texts(state["pieces"]), _rules(state["rules"]))


def _texts(stored: Any) -> list[str]:
    """A stored list of texts; anything else is damage."""
    if not isinstance(stored, list) or not all(isinstance(text, str) for text in stored):
        raise ValueError("a list of texts holds something else")
    return stored


def _rules(stored: dict[str, Any]) -> WordRules:
    rules = WordRules(**stored)
    _texts(rules.stop_words)
    if not isinstance(rules.stem, bool) or not isinstance(rules.split_underscores, bool):
        raise ValueError("the rules of words are not stored as such")
    return rules


def _read(
    texts: Sequence[str], labels: Sequence[str], rules: WordRules
) -> tuple[list[str], list[Tokens], list[Tokens]]:
    """(the words in alphabetical order, blocks of their ids in the documents, and in the labels)."""
    ids = WordIds(rules, grows=True)
    blocks, label_blocks = terms.read_texts(texts, ids), terms.read_texts(labels, ids, "reading label text")
    words = [*ids.terms]
    alphabetical = sorted(range(len(words)), key=words.__getitem__)
    return _keep_words(words, np.array(alphabetical, np.int64), blocks, label_blocks)


def _keep_words(
    words: list[str], kept: np.ndarray, blocks: list[Tokens], label_blocks: list[Tokens]
) -> tuple[list[str], list[Tokens], list[Tokens]]:
    """Only the words `kept`, whose new ids are their positions in it."""
    new_ids = np.full(len(words) + 1, terms.NO_WORD, np.int32)  # the last one serves the id -1
    new_ids[kept] = np.arange(len(kept), dtype=np.int32)
    renumbered = ([Tokens(new_ids[block.ids], block.ends) for block in some] for some in (blocks, label_blocks))
    return [words[i] for i in kept], *renumbered


def _chosen_ngrams(
    blocks: list[Tokens], label_blocks: list[Tokens], order: int, bits: int, selection: Selection, n_texts: int
) -> np.ndarray:
    """The codes of the n-grams of one order that are worth keeping, ascending."""
    of_texts, of_labels = (terms.count_ngrams(some, order, bits) for some in (blocks, label_blocks))
    codes = np.union1d(of_texts[0], of_labels[0])
    in_texts, in_labels = np.zeros(len(codes), np.int64), np.zeros(len(codes), np.int64)
    for counts, (found, times) in ((in_texts, of_texts), (in_labels, of_labels)):
        counts[np.searchsorted(codes, found)] = times

    def n_with_ngram(positions: np.ndarray) -> np.ndarray:
        counted = (terms.count_matrix(block, codes[positions], order, bits).indices for block in blocks)
        return sum(np.bincount(columns, minlength=len(positions)) for columns in counted)

    return codes[selection.choose(in_texts, in_labels, n_texts, n_with_ngram)]


def _stacked(count: Callable[[Tokens], sparse.csr_array], blocks: list[Tokens]) -> sparse.csr_array:
    if len(blocks) == 1:  # one short text should not pay for starting threads
        return count(blocks[0])
    return sparse.csr_array(sparse.vstack(parallel_map(count, blocks, "counting terms")))


def _piece_counter(vocabulary: dict[str, int] | None) -> Any:
    from sklearn.feature_extraction.text import CountVectorizer

    options = {"analyzer": "char_wb", "ngram_range": SUBWORD_SIZES, "lowercase": False, "dtype": np.float32}
    return CountVectorizer(vocabulary=vocabulary, **options)


def _piece_counts(blocks: list[Tokens], pieces_of_word: sparse.csr_array) -> sparse.csr_array:
    """How often each piece occurs in each text, (n_texts, n_pieces)."""
    every_word = np.arange(pieces_of_word.shape[0], dtype=np.int64)

    def count(block: Tokens) -> sparse.csr_array:
        return sort_entries(terms.count_matrix(block, every_word, 1, 0) @ pieces_of_word)

    return _stacked(count, blocks)
