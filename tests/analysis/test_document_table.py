"""Document tables against counts made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from xcwork.analysis.document_table import (
    add_names,
    find_documents_that_miss,
    list_document_labels,
    take_documents_page,
)
from xcwork.analysis.errors import list_missed_labels
from xcwork.core.topk import TopK
from xcwork.errors import DataError
from xcwork.metrics import tabulate_documents


@pytest.fixture
def predicted() -> TopK:
    """Everybody gets L0, L1, L2, L4 in this order: L0 hits even documents at once, L2 and L4 stand lower."""
    ids = np.tile(np.int32([0, 1, 2, 4]), (8, 1))
    return TopK(ids, np.tile(np.float32([4, 3, 2, 1]), (8, 1)))


def test_one_document_in_full(checkerboard, predicted):
    table = list_document_labels(predicted, checkerboard, 0, k=2)
    assert table[["sign", "state", "label", "reason"]].to_numpy().tolist() == [
        ["✓", "hit", "L0", ""],
        ["✗", "false positive", "L1", ""],
        ["○", "miss", "L2", "outranked"],
        ["○", "miss", "L4", "outranked"],
        ["○", "miss", "L6", "not listed"],
    ]
    assert table["rank"].fillna(0).tolist() == [1, 2, 3, 4, 0]
    assert list_document_labels(predicted, checkerboard, 6, k=2)["reason"].tolist()[-1] == "not listed, unseen label"
    with pytest.raises(DataError, match="no test document 8"):
        list_document_labels(predicted, checkerboard, 8)


def test_a_page_of_documents_has_names(checkerboard, predicted):
    table = tabulate_documents(predicted, checkerboard, k=2)
    page = take_documents_page(
        table, predicted, checkerboard, k=2, search="SQUARE", sort="document", descending=True, size=2
    )
    assert (page.total, page.rows["document"].tolist()) == (3, [4, 2])
    assert page.rows.loc[0, ["text", "found", "missed", "wrong"]].tolist() == [
        "red square leaf4",
        "L0",
        "L2 | L4 | L6",
        "L1",
    ]
    only = take_documents_page(table, predicted, checkerboard, k=2, documents=np.array([7, 1]), where={"hits@2": [0]})
    assert only.rows["document"].tolist() == [7]
    assert len(add_names(table.head(0), predicted, checkerboard)) == 0


def test_documents_that_miss_some_labels(checkerboard, predicted):
    missed = list_missed_labels(predicted, checkerboard, k=2)
    page = find_documents_that_miss(missed, checkerboard, [2, 6, 8])
    assert page.rows[["document", "missed_labels", "n_missed"]].to_numpy().tolist()[0][1:] == ["L2 | L6", 2]
    assert sorted(page.rows["document"]) == [0, 2, 4, 6, 7]
    assert find_documents_that_miss(missed, checkerboard, []).total == 0


def test_misses_of_one_label_are_a_part_of_all(jumble):
    topk = TopK.make_empty(17, 5)
    every = list_missed_labels(topk, jumble, k=5)
    for label in range(11):
        alone = list_missed_labels(topk, jumble, k=5, label=label)
        assert alone["document"].tolist() == every[every["label_id"] == label]["document"].tolist()
