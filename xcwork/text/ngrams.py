"""Texts as arrays: every text is read once, words become ids, and n-grams become integers that sort and compare fast.

A text is lower-cased and cut into words of at least two word characters, as scikit-learn's vectorisers do. Stop words
vanish before n-grams are formed; a word may be replaced by its Snowball stem. Which stop words and which stemmer
depends on the language of the text (`word_rules`); all languages share one list of terms. An n-gram of the word ids
a, b, c is the integer ((a << bits | b) << bits) | c, with `bits` chosen so that it fits in 63 bits. An id of -1 (an
unknown word, the end of a text, or a blank line) makes every n-gram that contains it negative: no n-gram leads from one
text, or from one paragraph, into the next. The title, body and alternative names of something are best joined by blank
lines.

Why not scikit-learn's `CountVectorizer`: it builds and looks up a Python string for every n-gram of every text. Words
and pairs of 10,000 laws of EURLEX57K took it 17.8 s of processor time, and 6.3 s here, on the same machine. For texts
of one paragraph the matrix is the same, and the tests compare it with scikit-learn's.

Cost: one dictionary look-up per word, one sort of all n-grams for each order. Memory: 4 bytes per word for the ids;
n-grams are counted some million at a time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import sparse

from xcwork.compute.parallel import stream_map
from xcwork.progress import track
from xcwork.sparse import merge_duplicates
from xcwork.text.segmentation import FIRST_UNSPACED, make_script_splitter
from xcwork.text.word_rules import WordRules

NO_WORD = -1
STOP_WORD = -2
TEXTS_PER_BLOCK = 1024
POSITIONS_PER_STRETCH = 2**22  # of words whose n-grams are counted together
BLANK_LINE = "\n\n"  # ends a paragraph of a text
PARAGRAPH = "|"  # ends it in the list of the words


@dataclass(frozen=True, eq=False)
class TokenBlock:
    """The word ids of a block of texts, one after another."""

    ids: np.ndarray  # int32; NO_WORD stands for unknown words, between paragraphs and after each text
    ends: np.ndarray  # (n_texts + 1,) int64, where each text's ids begin; the last one is the length of `ids`


class WordIds(dict[str, int]):
    """Word as written → id of its term. While it `grows`, a new term gets the next id; later it is unknown.

    The words of several languages may share one dictionary of `terms`.
    """

    def __init__(self, rules: WordRules, terms: Sequence[str] | dict[str, int] = (), *, grows: bool) -> None:
        super().__init__()
        self.rules = rules
        self.terms = terms if isinstance(terms, dict) else {term: number for number, term in enumerate(terms)}
        self._parts: dict[str, list[int]] = {}
        self._grows = grows
        self.update((word, STOP_WORD) for word in rules.stop_words)
        self.update({PARAGRAPH: NO_WORD, BLANK_LINE: NO_WORD})

    def __missing__(self, word: str) -> int:
        if len(word) < 2 and word < FIRST_UNSPACED:
            found = STOP_WORD
        else:
            term = self.rules.make_term(word)
            found = STOP_WORD if term is None else self._find_term(term)
        if found != NO_WORD:  # unknown words are not remembered: a long-lived model must not grow with its traffic
            self[word] = found
        return found

    def list_parts(self, words: Sequence[str]) -> list[int]:
        """Return the ids of all parts of the words, each one by itself between two NO_WORD."""
        found = [NO_WORD]
        for word in words:
            parts = self._parts.get(word)
            if parts is None:
                parts = [] if self.get(word) == STOP_WORD else self._make_parts(word)
                if word in self:
                    self._parts[word] = parts
            found += parts
        return found

    def _make_parts(self, word: str) -> list[int]:
        ids = filter(NO_WORD.__ne__, map(self._find_term, (part.term for part in self.rules.find_parts(word))))
        return [number for part in ids for number in (part, NO_WORD)]

    def _find_term(self, term: str) -> int:
        return self.terms.setdefault(term, len(self.terms)) if self._grows else self.terms.get(term, NO_WORD)


def choose_word_bits(longest: int) -> int:
    """Return the bits of a word id, so that `longest` of them fit in a non-negative 64-bit integer."""
    return 31 if longest == 1 else 63 // longest


def read_texts(
    texts: Sequence[str],
    word_ids: WordIds | Sequence[WordIds],
    phase: str = "reading text",
    languages: np.ndarray | None = None,
) -> list[TokenBlock]:
    """Return the texts as blocks of word ids; `languages` says whose words each text has, if there are several."""
    every = [word_ids] if isinstance(word_ids, WordIds) else word_ids
    starts = range(0, max(1, len(texts)), TEXTS_PER_BLOCK)  # no text at all is one empty block
    return [
        _read_block(
            texts[start : start + TEXTS_PER_BLOCK],
            every,
            None if languages is None else languages[start : start + TEXTS_PER_BLOCK].tolist(),
        )
        for start in track(starts, phase)
    ]


class _Splitter:
    """Cuts texts into words."""

    def __init__(self, split_underscores: bool, any_script: bool) -> None:
        character = r"[^\W_]" if split_underscores else r"\w"
        latin = [chr(code).lower() if re.match(character, chr(code)) else " " for code in range(256)]
        latin[ord("\n")] = "\n"
        self._latin = "".join(latin).encode("latin-1")  # to lower case, and everything outside words to a space
        self._find = make_script_splitter(split_underscores, any_script).list_words

    def __call__(self, text: str) -> list[str]:
        """Return the words in lower case; words of one character may be among them, which `WordIds` drops."""
        try:  # several times as fast as the regular expression
            words = text.encode("latin-1").translate(self._latin)
        except UnicodeEncodeError:
            return self._find(text.lower())
        return words.replace(BLANK_LINE.encode(), f" {PARAGRAPH} ".encode()).decode("latin-1").split()


_make_splitter = cache(_Splitter)


def _read_block(texts: Sequence[str], word_ids: Sequence[WordIds], languages: list[int] | None) -> TokenBlock:
    end_of_text = np.array([NO_WORD], np.int32)
    parts: list[np.ndarray] = []
    ends = [0]
    readers = [_TextReader(each) for each in word_ids]
    for row, text in enumerate(texts):
        ids = readers[0 if languages is None else languages[row]](text)
        parts += [ids, end_of_text]
        ends.append(ends[-1] + len(ids) + 1)
    return TokenBlock(np.concatenate(parts or [end_of_text[:0]]), np.array(ends, np.int64))


class _TextReader:
    """Reads texts by the rules of one language."""

    def __init__(self, word_ids: WordIds) -> None:
        rules = word_ids.rules
        self._id_of = word_ids.__getitem__
        self._split = _make_splitter(rules.split_underscores, rules.any_script)
        self._list_parts = word_ids.list_parts if rules.has_parts else None

    def __call__(self, text: str) -> np.ndarray:
        """Return the ids of the words, without stop words."""
        words = self._split(text)
        ids = np.fromiter(map(self._id_of, words), np.int32, len(words))
        ids = ids[ids != STOP_WORD]
        return ids if self._list_parts is None else np.concatenate([ids, np.array(self._list_parts(words), np.int32)])


def count_words(blocks: Sequence[TokenBlock], n_words: int) -> np.ndarray:
    """Return how often each word occurs, (n_words,)."""
    counts = np.zeros(n_words, np.int64)
    for block in blocks:
        counts += np.bincount(block.ids[block.ids >= 0], minlength=n_words)
    return counts


def encode_ngrams(ids: np.ndarray, order: int, bits: int) -> np.ndarray:
    """Return the n-gram that starts at each position, as one integer; negative where there is none."""
    length = max(0, len(ids) - order + 1)
    codes = ids[:length].astype(np.int64)
    for later in range(1, order):
        codes <<= bits
        codes |= ids[later : later + length]
    return codes


def decode_ngrams(codes: np.ndarray, order: int, bits: int) -> np.ndarray:
    """Return the word ids of n-grams, (n_codes, order)."""
    shifts = np.arange(order - 1, -1, -1, dtype=np.int64) * bits
    return (codes[:, None] >> shifts) & ((1 << bits) - 1)


def find_largest_word(codes: np.ndarray, order: int, bits: int) -> int:
    """Return the largest word id in n-grams, -1 where there are none."""
    shifts = range(0, order * bits, bits)
    return max((int(((codes >> shift) & ((1 << bits) - 1)).max(initial=-1)) for shift in shifts), default=-1)


def encode_word_ids(ids: np.ndarray, bits: int) -> np.ndarray:
    """Return the n-grams of word ids (n_codes, order): the inverse of `decode_ngrams`."""
    codes = np.zeros(len(ids), np.int64)
    for column in ids.T:
        codes = codes << bits | column
    return codes


def count_ngrams(
    blocks: Sequence[TokenBlock], order: int, bits: int, most: int | None = None, wanted: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return (the distinct n-grams in ascending order, how often each occurs).

    N-grams are counted by their first words, a stretch of words after the other, each on a thread. With `most`, those
    are left out that cannot be among so many most frequent ones, unless they are `wanted` (ascending).
    """
    n_words = 1 + max((int(block.ids.max(initial=-1)) for block in blocks), default=-1)
    stretches = cut_words(count_words(blocks, n_words), POSITIONS_PER_STRETCH)

    def count_stretch(stretch: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        codes = np.concatenate([_encode_some_ngrams(block.ids, order, bits, *stretch) for block in blocks])
        codes.sort()
        is_first = np.ones(len(codes), bool)
        np.not_equal(codes[1:], codes[:-1], out=is_first[1:])
        firsts = np.flatnonzero(is_first)
        codes, counts = codes[firsts], np.diff(firsts, append=len(codes))
        if most is None or len(codes) <= most:
            return codes, counts
        kept = counts >= np.partition(counts, len(counts) - most)[len(counts) - most]
        if wanted is not None and len(wanted):
            places = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)
            kept[places[codes[places] == wanted]] = True
        return codes[kept], counts[kept]

    found = list(stream_map(count_stretch, stretches))
    if not found:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    codes, counts = zip(*found, strict=True)
    return np.concatenate(codes), np.concatenate(counts)


