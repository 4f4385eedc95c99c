"""Several runs in one figure: their metrics, curves over the length of the list, and recall by band."""

from __future__ import annotations

import streamlit as st
from xcwork_app import caches, widgets
from xcwork_app.views import run_comparison, run_findings
from xcwork_app.views.run_comparison import Compared

from xcwork.runs import Run

CURVES = {"P": "P@k", "recall_macro": "Recall@k", "recall_micro": "Recall@k of all labels", "hit": "Any hit@k"}
MOST = 6  # runs that a figure can tell apart


def dots(chosen: Compared, scope: str, *, published: bool) -> None:
    """One line a run, one dot a metric."""
    from xcwork.viz.comparison import metric_dots

    widgets.figure(
        metric_dots(run_comparison.table(chosen, scope, published)), key="compare.dots", name="metrics-of-runs"
    )


def curves(chosen: Compared) -> None:
    """A metric against the length of the list."""
    from xcwork.viz.curves import ranking_curves

    metric = widgets.switch("Curve", CURVES, key="compare.curve", hidden=True)
    measured = {chosen.names[run.id]: caches.report(run).curves for run in _first(chosen)}
    drawn = ranking_curves({name: curve for name, curve in measured.items() if curve["k"]}, metric)
    if metric in ("P", "recall_micro"):
        drawn.update_yaxes(range=None, rangemode="tozero")  # these seldom come near 100
    widgets.figure(drawn, key="compare.curves", name=f"curves-{metric}")


def bands(chosen: Compared) -> None:
    """Recall of each band, and what it adds to P@k."""
    from xcwork.viz.bands import band_contributions, band_recall

    with st.container(horizontal=True, vertical_alignment="bottom"):
        scheme, k = run_findings.choose_bands("compare.bands"), run_findings.choose_length("compare.bands.k")
    usable = set(run_comparison.comparable(chosen))
    tables = {
        chosen.names[run.id]: run_findings.find(run, chosen.source, k=k, bands=scheme).band_table
        for run in _first(chosen)
        if run.id in usable
    }
    if not tables:
        widgets.empty("None of these runs was measured on the dataset as it is now.")
        return
    widgets.figure(band_recall(tables, k=k), key="compare.bands.recall", name="band-recall")
    widgets.figure(band_contributions(tables, k=k), key="compare.bands.parts", name="band-contributions")


def _first(chosen: Compared) -> list[Run]:
    if len(chosen.runs) > MOST:
        st.caption(f"The best {MOST} of {len(chosen.runs)} runs; choose fewer to see others.")
    return chosen.runs[:MOST]
