"""A file or folder that this machine can read becomes a dataset; it stays where it is."""

from __future__ import annotations

import streamlit as st
from xcwork_app import caches
from xcwork_app.panels.data.staging import show_source
from xcwork_app.sources import Source

from xcwork.errors import DataError


def show() -> None:
    """Ask for a path and options of its reader."""
    with st.form("data.path", border=False):
        given = st.text_input(
            "File or folder on this machine",
            key="data.path.text",
            placeholder="/data/eurlex57k",
            help="CSV, TSV, JSON, Excel or Parquet with a text and a labels column; a folder in the format of the "
            "Extreme Classification Repository, PECOS, ZestXML, MULAN, svmlight or idx.",
        )
        options = st.text_input(
            "Options for its reader",
            key="data.path.options",
            placeholder="text_column=body labels_column=tags",
            help="name=value, separated by spaces; data/README.md lists those of each format.",
        )
        st.caption("The files stay where they are; later changes to them are noticed.")
        if not st.form_submit_button("Add dataset", type="primary", key="data.path.add"):
            return
    if not given.strip():
        raise DataError("there is no path", remedy="type where the file or folder is")
    from xcwork.data.load import resolve_source
    from xcwork.options import parse_data_options, parse_pairs

    pairs = parse_pairs(options.split(), "options")
    # The worker looks from elsewhere, which is why the location is absolute.
    found = resolve_source(given.strip(), **parse_data_options(options.split()))
    source = Source.from_data(found.location, pairs)
    with st.spinner("Reading the data."):
        caches.get_dataset(source)  # what cannot be read is said here, and not added
    show_source(source)
