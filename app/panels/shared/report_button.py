"""Runs as one HTML file that opens offline."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from xcwork.runs import Run


def show_report_button(runs: Sequence[Run], *, key: str) -> None:
    """Offer a download of the report about `runs`, rendered when somebody asks for it."""

    def render_report() -> bytes:
        from xcwork.viz.run_report import render_report

        return render_report(runs).encode("utf-8")

    name = f"report-{runs[0].id}" if len(runs) == 1 else f"report-{len(runs)}-runs"
    st.download_button(
        "Report",
        render_report,
        file_name=f"{name}.html",
        mime="text/html",
        key=key,
        on_click="ignore",
        icon=":material/description:",
        help="One file with figures and tables that opens offline.",
    )
