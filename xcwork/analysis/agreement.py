"""Two runs document by document.

A document is *better* with a run when it has true labels among the first k that the reference lacks there and loses
none; *worse* the other way round; *mixed* when it wins some and loses some; *alike* otherwise. Every document has one
of these states. Summed over bands and over labels this says what a difference in P@k is made of.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from xcwork.analysis.paging import look_up_names
from xcwork.core.bands import Bands, make_absolute_bands
from xcwork.core.dataset import Dataset
from xcwork.core.labels import LabelSpace
from xcwork.core.topk import TopK
from xcwork.metrics.ranking import place_labels

if TYPE_CHECKING:
    import pandas as pd

BETTER = "better"
MIXED = "mixed"
ALIKE = "alike"
WORSE = "worse"
SEPARATOR = " | "  # between names of labels


@dataclass(frozen=True, eq=False)
class Changes:
    """What a run finds that the reference does not, and the other way round."""

    documents: pd.DataFrame  # document, uid, state, won, lost, won_labels, lost_labels; without unchanged ones
    counts: dict[str, int]  # documents in each state
    bands: pd.DataFrame  # band, won, lost, net
    labels: pd.DataFrame  # label_id, label, won, lost, net; largest change first

    @property
    def sentence(self) -> str:
        """The outcome in words."""
        c = self.counts
        return f"{c[BETTER]:,} documents better, {c[MIXED]:,} mixed, {c[ALIKE]:,} alike, {c[WORSE]:,} worse."


def find_better_and_worse(
    run: TopK, reference: TopK, dataset: Dataset, *, k: int = 5, bands: Bands | None = None
) -> Changes:
    """Return the test documents on which two runs find different true labels among the first k."""
    import pandas as pd

    bands = make_absolute_bands(dataset.train.label_frequencies) if bands is None else bands
    placement = place_labels(run, dataset.test.Y)
    found, before = placement.ranks <= k, place_labels(reference, dataset.test.Y).ranks <= k
    is_won, is_lost = found & ~before, before & ~found  # (nnz,)
    labels, documents, n = placement.truth.indices, placement.documents, placement.n_documents
    won, lost = (np.bincount(documents[some], minlength=n) for some in (is_won, is_lost))
    state = np.select([(won > 0) & (lost > 0), won > 0, lost > 0], [MIXED, BETTER, WORSE], ALIKE)
    changed = np.flatnonzero(state != ALIKE)
    names = [_join_names(dataset.labels, labels, placement.truth.indptr, some, changed) for some in (is_won, is_lost)]
    uids = {} if dataset.test.uids is None else {"uid": [dataset.test.uids[i] for i in changed.tolist()]}
    table = pd.DataFrame(
        {
            "document": changed,
            **uids,
            "state": state[changed],
            "won": won[changed],
            "lost": lost[changed],
            "won_labels": names[0],
            "lost_labels": names[1],
        }
    )
    counts = {each: int((state == each).sum()) for each in (BETTER, MIXED, ALIKE, WORSE)}
    by_band = _count_balance(bands.of_label[labels], is_won, is_lost, len(bands.names)).assign(band=list(bands.names))
    by_label = _count_balance(labels, is_won, is_lost, len(dataset.labels))
    by_label = by_label[(by_label["won"] > 0) | (by_label["lost"] > 0)].rename_axis("label_id").reset_index()
    by_label.insert(1, "label", look_up_names(dataset.labels, by_label["label_id"].to_numpy()))
    order = np.lexsort((by_label["label_id"], -(by_label["won"] + by_label["lost"]), -by_label["net"].abs()))
    return Changes(table, counts, by_band[["band", "won", "lost", "net"]], by_label.iloc[order].reset_index(drop=True))


def _count_balance(groups: np.ndarray, is_won: np.ndarray, is_lost: np.ndarray, size: int) -> pd.DataFrame:
    import pandas as pd

    won, lost = (np.bincount(groups[some], minlength=size) for some in (is_won, is_lost))
    return pd.DataFrame({"won": won, "lost": lost, "net": won - lost})


def _join_names(
    space: LabelSpace, labels: np.ndarray, indptr: np.ndarray, chosen: np.ndarray, documents: np.ndarray
) -> list[str]:
    """Return the names of the chosen true labels of each document."""
    rows = [labels[indptr[i] : indptr[i + 1]][chosen[indptr[i] : indptr[i + 1]]] for i in documents.tolist()]
    return [SEPARATOR.join(str(name) for name in look_up_names(space, row)) for row in rows]
