"""Which labels ZestXML lists, where label text says nothing; and the labels that stand in for unseen ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import xcwork
from xcwork.core.topk import MISSING, TopK
from xcwork.data.synthetic import make_synthetic
from xcwork.methods.zestxml.match_weight import fit_match_weight
from xcwork.methods.zestxml.method import ZestXML
from xcwork.methods.zestxml.shortlist import Shortlister, join_shortlists, prepare_documents
from xcwork.methods.zestxml.training import Roles
from xcwork.methods.zestxml.unseen import choose_stand_ins
from xcwork.sparse import normalise_rows


@pytest.fixture(scope="module")
def data():
    return make_synthetic(n_documents=600, n_labels=200, n_topics=4, seed=3)


def scramble_label_texts(data):
    """The same data with the text of every label given to another one."""
    order = np.random.default_rng(0).permutation(len(data.labels))
    labels = replace(data.labels, Z=data.labels.Z[order])
    return replace(data, train=replace(data.train, labels=labels), test=replace(data.test, labels=labels))


def test_labels_are_listed_by_the_cosine_with_their_mean_document(data) -> None:
    X = normalise_rows(data.train.X)
    candidates = np.flatnonzero(data.train.label_frequencies > 0)
    found = Shortlister.from_documents(X, data.train.Y, candidates).find(prepare_documents(X[:20]), 5)
    means = (data.train.Y.T @ X).toarray()[candidates]
    np.put_along_axis(means, np.argsort(-means, axis=1, kind="stable")[:, 100:], 0, axis=1)
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    cosines = X[:20].toarray() @ means.T
    np.testing.assert_allclose(found.scores, -np.sort(-cosines, axis=1)[:, :5], rtol=1e-4)


def test_joined_shortlists_have_every_label_once() -> None:
    ids = [np.array([[3, 1, MISSING], [2, 5, 7]], np.int32), np.array([[1, 4], [MISSING, 2]], np.int32)]
    joined = join_shortlists([TopK(part, np.zeros(part.shape, np.float32)) for part in ids])
    assert [sorted(label for label, _ in joined.get_row(row)) for row in range(2)] == [[1, 3, 4], [2, 5, 7]]


def test_own_weights_bring_up_what_votes_do_not_list(data) -> None:
    model = ZestXML(shortlist=1, unseen_shortlist=0, own_shortlist=200).fit(data.train)
    found = model.predict(data.test, k=5)
    refined = model.model_.refined
    X = normalise_rows(data.test.X)
    roots = X.copy()
    roots.data = np.sqrt(roots.data)
    pair_factor, match_factor = refined.factors[0]
    Z = model.model_.Z
    scores = (
        refined.bias
        + (X @ refined.own).toarray()
        + pair_factor * (X @ refined.shared @ Z.T).toarray()
        + match_factor * (roots @ model.model_.matches @ Z.T).toarray()
    )
    scores[:, ~model.model_.is_seen] = -np.inf
    reached = (X @ refined.own).toarray() != 0
    best = np.sort(np.where(reached, scores, -np.inf), axis=1)[:, ::-1][:, 0]
    np.testing.assert_array_less(best - 1e-4, found.scores[:, 0])


def test_labels_with_texts_of_others_are_found_almost_as_well(data) -> None:
    scrambled = scramble_label_texts(data)
    model = ZestXML(match_weight=0.0).fit(scrambled.train)
    by_votes = ZestXML(match_weight=0.0, nearest_shortlist=0, own_shortlist=0, shortlist=10).fit(scrambled.train)
    listed, by_votes_alone = (
        one.diagnose(scrambled.test)["shortlist recall, seen labels"] for one in (model, by_votes)
    )
    assert listed > by_votes_alone
    assert listed > 90


def test_labels_with_one_document_stand_in_and_else_the_rarest() -> None:
    frequencies = np.r_[np.zeros(5, int), np.ones(60, int), np.full(200, 9)]
    np.testing.assert_array_equal(choose_stand_ins(frequencies), np.arange(5, 65))
    frequencies = np.r_[np.zeros(5, int), 1, 1, np.full(30, 7), np.full(70, 3)]
    stand_ins = choose_stand_ins(frequencies)
    assert len(stand_ins) == 10
    assert {5, 6} < set(stand_ins.tolist())
    assert set(frequencies[stand_ins].tolist()) == {1, 3}


def test_few_documents_validate_in_greater_number_and_teach_later(data) -> None:
    params = ZestXML().fit(data.train).model_.params
    roles = Roles.from_split(data.train, params)
    assert roles.learns_later
    assert roles.validates.sum() == len(data.train) // 10
    without_unseen = replace(data.train, Y=sparse.csr_array(np.ones((len(data.train), len(data.labels)), np.float32)))
    roles = Roles.from_split(without_unseen, params)
    assert not roles.learns_later
    assert roles.validates.sum() == round(params.validation * len(data.train))


def test_every_seed_gives_unseen_labels_nearly_the_same_scale(data) -> None:
    models = [ZestXML(seed=seed).fit(data.train) for seed in range(3)]
    precision = [xcwork.evaluate(model, data).metrics["P@1"] for model in models]
    assert np.std(precision) < 2.5
    matches = [model.model_.refined.factors[1, 1] for model in models]
    assert max(matches) < 2 * min(matches)


def test_matches_count_for_nothing_where_labels_have_texts_of_others(data) -> None:
    told = ZestXML().fit(data.train).model_.refined.factors[0, 1]
    misled = ZestXML().fit(scramble_label_texts(data).train)
    assert misled.model_.refined.factors[0, 1] < 0.2 * told
    by_votes, _ = misled.model_.ranker.shortlisters[0]
    assert by_votes.weights.matches.data.max() < 0.2 * told * misled.model_.idf.max()


@pytest.mark.parametrize(("size", "weight"), [(-2.0, 0.0), (2.0, 0.5), (0.5, 1.5)])
def test_the_weight_of_matches_is_their_slope_within_limits(size: float, weight: float) -> None:
    rng = np.random.default_rng(0)
    relevant = rng.random(4000) < 0.1
    matches = np.where(relevant, size, -size)  # what separates the two best has the slope 1 / size
    scores = np.column_stack([rng.normal(size=4000), matches])
    assert fit_match_weight(scores, relevant, 1.5) == pytest.approx(weight, abs=0.05)


def test_few_relevant_pairs_say_nothing_about_matches() -> None:
    assert fit_match_weight(np.ones((200, 2)), np.arange(200) < 5, 0.3) == 0.3


def test_a_label_added_to_few_labels_is_listed_by_its_words() -> None:
    """Ten labels and their texts say nothing about how far a text can be trusted; that must not make it worthless."""
    words = {f"topic{i}": [f"word{i}a", f"word{i}b", f"word{i}c"] for i in range(10)}
    rng = np.random.default_rng(0)
    names = [str(name) for name in rng.choice(list(words), 300)]
    texts = [" ".join([*rng.choice(words[name], 2, replace=False), *rng.choice(list("efghkmnp"), 3)]) for name in names]
    data = xcwork.from_lists(texts, [[name] for name in names])
    assert len(choose_stand_ins(data.train.label_frequencies)) == 0
    model = ZestXML(validation=0.1).fit(data.train)
    model.add_labels(["word3a word7b"], names=["new"])
    best = model.predict(["word3a word7b"], k=3)
    assert "new" in best.to_frame()["label"].tolist()
