"""Occlusion: what each word of a text contributes, measured by leaving it out.

    contribution(w) = s(text) - s(text without w)

A neural encoder reads words in their company, so contributions do not add up to the score: what two words say together
is counted twice or not at all. Explanations made of them are marked as approximate.

All occurrences of a word are left out together, and stop words are not tried. Of a long text only the beginning that
the encoder reads is looked at, and neighbouring words are left out together, so that at most `MAX_PIECES` texts are
encoded for one explanation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from xcwork.core.features import Features
from xcwork.text.ngrams import BLANK_LINE
from xcwork.text.segmentation import make_script_splitter

MAX_PIECES = 48  # texts encoded for one explanation
MAX_WORDS = 256  # of a text, beyond which hardly any encoder reads
_WORD = re.compile(r"\w+")


class Piece(NamedTuple):
    """Words that are left out together, and the text that remains."""

    term: str
    rest: str


def cut_pieces(text: str, features: Features) -> list[Piece]:
    """Return the words of a text, each with the text without it; terms are those that features are named after."""
    spans = _find_words(text, features)
    places: dict[str, list[tuple[int, int]]] = {}
    for start, end, term in spans:
        places.setdefault(term, []).append((start, end))
    terms = list(places)
    run = -(-len(terms) // MAX_PIECES)  # words per piece
    pieces = []
    for first in range(0, len(terms), max(run, 1)):
        together = terms[first : first + run]
        gaps = sorted(place for term in together for place in places[term])
        pieces.append(Piece(" ".join(together), _leave_out(text, gaps)))
    return pieces


def measure_pieces(
    text: str, pieces: Sequence[Piece], score: Callable[[list[str]], np.ndarray]
) -> list[tuple[str, float]]:
    """Return each term with what the score loses without it; `score` returns the scores of texts."""
    if not pieces:
        return []
    scores = score([text, *(piece.rest for piece in pieces)]).astype(np.float64)
    return [(piece.term, float(scores[0] - rest)) for piece, rest in zip(pieces, scores[1:], strict=True)]


def _find_words(text: str, features: Features) -> list[tuple[int, int, str]]:
    """Return start, end and term of the words that are not stop words."""
    vectorizer = features.vectorizer
    if vectorizer is None:
        return [(found.start(), found.end(), found.group()) for found in _WORD.finditer(text)][:MAX_WORDS]
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters become two, which would shift everything after them
        lowered = "".join(low if len(low := letter.lower()) == 1 else letter for letter in text)
    rules = vectorizer.choose_rules(text)
    splitter = make_script_splitter(rules.split_underscores, rules.any_script)
    words = []
    for start, end in splitter.find_words(lowered):
        word = lowered[start:end]
        if word != BLANK_LINE and (term := rules.make_term(word)) is not None:
            words.append((start, end, term))
        if len(words) == MAX_WORDS:
            break
    return words


def _leave_out(text: str, gaps: Sequence[tuple[int, int]]) -> str:
    kept, at = [], 0
    for start, end in gaps:
        kept.append(text[at:start])
        at = end
    return "".join([*kept, text[at:]])
