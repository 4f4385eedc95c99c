"""What a person needs to answer one item: why the label is suggested, who has it, and what other runs say.

Each is computed for one item when it is looked at, in milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from xcwork.analysis.neighbours import find_documents_with
from xcwork.analysis.paging import shorten_text
from xcwork.core.dataset import Dataset
from xcwork.core.explanation import ANY_DOCUMENT
from xcwork.core.split import Split
from xcwork.core.topk import TopK
from xcwork.data.browse import get_document_text
from xcwork.methods.base import Method
from xcwork.review.documents import TRAIN, get_split
from xcwork.sparse import sum_squares

N_REASONS = 3
N_NEIGHBOURS = 3
MAX_COMPARED_DOCUMENTS = 20_000  # with a very frequent label, an evenly spaced sample is searched


@dataclass(frozen=True)
class ItemDetails:
    """Reasons, neighbours and other opinions about one item."""

    reasons: list[dict[str, Any]]  # document_term, label_term, value: the largest parts of the explanation
    neighbours: list[dict[str, Any]]  # document, uid, text, similarity: training documents that have the label
    other_runs: dict[str, int | None]  # rank of the label in each; None: not listed
    annotated_labels: list[str]  # names of the labels that the document has


def gather_details(
    dataset: Dataset,
    item: tuple[str, int, int],
    *,
    method: Method | None = None,
    others: Mapping[str, TopK] | None = None,
) -> ItemDetails:
    """Return all details of an item; without `method` there are no reasons.

    `others` are predictions of further runs for the split of the item.
    """
    name, document, label = item
    split = get_split(dataset, name)
    Y = split.Y
    annotated = Y.indices[Y.indptr[document] : Y.indptr[document + 1]]
    return ItemDetails(
        [] if method is None else find_reasons(method, split, document, label),
        find_neighbours(dataset, item),
        {run: find_rank(topk, document, label) for run, topk in (others or {}).items()},
        [dataset.labels.names[label] for label in sorted(annotated.tolist())],
    )


def find_reasons(method: Method, split: Split, document: int, label: int) -> list[dict[str, Any]]:
    """Return the largest parts of the explanation that depend on the document, if there are any."""
    parts = method.explain(split.take([document]), label).parts
    own = [part for part in parts if part.document_term != ANY_DOCUMENT] or parts
    return [
        {"document_term": part.document_term, "label_term": part.label_term, "value": round(part.value, 4)}
        for part in own[:N_REASONS]
    ]


def find_neighbours(dataset: Dataset, item: tuple[str, int, int], *, n: int = N_NEIGHBOURS) -> list[dict[str, Any]]:
    """Return the training documents with the label that are most similar to the document of the item, by cosine."""
    name, document, label = item
    train, split = dataset.train, get_split(dataset, name)
    rows = find_documents_with(train.Y, label)
    if name == TRAIN:
        rows = rows[rows != document]
    rows = rows[:: max(1, -(-len(rows) // MAX_COMPARED_DOCUMENTS))]
    cosines = _compute_cosines(train.X[rows], split.X[[document]])
    return [
        {
            "document": int(rows[at]),
            "uid": None if train.uids is None else train.uids[rows[at]],
            "text": shorten_text(get_document_text(train, int(rows[at]))),
            "similarity": round(float(cosines[at]), 4),
        }
        for at in np.lexsort((rows, -cosines))[:n].tolist()
    ]


def _compute_cosines(rows: sparse.csr_array, row: sparse.csr_array) -> np.ndarray:
    """Return the cosine of each of `rows` with the one `row`, 0 with an empty one, (n_rows,)."""
    lengths = np.sqrt(sum_squares(rows) * sum_squares(row))
    products = rows @ row.toarray().ravel()  # a dense vector is four times as fast as a sparse one
    return np.divide(products, lengths, out=np.zeros(len(lengths)), where=lengths > 0)


def find_rank(topk: TopK, document: int, label: int) -> int | None:
    """Return the rank of a label in the list of a document, from 1."""
    slots = np.flatnonzero(topk.ids[document] == label)
    return int(slots[0]) + 1 if len(slots) else None
