"""Helpers that keep pages alike: headers, errors as sentences, figures with a table twin, tables with a safe export.

Text from outside (labels, documents, file names, messages) goes through `plain` wherever Markdown is shown. Tables and
charts show it as it is.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import streamlit as st
from xcwork_app import navigation, state

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


def plain(text: object) -> str:
    """Return text from outside as Markdown that shows exactly that text, on one line."""
    return _MARKDOWN.sub(r"\\\1", " ".join(str(text).split()))


def show_header(title: str, lead: str = "") -> None:
    """Show the heading of a page and one sentence about it."""
    st.title(title, anchor=False)
    if lead:
        st.caption(lead)


def show_section(title: str, help: str | None = None) -> None:
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
    st.error(plain(shown) + (f"  \n{plain(_format_sentence(remedy))}" if remedy else ""))


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
    st.error(f"This {what} has {len(text):,} characters, and {limit:,} are the limit.  \nShorten it; nothing was lost.")
    return True


def show_command(arguments: Iterable[str], *, stdin: str = "", label: str = "The same in a shell") -> None:
    """Show the command line that does what this page does; it reads the file `stdin` where one is given."""
    st.caption(label)
    source = f" < {shlex.quote(stdin)}" if stdin else ""
    st.code(shlex.join(["xcwork", *arguments]) + source, language="bash", wrap_lines=True)


def show_figure(
    drawn: go.Figure, *, key: str, name: str, columns: Mapping[str, Any] | None = None, **options: Any
) -> Any:
    """Show a chart of `xcwork.viz` with its sentence for people who cannot see it, and the same numbers as a table.

    `columns` configures that table; `options` go to `st.plotly_chart`; with `on_select="rerun"` the selection is
    returned.
    """
    from xcwork.viz import alt_text, read_table

    alt = alt_text(drawn)
    event = st.plotly_chart(drawn, alt=alt, key=key, config=CHART, **options)
    st.caption(plain(alt))
    with st.expander("Show as table"):
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
    **options: Any,
) -> list[int]:
    """Show a table with an export in which no cell is a formula; return the selected rows.

    `select` is a selection mode of `st.dataframe`, such as "single-row". At most MAX_ROWS rows are shown; `export`
    makes the frame for the file when that should hold more than `frame`.
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
        if len(frame) > MAX_ROWS:
            st.caption(f"The first {MAX_ROWS:,} of {len(frame):,} rows; the export holds all.")
    return list(event["selection"]["rows"]) if select else []


def take_new_choice(rows: list[int], key: str) -> int | None:
    """Return the row of a single-row table that was chosen just now; None while the same one stays chosen.

    The table keeps its selection, so acting on it at every rerun would undo what the side bar chose since.
    """
    handled = f"{key}.handled"
    if st.session_state.get(handled) == rows:
        return None
    st.session_state[handled] = rows
    return rows[0] if rows else None


def show_export_button(make: Callable[[], pd.DataFrame], *, key: str, name: str, label: str = "CSV") -> None:
    """Offer a download of a frame, computed when somebody asks for it."""

    def content() -> bytes:
        from xcwork.export.tables import safe_csv

        return safe_csv(make()).encode("utf-8")

    st.download_button(
        label,
        content,
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


def choose_option(label: str, options: Mapping[str, str], *, key: str, hidden: bool = False) -> str:
    """Show a segmented control of one page, kept for the session and part of the address; the first option is usual."""
    usual = next(iter(options))
    state.link(key, usual, options)
    chosen = st.segmented_control(
        label,
        list(options),
        required=True,
        format_func=options.__getitem__,
        key=key,
        persist_state="session",
        label_visibility="collapsed" if hidden else "visible",
    )
    return chosen or usual


def toggle(label: str, *, key: str, usual: bool, help: str | None = None) -> bool:
    """Show a switch of one page, kept while the session lasts and part of the address."""
    state.link(key, usual)
    return st.toggle(label, key=key, help=help, persist_state="session")


def choose_several(label: str, options: Sequence[str], usual: tuple[str, ...], *, key: str) -> list[str]:
    """Show pills of one page, any number of them chosen, kept for the session and part of the address."""
    state.link(key, usual, options)
    return st.pills(label, options, selection_mode="multi", key=key, persist_state="session")


def choose_page(total: int, size: int, *, key: str) -> int:
    """Show page numbers, where there is more than one page; return the first row of the chosen page."""
    pages = max(1, math.ceil(total / size))
    page = st.pagination(pages, key=f"{key}.{pages}") if pages > 1 else 1
    return (page - 1) * size


def show_metrics(shown: Sequence[tuple[str, str, str | None]]) -> None:
    """Show a row of figures: (name, value, help)."""
    for column, (name, value, help) in zip(st.columns(len(shown)), shown, strict=True):
        column.metric(name, value, help=help)


def format_seconds(value: float | None) -> str:
    """Return a duration in words."""
    if value is None:
        return "–"
    if value < 1:
        return "under a second"
    for unit, size in (("second", 1), ("minute", 60)):
        if (count := round(value / size)) < 100:
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return f"{value / 3600:.1f} hours"


def format_estimate(value: float) -> str:
    """Return an estimated duration in words."""
    return format_seconds(value) if value < 1 else f"about {format_seconds(value)}"


def format_megabytes(value: float | None) -> str:
    """Return a number of megabytes for people."""
    if value is None:
        return "–"
    return f"{value:,.0f} MB" if value < 1000 else f"{value / 1000:,.1f} GB"
