"""Which character separates the labels of a text column, decided from all of its cells together.

`physics, chemistry` lists two labels, `Washington, DC` is one. A single cell cannot tell these apart, but a column can:
a label moves about, so that it stands alone here, first there, and third elsewhere, while a part of a name keeps its
place. Every different cell is split at the candidate. Of the pieces that occur more than once, those seen in at least
two places are *moving*, the others *fixed*. Then

1. `|`, `;` or `,`, in this order, separates labels if at least 3 pieces move, and as many as are fixed;
2. failing that (small columns say little), `|` or `;` if a tenth of the cells contains it, because names hardly ever
   do, and `,` if most cells contain it and fewer than 5 pieces are fixed. Cells are counted with and without repeats,
   and the smaller share holds, so that neither one odd cell nor one frequent cell decides. Here the name of the column
   counts, too: one called `label` or `city` promises a single label, so there a comma separates only words that begin
   with a small letter, as proper names do not, and `|` or `;` must be in most cells;
3. failing that, spaces, which most names contain, if splitting at them also leaves a small vocabulary: half as many
   different words as different cells, or fewer words than cells where most cells contain a space; and if not more than
   a quarter of the recurring words (and at least 5) are fixed;
4. failing that, every cell is one label.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

WHOLE_CELL = ""  # the separator of a column whose cells are single labels
PUNCTUATION = ("|", ";", ",")
SPACE = " "
MIN_MOVING = 3
MIN_FIXED = 5  # fewer pieces that keep their place may do so by chance
RARE_IN_NAMES = ("|", ";")
MIN_SHARE_OF_RARE = 0.1
SINGULAR = frozenset(
    {
        "answer",
        "author",
        "category",
        "city",
        "class",
        "code",
        "country",
        "department",
        "descriptor",
        "genre",
        "group",
        "intent",
        "keyword",
        "kind",
        "label",
        "language",
        "location",
        "name",
        "place",
        "sector",
        "state",
        "subject",
        "tag",
        "target",
        "theme",
        "title",
        "topic",
        "type",
        "y",
    }
)


@dataclass(frozen=True)
class _Evidence:
    """What splitting all cells at one separator shows."""

    share: float  # of the cells that contain the separator: with or without repeats, the smaller one
    n_cells: int  # different ones
    n_pieces: int  # different ones
    n_moving: int
    n_fixed: int
    are_words: bool  # most pieces begin with a small letter


def find_separator(cells: Sequence[str], column: str = "") -> str:
    """Return the separator of the labels in `cells`, or WHOLE_CELL where every cell is one label.

    `column` is the name of the column, if it has one.
    """
    counts = Counter(cells)
    found = {
        separator: _examine(counts, separator)
        for separator in (*PUNCTUATION, SPACE)
        if any(separator in cell for cell in counts)
    }
    punctuation = [separator for separator in PUNCTUATION if separator in found]
    for separator in punctuation:
        if _moves(found[separator]):
            return separator
    for separator in punctuation:
        if _prevails(found[separator], separator, is_singular(column)):
            return separator
    return SPACE if SPACE in found and _shrinks(found[SPACE]) else WHOLE_CELL


def is_singular(column: str) -> bool:
    """Return whether the name of a column promises one label per cell: `label`, `class` or `city`, not `labels`."""
    word = re.split(r"[\W_]+", column.strip().lower())[-1]
    return word in SINGULAR


def has_moving_labels(cells: Sequence[str], separator: str) -> bool:
    """Return whether a label was seen in two places when the cells are split at `separator`."""
    return _examine(Counter(cells), separator).n_moving > 0


def split_at(separator: str, cell: str) -> list[str]:
    """Return the names in a cell, without the spaces around them; SPACE stands for any run of white space."""
    if separator == WHOLE_CELL:
        return [cell]
    if separator == SPACE:
        return cell.split()
    return [name for part in cell.split(separator) if (name := part.strip())]


def _examine(counts: Counter[str], separator: str) -> _Evidence:
    places: defaultdict[str, set[int]] = defaultdict(set)  # 0: alone in its cell; 1: first of several; …
    times: Counter[str] = Counter()
    listed: set[str] = set()  # pieces of cells that hold several
    n_held = n_different_held = 0
    for cell, count in counts.items():
        pieces = list(dict.fromkeys(split_at(separator, cell)))
        if len(pieces) > 1:
            n_held += count
            n_different_held += 1
            listed.update(pieces)
        for place, piece in enumerate(pieces, start=1 if len(pieces) > 1 else 0):
            places[piece].add(place)
            times[piece] += count
    recurring = [piece for piece in listed if times[piece] > 1]
    n_moving = sum(len(places[piece]) > 1 for piece in recurring)
    share = min(n_held / counts.total(), n_different_held / len(counts))
    are_words = 2 * sum(piece[0].islower() for piece in listed) > len(listed)
    return _Evidence(share, len(counts), len(places), n_moving, len(recurring) - n_moving, are_words)


def _moves(seen: _Evidence) -> bool:
    return seen.n_moving >= max(MIN_MOVING, seen.n_fixed)


def _prevails(seen: _Evidence, separator: str, single: bool) -> bool:
    if separator in RARE_IN_NAMES:
        return seen.share > 0.5 if single else seen.share >= MIN_SHARE_OF_RARE
    return seen.share > 0.5 and seen.n_fixed < MIN_FIXED and (seen.are_words or not single)


def _shrinks(seen: _Evidence) -> bool:
    if seen.n_fixed >= MIN_FIXED and 3 * seen.n_fixed > seen.n_moving:
        return False
    return 2 * seen.n_pieces <= seen.n_cells or (seen.share > 0.5 and seen.n_pieces < seen.n_cells)