def cut_words(counts: np.ndarray, size: int) -> list[tuple[int, int]]:
    """Return (first, last + 1) of stretches of words that occur about `size` times, or of one word each."""
    ends = np.cumsum(counts)
    stretches = []
    first = 0
    while first < len(counts):
        before = ends[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + size, side="right")))
        stretches.append((first, last))
        first = last
    return stretches


def _encode_some_ngrams(ids: np.ndarray, order: int, bits: int, first: int, last: int) -> np.ndarray:
    """Return the n-grams whose first word is one of `first` … `last` - 1."""
    heads = ids[: max(0, len(ids) - order + 1)]
    places = np.flatnonzero((heads >= first) & (heads < last))
    codes = ids[places].astype(np.int64)
    for later in range(1, order):
        codes <<= bits
        codes |= ids[places + later]
    return codes[codes >= 0]


def find_most_frequent(counts: np.ndarray, limit: int) -> np.ndarray:
    """Return ascending positions of the `limit` largest counts above zero; among equals the first ones."""
    some = np.flatnonzero(counts)
    if len(some) <= limit:
        return some
    return np.sort(some[np.argsort(-counts[some], kind="stable")[:limit]])


def count_in_texts(block: TokenBlock, vocabulary: np.ndarray, order: int, bits: int) -> sparse.csr_array:
    """Return how often each n-gram of the ascending `vocabulary` occurs in each text, (n_texts, n_ngrams) float32."""
    shape = (len(block.ends) - 1, len(vocabulary))
    if not len(vocabulary):
        return sparse.csr_array(shape, dtype=np.float32)
    codes = encode_ngrams(block.ids, order, bits)
    columns = np.searchsorted(vocabulary, codes)
    columns[columns == len(vocabulary)] = 0
    known = vocabulary[columns] == codes
    known_before = np.concatenate([[0], np.cumsum(known)])  # (n_positions + 1,)
    indptr = known_before[np.minimum(block.ends, len(codes))]
    columns = columns[known].astype(np.int32)
    entries = (np.ones(len(columns), np.float32), columns, indptr.astype(np.int32))
    return merge_duplicates(sparse.csr_array(entries, shape=shape))
