"""Why a label has its score for one document: parts that add up to it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from xcwork.export import html

if TYPE_CHECKING:
    import pandas as pd


RELATIVE_TOLERANCE = 1e-4  # a smaller relative difference between explanation and prediction is rounding
ABSOLUTE_TOLERANCE = 1e-6  # and so is a smaller absolute one
ANY_DOCUMENT = "(any document)"  # the document term of a part that does not depend on the document
MAX_SHOWN_PARTS = 15  # in a notebook
NO_TRAINING_DOCUMENT = "no training document to learn from"  # the label term where a label has nothing learned


@dataclass(frozen=True)
class Part:
    """One reason: a document term meets a label term (or a landmark, a head, a tree node, a training document)."""

    document_term: str
    label_term: str
    value: float
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Explanation:
    """The parts whose sum is the score of one label for one document, largest first.

    `exact` says whether they really add up to what was predicted. Where a method shows predictions on another scale
    than the one on which its parts add up, `predicted` is the shown score and `link` says how it follows from `score`.
    `is_filtered` says that a filter pair of the dataset keeps the label out of every ranking of the document, whatever
    its score.
    """

    score: float
    parts: tuple[Part, ...]
    exact: bool = False
    label: str = ""
    predicted: float | None = None
    link: str = ""
    is_filtered: bool = False

    @classmethod
    def from_parts(
        cls, parts: Sequence[Part], *, exact: bool = False, score: float | None = None, **rest: Any
    ) -> Explanation:
        """Order `parts` by size; the score is their sum unless it is given."""
        ordered = tuple(sorted(parts, key=lambda part: (-abs(part.value), part.document_term, part.label_term)))
        total = float(sum(part.value for part in ordered)) if score is None else float(score)
        return cls(score=total, parts=ordered, exact=exact, **rest)

    @classmethod
    def from_documents(cls, documents: Sequence[int], shares: Sequence[float], *, exact: bool) -> Explanation:
        """Reasons that are training documents, each with the share it contributes."""
        parts = [
            Part(f"training document {i}", "carries the label", float(v))
            for i, v in zip(documents, shares, strict=True)
        ]
        return cls.from_parts(parts, exact=exact)

    def compare_with(self, predicted: float | None) -> Explanation:
        """Return this explanation with `exact` found out: do its parts add up to the score that was predicted?

        Where they do not, it shows the predicted score. A label that the method does not list (None) has only the score
        of the explanation to agree with.
        """
        largest = max((abs(part.value) for part in self.parts), default=0.0)  # what rounding is relative to
        adds_up = math.isclose(sum(part.value for part in self.parts), self.score, abs_tol=RELATIVE_TOLERANCE * largest)
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

    def __repr__(self) -> str:
        return f"<{len(self.parts):,} reasons for {self.label or 'a label'}: {self.score:.4f}>"

    def __iter__(self) -> Iterator[Part]:
        return iter(self.parts)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per part, with the details a method adds as further columns."""
        import pandas as pd

        columns = ["document_term", "label_term", "value"]
        rows = [
            {"document_term": p.document_term, "label_term": p.label_term, "value": p.value, **p.details} for p in self
        ]
        return pd.DataFrame(rows, columns=None if rows else columns)

    def to_dict(self) -> dict[str, Any]:
        """The form the command line prints with `--json`."""
        parts = [
            {"document_term": p.document_term, "label_term": p.label_term, "value": p.value, **p.details} for p in self
        ]
        return {
            "label": self.label,
            "score": self.score,
            "exact": self.exact,
            "predicted": self.score if self.predicted is None else self.predicted,
            "link": self.link,
            "is_filtered": self.is_filtered,
            "parts": parts,
        }

    def _repr_html_(self) -> str:
        kind = "exactly" if self.exact else "approximately"
        count = f"{len(self.parts):,} {'part adds' if len(self.parts) == 1 else 'parts add'} up {kind}"
        shown = self.parts[:MAX_SHOWN_PARTS]
        rows: list[list[Any]] = [
            [part.document_term, part.label_term, str(part.details.get("kind", "")), f"{part.value:+.4f}", bar]
            for part, bar in zip(shown, html.scale_bars([part.value for part in shown]), strict=True)
        ]
        rest = self.parts[MAX_SHOWN_PARTS:]
        if rest:
            rows.append([f"({len(rest):,} smaller parts)", "", "", f"{sum(part.value for part in rest):+.4f}", ""])
        table = html.render_table(["document term", "label term", "kind", "value", ""], rows)
        linked = f", shown as {self.predicted:.4f} ({self.link})" if self.link and self.predicted is not None else ""
        return html.render_heading(self.label) + html.render_paragraph(f"{count} to {self.score:.4f}{linked}") + table
