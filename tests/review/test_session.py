"""The review of a run as pages and commands use it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.topics import make_topics, predict_by_name
from xcwork.core.dataset import Dataset
from xcwork.core.topk import TopK
from xcwork.decisions.choice import NEVER_ASSIGN, Decisions
from xcwork.errors import DataError, RunError
from xcwork.methods import registry
from xcwork.review.details import find_neighbours, find_rank, gather_details
from xcwork.review.queue import MAX_DISTANCE
from xcwork.review.session import RunReview, read_other_runs, tabulate_answers
from xcwork.review.verdicts import store_request


class StoredRun:
    """A run with predictions but no files."""

    def __init__(self, name: str, dataset: Dataset | None, topk: TopK | None, home: Path) -> None:
        self.id, self.name, self.home, self._topk = f"id-{name}", name, home, topk
        self._decisions = Decisions()
        self.config: dict[str, Any] = {"dataset": dataset and {"fingerprint": dataset.fingerprint}}

    def read_decisions(self) -> Decisions:
        return self._decisions

    def read_topk(self) -> TopK:
        if self._topk is None:
            raise RunError("not finished")
        return self._topk


@pytest.fixture(scope="module")
def topics() -> Dataset:
    return make_topics(n_test=100)


def test_answers_take_the_number_waiting_down_and_undo_restores_it(home: Path, topics: Dataset) -> None:
    review = RunReview.from_run(StoredRun("a", topics, predict_by_name(topics), home), topics, threshold=0.95)  # type: ignore[arg-type]
    queue = review.queue("threshold")
    places = list(queue.list_places())
    before = queue.count_answered(review.read_verdicts())
    assert before["waiting"] == len(places) > 2
    stored = review.answer(places[0], "right", by="ann", queue="threshold")
    assert stored.probability == pytest.approx(queue.list_items(0, 1)[0].probability, abs=1e-4)
    review.answer(places[1], "wrong", by="ann")
    after = review.queue("threshold").count_answered(review.read_verdicts())
    assert (after["waiting"], after["right"], after["wrong"]) == (before["waiting"] - 2, 1, 1)
    undone = review.undo(by="ann")
    assert undone is not None
    assert undone.item == places[1]
    assert queue.count_answered(review.read_verdicts())["waiting"] == before["waiting"] - 1
    assert review.undo(by="bob") is None
    assert list(review.queue("threshold").list_places()) == places  # the order does not depend on the answers
    # Somebody who opens the page again sees the same.
    again = RunReview.from_run(StoredRun("b", topics, predict_by_name(topics), home), topics)  # type: ignore[arg-type]
    assert [answer.item for answer in again.read_verdicts().answers] == places[:1]
    table = tabulate_answers(topics, again.read_verdicts())
    assert table[["uid", "verdict", "by", "run"]].to_numpy().tolist() == [
        [f"test{places[0][1]}", "right", "ann", "id-a"],
    ]


def test_what_a_person_puts_into_the_review_waits_there_with_its_source(home: Path, topics: Dataset) -> None:
    short = predict_by_name(topics).head(2)  # so that some label is not listed
    review = RunReview.from_run(StoredRun("a", topics, short, home), topics)  # type: ignore[arg-type]
    assert len(review.queue("requested")) == 0
    listed = ("test", 7, int(review.topk.ids[7, 1]))
    unlisted = ("test", 3, next(label for label in range(len(topics.labels)) if label not in review.topk.ids[3]))
    for item in (listed, unlisted, listed):  # twice is once
        store_request(home, review.keys, item, by=" ann  lee ", run="id-a", probability=review.get_probability(item))
    store_request(home, review.keys, ("train", 1, 0), by="ann lee")  # of the other split
    queue = review.queue("requested")
    assert list(queue.list_places()) == [listed, unlisted]
    first, second = queue.list_items()
    assert (first.rank, second.rank) == (2, None)
    assert first.probability == pytest.approx(review.get_probability(listed), abs=1e-4)
    assert first.reason == f"added by ann lee; predicted at rank 2 with {100 * first.probability:.0f} %"
    assert second.reason == "added by ann lee; not predicted"
    review.answer(listed, "right", by="bob", queue="requested")
    counts = review.queue("requested").count_answered(review.read_verdicts())
    assert (counts["total"], counts["waiting"], counts["right"]) == (2, 1, 1)
    assert review.summarise()["queues"]["requested"]["waiting"] == 1
    assert review.read_verdicts().problems == ()
    with pytest.raises(DataError, match="no document 100000"):
        store_request(home, review.keys, ("test", 100_000, 0), by="ann")


def test_the_threshold_queue_is_about_the_thresholds_stored_with_the_run(home: Path, topics: Dataset) -> None:
    run: Any = StoredRun("a", topics, predict_by_name(topics), home)
    usual = RunReview.from_run(run, topics).queue("threshold")
    assert usual.thresholds is not None
    assert set(usual.thresholds.tolist()) <= {0.8}
    run._decisions = Decisions(assign=0.95)
    raised = RunReview.from_run(run, topics).queue("threshold")
    assert set(raised.thresholds.tolist()) == {0.95}  # type: ignore[union-attr]
    assert all(abs(item.probability - 0.95) <= MAX_DISTANCE + 1e-6 for item in raised.list_items())
    assert list(raised.list_places()) == list(
        RunReview.from_run(run, topics, threshold=0.95).queue("threshold").list_places()
    )
    run._decisions = Decisions(assign=NEVER_ASSIGN)
    assert len(RunReview.from_run(run, topics).queue("threshold")) == 0


def test_other_runs_on_the_same_data_are_read_and_the_rest_is_left_out(home: Path, topics: Dataset) -> None:
    topk = predict_by_name(topics)
    run, twin, twin2 = (StoredRun(name, topics, topk, home) for name in ("main", "twin", "twin"))
    twin2.id = "id-a-second-twin"
    elsewhere = StoredRun("elsewhere", make_topics(seed=5, n_test=100), topk, home)
    unfinished = StoredRun("unfinished", topics, None, home)
    new = StoredRun("new", None, None, home)
    runs: Any = [run, twin, twin2, elsewhere, unfinished, new]
    found = read_other_runs(runs[0], runs, topics, "test")
    assert set(found) == {"twin", "id-a-second-twin"}
    item = ("test", 3, int(topk.ids[3, 1]))
    assert gather_details(topics, item, others=found).other_runs == {"twin": 2, "id-a-second-twin": 2}
    assert find_rank(topk.head(1), 3, item[2]) is None


def test_neighbours_have_the_label_are_nearest_first_and_never_the_document_itself(topics: Dataset) -> None:
    label = 2
    row = int(topics.train.Y[:, [label]].nonzero()[0][0])
    found = find_neighbours(topics, ("train", row, label), n=5)
    assert len(found) == 5
    assert row not in [neighbour["document"] for neighbour in found]
    similarities = [neighbour["similarity"] for neighbour in found]
    assert similarities == sorted(similarities, reverse=True)
    assert all("topic2" in neighbour["text"].split() for neighbour in found)


def test_a_label_without_training_documents_has_no_neighbours(checkerboard: Dataset) -> None:
    assert find_neighbours(checkerboard, ("test", 0, 8)) == []


def test_every_kind_of_method_gives_reasons(topics: Dataset) -> None:
    for name in ("one_vs_all", "nearest_documents", "popularity"):
        method = registry.create(name).fit(topics.train)
        reasons = gather_details(topics, ("test", 0, 0), method=method).reasons
        assert len(reasons) <= 3
        assert all(set(reason) == {"document_term", "label_term", "value"} for reason in reasons)
    assert reasons  # popularity has nothing but what does not depend on the document
