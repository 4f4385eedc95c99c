"""Made-up data: documents drawn from a known model, so that the best possible ranking is known too."""

from __future__ import annotations

from typing import Any

import streamlit as st
from xcwork_app.panels.data.staging import show_source
from xcwork_app.sources import Source

KNOBS = (
    ("n_documents", "Documents", 5_000, 10, 1_000_000, "Training and test together."),
    ("n_labels", "Labels", 500, 2, 1_000_000, "Across all topics."),
    ("n_topics", "Topics", 20, 1, 10_000, "Each document has one, and its labels come from it."),
    ("labels_per_document", "Labels per document", 3.0, 0.1, 50.0, "On average."),
    ("unseen_share", "Unseen share", 0.1, 0.0, 0.9, "Labels that no training document has."),
    ("exponent", "Exponent", 1.0, 0.0, 3.0, "Of the power law of frequencies: larger means a longer tail."),
    ("signal", "Signal", 0.4, 0.05, 0.95, "Probability that a relevant label shows each of its terms."),
    ("noise", "Noise", 6.0, 0.0, 100.0, "Terms of irrelevant labels in a document, on average."),
    ("group_size", "Group size", 10, 1, 1_000, "Documents per group, for methods that learn from groups."),
    ("seed", "Seed", 0, 0, 2**31 - 1, "The same seed gives the same data."),
)


def show() -> None:
    """Show the knobs of the model."""
    with st.form("data.generate", border=False):
        st.caption("Documents drawn from a known model, so that the best possible ranking is known too.")
        values: dict[str, Any] = {}
        for column, (name, label, value, low, high, help) in zip(st.columns(5) + st.columns(5), KNOBS, strict=True):
            values[name] = column.number_input(
                label, min_value=low, max_value=high, value=value, help=help, key=f"data.generate.{name}"
            )
        if not st.form_submit_button("Add dataset", type="primary", key="data.generate.add"):
            return
    from xcwork.data.planted_model import Planted

    Planted(**values)  # rejects impossible values with a clear message
    usual = {name: value for name, _, value, *_ in KNOBS}
    changed = ",".join(f"{name}={value}" for name, value in values.items() if value != usual[name])
    show_source(Source(f"synthetic:{changed}" if changed else "synthetic"))
