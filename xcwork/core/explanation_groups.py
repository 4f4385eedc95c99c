"""The parts of an explanation by family, by word of the document, and by pair, with sums that stay exact.

A score may have ten thousand parts. People read it from above: families of reasons, the words of one family, the pairs
of one word. A term of several words counts for each of them in equal shares, so a pair of words counts half for each,
and the words of a family still add up to it.

A family has at most ten bars. Its strongest words have one each. Where many words matter a little, those of similar
weight and the same direction share a bar that names them, so the ten bars always tell at least nine tenths of their
family. The weakest words are the last bar, the rest: at most a tenth of the family, and never its largest bar.

What is shown must add up as well. All numbers are rounded to the same number of decimals such that shown pairs sum to
the shown word, words to their bar, bars to the family, families to the score (largest remainders get the last digit).

Cost: one pass over the parts and a sort of the words. Pairs are put together only for the word that is opened.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from xcwork.core.explanation_parts import ANY_DOCUMENT, TRAINING_DOCUMENT, Family, Part

MAX_BARS = 10  # of a family
N_SINGLE_WORDS = 5  # that have a bar of their own where words must share bars
MAX_REST_SHARE = 0.1  # of the absolute sum of a family
MAX_NAMED_WORDS = 3  # in the name of a bar that words share
SHOWN_DIGITS = 3  # of the largest number
MAX_DECIMALS = 8
ROUNDING_SHARE = 1e-3  # of the largest part, below which a sum that differs from the score differs by rounding
SplitTerm = Callable[[str], Sequence[str]]
PairValues = Mapping[tuple[str, str], float]


@dataclass(frozen=True)
class PairBar:
    """All parts of one document term and one label term, as far as they count for one word."""

    document_term: str
    label_term: str
    value: float
    units: int  # the value as it is shown, in units of the last decimal
    n_words: int = 1  # of the document term, each of which has an equal share of what the pair adds


@dataclass(frozen=True)
class WordBar:
    """What one word of the document adds within one family."""

    word: str
    value: float
    units: int
    values: PairValues = field(repr=False)  # by document term and label term
    words_of: Mapping[str, tuple[str, ...]] = field(repr=False)  # the words of each document term
    scale: float

    @cached_property
    def pairs(self) -> tuple[PairBar, ...]:
        """The pairs that the word is a part of, largest first; their shown values sum to that of the word."""
        ordered = sorted(self.values.items(), key=lambda entry: (-abs(entry[1]), entry[0]))
        units = round_to_sum([value * self.scale for _, value in ordered], self.units)
        return tuple(
            PairBar(*terms, value, each, len(self.words_of.get(terms[0], ("",))))
            for (terms, value), each in zip(ordered, units, strict=True)
        )


@dataclass(frozen=True)
class WordGroup:
    """One bar of a family: a word, several of similar weight, or all that are too weak to be named."""

    words: tuple[WordBar, ...]
    is_rest: bool = False

    @property
    def value(self) -> float:
        return math.fsum(word.value for word in self.words)

    @property
    def units(self) -> int:
        return sum(word.units for word in self.words)

    @property
    def name(self) -> str:
        """The words of the bar, as far as there is room for them."""
        if self.is_rest:
            return f"{len(self.words):,} more"
        named = [word.word for word in self.words[:MAX_NAMED_WORDS]]
        more = len(self.words) - len(named)
        return f"{', '.join(named)} and {more:,} more" if more else ", ".join(named)


@dataclass(frozen=True)
class FamilyBar:
    """What one family adds to the score."""

    family: Family
    value: float
    units: int
    n_parts: int
    words: tuple[WordBar, ...]  # largest first

    @cached_property
    def groups(self) -> tuple[WordGroup, ...]:
        """The words as at most MAX_BARS bars."""
        return tuple(join_words(self.words))

    def measure_cover(self) -> float:
        """Return the share of the absolute sum of the family that is told by bars which name their words."""
        told = math.fsum(abs(group.value) for group in self.groups if not group.is_rest)
        total = math.fsum(abs(word.value) for word in self.words)
        return told / total if total else 1.0


@dataclass(frozen=True)
class GroupedParts:
    """An explanation from above: families in their order, and in them words and pairs."""

    families: tuple[FamilyBar, ...]
    score: float
    decimals: int  # of all shown numbers
    units: int  # the score as it is shown

    def format(self, units: int, *, sign: bool = True) -> str:
        """Return a shown number; all of them have the same number of decimals."""
        text = f"{abs(units) / 10**self.decimals:,.{self.decimals}f}"
        return f"−{text}" if units < 0 else f"+{text}" if sign and units > 0 else text

    def find(self, name: str) -> FamilyBar | None:
        """Return the family of this name, if it has parts."""
        return next((bar for bar in self.families if bar.family == name), None)

    def sum_words(self) -> dict[str, float]:
        """Return what each word adds over all families, largest first; what holds for any document is no word."""
        sums: dict[str, float] = {}
        for bar in self.families:
            if bar.family not in (Family.starting_point, Family.unexplained):
                for word in bar.words:
                    sums[word.word] = sums.get(word.word, 0.0) + word.value
        return dict(sorted(sums.items(), key=lambda entry: (-abs(entry[1]), entry[0])))

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the families with their words, for JSON."""
        return [
            {
                "family": str(bar.family),
                "value": bar.value,
                "n_parts": bar.n_parts,
                "words": [{"word": word.word, "value": word.value} for word in bar.words],
            }
            for bar in self.families
        ]


