"""Compounds and their parts: "Fachwerkgebäude" also counts as "fachwerk" and "gebaud".

German, Dutch, Finnish and the Scandinavian languages write compounds as one word, most of them too rare to learn
anything from. A compound is split where both halves are words of the collection (or of a label) that are, in the
geometric mean of their documents, more frequent than the compound itself; -s-, -n- and other links between them are
left out; halves are split further (Koehn and Knight, Empirical methods for compound splitting, EACL 2003). Everything
happens among stems, so that the inflected last part of an unknown compound is known, too.

Cost: a look-up for each place where a word could be split, once for each different word.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

LANGUAGES_WITH_COMPOUNDS = ("da", "de", "fi", "nb", "nl", "sv")
MIN_PART = 4  # letters
MIN_DOCUMENTS = 3  # that have a word before it counts as a part; one label is enough
MAX_LEXICON = 50_000
MAX_LETTERS = 60  # of a word that is looked at
LINKS = ("", "s", "es", "n", "en", "er", "e")  # between two parts


class WordPart(NamedTuple):
    """A part of a word: the letters from `start` to before `end`, without a link."""

    start: int
    end: int
    term: str


def count_terms(
    texts: Iterable[Iterable[str]], labels: Iterable[Iterable[str]], make_term: Callable[[str], str | None]
) -> dict[str, int]:
    """Return the terms that may be parts, and how many documents and labels have each; texts are lists of words."""
    documents, in_labels = (Counter(word for words in some for word in set(words)) for some in (texts, labels))
    counts, of_labels = Counter[str](), set[str]()
    for written in (documents, in_labels):
        for word, count in written.items():
            term = make_term(word)
            if term is not None and len(term) >= MIN_PART and term.isalpha():
                counts[term] += count
                if written is in_labels:
                    of_labels.add(term)
    kept = {term: count for term, count in counts.items() if count >= MIN_DOCUMENTS or term in of_labels}
    return dict(sorted(kept.items(), key=lambda item: (-item[1], item[0]))[:MAX_LEXICON])


def split_compound(term: str, lexicon: Mapping[str, int]) -> list[WordPart]:
    """Return the parts of a term in order; none where it is no compound.

    >>> [part.term for part in split_compound("arbeitsmarkt", {"arbeit": 50, "markt": 40})]
    ['arbeit', 'markt']
    """
    return _split(term, 0, lexicon) if len(term) <= MAX_LETTERS else []


def _split(term: str, shift: int, lexicon: Mapping[str, int]) -> list[WordPart]:
    best, best_score = None, float(lexicon.get(term, 0))
    for at in range(MIN_PART, len(term) - MIN_PART + 1):
        behind = lexicon.get(term[at:])
        if behind is None:
            continue
        for link in LINKS:
            end = at - len(link)
            if end < MIN_PART or not term.startswith(link, end):
                continue
            before = lexicon.get(term[:end])
            if before is not None and (score := math.sqrt(before * behind)) > best_score:
                best, best_score = (end, at), score
    if best is None:
        return []
    end, at = best
    first = _split(term[:end], shift, lexicon) or [WordPart(shift, shift + end, term[:end])]
    rest = _split(term[at:], shift + at, lexicon) or [WordPart(shift + at, shift + len(term), term[at:])]
    return first + rest
