"""What can be told from groups: overlaps by hand, and definition 2 on documents whose labels are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from xcwork.core.dataset import Dataset
from xcwork.data.groups import aggregate_labels, draw_random_groups
from xcwork.data.synthetic import make_synthetic
from xcwork.studies.group_limits import (
    compute_overlaps,
    compute_promised_cosine,
    summarise_group_limits,
    tabulate_group_limits,
)


@pytest.fixture(scope="module")
def data() -> Dataset:
    return make_synthetic(n_documents=200, n_labels=30, n_topics=4, labels_per_document=2, unseen_share=0.0, seed=3)


def test_overlaps_by_hand() -> None:
    members = sparse.csr_array(np.array([[1, 1, 0, 0], [0, 1, 1, 0], [1, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]], float))
    overlaps, rivals = compute_overlaps(members)
    assert overlaps.tolist() == [1.0, 0.5, 1.0, 0.0, 0.0]
    assert rivals.tolist() == [2, 0, 0, -1, -1]


def test_labels_that_always_occur_together_cannot_be_told_apart(data: Dataset) -> None:
    twin = data.train.Y.tolil()
    twin[:, [1]] = twin[:, [0]]
    frame = tabulate_group_limits(draw_random_groups(replace(data.train, Y=sparse.csr_array(twin)), 4))
    assert frame["q"][0] == frame["q"][1] == 1
    assert frame["twin"][0]
    assert not frame["can be found"][0]
    assert frame["can be found"].any()
    assert frame["confused with"][0] == data.labels.names[1]


def test_larger_groups_can_tell_less(data: Dataset) -> None:
    lost = [summarise_group_limits(draw_random_groups(data.train, size)).lost_pairs for size in (1, 4, 40)]
    assert lost[0] == 0
    assert lost[1] <= lost[2]
    one_group = summarise_group_limits(draw_random_groups(data.train, len(data.train)))
    assert one_group.n_single == one_group.n_twins == one_group.n_labels
    alone = summarise_group_limits(draw_random_groups(data.train, 1))
    assert (alone.n_single, alone.n_twins, alone.lost_pairs) == (0, 0, 0.0)
    assert one_group.lost_pairs == 100


def test_groups_alone_are_enough_for_q_and_the_truth_adds_separation_and_noise(data: Dataset) -> None:
    grouped = draw_random_groups(data.train, 4)
    known = tabulate_group_limits(grouped)
    assert {"δ", "f", "theorem 3"} <= set(known.columns)
    assert ((known["f"] >= 0) & (known["δ"] <= 2)).all()
    unknown = tabulate_group_limits(aggregate_labels(grouped))
    assert "δ" not in unknown.columns
    assert unknown["q"].tolist() == known["q"].tolist()


def test_the_promise_of_theorem_3_by_hand() -> None:
    assert compute_promised_cosine(0.0, 1.0, 0.0) == 1.0
    assert compute_promised_cosine(1.0, 1.0, 0.0) == -1.0
    left = 1 - 0.2 - 2 * 0.05 / 1.0
    r = 1 / left - 1
    assert compute_promised_cosine(0.2, 1.0, 0.05) == pytest.approx(1 - r * 0.05 - (2**0.5 * r + 2) * 0.05**2)
