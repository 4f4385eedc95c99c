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
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from xcwork.compute.parallel import parallel_map
from xcwork.sparse import sort_entries
from xcwork.text import ngrams as terms
from xcwork.text.ngrams import TokenBlock, WordIds
from xcwork.text.reading import ReadingRules

SUBWORD_SIZES = (3, 5)  # characters, the borders of the word included


@dataclass(frozen=True)
class TermSelection:
    """Which terms are worth a column."""

    max_features: int
    min_count: int  # occurrences a term needs
    max_share: float  # a term in a larger share of the documents says too little

    def choose(
        self,
        in_texts: np.ndarray,
        in_labels: np.ndarray,
        n_texts: int,
        count_documents: Callable[[np.ndarray], np.ndarray],
    ) -> np.ndarray:
        """Return ascending positions of the terms to keep; `count_documents` says how many have a term."""
        counts = in_texts + in_labels
        allowed = counts >= self.min_count
        most = self.max_share * n_texts
        suspects = np.flatnonzero(in_texts > most)  # a term is in at most as many documents as it has occurrences
        if self.max_share < 1 and len(suspects):
            allowed[suspects[count_documents(suspects) > most]] = False
        frequent = terms.find_most_frequent(np.where(allowed, counts, 0), self.max_features)
        return np.union1d(frequent, np.flatnonzero(allowed & (in_texts > 0) & (in_labels > 0)))


class Words:
    """Word n-grams: the words in use, and for each order the ascending codes of the n-grams kept."""

    def __init__(self, words: list[str], codes: list[np.ndarray], rules: ReadingRules) -> None:
        self.words, self.codes, self.rules = words, codes, rules
        self.bits = terms.choose_word_bits(len(codes))

    @cached_property
    def _ids(self) -> list[WordIds]:
        """The ids of the words, made for the first text: millions take a while, and some models never meet one."""
        return _number_words(self.rules, self.words, grows=False)

    @classmethod
    def learn(
        cls, texts: Sequence[str], labels: Sequence[str], rules: ReadingRules, selection: TermSelection, ngrams: int
    ) -> tuple[Words, sparse.csr_array]:
        """Return (the vocabulary of documents and labels, the counts of the documents)."""
        words, blocks, label_blocks = _read_words(texts, labels, rules)
        bits = terms.choose_word_bits(ngrams)
        counts = terms.count_words(blocks + label_blocks, len(words))
        # An n-gram is at most as frequent as its rarest word, so rare words can go before n-grams are counted.
        kept = terms.find_most_frequent(np.where(counts >= selection.min_count, counts, 0), 1 << bits)
        words, blocks, label_blocks = _keep_words(words, kept, blocks, label_blocks)
        codes = [
            _choose_ngrams(blocks, label_blocks, order, bits, selection, len(texts)) for order in range(1, ngrams + 1)
        ]

        parts = [terms.decode_ngrams(some, order, bits) for order, some in enumerate(codes, start=1)]
        used = np.unique(np.concatenate([part.ravel() for part in parts]))
        words, blocks, _ = _keep_words(words, used, blocks, [])
        vocabulary = cls(words, [terms.encode_word_ids(np.searchsorted(used, part), bits) for part in parts], rules)
        return vocabulary, _count_blocks(vocabulary._count_block, blocks)

    def count(self, texts: Sequence[str]) -> sparse.csr_array:
        """Return how often each term occurs in each text."""
        blocks = terms.read_texts(texts, self._ids, languages=self.rules.recognise(texts))
        return _count_blocks(self._count_block, blocks)

    def _count_block(self, block: TokenBlock) -> sparse.csr_array:
        orders = enumerate(self.codes, start=1)
        parts = [terms.count_in_texts(block, codes, order, self.bits) for order, codes in orders]
        return sparse.csr_array(sparse.hstack(parts))

    def __len__(self) -> int:
        """Return the number of terms."""
        return sum(map(len, self.codes))

    def list_names(self) -> list[str]:
        """Return what the terms are called, in the order of the columns."""
        names: list[str] = []
        for order, codes in enumerate(self.codes, start=1):
            # The first words of all terms, the second ones, …
            places = terms.decode_ngrams(codes, order, self.bits).T.tolist()
            names += map(" ".join, zip(*(map(self.words.__getitem__, place) for place in places), strict=True))
        return names

    def to_state(self) -> dict[str, Any]:
        return {"words": self.words, "codes": self.codes, "rules": self.rules.to_state()}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Words:
        words, codes = state["words"], state["codes"]
        if not all(isinstance(some, np.ndarray) and some.dtype == np.int64 and some.ndim == 1 for some in codes):
            raise ValueError("the terms are not stored as numbers")
        self = cls(_check_texts(words), codes, ReadingRules.from_state(state["rules"]))
        for order, some in enumerate(codes, start=1):
            if terms.find_largest_word(some, order, self.bits) >= len(words):
                raise ValueError("a term has a word that is not listed")
        return self