def group_parts(parts: Iterable[Part], score: float, *, split_term: SplitTerm | None = None) -> GroupedParts:
    """Group parts by family, word and pair.

    `split_term` returns the words of a document term; without it a term is a word. Where the parts do not add up to the
    score, the difference is a family of its own.
    """
    found: dict[Family, dict[str, dict[tuple[str, str], float]]] = {}
    counts: dict[Family, int] = {}
    words_of: dict[str, tuple[str, ...]] = {}
    total = largest = 0.0
    for part in parts:
        family, term = part.family or Family.memorised, part.document_term
        counts[family] = counts.get(family, 0) + 1
        total += part.value
        largest = max(largest, abs(part.value))
        if family is Family.starting_point:
            names: tuple[str, ...] = (part.label_term,)
        else:
            names = words_of.get(term) or words_of.setdefault(term, _list_words(term, split_term))
        groups = found.setdefault(family, {})
        pair, share = (term, part.label_term), part.value / len(names)
        for name in names:
            values = groups.setdefault(name, {})
            values[pair] = values.get(pair, 0.0) + share
    missing = score - total
    if abs(missing) > ROUNDING_SHARE * max(largest, abs(score)):
        found[Family.unexplained] = {str(Family.unexplained): {("", ""): missing}}
    ordered = {family: found[family] for family in Family if family in found}
    return _round_families(ordered, counts, words_of, score)


def _list_words(term: str, split_term: SplitTerm | None) -> tuple[str, ...]:
    if split_term is None or term.startswith((ANY_DOCUMENT[0], f"{TRAINING_DOCUMENT} ")):
        return (term,)
    return tuple(dict.fromkeys(split_term(term))) or (term,)


def _round_families(
    found: Mapping[Family, Mapping[str, PairValues]],
    counts: Mapping[Family, int],
    words_of: Mapping[str, tuple[str, ...]],
    score: float,
) -> GroupedParts:
    sums = {
        family: sorted(
            ((word, math.fsum(values.values())) for word, values in groups.items()),
            key=lambda entry: (-abs(entry[1]), entry[0]),
        )
        for family, groups in found.items()
    }
    values = [math.fsum(value for _, value in words) for words in sums.values()]
    decimals = count_decimals(max(map(abs, (*values, score))))
    scale, bars = 10.0**decimals, []
    units = round_to_sum([value * scale for value in values], round(score * scale))
    for (family, entries), value, of_family in zip(sums.items(), values, units, strict=True):
        words = [WordBar(word, each, 0, found[family][word], words_of, scale) for word, each in entries]
        bars.append(FamilyBar(family, value, of_family, counts.get(family, 0), _round_words(words, of_family)))
    return GroupedParts(tuple(bars), score, decimals, round(score * scale))


