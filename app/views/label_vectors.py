"""The label vectors of a run, read once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import caches
from xcwork_app.views.run_findings import Findings

from xcwork.runs import Run

if TYPE_CHECKING:
    from xcwork.core.dataset import Dataset
    from xcwork.layout.label_vectors import LabelVectors


def get_label_vectors(found: Findings) -> LabelVectors:
    """Return the label vectors of the run."""
    folder = found.run.folder
    return _read_label_vectors(
        str(folder), caches.get_stamp(folder / "model"), found.dataset.fingerprint, found.dataset
    )


@st.cache_resource(max_entries=3, show_spinner="Reading the label vectors.")
def _read_label_vectors(folder: str, stamp: int, fingerprint: str, _dataset: Dataset) -> LabelVectors:
    from xcwork.layout.label_vectors import LabelVectors

    return LabelVectors.from_method(caches.get_model(Run(folder)), _dataset.labels, _dataset.train)