class Subwords:
    """Character n-grams inside words."""

    def __init__(self, pieces: list[str], rules: ReadingRules) -> None:
        self.pieces, self.rules = pieces, rules
        self._counter = _make_piece_counter({piece: column for column, piece in enumerate(pieces)})

    @classmethod
    def learn(
        cls, texts: Sequence[str], labels: Sequence[str], rules: ReadingRules, selection: TermSelection
    ) -> tuple[Subwords, sparse.csr_array]:
        """Return (the vocabulary of documents and labels, the counts of the documents)."""
        words, blocks, label_blocks = _read_words(texts, labels, rules)
        if not words:
            return cls([], rules), sparse.csr_array((len(texts), 0), dtype=np.float32)
        counter = _make_piece_counter(None)
        pieces_of_word = sparse.csr_array(counter.fit_transform(words))  # (n_words, n_pieces)

        def count_with_piece(pieces: np.ndarray) -> np.ndarray:
            counts = _count_pieces(blocks, pieces_of_word[:, pieces])
            return np.bincount(counts.indices, minlength=len(pieces))

        in_texts, in_labels = (
            terms.count_words(some, len(words)) @ pieces_of_word.astype(np.int64) for some in (blocks, label_blocks)
        )
        kept = selection.choose(in_texts, in_labels, len(texts), count_with_piece)
        vocabulary = cls(counter.get_feature_names_out()[kept].tolist(), rules)
        return vocabulary, _count_pieces(blocks, pieces_of_word[:, kept])

    def count(self, texts: Sequence[str]) -> sparse.csr_array:
        """Return how often each piece occurs in each text."""
        ids = _number_words(self.rules, grows=True)
        blocks = terms.read_texts(texts, ids, languages=self.rules.recognise(texts))
        if not self.pieces or not ids[0].terms:
            return sparse.csr_array((len(texts), len(self.pieces)), dtype=np.float32)
        return _count_pieces(blocks, sparse.csr_array(self._counter.transform([*ids[0].terms])))

    def __len__(self) -> int:
        return len(self.pieces)

    def list_names(self) -> list[str]:
        return list(self.pieces)

    def to_state(self) -> dict[str, Any]:
        return {"pieces": self.pieces, "rules": self.rules.to_state()}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Subwords:
        return cls(_check_texts(state["pieces"]), ReadingRules.from_state(state["rules"]))


def _check_texts(stored: Any) -> list[str]:
    """Return a stored list of texts; anything else is damage."""
    if not isinstance(stored, list) or not set(map(type, stored)) <= {str}:
        raise ValueError("a list of texts holds something else")
    return stored


def _number_words(rules: ReadingRules, words: Sequence[str] = (), *, grows: bool) -> list[WordIds]:
    """Return the ids of the words of each language; all languages share the terms."""
    shared = {word: number for number, word in enumerate(words)}
    return [WordIds(each, shared, grows=grows) for each in rules.of_languages]


