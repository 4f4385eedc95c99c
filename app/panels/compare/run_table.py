"""The table of runs: quality with its range and highest value, unseen labels and costs; heads sort, rows choose."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st
from xcwork_app import chart_style, state, widgets
from xcwork_app.components.label_list import LabelGroup, LabelRow, RowCell, SortColumn, show_label_list
from xcwork_app.views.run_comparison import ComparedRuns

from xcwork.analysis.run_table import UNSEEN_FOUND, UNSEEN_PRECISION, RunColumn, RunRow, RunTable

RANGE = "range"  # the id of the column with the axis
RANGE_WIDTH = 7.0  # multiples of the base font, as below
LARGE_RANGE_WIDTH = 4.5  # beside larger type, so that names keep their room
WIDTHS = {"PSP@5": 6.2, UNSEEN_PRECISION: 3.4, UNSEEN_FOUND: 3.4, "Training": 4.2, "Model": 4.2, "ms per document": 4.3}
USUAL_WIDTH = 3.9
TITLES = {  # where two lines read better
    "ms per document": ("ms per", "document"),
    UNSEEN_PRECISION: ("unseen", "P@5"),
    UNSEEN_FOUND: ("unseen", "found"),
}
HELP = {
    UNSEEN_PRECISION: "P@5 where only labels without a training document compete",
    UNSEEN_FOUND: "Of the unseen true labels, the share among the first 5 when all labels compete, in percent",
    "PSP@5": "As P@5, but rare labels count more",
}
AXIS_STEP = 10  # points between the ends that an axis may have
BASE_PIXELS = 15  # of the base font, of which all heights are multiples
ROW_PIXELS = 34
HEAD_PIXELS = 50
AROUND_PIXELS = 138  # above the table and between what follows
MAX_ROWS_SEEN = 6  # before the table scrolls


def show_table(
    table: RunTable, chosen: ComparedRuns, numbers: Mapping[str, int], *, reference: str, against: str
) -> None:
    """Show the table; `reference` and `against` are ids of runs, `numbers` by id give their marks."""
    ids = {name: run for run, name in chosen.names.items()}
    sort = resolve_sort(table)
    low, high = find_axis(table)
    rows = [_make_row(row, ids[row.name], numbers, table, reference, low, high) for row in table.sort(sort)]
    comparable = [row for row, shown in zip(rows, table.sort(sort), strict=True) if shown.is_comparable]
    others = [row for row, shown in zip(rows, table.sort(sort), strict=True) if not shown.is_comparable]
    groups = [LabelGroup(comparable)]
    if others:
        groups.append(LabelGroup(others, title="Not comparable", note="tested on different data"))
    height = HEAD_PIXELS + ROW_PIXELS * (min(len(rows), MAX_ROWS_SEEN) + bool(others))
    # The cards below take what is left of the window.
    scale = chart_style.get_scale()
    range_width = RANGE_WIDTH if scale == 1.0 else LARGE_RANGE_WIDTH
    above = (height + AROUND_PIXELS) / BASE_PIXELS
    cards = f".st-key-compare_columns > div{{height:max(16rem,calc(100vh - {above:.4f}rem))}}"
    st.html(f"<style>@media (min-width:1101px){{{cards}}}</style>")
    show_label_list(
        groups,
        key="compare_table",
        label="Runs",
        head="Run",
        selected=against,
        sort_columns=[
            SortColumn(RANGE, "", width=range_width, ends=(f"{low:.0f}", f"{high:.0f}")),
            *(_make_column(c) for c in table.columns),
        ],
        sort=sort,
        on_sort=lambda name: _sort_by(table, name),
        on_choose=lambda run: choose_against(chosen, run, reference),
        height=round(height * scale),
        has_border=True,
        lights=True,
    )


def _make_column(column: RunColumn) -> SortColumn:
    title, note = TITLES.get(column.name, (column.name, column.note))
    width, told = WIDTHS.get(column.name, USUAL_WIDTH), HELP.get(column.name, "")
    return SortColumn(column.name, title, note, width=width, help=told)


def choose_against(chosen: ComparedRuns, run: str, reference: str) -> None:
    """Compare the reference with another run of the table."""
    if run != reference and run in chosen.names:
        state.update(against=run, change="")


def resolve_sort(table: RunTable) -> str:
    """Return the column to sort by, as the view names it; P@1 where it names none that exists."""
    names = ["run", *(column.name for column in table.columns)]
    usual = table.columns[0].name
    return state.pick_option("sort", [*names, *(f"-{name}" for name in names)], usual, usual)


def _sort_by(table: RunTable, name: str) -> None:
    """Sort by a column; the same once more turns the order round."""
    if name in ("run", *(column.name for column in table.columns)):
        state.update(sort=f"-{name}" if resolve_sort(table) == name else name)


def find_axis(table: RunTable) -> tuple[float, float]:
    """Return the ends of the axis of P@1: round numbers around all ranges."""
    low = min((row.low for row in table.rows), default=0.0) // AXIS_STEP * AXIS_STEP
    high = -(-max((row.high for row in table.rows), default=100.0) // AXIS_STEP) * AXIS_STEP
    return low, max(high, low + AXIS_STEP)


def _make_row(
    row: RunRow, run: str, numbers: Mapping[str, int], table: RunTable, reference: str, low: float, high: float
) -> LabelRow:
    value = row.values["P@1"] or 0.0
    span = tuple((each - low) / (high - low) for each in (row.low, value, row.high))
    spoken = f"between {row.low:.1f} and {row.high:.1f}"
    cells = [RowCell(spoken, span=(span[0], span[1], span[2]))]
    cells += [
        RowCell(row.format_cell(column.name), is_bold=column.name in row.best, is_muted=not row.values[column.name])
        for column in table.columns
    ]
    note = "reference" if run == reference else ""
    return LabelRow(run, row.name, note=note, run=numbers[run], cells=tuple(cells))


def show_exports(table: RunTable) -> None:
    """Offer the table as CSV, LaTeX and Markdown, all with the shown digits."""
    with st.popover("CSV, LaTeX, Markdown", icon=":material/download:", key="compare.exports"):
        _show_download(table.to_csv, "CSV", "csv", "text/csv")
        _show_download(table.to_latex, "LaTeX", "tex", "application/x-tex")
        _show_download(table.to_markdown, "Markdown", "md", "text/markdown")


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


def show_published(chosen: ComparedRuns) -> None:
    """Offer what papers report for the dataset, where that is known."""
    from xcwork_app import caches

    from xcwork.published import find_published_results

    known = find_published_results(caches.get_dataset(chosen.source).name)
    if not len(known):
        return
    with st.popover("Published results", key="compare.published"):
        st.caption("Measured on other splits and features, so only a rough guide.")
        widgets.show_table(
            known.dropna(axis=1, how="all"),
            key="compare.published.table",
            name="published-results",
            alt="Published results",
        )
