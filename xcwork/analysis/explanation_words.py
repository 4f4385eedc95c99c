"""The words of a text as an explanation counts them, and what it says in one sentence.

Features may be stems, runs of words or pieces of words. People read words as they are written: a stem stands for its
most frequent form in the text, a piece counts for all words that contain it, in equal shares.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from xcwork.analysis.text_spans import list_words
from xcwork.core.explanation_parts import ANY_DOCUMENT, TRAINING_DOCUMENT, Family
from xcwork.text.vocabulary import SUBWORD_SIZES

if TYPE_CHECKING:
    from xcwork.core.explanation_groups import GroupedParts, SplitTerm
    from xcwork.core.features import Features

MAX_RARE_DOCUMENTS = 5  # training documents of a label, as in `make_absolute_bands`
MAX_MEDIUM_DOCUMENTS = 50
MAX_SUPPORTING_WORDS = 3
MAX_OPPOSING_WORDS = 2
MIN_NAMED_SHARE = 0.5  # of the strongest word; weaker ones are not in the sentence


class TextWord(NamedTuple):
    """A word in a text: the characters from `start` to before `end`, and the form that stands for it."""

    start: int
    end: int
    form: str


class Phrase(NamedTuple):
    """A piece of a sentence; words of the document are set apart from it."""

    text: str
    is_word: bool = False


def read_words(text: str, features: Features) -> list[TextWord]:
    """Return the words of a text that can be features, in order; none where the features are not made from text."""
    if features.vectorizer is None:
        return []
    words = list_words(text, features.vectorizer.choose_rules(text))
    written: dict[str, Counter[str]] = {}
    for word in words:
        written.setdefault(word.term, Counter())[word.written] += 1
    forms = {term: counts.most_common(1)[0][0] for term, counts in written.items()}
    return [TextWord(word.start, word.end, forms[word.term]) for word in words]


def make_term_splitter(text: str, features: Features) -> SplitTerm | None:
    """Return what finds the words of `text` behind a feature; None where the features are not made from text."""
    vectorizer = features.vectorizer
    if vectorizer is None:
        return None
    forms: dict[str, dict[str, None]] = {}
    rules = vectorizer.choose_rules(text)
    for word, shown in zip(list_words(text, rules), read_words(text, features), strict=True):
        if vectorizer.tokens == "subwords":
            units = _list_pieces(word.term)
        else:
            units = [word.term, *(part.term for part in rules.find_parts(word.written))]
        for unit in units:
            forms.setdefault(unit, {})[shown.form] = None
    if vectorizer.tokens == "subwords":
        return lambda term: list(forms.get(term, (term,)))
    return lambda term: [form for unit in term.split() for form in forms.get(unit, (unit,))]


def _list_pieces(term: str) -> list[str]:
    padded = f" {term} "
    sizes = range(SUBWORD_SIZES[0], SUBWORD_SIZES[1] + 1)
    return [padded[first : first + size] for size in sizes for first in range(len(padded) - size + 1)]


def write_sentence(grouped: GroupedParts, frequency: int | None = None) -> list[Phrase]:
    """Return one sentence about what decides; `frequency` is the number of training documents with the label."""
    words = grouped.sum_words()
    votes = [word for word, value in words.items() if word.startswith(f"{TRAINING_DOCUMENT} ") and value > 0]
    own = {word: value for word, value in words.items() if word not in votes}
    phrases = _name_words(own)
    if votes and not any(value > 0 for value in own.values()):
        have = "the nearest training document has" if len(votes) == 1 else f"{len(votes):,} similar documents have"
        phrases = [Phrase(f"{have} it")]
    elif not any(words.values()):
        phrases = [Phrase("no word of this text has to do with it")]
    if about := describe_frequency(frequency):
        phrases.append(Phrase(f"; {about}"))
    first = phrases[0]
    start = first if first.is_word else Phrase(first.text[:1].upper() + first.text[1:])
    return [start, *phrases[1:], Phrase(".")]


def describe_frequency(frequency: int | None) -> str:
    """Return what is worth saying about the number of training documents of a label."""
    if frequency is None or MAX_RARE_DOCUMENTS < frequency <= MAX_MEDIUM_DOCUMENTS:
        return ""
    if frequency == 0:
        return "no training document has it"
    return "it is a rare label" if frequency <= MAX_RARE_DOCUMENTS else "it is a frequent label"


def compare_words(before: GroupedParts, after: GroupedParts) -> list[tuple[str, float]]:
    """Return what each word adds more or less than before, largest change first; words that add the same are left out.

    What holds for any document is one entry, so the changes sum to the change of the score.
    """
    old, new = ({**each.sum_words(), ANY_DOCUMENT: _sum_constants(each)} for each in (before, after))
    changes = {word: new.get(word, 0.0) - old.get(word, 0.0) for word in old | new}
    return sorted(
        ((w, change) for w, change in changes.items() if change), key=lambda entry: (-abs(entry[1]), entry[0])
    )


def _sum_constants(grouped: GroupedParts) -> float:
    constant = (Family.starting_point, Family.unexplained)
    return sum(bar.value for bar in grouped.families if bar.family in constant)


def _name_words(words: Mapping[str, float]) -> list[Phrase]:
    largest = max(map(abs, words.values()), default=0.0)
    strong = [(word, value) for word, value in words.items() if value and abs(value) >= MIN_NAMED_SHARE * largest]
    supporting = [word for word, value in strong if value > 0][:MAX_SUPPORTING_WORDS]
    opposing = [word for word, value in strong if value < 0][:MAX_OPPOSING_WORDS]
    phrases = _list_names(supporting, "supports it", "support it")
    if opposing:
        phrases += [Phrase(", but ")] if supporting else []
        phrases += _list_names(opposing, "opposes it", "oppose it")
    return phrases


def _list_names(words: Sequence[str], verb: str, verb_of_many: str) -> list[Phrase]:
    phrases: list[Phrase] = []
    for at, word in enumerate(words):
        if at:
            phrases.append(Phrase(" and " if at == len(words) - 1 else ", "))
        phrases.append(Phrase(word, is_word=True))
    return [*phrases, Phrase(f" {verb if len(words) == 1 else verb_of_many}")] if words else []
