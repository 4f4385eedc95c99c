"""How well frequent and rare labels are found: figures of a run, and the bands as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import widgets
from xcwork_app.views.run_findings import Findings

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = {
    "share of positives, %": st.column_config.NumberColumn(format="%.1f", help="Of all true labels of the test split"),
    "recall, %": st.column_config.ProgressColumn(
        format="%.1f", min_value=0, max_value=100, help="Of the band's true labels, the share among the first k"
    ),
    "points of P@k": st.column_config.NumberColumn(format="%.2f", help="These add up to P@k"),
}


def show_facts(found: Findings) -> None:
    """Show how much is found, and where the rest is lost."""
    from xcwork.analysis.errors import NOT_RETRIEVED, OUTRANKED, UNSEEN

    total, missed = len(found.placement.ranks), len(found.missed)
    precision = sum(row[f"contribution@{found.k}"] for row in found.band_table.values())
    lost = found.triage.sum(numeric_only=True)
    widgets.show_metrics(
        (
            (
                f"P@{found.k}",
                f"{precision:.2f}",
                f"Correct labels among the first {found.k}, divided by {found.k}, in "
                "percent, averaged over all test documents.",
            ),
            ("Found", _format_share(total - missed, total), f"True labels among the first {found.k}."),
            (
                "Outranked",
                _format_share(lost[OUTRANKED], total),
                "Listed, but behind other labels: a problem of ranking.",
            ),
            (
                "Not retrieved",
                _format_share(lost[NOT_RETRIEVED], total),
                "Nowhere in the list: a problem of retrieval.",
            ),
            ("Unseen", _format_share(lost[UNSEEN], total), "Not listed, and without a training document."),
        )
    )


def _format_share(part: float, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "–"


def show_recall(found: Findings) -> None:
    """Show recall of each band of labels."""
    from xcwork.viz.bands import band_recall

    widgets.show_figure(
        band_recall({found.run.name: found.band_table}, k=found.k), key="errors.recall", name="band-recall"
    )


def show_losses(found: Findings) -> None:
    """Show where missed labels were lost, band by band."""
    from xcwork.viz.bands import triage_bars

    widgets.show_figure(triage_bars(found.triage), key="errors.losses", name="missed-labels-by-band")


def show_table(found: Findings) -> None:
    """Show the bands of labels, and what each of them adds to P@k."""
    widgets.show_table(
        make_frame(found),
        key="errors.bands.table",
        name="bands",
        columns=COLUMNS,
        alt="Labels, true labels of the test split, recall and contribution to precision of each band",
    )
    st.caption(widgets.plain(f"Bands: {found.bands.definition}."))


def make_frame(found: Findings) -> pd.DataFrame:
    import pandas as pd

    k, total = found.k, max(1, len(found.placement.ranks))
    rows = [
        {
            "band": band,
            "labels": row["labels"],
            "test positives": row["test_positives"],
            "share of positives, %": 100 * row["test_positives"] / total,
            "found": row[f"hits@{k}"],
            # Without a true label in the test split a recall of 0 would look like a failure.
            "recall, %": row[f"recall@{k}"] if row["test_positives"] else None,
            "points of P@k": row[f"contribution@{k}"],
        }
        for band, row in found.band_table.items()
    ]
    return pd.DataFrame(rows).astype({"recall, %": float})
