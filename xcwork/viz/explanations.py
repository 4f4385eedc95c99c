"""Explanations as bars: a waterfall whose steps end at the score, and what changed between two explanations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xcwork.analysis.explanation_view import BIAS
from xcwork.viz import COLOURS, listed, plain, shortened, styled

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from xcwork.analysis.explanation_view import ExplanationView

FOR, AGAINST, TOTAL = COLOURS[0], COLOURS[1], COLOURS[6]
ROW_HEIGHT = 26
GAP = 0.25  # of a row, so that equal bars one below the other stay two
ROOM = 0.15  # of the way that the steps go, left beside it for their numbers
NAME_LENGTH, HOVER_LENGTH = 30, 100  # characters of a term


def explanation_waterfall(view: ExplanationView) -> go.Figure:
    """Draw one step per part, from zero at the top to the score at the bottom; blue goes up, orange down.

    What holds for any document comes first. Every bar is a row of its own, also where names repeat, and zero, where the
    first step and the score begin, is always on the axis.
    """
    import plotly.graph_objects as go

    parts = view.table.sort_values("kind", key=lambda kinds: kinds != BIAS, kind="stable")
    names, figure = _row_names(parts), go.Figure()
    figure.add_waterfall(
        orientation="h",
        measure=["relative"] * len(parts) + ["total"],
        # Names may repeat, so positions are numbers and names are their ticks.
        y=list(range(len(parts) + 1)),
        x=[*parts["value"].tolist(), view.score],
        text=[*(f"{value:+.3f}" for value in parts["value"]), f"{view.score:.3f}"],
        textposition="auto",
        cliponaxis=False,
        customdata=[*(_full_name(row) for row in parts.itertuples()), "score"],
        hovertemplate="%{customdata}: %{text}<extra></extra>",
        increasing={"marker": {"color": FOR}},
        decreasing={"marker": {"color": AGAINST}},
        totals={"marker": {"color": TOTAL}},
        connector={"line": {"width": 1, "dash": "dot"}},
    )
    figure.add_vline(x=0, line={"width": 1, "color": TOTAL})
    return styled(
        figure,
        title=f"Why {plain(view.label) or 'this label'}",
        x="contribution to the score",
        y="",
        alt=f"{shortened(view.label) or 'The label'}: {view.sentence}",
        table=parts,
        showlegend=False,
        height=120 + ROW_HEIGHT * (len(parts) + 1),
        margin={"l": 10, "r": 60},
        yaxis={
            "autorange": "reversed",
            "tickvals": list(range(len(parts) + 1)),
            "ticktext": [*names, "score"],
            "automargin": True,
        },
        xaxis_range=_reach(parts["value"]),
        waterfallgap=GAP,
    )


def _reach(steps: pd.Series) -> list[float]:
    """The part of the axis from zero over all steps, with room for their numbers."""
    path = [0.0, *steps.cumsum().tolist()]
    room = ROOM * (max(path) - min(path)) or 1.0
    return [min(path) - room, max(path) + room]


def explanation_difference(changes: pd.DataFrame, *, limit: int = 15) -> go.Figure:
    """Bars of the largest changes of `xcwork.analysis.explanation_view.difference`."""
    import plotly.graph_objects as go

    shown = changes[changes["change"] != 0].head(limit)
    names = _row_names(shown)
    places, figure = list(range(len(shown))), go.Figure()
    for is_up, name, colour, hatch in ((True, "up", FOR, ""), (False, "down", AGAINST, "/")):
        chosen = (shown["change"] > 0).to_numpy() == is_up
        figure.add_bar(
            orientation="h",
            name=name,
            y=[place for place, inside in zip(places, chosen, strict=True) if inside],
            x=shown.loc[chosen, "change"].tolist(),
            customdata=[f"{_full_name(row)}, {row.state}" for row in shown[chosen].itertuples()],
            hovertemplate="%{customdata}: %{x:+.4f}<extra></extra>",
            marker={"color": colour, "pattern": {"shape": hatch}},
        )
    told = [f"{row.document_term} {row.change:+.3f}" for row in shown.itertuples()]
    total = changes["change"].sum()
    return styled(
        figure,
        title="What changed",
        x="change of the score",
        y="",
        showlegend=False,
        table=shown,
        alt=f"The score changed by {total:+.3f}: {listed(told)}." if len(shown) else "No part of the score changed.",
        height=120 + ROW_HEIGHT * max(len(shown), 1),
        margin={"l": 10},
        barmode="relative",
        yaxis={"autorange": "reversed", "tickvals": places, "ticktext": names, "automargin": True},
    )


def _row_names(rows: pd.DataFrame) -> list[str]:
    """What the rows are called; the kind of part is added where it tells rows of one name apart."""
    names = [_pair(row.document_term, row.label_term, NAME_LENGTH) for row in rows.itertuples()]
    kinds: dict[str, set[str]] = {}
    for name, kind in zip(names, rows["kind"], strict=True):
        kinds.setdefault(name, set()).add(kind)
    return [
        f"{name} ({plain(kind)})" if len(kinds[name]) > 1 else name
        for name, kind in zip(names, rows["kind"], strict=True)
    ]


def _full_name(row: Any) -> str:
    """The name of a row that has room for long terms, and its kind."""
    return f"{_pair(row.document_term, row.label_term, HOVER_LENGTH)}, {plain(row.kind)}"


def _pair(document_term: str, label_term: str, length: int) -> str:
    if not label_term:
        return plain(document_term, 2 * length)
    return f"{plain(document_term, length)} × {plain(label_term, length)}"
