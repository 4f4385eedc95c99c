"""Held-out documents come in whole groups wherever labels are those of a group."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from xcwork.core.features import Features
from xcwork.core.held_out import keep_groups_whole, number_groups
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.data.groups import aggregate_labels, draw_random_groups, find_groups_sharing_labels
from xcwork.data.hashing import hash_documents
from xcwork.methods.model import Params
from xcwork.methods.multihead.training import TrainingRows
from xcwork.methods.registry import create
from xcwork.methods.siamesexml import fusion, training
from xcwork.methods.siamesexml.corpus import TokenCorpus
from xcwork.methods.zestxml.training import Roles


@pytest.fixture
def bags() -> Split:
    """200 documents in bags of 5, each with the labels of its bag."""
    rng = np.random.default_rng(3)
    X = sparse.csr_array(rng.random((200, 12), dtype=np.float32))
    has_label = rng.random((200, 9)) < 0.2
    has_label[:, 0] = True  # no document is without a label
    Y = sparse.csr_array(has_label.astype(np.float32))
    labels = LabelSpace([f"label {i}" for i in range(9)], Z=X[:9])
    return aggregate_labels(draw_random_groups(Split(X, Y, labels, Features(12)), 5, seed=1))


def torn(split: Split, held: np.ndarray) -> set[str]:
    """The groups with members on both sides."""
    is_held = np.isin(np.arange(len(split)), held)
    return {split.groups[row] for row in np.flatnonzero(is_held)} & {
        split.groups[row] for row in np.flatnonzero(~is_held)
    }


def test_documents_without_a_group_are_numbered_one_by_one():
    assert number_groups(["x", "", "y", "x", ""]).tolist() == [0, 1, 2, 0, 3]


def test_groups_are_held_out_as_long_as_they_fit():
    group_of = np.array([0, 0, 0, 1, 1, 2, 3])
    assert keep_groups_whole(np.array([3, 0, 5]), group_of).tolist() == [3, 4, 5]
    assert keep_groups_whole(np.array([5, 6]), group_of).tolist() == [5, 6]
    assert keep_groups_whole(np.array([0]), group_of).tolist() == [5]  # nothing drawn fits: the smallest group
    assert keep_groups_whole(np.array([], np.int64), group_of).tolist() == []


def test_without_groups_what_was_drawn_is_held_out():
    drawn = np.array([4, 1])
    assert keep_groups_whole(drawn, None) is drawn
    assert keep_groups_whole(drawn, np.zeros(6, np.int64)) is drawn  # one group of all separates nothing


def test_documents_with_labels_of_their_own_may_be_separated(bags):
    assert find_groups_sharing_labels(replace(bags, groups=None)) is None
    own = sparse.csr_array(np.eye(200, 9, dtype=np.float32))
    assert find_groups_sharing_labels(replace(bags, Y=own)) is None
    assert find_groups_sharing_labels(bags).max() == 39


def test_a_split_holds_out_whole_bags(bags):
    rest, held = bags.hold_out(0.2)
    assert len(held) == 40
    assert not set(rest.groups) & set(held.groups)


def test_zestxml_validates_on_whole_bags(bags):
    roles = Roles.from_split(bags, Params(create("zestxml", validation=0.2).get_params()))
    assert roles.validates.sum() == 40
    assert not torn(bags, np.flatnonzero(roles.validates))


def test_multihead_validates_on_whole_bags(bags):
    kept, held = TrainingRows.from_split(bags, 0.2, seed=0)
    assert len(held) == 40
    assert not torn(bags, held)
    assert sorted([*kept, *held]) == list(range(200))


def test_siamesexml_validates_on_whole_bags(bags):
    nothing = sparse.csr_array(bags.Y.shape, dtype=np.float32)
    corpus = TokenCorpus(
        bags.X, bags.Y, nothing, bags.labels.Z, bags.X.shape[1], group_of=find_groups_sharing_labels(bags)
    )
    folds = training.split_folds(corpus, Params({"validation": 0.2, "seed": 0, "alpha": None}))
    assert len(folds) == 2
    for fold in folds:
        assert len(fold.validation_rows) == 40
        assert not torn(bags, fold.validation_rows)
        assert sorted([*fold.rows, *fold.validation_rows]) == list(range(200))
        assert len(np.unique(corpus.take(fold.validation_rows).group_of)) == 8


def test_siamesexml_chooses_weights_on_whole_bags(bags, monkeypatch):
    """Each draw learns from a part of the documents; no bag may lie partly in it."""
    learned_from = []
    ascent = fusion.FactorAscent.run
    monkeypatch.setattr(fusion.FactorAscent, "run", lambda self: learned_from.append(self.documents) or ascent(self))
    ids = np.tile(np.arange(9, dtype=np.int32), (200, 1))
    values = np.random.default_rng(0).random((len(fusion.SCORE_NAMES), 200, 9), np.float32)
    places = list(range(len(fusion.SCORE_NAMES)))
    group_of = find_groups_sharing_labels(bags)
    fusion.choose_weights(fusion.ScoredCandidates(ids, values), bags.Y, bags.label_frequencies, places, group_of)
    left_out = [np.flatnonzero(~documents) for documents in learned_from if not documents.all()]
    assert len(left_out) >= fusion.MIN_DRAWS
    assert not any(torn(bags, documents) for documents in left_out)


def test_eagle_tells_its_learner_about_the_bags(bags):
    assigned = create("eagle", assign="all").assign_labels(bags).train
    np.testing.assert_array_equal(find_groups_sharing_labels(assigned), find_groups_sharing_labels(bags))


def test_documents_without_a_group_do_not_end_up_on_the_same_side():
    X = sparse.csr_array(np.eye(50, dtype=np.float32))
    hashes = hash_documents(X=X, texts=None, uids=None, groups=["g", "g", *[""] * 48])
    assert hashes[0] == hashes[1]
    assert len(np.unique(hashes)) == 49
