"""Bars by label frequency: how well rare labels are found, what each band adds to P@k, and where misses were lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from xcwork.viz import SeriesStyle, apply_style, clean_caption, join_phrases, shorten, style_series

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

Table = Mapping[str, Mapping[str, float]]


def draw_band_recall(
    tables: Mapping[str, Table], *, k: int = 5, styles: Mapping[str, SeriesStyle] | None = None
) -> go.Figure:
    """Draw one group of bars per band, one bar per run: the share of the band's true labels among the first k."""
    import pandas as pd
    import plotly.graph_objects as go

    figure, told, rows = go.Figure(), [], []
    for position, (name, table) in enumerate(tables.items()):
        bands = {band: row for band, row in table.items() if row["test_positives"] > 0}
        figure.add_bar(
            x=[clean_caption(band) for band in bands],
            y=[row[f"recall@{k}"] for row in bands.values()],
            name=clean_caption(name),
            customdata=[[row[f"hits@{k}"], row["test_positives"]] for row in bands.values()],
            hovertemplate="%{x}: %{y:.2f} % (%{customdata[0]} of %{customdata[1]})<extra>%{fullData.name}</extra>",
            marker=((styles or {}).get(name) or style_series(position)).bar,
        )
        recalls = ", ".join(f"{band} {row[f'recall@{k}']:.1f} %" for band, row in bands.items())
        told.append(f"{shorten(name)}: {recalls or 'no true label in the test split'}")
        rows += [
            (name, band, row[f"recall@{k}"], row[f"hits@{k}"], row["test_positives"]) for band, row in bands.items()
        ]
    columns = ["run", "band", f"recall@{k}", f"hits@{k}", "test positives"]
    return apply_style(
        figure,
        title=f"Recall@{k} by label frequency",
        x="band of labels",
        y=f"true labels among the first {k}, %",
        alt=f"Recall@{k} by band. {'; '.join(told)}.",
        table=pd.DataFrame(rows, columns=columns),
        barmode="group",
        bargap=0.4,
        showlegend=True,
    )


def draw_band_contributions(tables: Mapping[str, Table], *, k: int = 5) -> go.Figure:
    """Draw one bar per run, stacked by band: the parts add up to P@k."""
    import pandas as pd
    import plotly.graph_objects as go

    figure = go.Figure()
    bands = list(dict.fromkeys(band for table in tables.values() for band in table))
    parts = {
        name: [table[band][f"contribution@{k}"] if band in table else 0.0 for band in bands]
        for name, table in tables.items()
    }
    for position, band in enumerate(bands):
        figure.add_bar(
            x=[clean_caption(name) for name in tables],
            y=[values[position] for values in parts.values()],
            name=clean_caption(band),
            hovertemplate="%{x}: %{y:.2f} points<extra>%{fullData.name}</extra>",
            marker=style_series(position).bar,
        )
    told = [
        f"{shorten(name)} reaches {sum(values):.1f}: "
        + ", ".join(f"{value:.1f} from {band}" for band, value in zip(bands, values, strict=True))
        for name, values in parts.items()
    ]
    return apply_style(
        figure,
        title=f"What each band adds to P@{k}",
        x="run",
        y=f"points of P@{k}",
        alt=f"P@{k} by band. {'; '.join(told)}.",
        table=pd.DataFrame([(name, *values) for name, values in parts.items()], columns=["run", *bands]),
        barmode="stack",
        bargap=0.6,
        showlegend=True,
    )


def draw_triage_bars(triage: pd.DataFrame) -> go.Figure:
    """Draw the missed labels of each band by where they were lost, counted by `triage_missed_labels`."""
    import plotly.graph_objects as go

    figure = go.Figure()
    states = [column for column in triage.columns if column not in ("band", "total")]
    for position, state in enumerate(states):
        figure.add_bar(
            x=triage["band"].map(clean_caption).tolist(),
            y=triage[state].tolist(),
            name=clean_caption(state),
            hovertemplate="%{x}: %{y:,}<extra>%{fullData.name}</extra>",
            marker=style_series(position).bar,
        )
    total = int(triage["total"].sum())
    told = [
        f"{int(triage[state].sum()):,} {state} ({100 * triage[state].sum() / total:.0f} %)"
        for state in states
        if triage[state].sum()
    ]
    alt = f"Of {total:,} missed labels: {join_phrases(told)}." if total else "No true label was missed."
    return apply_style(
        figure,
        title="Where missed labels were lost",
        x="band of labels",
        y="missed labels",
        alt=alt,
        table=triage,
        barmode="stack",
        bargap=0.4,
        showlegend=True,
    )