def _round_words(words: Sequence[WordBar], of_family: int) -> tuple[WordBar, ...]:
    """Return the words with their shown values. Bars are rounded first: many small words would add up their errors."""
    groups = join_words(words)
    of_groups = round_to_sum([group.value * group.words[0].scale for group in groups], of_family)
    shown: dict[str, int] = {}
    for group, of_group in zip(groups, of_groups, strict=True):
        units = round_to_sum([word.value * word.scale for word in group.words], of_group)
        shown |= {word.word: each for word, each in zip(group.words, units, strict=True)}
    return tuple(replace(word, units=shown[word.word]) for word in words)


def join_words(words: Sequence[WordBar]) -> list[WordGroup]:
    """Return words (largest first) as at most MAX_BARS bars."""
    n_named = count_named([abs(word.value) for word in words])
    rest = [WordGroup(tuple(words[n_named:]), is_rest=True)] if n_named < len(words) else []
    if n_named + len(rest) <= MAX_BARS:
        return [*(WordGroup((word,)) for word in words[:n_named]), *rest]
    weaker = words[N_SINGLE_WORDS:n_named]
    supporting = [word for word in weaker if word.value >= 0]
    opposing = [word for word in weaker if word.value < 0]
    room = MAX_BARS - N_SINGLE_WORDS - len(rest)
    n_opposing = round(room * _sum_sizes(opposing) / (_sum_sizes(weaker) or 1.0))
    n_opposing = min(max(n_opposing, bool(opposing)), room - bool(supporting))
    shared = [*_share_bars(supporting, room - n_opposing), *_share_bars(opposing, n_opposing)]
    shared.sort(key=lambda group: -abs(group.words[0].value))
    return [*(WordGroup((word,)) for word in words[:N_SINGLE_WORDS]), *shared, *rest]


def _share_bars(words: Sequence[WordBar], n_bars: int) -> list[WordGroup]:
    """Return words (largest first) as bars of neighbours in this order, of similar sums."""
    total, done = _sum_sizes(words), 0.0
    groups: list[list[WordBar]] = [[] for _ in range(n_bars)]
    for word in words:
        groups[min(int(n_bars * done / total) if total else 0, n_bars - 1)].append(word)
        done += abs(word.value)
    return [WordGroup(tuple(group)) for group in groups if group]


def _sum_sizes(words: Iterable[WordBar]) -> float:
    return math.fsum(abs(word.value) for word in words)


def count_named(sizes: Sequence[float]) -> int:
    """Return how many of the sizes (largest first) are named, so that the rest is small enough."""
    left = math.fsum(sizes)
    limit = min(MAX_REST_SHARE * left, sizes[0] if sizes else 0.0)
    for named, size in enumerate(sizes):
        # A bar that stands for one word would hide its name for nothing.
        if named and left <= limit and len(sizes) - named > 1:
            return named
        left -= size
    return len(sizes)


def count_decimals(largest: float) -> int:
    """Return with how many decimals numbers up to `largest` are shown."""
    if not largest > 0 or not math.isfinite(largest):
        return SHOWN_DIGITS - 1
    at_least = 2 if largest < 100 else 0  # or the words of a score of 12.3 would all be 0.1 or 0.2
    return min(max(SHOWN_DIGITS - 1 - math.floor(math.log10(largest)), at_least), MAX_DECIMALS)


def round_to_sum(values: Sequence[float], total: int) -> list[int]:
    """Return whole numbers close to the values whose sum is `total`; the largest remainders are rounded up."""
    if not values:
        return []
    rounded = [math.floor(value) for value in values]
    by_remainder = sorted(range(len(values)), key=lambda at: (rounded[at] - values[at], at))
    rounds, rest = divmod(total - sum(rounded), len(values))  # 0 rounds unless the values sum to something else
    for at in by_remainder[:rest]:
        rounded[at] += 1
    return [each + rounds for each in rounded]
