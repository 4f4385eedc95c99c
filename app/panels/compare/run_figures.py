"""Several runs in one figure: their metrics, curves over the length of the list, and recall by band."""

from __future__ import annotations

import streamlit as st
from xcwork_app import caches, widgets
from xcwork_app.panels.shared import label_bands
from xcwork_app.views import run_comparison, run_findings
from xcwork_app.views.run_comparison import ComparedRuns

from xcwork.runs import Run

CURVES = {"P": "P@k", "recall_macro": "Recall@k", "recall_micro": "Recall@k of all labels", "hit": "Any hit@k"}
MAX_RUNS = 6  # that a figure can tell apart


def show_metric_dots(chosen: ComparedRuns, scope: str, *, published: bool) -> None:
    """Show one line per run, one dot per metric."""
    from xcwork.viz.comparison import metric_dots

    widgets.show_figure(
        metric_dots(run_comparison.make_table(chosen, scope, published)), key="compare.dots", name="metrics-of-runs"
    )


def show_curves(chosen: ComparedRuns) -> None:
    """Show a metric against the length of the list."""
    from xcwork.viz.curves import ranking_curves

    metric = widgets.choose_option("Curve", CURVES, key="compare.curve", hidden=True)
    measured = {chosen.names[run.id]: caches.get_report(run).curves for run in _limit_runs(chosen)}
    drawn = ranking_curves({name: curve for name, curve in measured.items() if curve["k"]}, metric)
    if metric in ("P", "recall_micro"):
        drawn.update_yaxes(range=None, rangemode="tozero")  # these seldom come near 100
    widgets.show_figure(drawn, key="compare.curves", name=f"curves-{metric}")


def show_bands(chosen: ComparedRuns) -> None:
    """Show recall of each band, and what it adds to P@k."""
    from xcwork.viz.bands import band_contributions, band_recall

    with st.container(horizontal=True, vertical_alignment="bottom"):
        scheme, k = label_bands.choose_bands("compare.bands"), label_bands.choose_list_length("compare.bands.k")
    usable = set(run_comparison.list_comparable_runs(chosen))
    tables = {
        chosen.names[run.id]: run_findings.get_findings(run, chosen.source, k=k, bands=scheme).band_table
        for run in _limit_runs(chosen)
        if run.id in usable
    }
    if not tables:
        widgets.show_empty("None of these runs was measured on the dataset as it is now.")
        return
    widgets.show_figure(band_recall(tables, k=k), key="compare.bands.recall", name="band-recall")
    widgets.show_figure(band_contributions(tables, k=k), key="compare.bands.parts", name="band-contributions")


def _limit_runs(chosen: ComparedRuns) -> list[Run]:
    if len(chosen.runs) > MAX_RUNS:
        st.caption(f"The best {MAX_RUNS} of {len(chosen.runs)} runs; choose fewer to see others.")
    return chosen.runs[:MAX_RUNS]
