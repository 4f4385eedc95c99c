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
from xcwork_app.views import selection

from xcwork.core.bands import Bands, make_absolute_bands, make_share_bands, make_shot_bands
from xcwork.errors import RunError, XcworkError
from xcwork.metrics.by_band import tabulate_bands
from xcwork.metrics.ranking import Placement, place_labels
from xcwork.paths import find_home
from xcwork.runs import Run

if TYPE_CHECKING:
    import pandas as pd

    from xcwork.analysis.label_details import LabelPage
    from xcwork.analysis.outcomes import Outcomes
    from xcwork.analysis.winner import WinnerReasons
    from xcwork.core.dataset import Dataset
    from xcwork.core.topk import TopK

BANDS = {"count": "by count", "share": "in thirds", "shots": "by shots"}
BAND_WORDS = {"head": "Frequent", "torso": "Medium", "tail": "Rare", "zero-shot": "Unseen"}  # for people
MAX_OTHER_RUNS = 8  # that are asked whether they find a label
BAND_MAKERS: dict[str, Callable[[np.ndarray], Bands]] = {
    "count": make_absolute_bands,
    "share": make_share_bands,
    "shots": make_shot_bands,
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
        return not self.dataset.recognises(caches.glance(self.run).measured.get("fingerprint"))

    @cached_property
    def placement(self) -> Placement:
        return place_labels(self.topk, self.dataset.test.Y)

    @cached_property
    def band_table(self) -> dict[str, dict[str, float]]:
        return tabulate_bands(self.placement, self.bands, [self.k])

    @cached_property
    def missed(self) -> pd.DataFrame:
        from xcwork.analysis.errors import list_missed_labels

        return list_missed_labels(self.topk, self.dataset, k=self.k, bands=self.bands)

    @cached_property
    def outcomes(self) -> Outcomes:
        from xcwork.analysis.outcomes import count_outcomes

        return count_outcomes(self.placement, self.bands, self.k)

    @cached_property
    def pairs(self) -> pd.DataFrame:
        from xcwork.analysis.confused_pairs import find_confused_pairs

        return find_confused_pairs(self.topk, self.dataset, k=self.k)

    @cached_property
    def labels(self) -> pd.DataFrame:
        from xcwork.metrics import tabulate_labels

        table = tabulate_labels(self.topk, self.dataset, k=self.k)
        missed = (table["test_documents"] - table[f"hits@{self.k}"]).rename("missed")
        return table.assign(band=self.bands.find_names(table["label_id"].to_numpy()), missed=missed)

    @cached_property
    def likely_missing(self) -> pd.DataFrame:
        from xcwork.analysis.errors import find_likely_missing

        return find_likely_missing(self.topk, self.dataset, depth=self.k)

    @cached_property
    def likely_wrong(self) -> pd.DataFrame:
        from xcwork.analysis.errors import find_likely_wrong

        return find_likely_wrong(self.topk, self.dataset, k=self.k)


def get_findings(run: Run, source: Source, *, k: int, bands: str) -> Findings:
    """Return the findings about a run on the dataset it was trained on, if its predictions still fit."""
    topk, dataset = caches.get_topk(run), caches.get_dataset(source)
    measured = caches.glance(run).measured
    is_known = dataset.recognises(measured.get("fingerprint"))
    if not is_known and (len(topk) != len(dataset.test) or measured.get("n_labels") != len(dataset.labels)):
        raise RunError(f"the run {run.name} was measured on other documents than the dataset has now; train it again")
    stamp = caches.get_stamp(run.folder / "eval")
    return _make_findings(str(run.folder), stamp, source, str(find_home()), source.make_stamp(), k, bands)


@st.cache_resource(max_entries=12, show_spinner=False)
def _make_findings(folder: str, stamp: int, source: Source, where: str, changed: str, k: int, bands: str) -> Findings:
    dataset, run = caches.get_dataset(source), Run(folder)
    return Findings(run, dataset, caches.get_topk(run), BAND_MAKERS[bands](dataset.train.label_frequencies), k)


def get_band_definition() -> str:
    """Return the definition of bands of this session, where a page draws its choice further down."""
    given = state.view().bands
    return given if given in BANDS else next(iter(BANDS))


def name_band(band: str) -> str:
    """Return what a band of labels is called on a page."""
    return BAND_WORDS.get(band, band[:1].upper() + band[1:])


def get_label_page(found: Findings, label: int) -> LabelPage:
    """Return everything about one label on the test split."""
    return _make_label_page(_make_key(found), label, found)


def _make_key(found: Findings) -> tuple[str, int, str, int, str]:
    run = found.run
    return (
        str(run.folder),
        caches.get_stamp(run.folder / "eval"),
        found.dataset.fingerprint,
        found.k,
        found.bands.definition,
    )


@st.cache_resource(max_entries=200, show_spinner=False)
def _make_label_page(key: tuple[str, int, str, int, str], label: int, _found: Findings) -> LabelPage:
    from xcwork.analysis.label_details import make_label_page

    return make_label_page(_found.topk, _found.dataset, label, k=_found.k, bands=_found.bands)


def list_other_ranks(found: Findings, source: Source) -> list[tuple[Run, np.ndarray]]:
    """Return the best other runs on the same data, each with the rank of every true label of the test split."""
    others: list[tuple[Run, np.ndarray]] = []
    measured = [
        run for run in selection.list_runs(source) if caches.get_record(run)["metrics"] and run.id != found.run.id
    ]
    for run in sorted(measured, key=lambda run: -caches.get_record(run)["metrics"].get("P@1", 0.0)):
        if len(others) == MAX_OTHER_RUNS:
            break
        try:
            if found.dataset.recognises(caches.glance(run).measured.get("fingerprint")):
                stamp = caches.get_stamp(run.folder / "eval")
                others.append((run, _rank_true_labels(str(run.folder), stamp, found.dataset.fingerprint, found)))
        except XcworkError:  # a damaged run is left out here; Home names it
            continue
    return others


@st.cache_resource(max_entries=30, show_spinner=False)
def _rank_true_labels(folder: str, stamp: int, fingerprint: str, _found: Findings) -> np.ndarray:
    return place_labels(Run(folder).read_topk(), _found.dataset.test.Y).ranks


def explain_winner(found: Findings, document: int, winner: int, missed: int) -> WinnerReasons:
    """Return why a label stands before a missed one, computed once."""
    stamp = caches.get_stamp(found.run.folder / "model")
    return _explain_winner(str(found.run.folder), stamp, document, winner, missed, found)


@st.cache_resource(max_entries=300, show_spinner=False)
def _explain_winner(
    folder: str, stamp: int, document: int, winner: int, missed: int, _found: Findings
) -> WinnerReasons:
    from xcwork.analysis.winner import explain_winner

    return explain_winner(caches.get_model(Run(folder)), _found.dataset.test.take([document]), winner, missed)


def name_document(found: Findings, document: int) -> str:
    """Return what a test document is called: its id, or how its text begins."""
    from xcwork.analysis.paging import shorten_text
    from xcwork.data.browse import get_document_text

    split = found.dataset.test
    return split.uids[document] if split.uids is not None else shorten_text(get_document_text(split, document), 60)
