"""The card on the left: quality against time, differences to the reference, curves, and recall by frequency."""

from __future__ import annotations

from collections.abc import Callable, Hashable
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


def show_charts(chosen: ComparedRuns, table: RunTable, scope: str, reference: str) -> None:
    """Show one of the figures, chosen above it; the row of a run that is pointed at in the table is lit in it."""
    sections = {name: title for name, title in SECTIONS.items() if reference or name in ("time", "curves")}
    with st.container(key="compare_charts", border=True):
        with st.container(key="compare_charts_bar", horizontal=True, vertical_alignment="center"):
            section = widgets.choose_field("Figure", "section", sections, key="compare.section", hidden=True)
            st.space("stretch")
            menu = st.container(width="content")
        with widgets.catch_errors():
            drawn = {
                "time": lambda: _draw_time(chosen, table, scope),
                "differences": lambda: _draw_differences(chosen, reference),
                "curves": lambda: _draw_curves(chosen),
                "frequency": lambda: _draw_frequencies(chosen),
            }[section]()
            if drawn is None:
                return
            st.html(chart_style.light_series(drawn, key=CHART))
            chart_menu.show_chart(drawn, key=CHART)
            with menu:
                chart_menu.show_menu(drawn, key=CHART, name=f"runs-{section}")


def _draw_once(
    chosen: ComparedRuns, draw: Callable[[dict[str, SeriesStyle]], go.Figure], *facts: Hashable
) -> go.Figure:
    """Return a chart of the runs, each series tied to its row in the table; `facts` are what else it is drawn from."""
    from xcwork.viz import clean_caption

    def draw_tied() -> go.Figure:
        rows = {clean_caption(name): run for run, name in chosen.names.items()}
        return chart_style.mark_series(draw(get_styles(chosen)), rows)

    numbers = tuple(caches.glance(run).number for run in chosen.runs)
    return chart_style.draw_once(draw_tied, CHART, chosen, numbers, *facts)


def _draw_time(chosen: ComparedRuns, table: RunTable, scope: str) -> go.Figure:
    from xcwork.viz.run_dots import draw_quality_and_time

    return _draw_once(chosen, lambda styles: draw_quality_and_time(table, styles, height=HEIGHT_PIXELS), "time", scope)


def _draw_differences(chosen: ComparedRuns, reference: str) -> go.Figure:
    from xcwork.viz.run_dots import draw_run_differences

    metric = choose_word("Metric", METRICS, key="compare.metric")
    deltas = run_comparison.compute_differences(chosen, reference)
    return _draw_once(
        chosen,
        lambda styles: draw_run_differences(deltas, metric=metric, styles=styles, height=HEIGHT_PIXELS - 40),
        *("differences", reference, metric),
    )


def _draw_curves(chosen: ComparedRuns) -> go.Figure:
    from xcwork.viz.curves import draw_ranking_curves

    with st.container(horizontal=True, vertical_alignment="center"):
        metric = CURVES[choose_word("Curve", CURVES, key="compare.curve")]
        told = "With “all”, the axis is logarithmic."
        longest = LENGTHS[choose_word("Length", LENGTHS, key="compare.length", help=told)]
    measured = {chosen.names[run.id]: caches.get_report(run).curves for run in _limit_runs(chosen)}

    def draw(styles: dict[str, SeriesStyle]) -> go.Figure:
        known = {name: curve for name, curve in measured.items() if curve["k"]}
        drawn = draw_ranking_curves(known, metric, styles=styles, longest=longest)
        return drawn.update_layout(
            title=None,
            height=HEIGHT_PIXELS - 40,
            margin={"l": 50, "r": 10, "t": 5, "b": 35},
            legend={"orientation": "v", "x": 1, "y": 1},
        ).update_yaxes(range=None, rangemode="tozero")

    return _draw_once(chosen, draw, "curves", metric, longest)


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
    return _draw_once(
        chosen,
        lambda styles: draw_band_dots(shares, titles, styles, k=k, height=HEIGHT_PIXELS - 40),
        *("frequency", k, scheme),
    )


def get_styles(chosen: ComparedRuns) -> dict[str, SeriesStyle]:
    """Return how each run looks in a figure, by its name in the comparison."""
    from xcwork.viz import style_run

    palette = tokens.get_palette()
    return {chosen.names[run.id]: style_run(caches.glance(run).number, palette) for run in chosen.runs}


def _limit_runs(chosen: ComparedRuns) -> list[Run]:
    if len(chosen.runs) > MAX_RUNS:
        st.caption(f"The best {MAX_RUNS} of {len(chosen.runs)} runs; choose fewer to see others.")
    return chosen.runs[:MAX_RUNS]
