"""Why a label has its score for one document: parts that add up to it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from xcwork.core.explanation_groups import FamilyBar, GroupedParts, SplitTerm, group_parts
from xcwork.core.explanation_parts import ANY_DOCUMENT, LABEL_RARITY, TRAINING_DOCUMENT, Family, Part
from xcwork.export import html

if TYPE_CHECKING:
    import pandas as pd


RELATIVE_TOLERANCE = 1e-4  # a smaller relative difference between explanation and prediction is rounding
ABSOLUTE_TOLERANCE = 1e-6  # and so is a smaller absolute one
NO_TRAINING_DOCUMENT = "no training document to learn from"  # the label term where a label has nothing learned

__all__ = [
    "ANY_DOCUMENT",
    "LABEL_RARITY",
    "NO_TRAINING_DOCUMENT",
    "TRAINING_DOCUMENT",
    "Explanation",
    "Family",
    "Part",
]


@dataclass(frozen=True)
class Explanation:
    """The parts whose sum is the score of one label for one document, largest first.

    `exact` says whether they add up to the predicted score. Where a method shows predictions on another scale
    than the one on which its parts add up, `predicted` is the shown score and `link` says how it follows from `score`.
    `is_filtered` says that a filter pair of the dataset keeps the label out of every ranking of the document, whatever
    its score. `has_words` says that document terms are words of a text and runs of them. `approximate` says that some
    parts were measured by leaving words out: then it is never exact, even where the numbers happen to add up.
    """

    score: float
    parts: tuple[Part, ...]
    exact: bool = False
    label: str = ""
    predicted: float | None = None
    link: str = ""
    is_filtered: bool = False
    has_words: bool = False
    approximate: bool = False

    @classmethod
    def from_parts(
        cls, parts: Sequence[Part], *, exact: bool = False, score: float | None = None, **rest: Any
    ) -> Explanation:
        """Return an explanation of `parts` ordered by size; the score is their sum unless it is given."""
        ordered = tuple(sorted(parts, key=lambda part: (-abs(part.value), part.document_term, part.label_term)))
        total = float(sum(part.value for part in ordered)) if score is None else float(score)
        return cls(score=total, parts=ordered, exact=exact, **rest)

    @classmethod
    def from_documents(cls, documents: Sequence[int], shares: Sequence[float], *, exact: bool) -> Explanation:
        """Return an explanation by training documents, each with the share it contributes."""
        parts = [
            Part(f"{TRAINING_DOCUMENT} {i}", "has the label", float(v), family=Family.neighbours)
            for i, v in zip(documents, shares, strict=True)
        ]
        return cls.from_parts(parts, exact=exact)

    def compare_with(self, predicted: float | None) -> Explanation:
        """Return this explanation with `exact` checked: do its parts add up to the predicted score?

        Where they do not, it shows the predicted score. A label that the method does not list (None) has only the score
        of the explanation to agree with.
        """
        largest = max((abs(part.value) for part in self.parts), default=0.0)  # what rounding is relative to
        adds_up = math.isclose(sum(part.value for part in self.parts), self.score, abs_tol=RELATIVE_TOLERANCE * largest)
        adds_up = adds_up and not self.approximate
        if predicted is None:
            return replace(self, exact=adds_up)
        if self.predicted is not None:  # on a scale of its own
            agrees = math.isclose(self.predicted, predicted, rel_tol=RELATIVE_TOLERANCE, abs_tol=ABSOLUTE_TOLERANCE)
            return replace(self, exact=adds_up and agrees, predicted=self.predicted if agrees else predicted)
        agrees = math.isclose(
            self.score,
            predicted,
            rel_tol=RELATIVE_TOLERANCE,
            abs_tol=max(RELATIVE_TOLERANCE * largest, ABSOLUTE_TOLERANCE),
        )
        return replace(self, exact=adds_up and agrees, score=self.score if agrees else predicted)

    def group(self, split_term: SplitTerm | None = None) -> GroupedParts:
        """Return the parts by family, word and pair; `split_term` finds the words of a term in another way."""
        return group_parts(self.parts, self.score, split_term=split_term or (str.split if self.has_words else None))

    def __repr__(self) -> str:
        return f"<{len(self.parts):,} reasons for {self.label or 'a label'}: {self.score:.4f}>"

    def __iter__(self) -> Iterator[Part]:
        return iter(self.parts)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per part, with the details a method adds as further columns."""
        import pandas as pd

        columns = ["document_term", "label_term", "value", "family"]
        return pd.DataFrame([part.to_dict() for part in self], columns=None if self.parts else columns)

    def to_dict(self) -> dict[str, Any]:
        """Return the form that the command line prints with `--json`."""
        return {
            "label": self.label,
            "score": self.score,
            "exact": self.exact,
            "approximate": self.approximate,
            "predicted": self.score if self.predicted is None else self.predicted,
            "link": self.link,
            "is_filtered": self.is_filtered,
            "families": self.group().to_dicts(),
            "parts": [part.to_dict() for part in self],
        }

    def _repr_html_(self) -> str:
        kind = "exactly" if self.exact else "approximately"
        count = f"{len(self.parts):,} {'part adds' if len(self.parts) == 1 else 'parts add'} up {kind}"
        grouped = self.group()
        rows: list[list[Any]] = []
        for family in grouped.families:
            rows.append([family.family.heading, "", grouped.format(family.units), ""])
            rows += self._list_word_rows(grouped, family)
        table = html.render_table(["family", "word", "value", ""], rows)
        linked = f", shown as {self.predicted:.4f} ({self.link})" if self.link and self.predicted is not None else ""
        shown = grouped.format(grouped.units, sign=False)
        return html.render_heading(self.label) + html.render_paragraph(f"{count} to {shown}{linked}") + table

    def _list_word_rows(self, grouped: GroupedParts, family: FamilyBar) -> list[list[Any]]:
        """Return the rows of the words of a family."""
        largest = max((abs(group.value) for each in grouped.families for group in each.groups), default=0.0)
        bars = html.scale_bars([*(group.value for group in family.groups), largest])[:-1]
        return [
            ["", group.name, grouped.format(group.units), bar] for group, bar in zip(family.groups, bars, strict=True)
        ]
