"""What is known about the predictions of a run, kept between reruns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from xcwork_app import caches, state
from xcwork_app.sources import Source

from xcwork.core.bands import Bands, absolute_bands, share_bands, shot_bands
from xcwork.errors import RunError
from xcwork.metrics.by_band import band_table
from xcwork.metrics.ranking import Placement, place
from xcwork.paths import home
from xcwork.runs import Run

if TYPE_CHECKING:
    import pandas as pd

    from xcwork.core.dataset import Dataset
    from xcwork.core.topk import TopK

BANDS = {"count": "by count", "share": "by share", "shots": "by shots"}
BAND_MAKERS: dict[str, Callable[[np.ndarray], Bands]] = {
    "count": absolute_bands,
    "share": share_bands,
    "shots": shot_bands,
}


@dataclass(frozen=True, eq=False)
class Findings:
    """The predictions of one run among the first k; every table is computed on first use."""

    run: Run
    dataset: Dataset
    topk: TopK
    bands: Bands
    k: int

    @property
    def is_outdated(self) -> bool:
        """Whether the dataset has changed since the run was measured."""
        return not self.dataset.recognises((self.run.config.get("dataset") or {}).get("fingerprint"))

    @cached_property
    def placement(self) -> Placement:
        return place(self.topk, self.dataset.test.Y)

    @cached_property
    def band_table(self) -> dict[str, dict[str, float]]:
        return band_table(self.placement, self.bands, [self.k])

    @cached_property
    def missed(self) -> pd.DataFrame:
        from xcwork.analysis.errors import missed_labels

        return missed_labels(self.topk, self.dataset, k=self.k, bands=self.bands)

    @cached_property
    def triage(self) -> pd.DataFrame:
        from xcwork.analysis.errors import triage

        return triage(self.missed, self.bands)

    @cached_property
    def documents(self) -> pd.DataFrame:
        from xcwork.metrics import per_document

        return per_document(self.topk, self.dataset, k=self.k)

    @cached_property
    def labels(self) -> pd.DataFrame:
        from xcwork.metrics import per_label

        table = per_label(self.topk, self.dataset, k=self.k)
        missed = (table["test_documents"] - table[f"hits@{self.k}"]).rename("missed")
        return table.assign(band=self.bands.names_of(table["label_id"].to_numpy()), missed=missed)

    @cached_property
    def likely_missing(self) -> pd.DataFrame:
        from xcwork.analysis.errors import likely_missing

        return likely_missing(self.topk, self.dataset, depth=self.k)

    @cached_property
    def likely_wrong(self) -> pd.DataFrame:
        from xcwork.analysis.errors import likely_wrong

        return likely_wrong(self.topk, self.dataset, k=self.k)


def get_findings(run: Run, source: Source, *, k: int, bands: str) -> Findings:
    """Return the findings about a run on the dataset it was trained on, if its predictions still fit."""
    topk, dataset = caches.get_topk(run), caches.get_dataset(source)
    measured = run.config.get("dataset") or {}
    is_known = dataset.recognises(measured.get("fingerprint"))
    if not is_known and (len(topk) != len(dataset.test) or measured.get("n_labels") != len(dataset.labels)):
        raise RunError(f"the run {run.name} was measured on other documents than the dataset has now; train it again")
    stamp = caches.get_stamp(run.folder / "eval")
    return _make_findings(str(run.folder), stamp, source, str(home()), source.stamp(), k, bands)


@st.cache_resource(max_entries=12, show_spinner=False)
def _make_findings(folder: str, stamp: int, source: Source, where: str, changed: str, k: int, bands: str) -> Findings:
    dataset, run = caches.get_dataset(source), Run(folder)
    return Findings(run, dataset, caches.get_topk(run), BAND_MAKERS[bands](dataset.train.label_frequencies), k)


def get_band_definition() -> str:
    """Return the definition of bands of this session, where a page draws its choice further down."""
    given = state.view().bands
    return given if given in BANDS else next(iter(BANDS))
