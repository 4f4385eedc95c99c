"""Where the terms of an explanation stand in the text, so that it can be highlighted.

A term is a word, a stem or several of them in a row. It is read as in `text.ngrams`: lower case, words of at least
two characters, stop words left out before words are put together (so "state of the art" holds the pair "state art"),
nothing across a blank line, by the rules of the text's language. Sub-word features and pieces of long words mark their
part of the word.

Cost: one pass over the text and a look-up for each word and each run of words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from xcwork.text.ngrams import BLANK_LINE
from xcwork.text.segmentation import make_script_splitter
from xcwork.text.vocabulary import SUBWORD_SIZES
from xcwork.text.word_rules import WordRules

if TYPE_CHECKING:
    from xcwork.core.explanation import Explanation
    from xcwork.core.features import Features


class Span(NamedTuple):
    """A term in a text: the characters from `start` to before `end`, and what the term adds to the score."""

    start: int
    end: int
    term: str
    weight: float


class Segment(NamedTuple):
    """A piece of the text under the same terms; all segments together are the text."""

    text: str
    weight: float
    terms: tuple[str, ...]


class WrittenWord(NamedTuple):
    """A word of a text, as it is written and as features name it."""

    start: int
    end: int
    written: str
    term: str


def sum_term_weights(explanation: Explanation) -> dict[str, float]:
    """Return what each document term adds to the score, over all the label terms that it meets."""
    weights: dict[str, float] = {}
    for part in explanation:
        weights[part.document_term] = weights.get(part.document_term, 0.0) + part.value
    return weights


def list_words(text: str, rules: WordRules) -> list[WrittenWord]:
    """Return the words of `text` in order, without stop words."""
    return [word for run in _split_words(text, rules) for word in run]


def find_spans(text: str, weights: Mapping[str, float], features: Features) -> list[Span]:
    """Return every place in `text` where a term of `weights` stands, in order of position; longer ones first."""
    vectorizer = features.vectorizer
    if vectorizer is None:
        return []
    spans: list[Span] = []
    rules = vectorizer.choose_rules(text)
    for run in _split_words(text, rules):
        if vectorizer.tokens == "subwords":
            spans += (span for word in run for span in _find_pieces(word, weights))
        else:
            spans += _find_ngrams(run, weights, vectorizer.ngrams)
            spans += (span for word in run for span in _find_parts(word, weights, rules))
    return sorted(spans, key=lambda span: (span.start, -span.end, span.term))


def cut_segments(text: str, spans: Sequence[Span]) -> list[Segment]:
    """Return the text cut wherever a span begins or ends; where spans overlap their weights add up."""
    edges = sorted({0, len(text), *(edge for span in spans for edge in (span.start, span.end))})
    ordered, cut = sorted(spans), []
    active: list[Span] = []
    upcoming = 0
    for start, end in pairwise(edges):
        active = [span for span in active if span.end > start]
        while upcoming < len(ordered) and ordered[upcoming].start <= start:
            active.append(ordered[upcoming])
            upcoming += 1
        terms = tuple(dict.fromkeys(span.term for span in active))
        cut.append(Segment(text[start:end], sum(span.weight for span in active), terms))
    return cut


def _split_words(text: str, rules: WordRules) -> Iterator[list[WrittenWord]]:
    """Yield the words of each paragraph, without stop words."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters become two, which would shift everything after them
        lowered = "".join(low if len(low := letter.lower()) == 1 else letter for letter in text)
    splitter = make_script_splitter(rules.split_underscores, rules.any_script)
    run = list[WrittenWord]()
    for start, end in splitter.find_words(lowered):
        word = lowered[start:end]
        if word == BLANK_LINE:
            yield run
            run = []
        elif (term := rules.make_term(word)) is not None:
            run.append(WrittenWord(start, end, word, term))
    yield run


def _find_parts(word: WrittenWord, weights: Mapping[str, float], rules: WordRules) -> Iterator[Span]:
    """Yield the parts of a long word that are terms of their own."""
    for part in rules.find_parts(word.written):
        if part.term in weights:
            yield Span(word.start + part.start, word.start + part.end, part.term, weights[part.term])


def _find_ngrams(run: list[WrittenWord], weights: Mapping[str, float], longest: int) -> Iterator[Span]:
    for order in range(1, longest + 1):
        for first in range(len(run) - order + 1):
            term = " ".join(word.term for word in run[first : first + order])
            if term in weights:
                yield Span(run[first].start, run[first + order - 1].end, term, weights[term])


def _find_pieces(word: WrittenWord, weights: Mapping[str, float]) -> Iterator[Span]:
    """Yield pieces of a word; a stem is shorter than its word, so there the whole word stands for its pieces."""
    padded, shift = f" {word.term} ", word.start - 1
    for size in range(SUBWORD_SIZES[0], SUBWORD_SIZES[1] + 1):
        for first in range(len(padded) - size + 1):
            piece = padded[first : first + size]
            if piece in weights:
                inside = word.term == word.written
                start = max(word.start, first + shift) if inside else word.start
                end = min(word.end, first + size + shift) if inside else word.end
                yield Span(start, end, piece, weights[piece])
