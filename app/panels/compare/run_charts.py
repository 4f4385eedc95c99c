"""The card on the left: quality against time, differences to the reference, curves, and recall by frequency."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import caches, chart_style, state, tokens, widgets
from xcwork_app.panels.shared import chart_menu, label_bands
from xcwork_app.panels.shared.word_choice import choose_word
from xcwork_app.views import run_comparison, run_findings
from xcwork_app.views.run_comparison import ComparedRuns

from xcwork.analysis.run_table import RunTable
from xcwork.runs import Run

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from xcwork.viz import SeriesStyle

SECTIONS = {"time": "Quality and time", "differences": "Differences", "curves": "Curves", "frequency": "By frequency"}
METRICS = ("P@1", "P@3", "P@5", "PSP@5")
CURVES = {"P@k": "P", "Recall@k": "recall_macro", "All labels": "recall_micro", "Any hit": "hit"}
LENGTHS = {"k to 10": 10, "all": None}
MAX_RUNS = 8  # that a figure can tell apart
CHART = "compare.chart"
HEIGHT_PIXELS = 240


def show_charts(chosen: ComparedRuns, table: RunTable, reference: str) -> None:
    """Show one of the figures, chosen above it; the row of a run that is pointed at in the table is lit in it."""
    from xcwork.viz import clean_caption

    sections = {name: title for name, title in SECTIONS.items() if reference or name in ("time", "curves")}
    with st.container(key="compare_charts", border=True):
        with st.container(key="compare_charts_bar", horizontal=True, vertical_alignment="center"):
            section = widgets.choose_field("Figure", "section", sections, key="compare.section", hidden=True)
            st.space("stretch")
            menu = st.container(width="content")
        with widgets.catch_errors():
            drawn = {
                "time": lambda: _draw_time(chosen, table),
                "differences": lambda: _draw_differences(chosen, reference),
                "curves": lambda: _draw_curves(chosen),
                "frequency": lambda: _draw_frequencies(chosen),
            }[section]()
            if drawn is None:
                return
            rows = {clean_caption(name): run for run, name in chosen.names.items()}
            st.html(chart_style.light_series(drawn, rows, key=CHART))
            chart_menu.show_chart(drawn, key=CHART)
            with menu:
                chart_menu.show_menu(drawn, key=CHART, name=f"runs-{section}")


def _draw_time(chosen: ComparedRuns, table: RunTable) -> go.Figure:
    from xcwork.viz.run_dots import draw_quality_and_time

    return draw_quality_and_time(table, get_styles(chosen), height=HEIGHT_PIXELS)


def _draw_differences(chosen: ComparedRuns, reference: str) -> go.Figure:
    from xcwork.viz.run_dots import draw_run_differences

    metric = choose_word("Metric", METRICS, key="compare.metric")
    return draw_run_differences(
        run_comparison.compute_differences(chosen, reference),
        metric=metric,
        styles=get_styles(chosen),
        height=HEIGHT_PIXELS - 40,
    )


def _draw_curves(chosen: ComparedRuns) -> go.Figure:
    from xcwork.viz.curves import draw_ranking_curves

    with st.container(horizontal=True, vertical_alignment="center"):
        metric = CURVES[choose_word("Curve", CURVES, key="compare.curve")]
        told = "With “all”, the axis is logarithmic."
        longest = LENGTHS[choose_word("Length", LENGTHS, key="compare.length", help=told)]
    measured = {chosen.names[run.id]: caches.get_report(run).curves for run in _limit_runs(chosen)}
    drawn = draw_ranking_curves(
        {name: curve for name, curve in measured.items() if curve["k"]},
        metric,
        styles=get_styles(chosen),
        longest=longest,
    )
    return drawn.update_layout(
        title=None,
        height=HEIGHT_PIXELS - 40,
        margin={"l": 50, "r": 10, "t": 5, "b": 35},
        legend={"orientation": "v", "x": 1, "y": 1},
    ).update_yaxes(range=None, rangemode="tozero")


def _draw_frequencies(chosen: ComparedRuns) -> go.Figure | None:
    from xcwork.viz.run_dots import draw_band_dots

    with st.container(horizontal=True, vertical_alignment="center"):
        label_bands.choose_bands("compare.bands")
        label_bands.choose_list_length("compare.k")
    k, scheme = state.view().k, run_findings.get_band_definition()
    usable = set(run_comparison.list_comparable_runs(chosen))
    found = {
        chosen.names[run.id]: run_findings.get_findings(run, chosen.source, k=k, bands=scheme)
        for run in _limit_runs(chosen)
        if run.id in usable
    }
    if not found:
        widgets.show_empty("None of these runs was tested on the dataset as it is now.")
        return None
    first = next(iter(found.values()))
    spans = dict(zip(first.bands.names, first.bands.spans, strict=True))
    titles = {
        band: f"{run_findings.name_band(band)}, {spans[band]}"
        for band, row in first.band_table.items()
        if row["test_positives"]
    }
    shares = {
        name: {band: row[f"recall@{k}"] for band, row in each.band_table.items() if row["test_positives"]}
        for name, each in found.items()
    }
    return draw_band_dots(shares, titles, get_styles(chosen), k=k, height=HEIGHT_PIXELS - 40)


def get_styles(chosen: ComparedRuns) -> dict[str, SeriesStyle]:
    """Return how each run looks in a figure, by its name in the comparison."""
    from xcwork.viz import style_run

    palette = tokens.get_palette()
    return {chosen.names[run.id]: style_run(caches.glance(run).number, palette) for run in chosen.runs}


def _limit_runs(chosen: ComparedRuns) -> list[Run]:
    if len(chosen.runs) > MAX_RUNS:
        st.caption(f"The best {MAX_RUNS} of {len(chosen.runs)} runs; choose fewer to see others.")
    return chosen.runs[:MAX_RUNS]
