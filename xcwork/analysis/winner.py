"""Why a label won against a true one that was missed: the words that count more for the winner.

Both scores are sums of parts, so their difference is a sum over the words of the document and over what belongs to no
word: the starting point, neighbours. `words` and `rest` add up to the difference of the scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xcwork.analysis.text_spans import sum_term_weights

if TYPE_CHECKING:
    from xcwork.core.split import Split
    from xcwork.methods.base import Method


@dataclass(frozen=True)
class WinnerReasons:
    """The difference between the scores of two labels of one document, word by word."""

    winner: str
    missed: str
    difference: float  # of the scores: winner minus missed label
    words: tuple[tuple[str, float], ...]  # (word, difference), the largest for the winner first
    rest: float  # what everything else adds
    exact: bool

    @property
    def sentence(self) -> str:
        """The reason in words."""
        best = [word for word, value in self.words if value > 0]
        if best:
            return f"{_join_words(best)} {'counts' if len(best) == 1 else 'count'} more for it."
        return "No single word of the text counts more for it."


def explain_winner(method: Method, document: Split, winner: int, missed: int, *, limit: int = 3) -> WinnerReasons:
    """Return why the label `winner` has a higher score than `missed` for a document (a split of one row)."""
    ahead, behind = method.explain(document, winner), method.explain(document, missed)
    gained, lost = sum_term_weights(ahead), sum_term_weights(behind)
    present = {document.features.get_name(term) for term in document.X.indices.tolist()}
    differences = {word: gained.get(word, 0.0) - lost.get(word, 0.0) for word in gained.keys() | lost.keys()}
    # A neighbour among the training documents is no word of the text; what it adds belongs to the rest.
    words = [pair for pair in differences.items() if pair[1] > 0 and pair[0] in present]
    words = sorted(words, key=lambda pair: (-pair[1], pair[0]))[:limit]
    difference = float(ahead.score - behind.score)
    rest = difference - sum(value for _, value in words)
    return WinnerReasons(ahead.label, behind.label, difference, tuple(words), rest, ahead.exact and behind.exact)


def _join_words(words: list[str]) -> str:
    quoted = [f"“{word}”" for word in words]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"
