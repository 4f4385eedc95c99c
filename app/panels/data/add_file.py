"""A file becomes a dataset: choose it, check how it is read, add it. Every choice is read again and shown."""

from __future__ import annotations

from html import escape

import streamlit as st
from xcwork_app import state, widgets
from xcwork_app.panels.data import staging, table_choices, upload_preview
from xcwork_app.panels.data.staging import StagedUpload

from xcwork.data.readers import choose_reader, find_reader, get_format_name, list_formats
from xcwork.data.readers.columns import is_table
from xcwork.errors import DataError

MAX_UPLOAD_MB = 500
STEPS = ("Check how it is read", "Train")


def show() -> None:
    """Show the place for a file, or how the chosen one is read."""
    staged = staging.get()
    place = st.empty()
    if staged is None:
        with place.container():
            files = st.file_uploader(
                "Your documents",
                accept_multiple_files=True,
                key=f"data.upload.{staging.get_round()}",
                max_upload_size=MAX_UPLOAD_MB,
                help="One table with a text and a labels column, or all files of a dataset in another format, "
                "together or as one .zip.",
            )
            if not files:
                _show_hints()
                return
            staged = staging.stage(files)
        place.empty()
    with staging.name_file_in_errors():
        _check(staged)


def _show_hints() -> None:
    st.caption(
        "A CSV with a text column and a labels column is enough; TSV, JSON, Excel and Parquet are read as well, also "
        f"as .gz or .zip. At most {MAX_UPLOAD_MB} MB: for a larger file choose “On this machine” and give its path. "
        "Nothing leaves this machine."
    )
    with st.expander("Formats that are recognised"):
        for declared in list_formats():
            st.markdown(f"**{declared.name}** · {widgets.escape_text(declared.title)}")


def _check(staged: StagedUpload) -> None:
    """Show what was recognised on the left, the documents on the right, the figures and buttons below."""
    _show_steps(staged)
    problem: DataError | None = None
    seen: table_choices.TableReading | None = None
    left, right = st.columns([292, 538], gap="medium")
    with left:
        name = st.text_input("Name", value=staged.suggested_name, key=f"data.upload.name.{staging.get_round()}")
        try:
            if _is_plain_table(staged):
                seen = table_choices.choose(staged)
                problem = seen.error
            else:
                _recognise(staged)
        except DataError as failure:
            problem = failure
        if seen is not None:
            upload_preview.show_findings(seen)
    with right:
        if seen is not None:
            upload_preview.show_documents(seen)
    obstacle = "" if seen is None else seen.summary.obstacle
    if problem is not None:
        widgets.show_problem(staging.name_file(problem))
        obstacle = "This file cannot be read as it is."
    elif not name.strip():
        obstacle = obstacle or "It needs a name."
    _show_buttons(staged, name, seen, obstacle)


def _show_steps(staged: StagedUpload) -> None:
    size = f"{staged.n_bytes / 1e6:,.1f} MB" if staged.n_bytes >= 1e5 else f"{staged.n_bytes / 1e3:,.1f} kB"
    st.html(
        f'<div class="data-steps"><b class="done">✓</b><span>{escape(staged.title)}</span><small>{size}</small><hr>'
        f'<b class="on">2</b><strong>{STEPS[0]}</strong><hr><b>3</b><span>{STEPS[1]}</span>'
        "<em>Nothing leaves this machine</em></div>"
    )


def _is_plain_table(staged: StagedUpload) -> bool:
    """Return whether an upload is a table whose columns have to be chosen, rather than one of a format of its own."""
    if not is_table(staged.path):
        return False
    try:
        reader = find_reader(staged.path)
    except DataError:
        return True
    return reader is None or get_format_name(reader) == "table"


def _recognise(staged: StagedUpload) -> None:
    reader = choose_reader(staged.path)
    st.caption(f"Recognised as {widgets.escape_text(reader.FORMAT.title)}.")


def _show_buttons(staged: StagedUpload, name: str, seen: table_choices.TableReading | None, obstacle: str) -> None:
    with st.container(key="data_add_foot", horizontal=True, vertical_alignment="center"):
        upload_preview.show_figures(seen, obstacle)
        st.button("Another file", key="data.upload.another", on_click=staging.discard)
        if st.button("Cancel", key="data.upload.cancel"):
            staging.discard()
            state.update(add="")
            st.rerun()
        if st.button("Add dataset", type="primary", key="data.upload.add", disabled=bool(obstacle)):
            with st.spinner("Reading the whole file."):
                staging.add(staged, name, {} if seen is None else seen.options)
