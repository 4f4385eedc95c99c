"""An explanation as pages show it: a table whose rows add up to the score, and what changed between two of them.

The score of a label is a sum of parts, each a product: value in the document × weight × value in the label. The table
shows the largest parts, puts the many small ones together as one row, and where a method's parts do not add up to its
score it has a row for what is not explained. So the last column of the table always sums to the score.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from xcwork.analysis.text_spans import Span, find_spans, sum_term_weights
from xcwork.core.explanation import ANY_DOCUMENT, Explanation, Part
from xcwork.errors import ConfigError

if TYPE_CHECKING:
    import pandas as pd

    from xcwork.core.features import Features

PAIR = "pair"  # kinds of parts
MATCH = "direct match"
BIAS = "bias"
OTHER = "other"
UNEXPLAINED = "not explained"
COLUMNS = (
    "document_term",
    "label_term",
    "kind",
    "document_value",
    "weight",
    "label_value",
    "value",
    "share",
    "pairs",
    "relevant",
)
ROUNDING_SHARE = 1e-9  # of a score, below which a difference is rounding


@dataclass(frozen=True, eq=False)
class ExplanationView:
    """The parts of a score, ready to be shown; `table["value"]` sums to `score`."""

    label: str
    score: float
    predicted: float
    link: str
    exact: bool
    table: pd.DataFrame
    n_parts: int
    is_filtered: bool = False

    @property
    def sentence(self) -> str:
        """What the table says, in words."""
        if self.n_parts == 1:
            text = f"1 part {'makes up' if self.exact else 'explains some of'} the score {self.score:.4f}"
        else:
            how = "add up to" if self.exact else "explain a part of"
            text = f"{self.n_parts:,} parts {how} the score {self.score:.4f}"
        if self.link:
            text += f", shown as {self.predicted:.4f} ({self.link})"
        reasons = self.table[~self.table["kind"].isin([BIAS, OTHER, UNEXPLAINED])]
        if len(reasons):
            best = reasons.iloc[0]
            text += f"; the largest is {best['document_term']} × {best['label_term']} with {best['value']:+.4f}"
        if self.is_filtered:
            text += "; a filter pair of the dataset keeps the label out of the ranking of this document"
        return text + "."


def make_view(explanation: Explanation, *, limit: int = 12) -> ExplanationView:
    """Return the `limit` largest parts, the others in one row, and what is not explained."""
    import pandas as pd

    if limit < 1:
        raise ConfigError(f"at least 1 part must be shown, got {limit}")
    # A row that stands for a single part would hide its name for nothing.
    shown = limit if len(explanation.parts) > limit + 1 else len(explanation.parts)
    rows = [_make_row(part) for part in explanation.parts[:shown]]
    rest = explanation.parts[shown:]
    if rest:
        rows.append(_make_summary_row(f"({len(rest):,} smaller parts)", OTHER, sum(part.value for part in rest)))
    missing = explanation.score - sum(part.value for part in explanation)
    size = sum(abs(part.value) for part in explanation)
    if not explanation.exact and abs(missing) > ROUNDING_SHARE * max(size, 1.0):
        rows.append(_make_summary_row("(not explained)", UNEXPLAINED, missing))
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    # The share of the remainder is that of its parts, which may cancel in the sum.
    sizes = [abs(row["value"]) if row["kind"] != OTHER else sum(abs(p.value) for p in rest) for row in rows]
    total = sum(sizes)
    table["share"] = [100.0 * each / total if total else 0.0 for each in sizes]
    predicted = explanation.score if explanation.predicted is None else explanation.predicted
    return ExplanationView(
        explanation.label,
        explanation.score,
        predicted,
        explanation.link,
        explanation.exact,
        table,
        len(explanation.parts),
        explanation.is_filtered,
    )


def find_explanation_spans(text: str, explanation: Explanation, features: Features) -> list[Span]:
    """Return where the document terms of an explanation stand in `text`: (start, end, term, weight)."""
    return find_spans(text, sum_term_weights(explanation), features)


def _make_row(part: Part) -> dict[str, Any]:
    details = part.details
    weight = _find_weight(details)
    label_value = details.get("label_value")
    value = details.get("document_value")
    if value is None and weight:
        value = part.value / (weight * (1.0 if label_value is None else label_value) or 1.0)
    return {
        "document_term": part.document_term,
        "label_term": part.label_term,
        "kind": _classify_part(part),
        "document_value": value,
        "weight": weight,
        "label_value": label_value,
        "value": part.value,
        "share": 0.0,
        "pairs": details.get("pairs"),
        "relevant": details.get("relevant"),
    }


def _find_weight(details: Mapping[str, Any]) -> float | None:
    """Return the weight of a part; where a path has several (term to landmark to label), their product."""
    if "weight" in details:
        return float(details["weight"])
    steps = [float(value) for name, value in details.items() if name.endswith("_weight")]
    return prod(steps) if steps else None


def _classify_part(part: Part) -> str:
    if "kind" in part.details:
        return str(part.details["kind"])
    if part.document_term == ANY_DOCUMENT:
        return BIAS
    return MATCH if part.document_term == part.label_term else PAIR


def _make_summary_row(name: str, kind: str, value: float) -> dict[str, Any]:
    return dict.fromkeys(COLUMNS) | {
        "document_term": name,
        "label_term": "",
        "kind": kind,
        "value": value,
        "share": 0.0,
    }
