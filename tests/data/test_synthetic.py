"""The planted model against enumeration, its samples against its probabilities, and what the dataset promises."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import sparse

from xcwork.core.dataset import Dataset
from xcwork.data import planted_model, synthetic
from xcwork.data.planted_model import Planted
from xcwork.data.synthetic import make_synthetic
from xcwork.errors import ConfigError

TINY = {
    "n_documents": 50,
    "n_labels": 5,
    "n_topics": 2,
    "label_terms": 2,
    "topic_terms": 2,
    "common_terms": 1,
    "text_terms": 1,
    "labels_per_document": 0.8,
    "noise": 1.5,
    "unseen_share": 0.0,
}


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return make_synthetic(n_documents=6_000, n_labels=400, n_topics=10, seed=3)


def enumerated_posterior(model: Planted, present: np.ndarray) -> np.ndarray:
    """P(label relevant | terms, some label relevant) by summing over every topic and every set of labels."""
    m, r = model.label_terms, model.topic_terms
    joint, total = np.zeros(model.n_labels), 0.0
    for topic in range(model.n_topics):
        members = range(model.starts[topic], model.starts[topic + 1])
        nobody = np.prod([1 - model.prior[slot] for slot in members])
        for chosen in product([False, True], repeat=len(members)):
            if not any(chosen):
                continue
            relevant = {slot for slot, yes in zip(members, chosen, strict=True) if yes}
            p = model.topic_prior[topic] / (1 - nobody)
            p *= np.prod([model.prior[s] if s in relevant else 1 - model.prior[s] for s in members])
            rates = np.zeros(model.n_terms)
            rates[: model.n_label_terms] = model.noise / 2 / model.n_label_terms
            rates[members[0] * m : (members[-1] + 1) * m] += model.noise / 2 / (len(members) * m)
            for slot in relevant:
                rates[slot * m : (slot + 1) * m] -= np.log(1 - model.signal)
            topic_terms = slice(model.n_label_terms, model.n_label_terms + model.n_topics * r)
            rates[topic_terms] = planted_model.STRAY_TOPIC_TERMS / (model.n_topics * r)
            first = model.n_label_terms + topic * r
            rates[first : first + r] += planted_model.TOPIC_TERM_RATE
            informative = slice(0, model.n_terms - model.common_terms)
            p *= np.prod(np.where(present, 1 - np.exp(-rates), np.exp(-rates))[informative])
            total += p
            joint[list(relevant)] += p
    by_label = np.empty(model.n_labels)
    by_label[model.label_ids] = joint / total
    return by_label


@pytest.mark.parametrize("seed", range(3))
def test_the_ranking_is_that_of_the_enumerated_posterior(seed):
    model = Planted(**TINY, seed=seed, exponent=1.3)
    rng = np.random.default_rng(seed)
    X = (rng.random((40, model.n_terms)) < 0.4).astype(np.float32)
    X[0] = 0
    topk = model.rank(sparse.csr_array(X), k=5)
    for row in range(len(X)):
        posterior = enumerated_posterior(model, X[row] > 0)
        ours = np.empty(model.n_labels)
        ours[topk.ids[row]] = np.exp(topk.scores[row].astype(np.float64))
        # The scores leave out the division by P(some label | terms), the same for all labels of a document.
        np.testing.assert_allclose(ours / ours.sum(), posterior / posterior.sum(), rtol=2e-4)
        assert (np.diff(topk.scores[row]) <= 0).all()


@pytest.mark.parametrize("k", [1, 2, 3])
def test_few_places_get_the_best_of_all(k):
    model = Planted(n_labels=60, n_topics=6, noise=3.0)
    X = sparse.csr_array((np.random.default_rng(0).random((200, model.n_terms)) < 0.05).astype(np.float32))
    everything = model.rank(X, k=60)
    assert (everything.ids >= 0).all()
    np.testing.assert_array_equal(model.rank(X, k=k).ids, everything.ids[:, :k])


def test_samples_follow_the_probabilities(monkeypatch):
    monkeypatch.setattr(synthetic, "DOCUMENTS_PER_BLOCK", 7_001)  # several blocks, the last one shorter
    model = Planted(n_labels=30, n_topics=3, labels_per_document=2, unseen_share=0.2, seed=5)
    n = 40_000
    terms, Y, topics = synthetic._draw_documents(model, synthetic.TEST_STREAM, n)
    assert (terms.shape, Y.shape) == ((n, model.n_terms), (n, 30))

    def agree(observed: np.ndarray, expected: np.ndarray) -> None:
        errors = np.abs(observed - expected) / np.sqrt(expected * (1 - expected) / n)
        assert errors.max() < 5

    agree(np.bincount(topics, minlength=3) / n, model.topic_prior)
    empty = np.array([np.prod(1 - model.prior[model.topic_of == topic]) for topic in range(3)])
    in_topic = model.prior / (1 - empty[model.topic_of])
    agree(np.bincount(Y.indices, minlength=30)[model.label_ids] / n, model.topic_prior[model.topic_of] * in_topic)
    slot = 4  # every term of one label, when it is relevant and when a document of its topic lacks it
    carries = Y[:, [int(model.label_ids[slot])]].toarray().ravel() > 0
    columns = terms[:, slot * 4 : slot * 4 + 4].toarray()
    noise = model.noise / 2 * (1 / model.n_label_terms + 1 / (10 * model.label_terms))
    shown = 1 - (1 - model.signal) * np.exp(-noise)
    assert columns[carries].mean() == pytest.approx(shown, abs=0.02)
    inside = columns[~carries & (topics == model.topic_of[slot])].mean()
    assert inside == pytest.approx(1 - np.exp(-noise), abs=0.005)
    outside = columns[topics != model.topic_of[slot]].mean()
    assert outside == pytest.approx(1 - np.exp(-model.noise / 2 / model.n_label_terms), abs=0.003)


def test_stated_probabilities_come_true():
    parameters = {"n_documents": 20_000, "n_labels": 300, "n_topics": 6, "labels_per_document": 7.0, "test_share": 0.5}
    test = make_synthetic(**parameters).test
    topk = Planted(**parameters).rank(test.X, k=20)
    stated = np.exp(topk.scores)
    true = np.take_along_axis(test.Y.toarray(), topk.ids.astype(np.int64), axis=1)
    for low in (0.1, 0.3, 0.5, 0.7, 0.9):
        band = (stated >= low) & (stated < low + 0.1)
        assert true[band].mean() == pytest.approx(stated[band].mean(), abs=0.02)


def test_no_simple_method_beats_the_optimum(dataset):
    test, labels = dataset.test, dataset.labels
    Y = test.Y.toarray()

    def precision_at_3(ids: np.ndarray) -> float:
        return float(np.take_along_axis(Y, ids.astype(np.int64), axis=1).mean())

    optimum = precision_at_3(Planted(n_documents=6_000, n_labels=400, n_topics=10, seed=3).rank(test.X, k=3).ids)
    by_text = np.argsort(-(test.X @ labels.Z.T).toarray(), axis=1)[:, :3]
    near = (test.X @ dataset.train.X.T).toarray()
    near[near < np.sort(near, axis=1)[:, [-20]]] = 0
    by_neighbours = np.argsort(-(near @ dataset.train.Y.toarray()), axis=1)[:, :3]
    assert optimum > precision_at_3(by_text) + 0.1
    assert optimum > precision_at_3(by_neighbours) + 0.05
    assert optimum > 0.6


def test_equal_parameters_give_equal_data_and_another_seed_does_not():
    one, same, other = (make_synthetic(n_documents=300, n_labels=60, n_topics=4, seed=seed) for seed in (1, 1, 2))
    assert one.fingerprint == same.fingerprint != other.fingerprint
    assert (one.train.texts, one.train.groups) == (same.train.texts, same.train.groups)


def test_label_frequencies_follow_the_power_law():
    for exponent in (0.7, 1.2):
        model = Planted(n_labels=50_000, n_topics=50, exponent=exponent)
        frequencies = np.sort(model.topic_prior[model.topic_of] * model.prior)[::-1]
        ranks = np.arange(500, 20_000)
        slope = np.polyfit(np.log(ranks), np.log(frequencies[ranks]), 1)[0]
        assert slope == pytest.approx(-exponent, abs=0.1)
    assert np.ptp(Planted(exponent=0.0).prior) < 1e-12


def test_documents_have_the_asked_number_of_labels(dataset):
    per_document = np.diff(dataset.test.Y.indptr)
    assert per_document.min() == 1
    assert per_document.mean() == pytest.approx(3.0 / (1 - np.exp(-3.3)), abs=0.15)
    model = Planted(n_labels=403, n_topics=10)
    sums = np.add.reduceat(model.prior, model.starts[:-1])
    np.testing.assert_allclose(sums, 3.0)
    assert model.prior.max() <= planted_model.MAX_PRIOR


def test_unseen_labels_occur_in_test_documents_only(dataset):
    model = Planted(n_documents=6_000, n_labels=400, n_topics=10, seed=3)
    unseen = model.label_ids[model.unseen]
    assert len(unseen) == 40
    assert dataset.train.label_frequencies[unseen].sum() == 0
    assert dataset.test.label_frequencies[unseen].sum() > 50
    none = make_synthetic(n_documents=4_000, n_labels=40, n_topics=2, unseen_share=0.0)
    assert len(none.unseen_labels) == 0


def test_sizes_names_and_shares(dataset):
    assert (len(dataset.train), len(dataset.test), len(dataset.labels)) == (4_800, 1_200, 400)
    assert len(set(dataset.labels.names)) == 400
    assert len(set(dataset.features.names)) == dataset.features.size == 400 * 4 + 10 * 10 + 200
    assert {"t0_w0", "t9_w9", "t3_w12", "common_0"} <= set(dataset.features.names)
    assert not np.array_equal(np.argsort(-dataset.train.label_frequencies, kind="stable"), np.arange(400))


def test_text_and_features_say_the_same(dataset):
    for texts, matrix in ((dataset.train.texts, dataset.train.X), (dataset.labels.texts, dataset.labels.Z)):
        again = dataset.features.transform(texts)
        np.testing.assert_array_equal(again.indices, matrix.indices)
        np.testing.assert_allclose(again.data, matrix.data, rtol=1e-6)
    name, text = dataset.labels.names[7], dataset.labels.texts[7]
    topic = name.split()[1]
    assert all(word.startswith(f"t{topic}_w") for word in text.split())
    assert len(text.split()) == 4


def test_groups_hold_documents_of_one_topic():
    parameters = {"n_documents": 1_000, "n_labels": 90, "n_topics": 5, "group_size": 7}
    model, dataset = Planted(**parameters), make_synthetic(**parameters)
    topic_of_label = model.topic_of[np.argsort(model.label_ids)]
    members: dict[str, list[int]] = {}
    for row, group in enumerate(dataset.train.groups):
        members.setdefault(group, []).append(row)
    sizes = np.array([len(rows) for rows in members.values()])
    assert sizes.max() == 7
    assert (sizes < 7).sum() <= 5  # at most the last group of each topic is smaller
    for group, rows in members.items():
        topics = set(topic_of_label[dataset.train.Y[rows].indices].tolist())
        assert topics == {int(group.split()[2])}
    assert not set(dataset.train.groups) & set(dataset.test.groups)


def test_large_data_leave_out_the_texts_of_documents(monkeypatch):
    monkeypatch.setattr(synthetic, "MAX_TEXTS", 99)
    dataset = make_synthetic(n_documents=100, n_labels=40, n_topics=2)
    assert dataset.train.texts is None
    assert len(dataset.labels.texts) == 40


def test_a_saved_dataset_comes_back(tmp_path):
    dataset = make_synthetic(n_documents=100, n_labels=40, n_topics=2)
    dataset.save(tmp_path / "s")
    assert Dataset.load(tmp_path / "s").fingerprint == dataset.fingerprint


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_documents": 1}, "n_documents must be a whole number of at least 2"),
        ({"n_labels": 10.5}, "n_labels must be a whole number of at least 1"),
        ({"n_topics": 600}, "more topics .600. than labels .500."),
        ({"text_terms": 5}, "only 4 terms"),
        ({"signal": 1.0}, "signal must lie between 0 and 1"),
        ({"noise": -1.0}, "noise must lie between 0"),
        ({"unseen_share": 1.0}, "unseen_share must lie between 0 and 1"),
        ({"labels_per_document": 20}, "labels_per_document must lie between 0 and 12.5"),
    ],
)
def test_impossible_parameters_are_refused(wrong, message):
    with pytest.raises(ConfigError, match=message):
        make_synthetic(**wrong)


def test_documents_of_another_model_are_refused():
    with pytest.raises(ConfigError, match="has 2400 terms, the documents have 7"):
        Planted().rank(sparse.csr_array((1, 7)))


def test_no_noise_at_all_is_possible():
    parameters = {"n_documents": 400, "n_labels": 40, "n_topics": 2, "noise": 0.0, "unseen_share": 0.0}
    dataset = make_synthetic(**parameters)
    topk = Planted(**parameters).rank(dataset.test.X, k=1)
    shown = np.exp(topk.scores[:, 0]) > 0.999
    assert shown.mean() > 0.9
    assert dataset.test.Y.toarray()[np.arange(len(dataset.test)), topk.ids[:, 0]][shown].all()
