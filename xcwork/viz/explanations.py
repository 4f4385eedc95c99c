"""Explanations as bars: a waterfall whose steps end at the score, and what changed between two explanations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xcwork.analysis.explanation_view import BIAS
from xcwork.viz import COLOURS, apply_style, clean_caption, shorten

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from xcwork.analysis.explanation_view import ExplanationView

FOR_COLOUR = COLOURS[0]
AGAINST_COLOUR = COLOURS[1]
TOTAL_COLOUR = COLOURS[6]
ROW_PIXELS = 26
GAP_SHARE = 0.25  # of a row, so that equal bars one below the other stay two
ROOM_SHARE = 0.15  # of the way that the steps go, left beside it for their numbers
MAX_TERM_CHARACTERS = 30  # of a term
MAX_HOVER_CHARACTERS = 100


def draw_explanation_waterfall(view: ExplanationView) -> go.Figure:
    """Draw one step per part, from zero at the top to the score at the bottom; blue goes up, orange down.

    What holds for any document comes first. Every bar is a row of its own, also where names repeat, and zero, where the
    first step and the score begin, is always on the axis.
    """
    import plotly.graph_objects as go

    parts = view.table.sort_values("kind", key=lambda kinds: kinds != BIAS, kind="stable")
    names, figure = _name_rows(parts), go.Figure()
    figure.add_waterfall(
        orientation="h",
        measure=["relative"] * len(parts) + ["total"],
        # Names may repeat, so positions are numbers and names are their ticks.
        y=list(range(len(parts) + 1)),
        x=[*parts["value"].tolist(), view.score],
        text=[*(f"{value:+.3f}" for value in parts["value"]), f"{view.score:.3f}"],
        textposition="auto",
        cliponaxis=False,
        customdata=[*(_name_in_full(row) for row in parts.itertuples()), "score"],
        hovertemplate="%{customdata}: %{text}<extra></extra>",
        increasing={"marker": {"color": FOR_COLOUR}},
        decreasing={"marker": {"color": AGAINST_COLOUR}},
        totals={"marker": {"color": TOTAL_COLOUR}},
        connector={"line": {"width": 1, "dash": "dot"}},
    )
    figure.add_vline(x=0, line={"width": 1, "color": TOTAL_COLOUR})
    return apply_style(
        figure,
        title=f"Why {clean_caption(view.label) or 'this label'}",
        x="contribution to the score",
        y="",
        alt=f"{shorten(view.label) or 'The label'}: {view.sentence}",
        table=parts,
        showlegend=False,
        height=120 + ROW_PIXELS * (len(parts) + 1),
        margin={"l": 10, "r": 60},
        yaxis={
            "autorange": "reversed",
            "tickvals": list(range(len(parts) + 1)),
            "ticktext": [*names, "score"],
            "automargin": True,
        },
        xaxis_range=_find_axis_range(parts["value"]),
        waterfallgap=GAP_SHARE,
    )


def _find_axis_range(steps: pd.Series) -> list[float]:
    """Return the part of the axis from zero over all steps, with room for their numbers."""
    path = [0.0, *steps.cumsum().tolist()]
    room = ROOM_SHARE * (max(path) - min(path)) or 1.0
    return [min(path) - room, max(path) + room]


def _name_rows(rows: pd.DataFrame) -> list[str]:
    """Return what the rows are called; the kind of part is added where it tells rows of one name apart."""
    names = [_name_pair(row.document_term, row.label_term, MAX_TERM_CHARACTERS) for row in rows.itertuples()]
    kinds: dict[str, set[str]] = {}
    for name, kind in zip(names, rows["kind"], strict=True):
        kinds.setdefault(name, set()).add(kind)
    return [
        f"{name} ({clean_caption(kind)})" if len(kinds[name]) > 1 else name
        for name, kind in zip(names, rows["kind"], strict=True)
    ]


def _name_in_full(row: Any) -> str:
    """Return the name of a row that has room for long terms, and its kind."""
    return f"{_name_pair(row.document_term, row.label_term, MAX_HOVER_CHARACTERS)}, {clean_caption(row.kind)}"


def _name_pair(document_term: str, label_term: str, length: int) -> str:
    if not label_term:
        return clean_caption(document_term, 2 * length)
    return f"{clean_caption(document_term, length)} × {clean_caption(label_term, length)}"
