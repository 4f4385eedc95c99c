"""Label details: how often it occurs, how well it is found, where it ends up, what is taken for it.

The table of all labels is `xcwork.metrics.tabulate_labels`. A label's page costs one look-up of the predictions
(`place_labels`) and whatever its own documents need.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from xcwork.analysis.errors import list_missed_labels
from xcwork.analysis.neighbours import find_confusable_labels
from xcwork.analysis.paging import shorten_text
from xcwork.core.bands import Bands, make_absolute_bands
from xcwork.core.dataset import Dataset
from xcwork.core.topk import TopK
from xcwork.data.browse import get_document_text
from xcwork.metrics.ranking import place_labels

if TYPE_CHECKING:
    import pandas as pd

RANK_EDGES = (1, 2, 3, 4, 5, 6, 11, 21, 51, 101)  # the first rank of each bar


@dataclass(frozen=True, eq=False)
class LabelPage:
    """Everything about one label on the test split."""

    label_id: int
    name: str
    text: str
    band: str
    train_documents: int
    test_documents: int
    predicted: int  # documents that have it among the first k
    hits: int
    k: int
    ranks: pd.DataFrame  # see `count_ranks`
    confusable: pd.DataFrame  # see `find_confusable_labels`
    misses: pd.DataFrame  # example documents that miss it

    @property
    def recall(self) -> float | None:
        """Percent of its test documents that have it among the first k; None without such documents."""
        return 100.0 * self.hits / self.test_documents if self.test_documents else None

    @property
    def precision(self) -> float | None:
        """Percent of its predictions that are right; None when it is never predicted."""
        return 100.0 * self.hits / self.predicted if self.predicted else None

    @property
    def sentence(self) -> str:
        """The page in words."""
        seen = f"{self.name} ({self.band}) has {self.train_documents:,} training documents"
        if not self.test_documents:
            return f"{seen} and no test document."
        return f"{seen}; among the first {self.k} of {self.hits:,} of its {self.test_documents:,} test documents."


def make_label_page(
    topk: TopK, dataset: Dataset, label: int | str, *, k: int = 5, examples: int = 20, bands: Bands | None = None
) -> LabelPage:
    """Return the page of a label given by id, name or uid."""
    label, frequencies = dataset.labels.find_id(label), dataset.train.label_frequencies
    bands = make_absolute_bands(frequencies) if bands is None else bands
    placement = place_labels(topk, dataset.test.Y)
    ranks = placement.ranks[placement.truth.indices == label]
    text = "" if dataset.labels.texts is None else dataset.labels.texts[label]
    return LabelPage(
        label_id=label,
        name=dataset.labels.names[label],
        text=text,
        band=str(bands.find_names(np.array([label]))[0]),
        train_documents=int(frequencies[label]),
        test_documents=len(ranks),
        predicted=int((topk.head(k).ids == label).any(axis=1).sum()),
        hits=int((ranks <= k).sum()),
        k=k,
        ranks=count_ranks(ranks, topk.k),
        confusable=find_confusable_labels(topk, dataset, label, k=k),
        misses=_list_misses(topk, dataset, label, k, examples, bands),
    )


def count_ranks(ranks: np.ndarray, depth: int) -> pd.DataFrame:
    """Return how many true labels stand at which ranks of a list of length `depth`: columns rank, documents.

    `ranks` are those of `Placement.ranks`, of one label or of all; what is not in the list has a row of its own.
    """
    import pandas as pd

    edges = [edge for edge in RANK_EDGES if edge <= depth] + [depth + 1]
    counts = [int(((ranks >= low) & (ranks < high)).sum()) for low, high in pairwise(edges)]
    names = [str(low) if high == low + 1 else f"{low}–{high - 1}" for low, high in pairwise(edges)]
    return pd.DataFrame({"rank": [*names, "not listed"], "documents": [*counts, int((ranks > depth).sum())]})


def _list_misses(topk: TopK, dataset: Dataset, label: int, k: int, limit: int, bands: Bands) -> pd.DataFrame:
    """Return test documents that have the label but have it outside the first k, the nearest misses first."""
    missed = list_missed_labels(topk, dataset, k=k, bands=bands, label=label)
    missed = missed.sort_values(["rank", "document"], na_position="last", kind="stable").head(limit)
    columns = ["document", *(["uid"] if "uid" in missed else []), "state", "rank", "score", "top_label", "top_score"]
    chosen = missed[columns].reset_index(drop=True)
    texts = [shorten_text(get_document_text(dataset.test, each)) for each in chosen["document"].tolist()]
    return chosen.assign(text=texts)
