"""The queues: what belongs into each, in which order, and that planted errors come first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.topics import make_topics, predict_by_name
from xcwork.core.bands import make_absolute_bands
from xcwork.core.dataset import Dataset
from xcwork.core.topk import TopK
from xcwork.data.load import load_dataset
from xcwork.errors import ConfigError, DataError
from xcwork.methods import registry
from xcwork.review.correction import correct_labels
from xcwork.review.evidence import LabelEvidence
from xcwork.review.out_of_fold import assign_folds, predict_out_of_fold
from xcwork.review.queue import QueueName, build_queue, parse_item
from xcwork.studies.planted_errors import measure_precision, plant_errors


def change_test_labels(dataset: Dataset, has_label: dict[tuple[int, int], bool]) -> Dataset:
    return replace(dataset, test=replace(dataset.test, Y=correct_labels(dataset.test.Y, has_label)))


def find_labels(dataset: Dataset, document: int) -> list[int]:
    Y = dataset.test.Y
    return Y.indices[Y.indptr[document] : Y.indptr[document + 1]].tolist()


@pytest.fixture(scope="module")
def topics() -> Dataset:
    return make_topics(n_test=200)


def test_a_label_that_was_taken_away_comes_first_among_the_missing(topics: Dataset) -> None:
    document, label = 17, find_labels(topics, 17)[0]
    queue = build_queue("missing", predict_by_name(topics), change_test_labels(topics, {(document, label): False}))
    [item] = queue.list_items()
    assert item.place == ("test", document, label)
    assert item.id == f"test:{document}:{label}"
    assert not item.is_annotated
    assert item.probability > 0.9
    assert "not annotated" in item.reason


def test_a_label_that_was_added_comes_first_among_the_wrong(topics: Dataset) -> None:
    document = 23
    label = next(label for label in range(6) if label not in find_labels(topics, document))
    queue = build_queue("wrong", predict_by_name(topics), change_test_labels(topics, {(document, label): True}))
    [item] = queue.list_items()
    assert item.place == ("test", document, label)
    assert item.is_annotated
    others = int(topics.test.label_frequencies[label])
    assert f"found in {others:,} of the {others:,} other documents" in item.reason


def test_a_label_that_is_never_found_says_nothing_about_its_annotation(topics: Dataset) -> None:
    topk = predict_by_name(topics)
    without = topk.keep_labels(np.arange(1, 6))  # label 0 is never predicted, although many documents have it
    wrong = build_queue("wrong", without, topics)
    assert 0 not in wrong.pairs.labels
    assert (topics.test.Y.indices == 0).any()


def test_the_same_label_is_more_suspicious_where_the_rest_of_the_document_is_understood(topics: Dataset) -> None:
    ids = predict_by_name(topics).ids.copy()
    scores = predict_by_name(topics).scores.copy()
    ids[0] = np.roll(ids[0], 2)  # nothing of document 0 is found
    strange = find_labels(topics, 0)[0]
    understood = next(i for i in range(1, 200) if strange not in find_labels(topics, i))
    dataset = change_test_labels(topics, {(understood, strange): True})
    queue = build_queue("wrong", TopK(ids, scores), dataset)
    places = list(queue.list_places())
    assert places[0] == ("test", understood, strange)


def test_the_reason_counts_the_other_documents_only(topics: Dataset) -> None:
    """A label that is listed far down here counts as found, but not as found elsewhere."""
    document = 23
    label = next(label for label in range(6) if label not in find_labels(topics, document))
    dataset = change_test_labels(topics, {(document, label): True})
    topk = predict_by_name(topics)
    others = int(topics.test.label_frequencies[label])
    for probability in (0.01, 0.1):
        annotated = np.where(topk.scores > 0.5, 0.9, probability).astype(np.float32)
        [item] = build_queue("wrong", topk, dataset, probabilities=annotated).list_items()
        assert f"found in {others:,} of the {others:,} other documents" in item.reason


def test_near_the_threshold_the_closest_come_first_and_probabilities_of_the_run_are_used(topics: Dataset) -> None:
    topk = predict_by_name(topics)
    rng = np.random.default_rng(1)
    probabilities = np.sort(rng.random(topk.ids.shape).astype(np.float32), axis=1)[:, ::-1]
    queue = build_queue("threshold", topk, topics, probabilities=probabilities, threshold=0.6, limit=50)
    distances = [abs(item.probability - 0.6) for item in queue.list_items()]
    assert distances == sorted(distances)
    assert max(distances) <= 0.1
    expected = np.sort(np.abs(probabilities - 0.6).ravel())[:50]
    np.testing.assert_allclose(distances, expected, atol=1e-6)
    own = np.where(topk.ids == 2, 0.3, 0.9)  # a label with a threshold of its own
    for item in build_queue("threshold", topk, topics, probabilities=probabilities, threshold=own).list_items():
        wanted = 0.3 if item.label == 2 else 0.9
        assert abs(item.probability - wanted) <= 0.1 + 1e-6
        assert item.reason.endswith(f"the threshold of {100 * wanted:.0f} %")


def test_filter_pairs_and_labels_added_later_are_in_no_queue(topics: Dataset) -> None:
    document, label = 17, find_labels(topics, 17)[0]
    dataset = change_test_labels(topics, {(document, label): False})
    filtered = replace(dataset, test=replace(dataset.test, filter_pairs=np.array([[document, label]])))
    topk = predict_by_name(topics)
    assert len(build_queue("missing", topk, filtered)) == 0
    newer = TopK(np.where(topk.ids == label, 99, topk.ids).astype(np.int32), topk.scores)
    assert 99 not in build_queue("missing", newer, topics).pairs.labels


@pytest.mark.parametrize("name", list(QueueName))
def test_nothing_to_review_is_an_empty_queue(name: QueueName, topics: Dataset) -> None:
    empty = replace(topics, test=topics.test.take([]))
    assert len(build_queue(name, TopK.make_empty(0, 5), empty)) == 0
    assert len(build_queue(name, TopK.make_empty(200, 5), topics)) == 0  # a run that predicts nothing at all


@pytest.mark.parametrize("name", list(QueueName))
@given(seed=st.integers(0, 10_000), limit=st.integers(1, 40))
@settings(max_examples=15)
def test_any_predictions_give_the_beginning_of_one_order(name: QueueName, seed: int, limit: int) -> None:
    dataset = make_topics(n_train=10, n_test=40)
    rng = np.random.default_rng(seed)
    ids = np.argsort(rng.random((40, 6)), axis=1).astype(np.int32)
    scores = np.sort(rng.integers(0, 4, (40, 6)).astype(np.float32), axis=1)[:, ::-1].copy()
    queue = build_queue(name, TopK(ids, scores), dataset, limit=limit)
    whole = list(build_queue(name, TopK(ids, scores), dataset, limit=1000).list_places())
    assert list(queue.list_places()) == whole[:limit]
    assert len(set(whole)) == len(whole)
    assert np.isfinite(queue.pairs.strengths).all()
    annotated = dataset.test.has_labels(np.array([place[1:] for place in whole]).reshape(-1, 2).astype(np.int64))
    if name == QueueName.missing:
        assert not annotated.any()
    if name == QueueName.wrong:
        assert annotated.all()


def test_wrong_questions_are_rejected(topics: Dataset) -> None:
    topk = predict_by_name(topics)
    for name, options, what in (
        ("doubtful", {}, "no queue 'doubtful'"),
        ("missing", {"limit": 0}, "at least 1"),
        ("threshold", {"threshold": 80.0}, "between 0 and 1"),
    ):
        with pytest.raises(ConfigError, match=what):
            build_queue(name, topk, topics, **options)
    with pytest.raises(DataError, match="predictions for 3 documents"):
        build_queue("missing", TopK.make_empty(3, 2), topics)
    with pytest.raises(DataError, match="probabilities do not fit"):
        build_queue("missing", topk, topics, probabilities=np.full(topk.ids.shape, np.nan))


@pytest.mark.parametrize("text", ["", "test", "test:1", "test:1:2:3", "test:-1:2", "test:1:x", "dev:1:2", "test:999:0"])
def test_names_of_items_are_checked(text: str, topics: Dataset) -> None:
    with pytest.raises((ConfigError, DataError)):
        parse_item(text, topics)
    assert parse_item("train:3:2", topics) == ("train", 3, 2)


def test_folds_keep_groups_whole_and_cover_every_document(topics: Dataset) -> None:
    grouped = replace(topics.train, groups=[f"g{i // 3}" for i in range(60)])
    folds = assign_folds(grouped, 4, seed=1)
    assert set(folds.tolist()) == {0, 1, 2, 3}
    assert all(len(set(folds[i : i + 3].tolist())) == 1 for i in range(0, 60, 3))
    with pytest.raises(ConfigError, match="number of folds"):
        assign_folds(topics.train, 61)


def test_out_of_fold_predictions_come_from_models_without_the_document(topics: Dataset) -> None:
    """A nearest-document method that had seen a document would repeat its labels whatever they are."""
    rng = np.random.default_rng(0)
    shuffled = replace(topics.train, Y=topics.train.Y[rng.permutation(60)])
    topk = predict_out_of_fold(lambda: registry.create("nearest_documents"), shuffled, n_folds=3, k=2)
    hits = np.mean([shuffled.has_labels(np.array([[i, topk.ids[i, 0]]]))[0] for i in range(60)])
    seen = registry.create("nearest_documents").fit(shuffled).predict(shuffled, 2)
    known = np.mean([shuffled.has_labels(np.array([[i, seen.ids[i, 0]]]))[0] for i in range(60)])
    assert hits < 0.6 < known
    assert len(topk) == 60


def test_planting_changes_exactly_the_pairs_that_it_names(topics: Dataset) -> None:
    planted = plant_errors(topics.train, share=0.2, seed=3)
    before, after = topics.train.Y.toarray(), planted.split.Y.toarray()
    assert len(planted.missing) == round(0.2 * before.sum())
    difference = {(int(i), int(j)): int(after[i, j] - before[i, j]) for i, j in np.argwhere(before != after)}
    expected = {tuple(pair): -1 for pair in planted.missing.tolist()} | {tuple(p): 1 for p in planted.wrong.tolist()}
    assert difference == expected
    again = plant_errors(topics.train, share=0.2, seed=3)
    np.testing.assert_array_equal(planted.missing, again.missing)
    with pytest.raises(ConfigError, match="between 0 and 1"):
        plant_errors(topics.train, share=1.5)


@pytest.mark.slow
def test_errors_planted_into_pyseealso_are_found_far_more_often_than_by_chance(pyseealso_home: Path) -> None:
    train = load_dataset("pyseealso", home=pyseealso_home).train
    planted = plant_errors(train, share=0.05, seed=1)
    topk = predict_out_of_fold(lambda: registry.create("zestxml"), planted.split, n_folds=2, k=50, seed=1)
    evidence = LabelEvidence.from_predictions(topk, planted.split)
    bands = make_absolute_bands(planted.split.label_frequencies)
    for pairs, errors, chance in (
        (evidence.find_missing(), planted.missing, len(planted.missing) / (10 * len(train))),
        (evidence.find_wrong(min_found=1), planted.wrong, len(planted.wrong) / planted.split.Y.nnz),
    ):
        best = pairs.take_strongest(100)
        entries = np.column_stack([best.documents, best.labels])
        figure = measure_precision(entries, errors, train.n_labels, firsts=[100], bands=bands)[0]
        assert figure["precision"] > 5 * 100 * chance