def _read_words(
    texts: Sequence[str], labels: Sequence[str], rules: ReadingRules
) -> tuple[list[str], list[TokenBlock], list[TokenBlock]]:
    """Return (the words in alphabetical order, blocks of their ids in the documents, and in the labels)."""
    ids = _number_words(rules, grows=True)
    blocks = terms.read_texts(texts, ids, languages=rules.recognise(texts))
    label_blocks = terms.read_texts(labels, ids, "reading label text", rules.recognise(labels))
    words = [*ids[0].terms]
    alphabetical = sorted(range(len(words)), key=words.__getitem__)
    return _keep_words(words, np.array(alphabetical, np.int64), blocks, label_blocks)


def _keep_words(
    words: list[str], kept: np.ndarray, blocks: list[TokenBlock], label_blocks: list[TokenBlock]
) -> tuple[list[str], list[TokenBlock], list[TokenBlock]]:
    """Return only the words `kept`, whose new ids are their positions in it; the blocks get them in place."""
    new_ids = np.full(len(words) + 1, terms.NO_WORD, np.int32)  # the last one serves the id -1
    new_ids[kept] = np.arange(len(kept), dtype=np.int32)

    for block in (*blocks, *label_blocks):
        block.ids[:] = new_ids[block.ids]
    return [words[i] for i in kept], blocks, label_blocks


def _choose_ngrams(
    blocks: list[TokenBlock],
    label_blocks: list[TokenBlock],
    order: int,
    bits: int,
    selection: TermSelection,
    n_texts: int,
) -> np.ndarray:
    """Return the codes of the n-grams of one order that are worth keeping, ascending."""
    of_labels = terms.count_ngrams(label_blocks, order, bits)
    # Where n-grams may still be left out, a rare one may take the place of a frequent one.
    most = selection.max_features if selection.max_share == 1 else None
    of_texts = terms.count_ngrams(blocks, order, bits, most, of_labels[0])
    codes = np.union1d(of_texts[0], of_labels[0])
    in_texts, in_labels = np.zeros(len(codes), np.int64), np.zeros(len(codes), np.int64)
    for counts, (found, times) in ((in_texts, of_texts), (in_labels, of_labels)):
        counts[np.searchsorted(codes, found)] = times

    def count_with_ngram(positions: np.ndarray) -> np.ndarray:
        counts = np.zeros(len(positions), np.int64)
        for block in blocks:
            columns = terms.count_in_texts(block, codes[positions], order, bits).indices
            counts += np.bincount(columns, minlength=len(positions))
        return counts

    return codes[selection.choose(in_texts, in_labels, n_texts, count_with_ngram)]


def _count_blocks(count: Callable[[TokenBlock], sparse.csr_array], blocks: list[TokenBlock]) -> sparse.csr_array:
    """Return the counts of all blocks, which are counted in threads."""
    if len(blocks) == 1:  # one short text should not pay for starting threads
        return count(blocks[0])
    return sparse.csr_array(sparse.vstack(parallel_map(count, blocks, "counting terms")))


def _make_piece_counter(vocabulary: dict[str, int] | None) -> Any:
    """Return scikit-learn's counter of the pieces of words."""
    from sklearn.feature_extraction.text import CountVectorizer

    options = {"analyzer": "char_wb", "ngram_range": SUBWORD_SIZES, "lowercase": False, "dtype": np.float32}
    return CountVectorizer(vocabulary=vocabulary, **options)


def _count_pieces(blocks: list[TokenBlock], pieces_of_word: sparse.csr_array) -> sparse.csr_array:
    """Return how often each piece occurs in each text, (n_texts, n_pieces)."""
    every_word = np.arange(pieces_of_word.shape[0], dtype=np.int64)

    def count(block: TokenBlock) -> sparse.csr_array:
        return sort_entries(terms.count_in_texts(block, every_word, 1, 0) @ pieces_of_word)

    return _count_blocks(count, blocks)
