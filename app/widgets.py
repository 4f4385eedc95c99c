"""Helpers that keep pages alike: errors as sentences, figures with a table twin, tables with a safe export.

Text from outside (labels, documents, file names, messages) goes through `plain` wherever Markdown is shown. Tables and
charts show it as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import streamlit as st
from xcwork_app import navigation, state
from xcwork_app.chart_style import match_page

from xcwork.errors import DataError, XcworkError

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

MAX_ROWS = 1000  # sent to the browser; the export holds all
CHART = {"displaylogo": False, "modeBarButtonsToRemove": ["sendDataToCloud", "autoScale2d"]}
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|$:~&])")


class PageEnd(Exception):
    """Raised where a page has nothing more to show.

    `st.stop` would end the whole script, and with it what follows every page: the address would not be written.
    """


def escape_text(text: object) -> str:
    """Return text from outside as Markdown that shows exactly that text, on one line."""
    return _MARKDOWN.sub(r"\\\1", " ".join(str(text).split()))


def show_section(title: str, help: str | None = None) -> None:
    """Show the heading of a part of a page."""
    st.subheader(title, anchor=False, help=help)


@contextmanager
def catch_errors(what: str = "") -> Iterator[None]:
    """Show an error that a user can act on as a sentence, and go on with the rest of the page."""
    try:
        yield
    except XcworkError as problem:
        show_problem(problem, what)
    except OSError as refusal:
        reason = refusal.strerror or str(refusal)
        where = f" ({refusal.filename})" if refusal.filename else ""
        show_problem(XcworkError(f"the system refused: {reason}{where}; check the disk and its permissions"), what)
    except MemoryError:
        show_problem(XcworkError("not enough memory; use a smaller subset of the data"), what)


def show_problem(problem: XcworkError, what: str = "") -> None:
    """Show the sentence of an error; the remedy is on a line of its own."""
    text = str(problem)
    remedy = problem.remedy if isinstance(problem, DataError) else None
    if remedy:
        text = text.removesuffix(f"; {remedy}")
    else:
        text, _, remedy = text.partition("; ")
    lead = f"{what}: " if what else ""
    shown = _format_sentence(lead + text)
    st.error(escape_text(shown) + (f"  \n{escape_text(_format_sentence(remedy))}" if remedy else ""))


def _format_sentence(text: str) -> str:
    text = text.strip()
    # A file name at the beginning keeps its case.
    first = text.split(" ", 1)[0]
    shown = text if any(sign in first for sign in "/\\.:'\"_") else text[:1].upper() + text[1:]
    return shown if shown.endswith((".", "!", "?")) else f"{shown}."


def show_empty(sentence: str, *, page: str | None = None, action: str = "") -> None:
    """Say why there is nothing to show yet, and offer the page where to do something about it."""
    with st.container(border=True):
        st.markdown(f":material/info: {sentence}")
        if page is not None and navigation.has_page(page):
            st.page_link(
                navigation.FOLDER / f"{page}.py",
                label=action,
                icon=":material/arrow_forward:",
                query_params=state.get_address_of(page),
            )


def warn_if_too_long(text: str, limit: int, what: str) -> bool:
    """Say so where `text` is longer than `limit`, which loses nothing of it."""
    if len(text) <= limit:
        return False
    st.error(f"This {what} has {len(text):,} characters; the limit is {limit:,}.  \nShorten it; nothing was lost.")
    return True


def show_figure(
    drawn: go.Figure, *, key: str, name: str, columns: Mapping[str, Any] | None = None, **options: Any
) -> Any:
    """Show a chart of `xcwork.viz` with its sentence for people who cannot see it, and the same numbers as a table.

    `columns` configures that table; `options` go to `st.plotly_chart`; with `on_select="rerun"` the selection is
    returned.
    """
    from xcwork.viz import get_alt_text, read_table

    alt = get_alt_text(drawn)
    match_page(drawn)
    event = st.plotly_chart(drawn, alt=alt, key=key, config=CHART, **options)
    st.caption(escape_text(alt))
    with st.expander("Table"):
        show_table(
            read_table(drawn), key=f"{key}.table", name=name, columns=columns, alt=f"The numbers of the chart: {alt}"
        )
    return event


def show_table(
    frame: pd.DataFrame,
    *,
    key: str,
    name: str,
    alt: str = "",
    columns: Mapping[str, Any] | None = None,
    select: str | None = None,
    export: Callable[[], pd.DataFrame] | None = None,
    note: str = "",
    **options: Any,
) -> list[int]:
    """Show a table with an export in which no cell is a formula; return the selected rows.

    `select` is a selection mode of `st.dataframe`, such as "single-row". At most MAX_ROWS rows are shown; `export`
    makes the frame for the file when that should hold more than `frame`. `note` stands beside the export.
    """
    formats = {name: st.column_config.NumberColumn(format="%.2f") for name in frame.select_dtypes("float").columns}
    formats |= {name: st.column_config.NumberColumn(format="localized") for name in frame.select_dtypes("int").columns}
    extra: dict[str, Any] = {"on_select": "rerun", "selection_mode": select} if select else {}
    event: Any = st.dataframe(
        frame.head(MAX_ROWS),
        hide_index=True,
        key=key,
        alt=alt or None,
        placeholder="–",
        column_config=formats | dict(columns or {}),
        **extra,
        **options,
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        show_export_button(export or (lambda: frame), key=f"{key}.export", name=name)
        if note:
            st.caption(note)
        if len(frame) > MAX_ROWS:
            st.caption(f"The first {MAX_ROWS:,} of {len(frame):,} rows; the export holds all.")
    return list(event["selection"]["rows"]) if select else []


def show_export_button(make: Callable[[], pd.DataFrame], *, key: str, name: str, label: str = "CSV") -> None:
    """Offer a download of a frame, computed when somebody asks for it."""

    def make_content() -> bytes:
        from xcwork.export.tables import render_csv

        return render_csv(make()).encode("utf-8")

    st.download_button(
        label,
        make_content,
        file_name=f"{name}.csv",
        mime="text/csv",
        key=key,
        on_click="ignore",
        type="tertiary",
        icon=":material/download:",
        help=f"Download as {name}.csv",
    )


def choose_field(
    label: str, field: str, options: Mapping[str, str], *, key: str, help: str | None = None, hidden: bool = False
) -> str:
    """Show a segmented control for a field of `state.View`, so that a link opens the same choice; the first is usual.

    Nothing is drawn where there is nothing to choose.
    """
    usual = next(iter(options))
    st.session_state[key] = state.pick_option(field, options, usual, f"“{options[usual]}”")
    if len(options) == 1:
        return usual

    def remember() -> None:
        state.update(**{field: "" if st.session_state[key] == usual else st.session_state[key]})

    chosen = st.segmented_control(
        label,
        list(options),
        required=True,
        format_func=options.__getitem__,
        key=key,
        help=help,
        on_change=remember,
        label_visibility="collapsed" if hidden else "visible",
    )
    return chosen or usual


def show_metrics(shown: Sequence[tuple[str, str, str | None]]) -> None:
    """Show a row of figures: (name, value, help)."""
    for column, (name, value, help) in zip(st.columns(len(shown)), shown, strict=True):
        column.metric(name, value, help=help)


def shorten_seconds(value: float) -> str:
    """Return a duration in few signs: "0.1 s", "26 s", "1.5 min", "6 min", "2.3 h"."""
    if value < 9.95:
        return f"{max(value, 0.1):.1f}".removesuffix(".0") + " s"
    for size, unit in ((1, "s"), (60, "min"), (3600, "h")):
        count = value / size
        if count < 9.95 and size > 1:
            return f"{count:.1f}".removesuffix(".0") + f" {unit}"
        if count < 59.5:
            return f"{count:.0f} {unit}"
    return f"{value / 3600:,.0f} h"


def format_megabytes(value: float | None) -> str:
    """Return a number of megabytes for people."""
    if value is None:
        return "–"
    return f"{value:,.0f} MB" if value < 1000 else f"{value / 1000:,.1f} GB"
