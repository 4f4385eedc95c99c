"""Explanations as bars: a waterfall whose steps end at the score, and what changed between two explanations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xcwork.analysis.explain import BIAS
from xcwork.viz import COLOURS, listed, plain, shortened, styled

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from xcwork.analysis.explain import ExplanationView

FOR, AGAINST, TOTAL = COLOURS[0], COLOURS[1], COLOURS[6]
ROW_HEIGHT = 26


def explanation_waterfall(view: ExplanationView) -> go.Figure:
    """One step a part, from nothing at the top to the score at the bottom; blue goes up, orange down.

    What holds for any document comes first, and the axis shows the steps after it: a large bias would hide them all.
    """
    import plotly.graph_objects as go

    parts = view.table.sort_values("kind", key=lambda kinds: kinds != BIAS, kind="stable")
    names = [_pair(row.document_term, row.label_term) for row in parts.itertuples()]
    figure = go.Figure()
    figure.add_waterfall(
        orientation="h", measure=["relative"] * len(parts) + ["total"],
        # Names may repeat, so positions are numbers and names are their ticks.
        y=list(range(len(parts) + 1)), x=[*parts["value"].tolist(), view.score],
        text=[*(f"{value:+.3f}" for value in parts["value"]), f"{view.score:.3f}"], textposition="auto",
        cliponaxis=False,
        customdata=[*parts["kind"].map(plain).tolist(), "score"],
        hovertemplate="%{customdata}: %{text}<extra></extra>",
        increasing={"marker": {"color": FOR}}, decreasing={"marker": {"color": AGAINST}},
        totals={"marker": {"color": TOTAL}}, connector={"line": {"width": 1, "dash": "dot"}},
    )  # fmt: skip
    return styled(
        figure, title=f"Why {plain(view.label) or 'this label'}", x="contribution to the score", y="",
        alt=f"{shortened(view.label) or 'The label'}: {view.sentence}", table=parts, showlegend=False,
        height=120 + ROW_HEIGHT * (len(parts) + 1), margin={"l": 10, "r": 60},
        yaxis={"autorange": "reversed", "tickvals": list(range(len(parts) + 1)), "ticktext": [*names, "score"],
               "automargin": True},
        xaxis_range=_reach(parts),
    )  # fmt: skip


def _reach(parts: pd.DataFrame) -> list[float] | None:
    """The part of the axis that the steps after the bias cover, with room for their numbers; None: all of it."""
    n_bias = int((parts["kind"] == BIAS).sum())
    if n_bias in (0, len(parts)):
        return None
    path = parts["value"].cumsum().iloc[n_bias - 1 :]
    room = 0.15 * (path.max() - path.min()) or 1.0
    return [float(path.min() - room), float(path.max() + room)]


def explanation_difference(changes: pd.DataFrame, *, limit: int = 15) -> go.Figure:
    """Bars of the largest changes of `xcwork.analysis.explain.difference`."""
    import plotly.graph_objects as go

    shown = changes[changes["change"] != 0].head(limit)
    names = [_pair(row.document_term, row.label_term) for row in shown.itertuples()]
    places, figure = list(range(len(shown))), go.Figure()
    for is_up, name, colour, hatch in ((True, "up", FOR, ""), (False, "down", AGAINST, "/")):
        chosen = (shown["change"] > 0).to_numpy() == is_up
        figure.add_bar(
            orientation="h", name=name, y=[place for place, inside in zip(places, chosen, strict=True) if inside],
            x=shown.loc[chosen, "change"].tolist(), customdata=shown.loc[chosen, "state"].tolist(),
            hovertemplate="%{customdata}: %{x:+.4f}<extra></extra>",
            marker={"color": colour, "pattern": {"shape": hatch}},
        )  # fmt: skip
    told = [f"{row.document_term} {row.change:+.3f}" for row in shown.itertuples()]
    total = changes["change"].sum()
    return styled(
        figure, title="What changed", x="change of the score", y="", showlegend=False, table=shown,
        alt=f"The score changed by {total:+.3f}: {listed(told)}." if len(shown) else "No part of the score changed.",
        height=120 + ROW_HEIGHT * max(len(shown), 1), margin={"l": 10}, barmode="relative",
        yaxis={"autorange": "reversed", "tickvals": places, "ticktext": names, "automargin": True},
    )  # fmt: skip


def _pair(document_term: str, label_term: str) -> str:
    if not label_term:
        return plain(document_term)
    return f"{plain(document_term, 30)} × {plain(label_term, 30)}"
