"""Label pages against counts made by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xcwork.analysis.label_details import count_ranks, make_label_page
from xcwork.core.topk import TopK
from xcwork.metrics.ranking import ABSENT


@pytest.fixture
def predicted() -> TopK:
    """Everybody gets L0, L1, L2, L4 in this order: L0 hits even documents at once, L2 and L4 stand lower."""
    ids = np.tile(np.int32([0, 1, 2, 4]), (8, 1))
    return TopK(ids, np.tile(np.float32([4, 3, 2, 1]), (8, 1)))


def test_a_label_page_counts_right(checkerboard, predicted):
    page = make_label_page(predicted, checkerboard, "L2", k=2)
    assert (page.name, page.train_documents, page.test_documents, page.hits, page.predicted) == ("L2", 12, 3, 0, 0)
    assert (page.recall, page.precision) == (0.0, None)
    assert page.ranks.set_index("rank")["documents"].to_dict() == {"1": 0, "2": 0, "3": 3, "4": 0, "not listed": 0}
    assert page.misses["document"].tolist() == [0, 2, 4]
    assert page.misses["rank"].tolist() == [3, 3, 3]
    assert page.misses["text"][0] == "red square leaf0"
    assert page.confusable["label"].tolist() == ["L1"]
    assert page.sentence == "L2 (torso) has 12 training documents; among the first 2 of 0 of its 3 test documents."
    found = make_label_page(predicted, checkerboard, "L0", k=1)
    assert (found.recall, found.precision, len(found.misses)) == (100.0, 37.5, 0)


def test_a_label_without_test_documents(checkerboard, predicted):
    dataset = replace(checkerboard, test=checkerboard.test.take([6, 7]))
    page = make_label_page(TopK(predicted.ids[:2], predicted.scores[:2]), dataset, "L0")
    assert page.recall is None
    assert page.sentence.endswith("and no test document.")


@given(st.lists(st.one_of(st.integers(1, 130), st.just(ABSENT)), max_size=40), st.integers(1, 120))
def test_every_rank_falls_into_one_bar(ranks, depth):
    table = count_ranks(np.array([r for r in ranks if r <= depth or r == ABSENT], np.int64), depth)
    assert table["documents"].sum() == len([r for r in ranks if r <= depth or r == ABSENT])
    assert table["rank"].iloc[-1] == "not listed"
    assert table["documents"].iloc[-1] == ranks.count(ABSENT)
    assert table["documents"].iloc[0] == ranks.count(1)
