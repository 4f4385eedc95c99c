"""Label pages and document tables against counts made by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xcwork.analysis.document_table import add_names, document_labels, documents_page, documents_that_miss
from xcwork.analysis.errors import missed_labels
from xcwork.analysis.label_details import label_page, label_recall, rank_histogram
from xcwork.core.topk import TopK
from xcwork.errors import DataError
from xcwork.metrics import per_document, per_label
from xcwork.metrics.ranking import ABSENT


@pytest.fixture
def predicted() -> TopK:
    """Everybody gets L0, L1, L2, L4 in this order: L0 hits even documents at once, L2 and L4 stand lower."""
    ids = np.tile(np.int32([0, 1, 2, 4]), (8, 1))
    return TopK(ids, np.tile(np.float32([4, 3, 2, 1]), (8, 1)))


def test_a_label_page_counts_right(checkerboard, predicted):
    page = label_page(predicted, checkerboard, "L2", k=2)
    assert (page.name, page.train_documents, page.test_documents, page.hits, page.predicted) == ("L2", 12, 3, 0, 0)
    assert (page.recall, page.precision) == (0.0, None)
    assert page.ranks.set_index("rank")["documents"].to_dict() == {"1": 0, "2": 0, "3": 3, "4": 0, "not listed": 0}
    assert page.misses["document"].tolist() == [0, 2, 4]
    assert page.misses["rank"].tolist() == [3, 3, 3]
    assert page.misses["text"][0] == "red square leaf0"
    assert page.confusable["label"].tolist() == ["L1"]
    assert page.sentence == "L2 (torso) has 12 training documents; among the first 2 of 0 of its 3 test documents."
    found = label_page(predicted, checkerboard, "L0", k=1)
    assert (found.recall, found.precision, len(found.misses)) == (100.0, 37.5, 0)


def test_a_label_without_test_documents(checkerboard, predicted):
    dataset = replace(checkerboard, test=checkerboard.test.take([6, 7]))
    page = label_page(TopK(predicted.ids[:2], predicted.scores[:2]), dataset, "L0")
    assert page.recall is None
    assert page.sentence.endswith("and no test document.")


@given(st.lists(st.one_of(st.integers(1, 130), st.just(ABSENT)), max_size=40), st.integers(1, 120))
def test_every_rank_falls_into_one_bar(ranks, depth):
    table = rank_histogram(np.array([r for r in ranks if r <= depth or r == ABSENT], np.int64), depth)
    assert table["documents"].sum() == len([r for r in ranks if r <= depth or r == ABSENT])
    assert table["rank"].iloc[-1] == "not listed"
    assert table["documents"].iloc[-1] == ranks.count(ABSENT)
    assert table["documents"].iloc[0] == ranks.count(1)


def test_recall_agrees_with_the_table_of_labels(jumble):
    rng = np.random.default_rng(3)
    topk = TopK(
        np.array([rng.permutation(11)[:6] for _ in range(17)], np.int32),
        np.tile(-np.arange(6, dtype=np.float32), (17, 1)),
    )
    expected = per_label(topk, jumble, k=3)["recall@3"].to_numpy()
    assert np.array_equal(label_recall(topk, jumble, k=3), expected, equal_nan=True)


def test_one_document_in_full(checkerboard, predicted):
    table = document_labels(predicted, checkerboard, 0, k=2)
    assert table[["sign", "state", "label", "reason"]].to_numpy().tolist() == [
        ["✓", "hit", "L0", ""],
        ["✗", "false positive", "L1", ""],
        ["○", "miss", "L2", "outranked"],
        ["○", "miss", "L4", "outranked"],
        ["○", "miss", "L6", "not retrieved"],
    ]
    assert table["rank"].fillna(0).tolist() == [1, 2, 3, 4, 0]
    assert document_labels(predicted, checkerboard, 6, k=2)["reason"].tolist()[-1] == "unseen label"
    with pytest.raises(DataError, match="no test document 8"):
        document_labels(predicted, checkerboard, 8)


def test_a_page_of_documents_has_names(checkerboard, predicted):
    table = per_document(predicted, checkerboard, k=2)
    page = documents_page(
        table, predicted, checkerboard, k=2, search="SQUARE", sort="document", descending=True, size=2
    )
    assert (page.total, page.rows["document"].tolist()) == (3, [4, 2])
    assert page.rows.loc[0, ["text", "found", "missed", "wrong"]].tolist() == [
        "red square leaf4",
        "L0",
        "L2 | L4 | L6",
        "L1",
    ]
    only = documents_page(table, predicted, checkerboard, k=2, documents=np.array([7, 1]), where={"hits@2": [0]})
    assert only.rows["document"].tolist() == [7]
    assert len(add_names(table.head(0), predicted, checkerboard)) == 0


def test_documents_that_miss_some_labels(checkerboard, predicted):
    missed = missed_labels(predicted, checkerboard, k=2)
    page = documents_that_miss(missed, checkerboard, [2, 6, 8])
    assert page.rows[["document", "missed_labels", "n_missed"]].to_numpy().tolist()[0][1:] == ["L2 | L6", 2]
    assert sorted(page.rows["document"]) == [0, 2, 4, 6, 7]
    assert documents_that_miss(missed, checkerboard, []).total == 0


def test_misses_of_one_label_are_a_part_of_all(jumble):
    topk = TopK.empty(17, 5)
    every = missed_labels(topk, jumble, k=5)
    for label in range(11):
        alone = missed_labels(topk, jumble, k=5, label=label)
        assert alone["document"].tolist() == every[every["label_id"] == label]["document"].tolist()
