"""Test documents with what a model found in them: hits, misses and false positives, by name.

`take_documents_page` puts names to the rows of one page of `xcwork.metrics.tabulate_documents`, and
`list_document_labels` shows one document in full. Names are looked up for what is shown, never for all documents.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from xcwork.analysis.errors import list_missed_labels
from xcwork.analysis.paging import Page, shorten_text, take_page
from xcwork.core.bands import Bands, make_absolute_bands
from xcwork.core.dataset import Dataset
from xcwork.core.split import Split
from xcwork.core.topk import TopK
from xcwork.data.browse import find_documents, get_document_text
from xcwork.errors import DataError
from xcwork.metrics.per_item import JudgedLabels, judge_labels

if TYPE_CHECKING:
    import pandas as pd

HIT = "hit"
FALSE_POSITIVE = "false positive"
MISS = "miss"
UNKNOWN = "unknown"
SIGNS = {HIT: "✓", FALSE_POSITIVE: "✗", MISS: "○", UNKNOWN: "·"}  # beside the word, so that colour never stands alone
SEPARATOR = " | "


def list_document_labels(
    topk: TopK, dataset: Dataset, document: int, *, k: int = 5, bands: Bands | None = None
) -> pd.DataFrame:
    """Return the first k predictions of one test document, then its missed labels with rank, score and the reason."""
    import pandas as pd

    test, frequencies = dataset.test, dataset.train.label_frequencies
    if not 0 <= document < len(test):
        raise DataError(f"there is no test document {document}; they go from 0 to {len(test) - 1}")
    bands = make_absolute_bands(frequencies) if bands is None else bands
    listed = topk.get_row(document)
    rank_of = {label: (slot + 1, score) for slot, (label, score) in enumerate(listed)}
    true = test.Y.indices[test.Y.indptr[document] : test.Y.indptr[document + 1]].tolist()
    first = [label for label, _ in listed[:k]]
    missed = sorted(set(true) - set(first), key=lambda label: (rank_of.get(label, (np.inf,))[0], label))
    reasons = _find_reasons(topk, dataset, document, k, bands) if missed else {}
    labels = np.array(first + missed, dtype=np.int64)
    inside = labels < len(bands.of_label)
    bands_of_labels = bands.find_names(np.where(inside, labels, 0)).tolist()
    ranks = [rank_of.get(label, (np.nan, np.nan)) for label in labels.tolist()]
    state = [HIT if label in set(true) else FALSE_POSITIVE for label in first] + [MISS] * len(missed)
    columns = {
        "sign": [SIGNS[each] for each in state],
        "state": state,
        "label_id": labels,
        "label": [topk.get_name(i) if topk.labels is not None else dataset.labels.names[i] for i in labels.tolist()],
        "rank": pd.array([rank for rank, _ in ranks], dtype="Int64"),
        "score": [score for _, score in ranks],
        "band": [name if known else None for name, known in zip(bands_of_labels, inside.tolist(), strict=True)],
        "train_documents": np.where(inside, frequencies[np.where(inside, labels, 0)], 0),
        "reason": [reasons.get(label, "") for label in labels.tolist()],
    }
    return pd.DataFrame(columns)


def _find_reasons(topk: TopK, dataset: Dataset, document: int, k: int, bands: Bands) -> dict[int, str]:
    alone = replace(dataset, test=dataset.test.take([document]))
    row = replace(topk, ids=topk.ids[[document]], scores=topk.scores[[document]])
    missed = list_missed_labels(row, alone, k=k, bands=bands)
    return dict(zip(missed["label_id"].tolist(), missed["state"].tolist(), strict=True))


def take_documents_page(
    table: pd.DataFrame,
    topk: TopK,
    dataset: Dataset,
    *,
    k: int = 5,
    search: str = "",
    where: Mapping[str, Collection[Any]] | None = None,
    documents: np.ndarray | None = None,
    sort: str | None = None,
    descending: bool = False,
    start: int = 0,
    size: int = 50,
) -> Page:
    """Return a page of test documents with their texts and the names of found, missed and wrongly predicted labels.

    `table` is `tabulate_documents(topk, dataset, k=k)`, which is worth keeping between pages. `search` looks at texts,
    uids and the names of true labels; `documents` restricts the rows.
    """
    rows = table
    if documents is not None:
        rows = rows[np.isin(rows["document"].to_numpy(), documents)]
    if search.strip():
        rows = rows[np.isin(rows["document"].to_numpy(), find_documents(dataset.test, search=search))]
    page = take_page(rows, where=where, sort=sort, descending=descending, start=start, size=size)
    return Page(add_names(page.rows, topk, dataset, k=k), page.total, page.start)


def add_names(rows: pd.DataFrame, topk: TopK, dataset: Dataset, *, k: int = 5) -> pd.DataFrame:
    """Return `rows` (with a column `document`) with the text and the found, missed and wrong labels by name."""
    test, listed = dataset.test, topk.head(k).ids
    space = dataset.labels if topk.labels is None else topk.labels
    judged = [judge_labels(listed[document], test, document) for document in rows["document"].tolist()]
    names = {
        outcome: [SEPARATOR.join(space.names[label] for label in getattr(each, outcome)) for each in judged]
        for outcome in JudgedLabels._fields
    }
    return add_texts(rows, test).assign(**names)


def find_documents_that_miss(
    missed: pd.DataFrame, dataset: Dataset, labels: Collection[int], *, start: int = 0, size: int = 100
) -> Page:
    """Return the test documents that miss any of `labels` (a lasso on the map, say), most missed labels first.

    `missed` is `list_missed_labels(topk, dataset, k=k)`.
    """
    page = take_page(list_misses_by_document(missed, labels), start=start, size=size)
    test = dataset.test
    rows = page.rows
    if test.uids is not None:
        rows = rows.assign(uid=[test.uids[i] for i in rows["document"].tolist()])
    return Page(add_texts(rows, test), page.total, page.start)


def list_misses_by_document(missed: pd.DataFrame, labels: Collection[int]) -> pd.DataFrame:
    """Return all documents that miss any of `labels`: document, missed_labels (names), n_missed, best_rank."""
    chosen = missed[missed["label_id"].isin(list(labels))]
    by_document = chosen.groupby("document", sort=True).agg(
        missed_labels=("label", SEPARATOR.join), n_missed=("label", "size"), best_rank=("rank", "min")
    )
    return by_document.reset_index().sort_values(["n_missed", "document"], ascending=False, kind="stable")


def add_texts(rows: pd.DataFrame, split: Split) -> pd.DataFrame:
    """Return `rows` (with a column `document`) with the beginning of each text."""
    return rows.assign(text=[shorten_text(get_document_text(split, i)) for i in rows["document"].tolist()])
