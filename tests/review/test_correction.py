"""What answers come to: decisions, corrected labels and metrics, agreement, a dataset that trains like any other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tests.support.topics import make_topics, predict_by_name
from xcwork.core.dataset import Dataset
from xcwork.data.load import load_dataset
from xcwork.errors import DataError
from xcwork.methods import registry
from xcwork.metrics import HEADLINE_METRICS, evaluate_topk
from xcwork.review.correction import correct_dataset, correct_labels, decide_items, write_corrected_dataset
from xcwork.review.effect import measure_changes, measure_if_confirmed
from xcwork.review.queue import build_queue
from xcwork.review.reviewer_agreement import compare_reviewers
from xcwork.review.verdicts import Answer, ReviewVerdict, VerdictLog


def make_log(*answers: tuple[str, int, int, str, str]) -> VerdictLog:
    """Return a log of (split, document, label, verdict, by)."""
    return VerdictLog(
        tuple(
            Answer(str(number), ReviewVerdict(verdict), "", by, "", "", "", split, document, label, None)
            for number, (split, document, label, verdict, by) in enumerate(answers)
        ),
        (),
    )


def measure(dataset: Dataset, Y: sparse.csr_array) -> dict[str, float]:
    return evaluate_topk(
        predict_by_name(dataset),
        Y,
        frequencies=dataset.train.label_frequencies,
        n_train=len(dataset.train),
        propensity=dataset.propensity,
    )


@pytest.fixture(scope="module")
def topics() -> Dataset:
    return make_topics()


def test_the_majority_decides_unsure_does_not_count_and_a_tie_changes_nothing() -> None:
    decisions = decide_items(
        make_log(
            *[("test", 0, 0, verdict, by) for by, verdict in (("a", "right"), ("b", "wrong"), ("c", "right"))],
            *[("test", 0, 1, verdict, by) for by, verdict in (("a", "right"), ("b", "wrong"))],
            *[("test", 0, 2, verdict, by) for by, verdict in (("a", "unsure"), ("b", "wrong"))],
            ("train", 5, 0, "unsure", "a"),
        )
    )
    assert decisions.has_label == {("test", 0, 0): True, ("test", 0, 2): False}
    assert decisions.disputed == (("test", 0, 1),)


@given(
    rows=st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=1, max_size=6),
    decided=st.dictionaries(st.tuples(st.integers(0, 5), st.integers(0, 3)), st.booleans()),
)
def test_corrected_labels_are_those_of_a_dense_matrix(
    rows: list[list[bool]], decided: dict[tuple[int, int], bool]
) -> None:
    expected = np.array(rows, np.float32)
    decided = {place: has for place, has in decided.items() if place[0] < len(rows)}
    Y = sparse.csr_array(expected)
    for (document, label), has in decided.items():
        expected[document, label] = has
    found = correct_labels(Y, decided)
    np.testing.assert_array_equal(found.toarray(), expected)
    assert found.has_canonical_format


def test_corrected_metrics_are_those_of_the_corrected_labels(topics: Dataset) -> None:
    Y = topics.test.Y.toarray()
    log = make_log(
        ("test", 2, int(np.flatnonzero(Y[2] == 0)[0]), "right", "ann"),
        ("test", 3, int(np.flatnonzero(Y[3])[0]), "wrong", "ann"),
        ("test", 4, int(np.flatnonzero(Y[4])[0]), "right", "ann"),
        ("test", 5, int(np.flatnonzero(Y[5])[0]), "unsure", "ann"),
        ("train", 0, 0, "wrong", "ann"),
    )
    Y[2, log.answers[0].label], Y[3, log.answers[1].label] = 1, 0
    before, after = measure(topics, topics.test.Y), measure(topics, sparse.csr_array(Y))
    changes = measure_changes(predict_by_name(topics), topics, log, n_resamples=200)
    assert [change.metric for change in changes] == list(HEADLINE_METRICS)
    for change in changes:
        assert change.original == pytest.approx(before[change.metric])
        assert change.corrected == pytest.approx(after[change.metric])
        low, high = change.change_interval
        assert low - 1e-9 <= change.change <= high + 1e-9
        low, high = change.original_interval
        assert low - 1e-9 <= change.original <= high + 1e-9


def test_without_answers_nothing_changes(topics: Dataset) -> None:
    for change in measure_changes(predict_by_name(topics), topics, make_log(), n_resamples=50):
        assert change.change == 0
        assert change.change_interval == (0, 0)


@pytest.mark.parametrize("name", ["missing", "wrong"])
def test_if_all_waiting_are_confirmed_is_what_confirming_all_gives(name: str) -> None:
    whole = make_topics(n_test=200)
    Y = whole.test.Y.toarray()
    for document in range(0, 60, 3):  # every third document loses a label, the next one gets a wrong one
        Y[document, np.flatnonzero(Y[document])[0]] = 0
        Y[document + 1, np.flatnonzero(Y[document + 1] == 0)[0]] = 1
    dataset = replace(whole, test=replace(whole.test, Y=sparse.csr_array(Y)))
    topk = predict_by_name(dataset)
    queue = build_queue(name, topk, dataset)
    places = list(queue.list_places())
    assert len(places) > 3
    verdict = "right" if name == "missing" else "wrong"
    some = make_log((*places[0], "unsure", "ann"))
    rest = make_log((*places[0], "unsure", "ann"), *((*place, verdict, "ann") for place in places[1:]))
    expected = {change.metric: change.corrected for change in measure_changes(topk, dataset, rest, n_resamples=2)}
    assert measure_if_confirmed(topk, dataset, some, queue) == pytest.approx(expected)


def test_agreement_is_that_of_a_worked_example() -> None:
    """Fifty items, 20 times both right, 15 times both wrong, 5 and 10 times not: share 70 %, kappa 0.4."""
    answers = (
        [("right", "right")] * 20 + [("wrong", "wrong")] * 15 + [("right", "wrong")] * 5 + [("wrong", "right")] * 10
    )
    log = make_log(
        *(("test", item, 0, first, "ann") for item, (first, _) in enumerate(answers)),
        *(("test", item, 0, second, "bob") for item, (_, second) in enumerate(answers)),
        ("test", 0, 1, "right", "ann"),
        ("test", 0, 0, "right", "carl"),
    )
    pairs = {pair.reviewers: pair for pair in compare_reviewers(log)}
    assert list(pairs) == [("ann", "bob"), ("ann", "carl"), ("bob", "carl")]
    both = pairs["ann", "bob"]
    assert (both.n_items, both.share) == (50, 70.0)
    assert both.kappa == pytest.approx(0.4)
    assert (pairs["ann", "carl"].share, pairs["ann", "carl"].kappa) == (100.0, None)
    assert compare_reviewers(make_log(("test", 0, 0, "right", "ann"))) == []


def test_a_corrected_dataset_loads_and_trains_like_any_other(home: Path, topics: Dataset) -> None:
    Y = topics.train.Y.toarray()
    gone, new = int(np.flatnonzero(Y[0])[0]), int(np.flatnonzero(Y[1] == 0)[0])
    log = make_log(
        ("train", 0, gone, "wrong", "ann"), ("train", 1, new, "right", "ann"), ("test", 0, 0, "unsure", "ann")
    )
    counts = write_corrected_dataset(topics, log, home / "data" / "better")
    assert (counts.added, counts.removed, counts.confirmed, counts.disputed) == (1, 1, 0, 0)
    loaded = load_dataset("better", home=home)
    Y[0, gone], Y[1, new] = 0, 1
    np.testing.assert_array_equal(loaded.train.Y.toarray(), Y)
    np.testing.assert_array_equal(loaded.test.Y.toarray(), topics.test.Y.toarray())
    assert loaded.train.texts == topics.train.texts
    assert loaded.train.uids == topics.train.uids
    assert any("added 1 label and removed 1" in note for note in loaded.notes)
    method = registry.create("one_vs_all").fit(loaded.train)
    assert len(method.predict(loaded.test, 2)) == len(topics.test)
    assert topics.train.Y[[0], [gone]] == 1  # the dataset itself is never changed
    with pytest.raises(DataError, match="this path exists already"):
        write_corrected_dataset(topics, log, home / "data" / "better")


def test_a_second_correction_changes_nothing_more(topics: Dataset) -> None:
    log = make_log(("test", 0, 0, "right", "ann"), ("test", 0, 1, "wrong", "ann"))
    once, _ = correct_dataset(topics, log)
    twice, counts = correct_dataset(once, log)
    assert (counts.added, counts.removed, counts.confirmed) == (0, 0, 2)
    np.testing.assert_array_equal(once.test.Y.toarray(), twice.test.Y.toarray())
