"""An upload becomes a dataset in three clicks: choose the file, look at what was understood, add it.

The file is staged first; only a dataset that could be read is kept in the data folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import streamlit as st
from xcwork_app import caches, widgets
from xcwork_app.panels.data.sources_list import open_source
from xcwork_app.sources import Source

from xcwork.data import uploads
from xcwork.data.readers.columns import is_table
from xcwork.data.readers.preview import Preview, preview_table
from xcwork.errors import DataError
from xcwork.paths import home

SEPARATORS = {
    None: "as recognised",
    "|": "|",
    ";": ";",
    ",": ",",
    " ": "blanks",
    "": "one label per cell",
}
ENCODINGS = ("utf-8", "latin-1", "cp1252", "utf-16")
STAGED = "data.staged"  # keys of the session
ROUND = "data.upload.round"
MAX_UPLOAD_MB = 500
PREVIEW_ROWS = 5


def show() -> None:
    """Show the upload form, and what was understood of the files in it."""
    files = st.file_uploader(
        "Your documents",
        accept_multiple_files=True,
        key=f"data.upload.{st.session_state.get(ROUND, 0)}",
        max_upload_size=MAX_UPLOAD_MB,
        help="One table (CSV, TSV, JSONL, Parquet; also .gz or .zip) with a text and a labels column, or all files of "
        "a dataset in another format, together or as one .zip.",
    )
    if not files:
        st.caption(
            "A CSV with a text column and a labels column is enough. Labels may be separated by a comma, a semicolon "
            f"or a bar. At most {MAX_UPLOAD_MB} MB; larger files go by path. Nothing leaves this machine."
        )
        return
    with _name_file_in_errors():
        _understand(files)


def _understand(files: list[Any]) -> None:
    """Show what was recognised, and the button that keeps it."""
    staged = _stage_files(files)
    suggested = uploads.clean_name(files[0].name).split(".")[0] if len(files) == 1 else "my-dataset"
    name = st.text_input("Name", value=suggested, key=f"data.upload.name.{staged.name}")
    options = _choose_table_options(staged) if is_table(staged) else _recognise_format(staged)
    if st.button("Add dataset", type="primary", key="data.upload.add"):
        _add_dataset(staged, name, options)


@contextmanager
def _name_file_in_errors() -> Iterator[None]:
    """Let errors about an upload name the file, not the place where it waits."""
    try:
        yield
    except DataError as problem:
        name = None if problem.file is None else Path(problem.file).name
        raise DataError(problem.problem, file=name, line=problem.line, remedy=problem.remedy) from problem


def _stage_files(files: list[Any]) -> Path:
    """Return the files on disk; written once, however often the page reruns."""
    identity = tuple(file.file_id for file in files)
    stored = st.session_state.get(STAGED)
    if stored is not None and stored[0] == identity and Path(stored[1]).exists():
        return Path(stored[1])
    if stored is not None:
        uploads.discard_staged(Path(stored[1]))
    for file in files:
        file.seek(0)
    staged = uploads.stage_files([(file.name, file) for file in files], home())
    st.session_state[STAGED] = (identity, str(staged))
    return staged


def _choose_table_options(staged: Path) -> dict[str, object]:
    """Return which columns hold what: the guess, with a preview, to be corrected if it is wrong.

    All is drawn before anything is refused, so that a wrong guess can be corrected as well.
    """
    places = st.columns([3, 2, 2, 2])
    encoding = places[3].selectbox("Encoding", ENCODINGS, key=f"data.upload.encoding.{staged.parent.name}")
    guess = preview_table(staged, encoding=encoding)
    key = f"{staged.parent.name}.{encoding}"
    texts = places[0].multiselect(
        "Text columns", guess.columns, default=guess.text_columns, key=f"data.upload.text.{key}"
    )
    labels = places[1].selectbox(
        "Labels column", guess.columns, index=guess.columns.index(guess.labels_column), key=f"data.upload.labels.{key}"
    )
    separator = places[2].selectbox(
        "Labels are separated by", list(SEPARATORS), format_func=SEPARATORS.__getitem__, key=f"data.upload.sep.{key}"
    )
    if not texts:
        raise DataError("no text column is chosen", remedy="choose at least one")
    chosen: dict[str, Any] = {
        "text_columns": texts,
        "labels_column": labels,
        "separator": separator,
        "encoding": encoding,
    }
    seen = preview_table(staged, **chosen)
    field = ""
    if seen.error is not None and "label_field" in str(seen.error):  # records without a usual name
        field = st.text_input("Field of the records that names the label", key=f"data.upload.field.{key}").strip()
        seen = preview_table(staged, **chosen, label_field=field) if field else seen
    if seen.error is not None:
        raise seen.error
    _show_preview(seen)
    options: dict[str, object] = {}
    if seen.needs_options:
        options |= {"text_column": seen.text_columns, "labels_column": seen.labels_column}
    if separator is not None:
        options["separator"] = separator
    if field:
        options["label_field"] = field
    return options if encoding == ENCODINGS[0] else options | {"encoding": encoding}


def _show_preview(seen: Preview) -> None:
    import pandas as pd

    names = {name for labels in seen.labels for name in labels}
    how, found = seen.how.replace("`", ""), f"{len(names):,} different ones in the first {len(seen.texts):,} records"
    st.caption(widgets.plain(f"Labels are read as {how}; {found}."))
    frame = pd.DataFrame(
        {"text": seen.texts[:PREVIEW_ROWS], "labels": [" · ".join(each) for each in seen.labels[:PREVIEW_ROWS]]}
    )
    st.dataframe(frame, hide_index=True, key="data.upload.preview", alt="The first documents with their labels")


def _recognise_format(staged: Path) -> dict[str, object]:
    from xcwork.data.readers import choose_reader

    reader = choose_reader(staged)
    st.caption(f"Recognised as {widgets.plain(reader.TITLE)}.")
    return {}


def _add_dataset(staged: Path, name: str, options: dict[str, object]) -> None:
    """Keep the upload if it can be read; otherwise it is gone, and the sentence says why."""
    with uploads.keep_if_readable(staged, home(), name=name, options=options) as kept:
        st.session_state.pop(STAGED, None)
        source = Source.from_data(kept)
        caches.get_dataset(source)
    st.session_state[ROUND] = st.session_state.get(ROUND, 0) + 1
    open_source(source)
