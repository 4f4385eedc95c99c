"""Ways to a dataset that need no upload: those that are here, a path on this machine, the synthetic generator."""

from __future__ import annotations

from typing import Any

import streamlit as st
from xcwork_app import state, widgets
from xcwork_app.sources import Source

from xcwork.errors import DataError

KNOBS = (
    ("n_documents", "Documents", 5_000, 10, 1_000_000, "Training and test together."),
    ("n_labels", "Labels", 500, 2, 1_000_000, "Of all topics together."),
    ("n_topics", "Topics", 20, 1, 10_000, "A document has one, and its labels belong to it."),
    ("labels_per_document", "Labels per document", 3.0, 0.1, 50.0, "On average."),
    ("unseen_share", "Unseen share", 0.1, 0.0, 0.9, "Labels that no training document has."),
    ("exponent", "Exponent", 1.0, 0.0, 3.0, "Of the power law of frequencies: larger is a longer tail."),
    ("signal", "Signal", 0.4, 0.05, 0.95, "Probability that a relevant label shows each of its terms."),
    ("noise", "Noise", 6.0, 0.0, 100.0, "Terms of irrelevant labels in a document, on average."),
    ("group_size", "Group size", 10, 1, 1_000, "Documents that share a group, for aggregated labels."),
    ("seed", "Seed", 0, 0, 2**31 - 1, "The same seed gives the same data."),
)


def choose_dataset() -> None:
    """Show the datasets that are here as a table; the side bar offers the same."""
    import pandas as pd

    from xcwork.data.load import list_datasets

    entries = list_datasets()
    frame = pd.DataFrame(
        [{"dataset": entry.name, "format": entry.format, "what it is": entry.description} for entry in entries]
    )
    chosen = widgets.show_table(
        frame,
        key="data.choose",
        name="datasets",
        select="single-row",
        alt="The datasets that are here",
        columns={"what it is": st.column_config.TextColumn(width="large")},
    )
    if (row := widgets.take_new_choice(chosen, "data.choose")) is not None:
        open_source(Source(entries[row].name))


def choose_path() -> None:
    """Ask for a file or folder that this machine can read."""
    with st.form("data.path", border=False):
        given = st.text_input(
            "File or folder on this machine",
            key="data.path.text",
            placeholder="/data/eurlex57k",
            help="CSV, TSV, JSONL or Parquet with a text and a labels column; a folder in the format of the Extreme "
            "Classification Repository, PECOS, ZestXML, MULAN, svmlight or idx.",
        )
        options = st.text_input(
            "Options for its reader",
            key="data.path.options",
            placeholder="text_column=body labels_column=tags",
            help="name=value, separated by blanks; data/README.md lists those of each format.",
        )
        if not st.form_submit_button("Load", type="primary"):
            return
    if not given.strip():
        raise DataError("there is no path", remedy="type where the file or folder is")
    from xcwork.data.load import resolve_source
    from xcwork.options import parse_data_options, parse_pairs

    pairs = parse_pairs(options.split(), "options")
    # The worker looks from elsewhere, which is why the location is absolute.
    open_source(Source.from_data(resolve_source(given.strip(), **parse_data_options(options.split())).location, pairs))


def generate_dataset() -> None:
    """Offer a planted model with knobs: data whose best possible ranking is known."""
    with st.form("data.generate", border=False):
        st.caption("Documents drawn from a known model, so that the best possible ranking is known too.")
        values: dict[str, Any] = {}
        for column, (name, label, value, low, high, help) in zip(st.columns(5) + st.columns(5), KNOBS, strict=True):
            values[name] = column.number_input(
                label, min_value=low, max_value=high, value=value, help=help, key=f"data.generate.{name}"
            )
        if not st.form_submit_button("Generate", type="primary"):
            return
    from xcwork.data.planted_model import Planted

    Planted(**values)  # rejects impossible values with a clear message
    usual = {name: value for name, _, value, *_ in KNOBS}
    changed = ",".join(f"{name}={value}" for name, value in values.items() if value != usual[name])
    open_source(Source(f"synthetic:{changed}" if changed else "synthetic"))


def open_source(source: Source) -> None:
    """Make it the dataset of this session."""
    state.update(data=source.id)
    st.rerun()
