"""Hiding labels: nothing of them is left in training, everything else stays."""

from __future__ import annotations

import numpy as np
import pytest

from xcwork.core.dataset import Dataset
from xcwork.data.synthetic import make_synthetic
from xcwork.errors import ConfigError
from xcwork.studies.zero_shot import compare_hidden_shares, hide_labels


@pytest.fixture(scope="module")
def data() -> Dataset:
    return make_synthetic(n_documents=300, n_labels=40, n_topics=5, unseen_share=0.0, seed=1)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_a_share_of_the_labels_loses_all_training_pairs(data: Dataset, share: float) -> None:
    before = data.train.label_frequencies
    after = hide_labels(data, share).train.label_frequencies
    hidden = (before > 0) & (after == 0)
    assert hidden.sum() == round(share * np.count_nonzero(before))
    assert np.array_equal(after[~hidden], before[~hidden])


def test_documents_and_the_test_split_stay(data: Dataset) -> None:
    hidden = hide_labels(data, 0.5)
    assert len(hidden.train) == len(data.train)
    assert hidden.test is data.test
    assert hide_labels(data, 0.0).train.Y.nnz == data.train.Y.nnz


def test_a_seed_decides_which(data: Dataset) -> None:
    first, again, other = (hide_labels(data, 0.3, seed).train.label_frequencies for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_everything_cannot_be_hidden(data: Dataset) -> None:
    with pytest.raises(ConfigError, match="below 1"):
        hide_labels(data, 1.0)


def test_text_finds_hidden_labels_and_memory_does_not(data: Dataset) -> None:
    frame = compare_hidden_shares(data, ["tfidf", "label_tree"], shares=(0.5,)).set_index("method")
    assert frame["unseen P@1"]["tfidf"] > frame["unseen P@1"]["label_tree"] == 0
