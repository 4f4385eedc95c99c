"""What is known about the predictions of a run, kept between reruns; and the choices of k and of bands behind it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import caches, state, widgets
from xcwork_app.sources import Source

from xcwork.core.bands import absolute_bands, share_bands, shot_bands
from xcwork.errors import RunError
from xcwork.metrics.by_band import band_table
from xcwork.metrics.ranking import Placement, place
from xcwork.paths import home
from xcwork.runs import Run

if TYPE_CHECKING:
    import pandas as pd

    from xcwork.core.bands import Bands
    from xcwork.core.dataset import Dataset
    from xcwork.core.topk import TopK

BANDS = {"count": "by count", "share": "by share", "shots": "by shots"}
_MAKERS = {"count": absolute_bands, "share": share_bands, "shots": shot_bands}
EVERY = "all bands"


@dataclass(frozen=True, eq=False)
class Findings:
    """The predictions of one run among the first k; every table is made when first asked for."""

    run: Run
    dataset: Dataset
    topk: TopK
    bands: Bands
    k: int

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


def find(run: Run, source: Source, *, k: int, bands: str) -> Findings:
    """The findings about a run on the dataset it was trained on."""
    check(run, caches.dataset(source), caches.topk(run))
    return _find(str(run.folder), caches.stamp(run.folder / "eval"), source, str(home()), source.stamp(), k, bands)


@st.cache_resource(max_entries=12, show_spinner=False)
def _find(folder: str, stamp: int, source: Source, where: str, changed: str, k: int, bands: str) -> Findings:
    dataset = caches.dataset(source)
    run, bands_of_labels = Run(folder), _MAKERS[bands](dataset.train.label_frequencies)
    return Findings(run, dataset, caches.topk(run), bands_of_labels, k)


def check(run: Run, dataset: Dataset, topk: TopK) -> None:
    """Say that the data changed since the run was measured; refuse when its predictions no longer fit."""
    measured = run.config.get("dataset") or {}
    if dataset.recognises(measured.get("fingerprint")):
        return
    if len(topk) != len(dataset.test) or measured.get("n_labels") != len(dataset.labels):
        raise RunError(f"the run {run.name} was measured on other documents than the dataset has now; train it again")
    st.warning(
        "The dataset has changed since this run was measured, so the numbers here may differ from its report.",
        icon=":material/warning:",
    )


def bands_in_use() -> str:
    """The definition of bands of this session, where a page draws its choice further down."""
    given = state.view().bands
    return given if given in BANDS else next(iter(BANDS))


def choose_bands(key: str) -> str:
    """Which definition of bands is used."""
    return widgets.choice(
        "Bands of labels",
        "bands",
        BANDS,
        key=key,
        help="By count: head, torso and tail have more than 50, 6 to 50 and 1 to 5 training documents. By share: each "
        "carries about a third of all training positives. By shots: many-shot, few-shot (1 to 3) and zero-shot.",
    )


def choose_length(key: str) -> int:
    """How many labels of each list count as predicted."""
    st.session_state[key] = state.view().k
    return st.number_input(
        "First k labels",
        1,
        100,
        key=key,
        width=140,
        help="A true label beyond the first k counts as missed.",
        on_change=lambda: state.update(k=int(st.session_state[key])),
    )


def choose_band(found: Findings, key: str) -> str | None:
    """One band to look at; None for all."""
    st.session_state[key] = state.one_of("band", found.bands.names, EVERY, f"“{EVERY}”")
    chosen = st.selectbox(
        "Band",
        [EVERY, *found.bands.names],
        key=key,
        width=160,
        on_change=lambda: state.update(band="" if st.session_state[key] == EVERY else st.session_state[key]),
    )
    return None if chosen == EVERY else chosen
