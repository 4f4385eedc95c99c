"""Bars by label frequency: how well rare labels are found, and what each band adds to P@k."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from xcwork.viz import COLOURS, HATCHES, plain, styled

if TYPE_CHECKING:
    import plotly.graph_objects as go

Table = Mapping[str, Mapping[str, float]]


def band_recall(tables: Mapping[str, Table], *, k: int = 5) -> go.Figure:
    """One group of bars a band, one bar a run: the share of the band's true labels among the first k."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for position, (name, table) in enumerate(tables.items()):
        bands = {band: row for band, row in table.items() if row["test_positives"] > 0}
        figure.add_bar(
            x=[plain(band) for band in bands], y=[row[f"recall@{k}"] for row in bands.values()], name=plain(name),
            customdata=[[row[f"hits@{k}"], row["test_positives"]] for row in bands.values()],
            hovertemplate="%{x}: %{y:.2f} % (%{customdata[0]} of %{customdata[1]})<extra>%{fullData.name}</extra>",
            marker={"color": _colour(position), "pattern": {"shape": _hatch(position)}},
        )  # fmt: skip
    return styled(
        figure, title=f"Recall@{k} by label frequency", x="band of labels", y=f"true labels among the first {k}, %",
        barmode="group", bargap=0.4, showlegend=True,
    )  # fmt: skip


def band_contributions(tables: Mapping[str, Table], *, k: int = 5) -> go.Figure:
    """One bar a run, stacked by band: the parts add up to P@k."""
    import plotly.graph_objects as go

    figure = go.Figure()
    bands = list(dict.fromkeys(band for table in tables.values() for band in table))
    for position, band in enumerate(bands):
        figure.add_bar(
            x=[plain(name) for name in tables],
            y=[table[band][f"contribution@{k}"] if band in table else 0.0 for table in tables.values()],
            name=plain(band), hovertemplate="%{x}: %{y:.2f} points<extra>%{fullData.name}</extra>",
            marker={"color": _colour(position), "pattern": {"shape": _hatch(position)}},
        )  # fmt: skip
    return styled(
        figure, title=f"What each band adds to P@{k}", x="run", y=f"points of P@{k}", barmode="stack", bargap=0.6,
        showlegend=True,
    )  # fmt: skip


def _colour(position: int) -> str:
    return COLOURS[position % len(COLOURS)]


def _hatch(position: int) -> str:
    return HATCHES[position % len(HATCHES)]
