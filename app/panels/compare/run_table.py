"""Runs and metrics as the papers print them: best in bold, not significantly different in italics, costs beside."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import widgets
from xcwork_app.panels.shared import report_button
from xcwork_app.views import run_comparison
from xcwork_app.views.run_comparison import ComparedRuns

from xcwork.export.tables import BOLD, ITALIC

if TYPE_CHECKING:
    from xcwork.analysis.comparison import ComparisonTable

# Colours are those of the theme: nothing here sets one.
STYLE = """
<style>
.runs { overflow-x: auto }
.runs table { border-collapse: collapse; width: 100%; font-size: .875rem; line-height: 1.3 }
.runs thead { border-top: 2px solid; border-bottom: 1px solid }
.runs tbody { border-bottom: 2px solid }
.runs th { font-weight: 600; text-align: right; padding: .45rem .3rem; vertical-align: bottom }
.runs td { text-align: right; padding: .35rem .3rem; font-variant-numeric: tabular-nums; white-space: nowrap }
.runs .text { text-align: left; max-width: 11rem; overflow: hidden; text-overflow: ellipsis }
.runs .gap { padding-left: .9rem }
.runs tr.published td { opacity: .65 }
.runs tr.first td { border-top: 1px solid rgba(128, 128, 128, .5) }
</style>
"""
TAGS = {BOLD: "strong", ITALIC: "em"}
GROUP_STARTS = ("P@1", "nDCG@1", "PSP@1", "training, s")  # columns that begin a group


def show(chosen: ComparedRuns, scope: str, *, published: bool) -> None:
    """Show the table with its legend, and its exports."""
    table = run_comparison.make_table(chosen, scope, published)
    st.html(STYLE + render_html(table))
    legend = [
        "Percent. **Best** of a column, *not significantly different from it* (paired bootstrap over documents, 95 %)."
    ]
    if table.n_published:
        legend.append("Faded: published results; other splits and features, so for orientation only.")
    elif published:
        legend.append("No published results are known for this dataset.")
    st.caption(" ".join(legend + [widgets.plain(f"{note[:1].upper()}{note[1:]}.") for note in table.notes]))
    with st.container(horizontal=True, vertical_alignment="center"):
        _show_download(table.to_csv, "CSV", "csv", "text/csv")
        _show_download(table.to_markdown, "Markdown", "md", "text/markdown")
        _show_download(table.to_latex, "LaTeX", "tex", "application/x-tex")
        st.space("stretch")
        report_button.show_report_button(chosen.runs, key="compare.report")
    expander = st.expander("Show as a table that can be sorted", key="compare.sortable", on_change="rerun")
    if expander.open:
        with expander:
            widgets.show_table(
                table.frame, key="compare.table", name="runs-compared", alt="Metrics and costs of the runs"
            )


def render_html(table: ComparisonTable) -> str:
    """Return the table as HTML; text from outside is escaped."""
    frame, emphasis, first = table.frame, table.emphasis, len(table.frame) - table.n_published
    filled = [at for at, name in enumerate(frame.columns) if frame[name].notna().any()]
    kinds = {at: _kind(frame.columns[at], frame.dtypes.iloc[at].kind) for at in filled}
    head = "".join(f'<th scope="col" class="{kinds[at]}">{escape(str(frame.columns[at]))}</th>' for at in filled)
    rows = []
    for position, row in enumerate(frame.itertuples(index=False, name=None)):
        cells = [f'<td class="{kinds[at]}">{_format_cell(row[at], emphasis[position, at])}</td>' for at in filled]
        classes = ("published " if position >= first else "") + ("first" if position == first else "")
        rows.append(f'<tr class="{classes.strip()}">{"".join(cells)}</tr>')
    body = "".join(rows)
    # It may be wider than the page, and then the keyboard must be able to scroll it, too.
    frame_of_table = '<div class="runs" tabindex="0" role="region" aria-label="Runs and metrics">'
    return f"{frame_of_table}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def _kind(column: str, dtype: str) -> str:
    return ("text" if dtype not in "fi" else "number") + (" gap" if column in GROUP_STARTS else "")


def _format_cell(value: object, style: str) -> str:
    if value is None or value != value:  # NaN is not equal to itself
        return "–"
    if not isinstance(value, float):
        return f'<span title="{escape(str(value))}">{escape(str(value))}</span>'
    shown = f"{value:,.2f}" if value < 1000 else f"{value:,.0f}"
    return f"<{TAGS[style]}>{shown}</{TAGS[style]}>" if style else shown


def _show_download(make: Callable[[], str], label: str, suffix: str, mime: str) -> None:
    st.download_button(
        label,
        lambda: make().encode("utf-8"),
        file_name=f"runs-compared.{suffix}",
        mime=mime,
        type="tertiary",
        key=f"compare.export.{suffix}",
        on_click="ignore",
        icon=":material/download:",
    )
