"""The pilot: stratified samples, a race within its time, what is extrapolated, and what is kept of it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xcwork
from xcwork.advice import pilot, pilot_job, recommending, storing
from xcwork.advice.pilot import Racer, extrapolate_precision, try_methods
from xcwork.advice.recommendation import Expectation, TriedMethod
from xcwork.advice.recommending import CostTable, choose_by_pilot, recommend
from xcwork.advice.rules import FOR_THE_BEST, RolePick
from xcwork.advice.sampling import draw_sample, order_by_strata
from xcwork.advice.traits import read_traits
from xcwork.core.dataset import Dataset
from xcwork.data.load import drop_cache, resolve_source
from xcwork.errors import Cancelled, DataError
from xcwork.progress import Callback, listen

DATA = "synthetic:n_documents=400,n_labels=30,n_topics=5,labels_per_document=2,seed=3"


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return xcwork.load_dataset(DATA)


def test_every_beginning_of_the_order_is_a_stratified_sample(dataset: Dataset) -> None:
    train = dataset.train
    order = order_by_strata(train, np.random.default_rng(0))
    assert sorted(order) == list(range(len(train)))
    half = train.take(np.sort(order[: len(train) // 2]))
    frequent = train.label_frequencies >= 4
    share = half.label_frequencies[frequent] / train.label_frequencies[frequent]
    assert abs(share.mean() - 0.5) < 0.05
    # The rarest label of a document is what the strata are made of; a quarter of each stratum is in the first quarter.
    ranks = np.argsort(np.argsort(train.label_frequencies, kind="stable"), kind="stable")
    rarest = np.array([min(ranks[train.Y[[row]].indices], default=-1) for row in range(len(train))])
    below = rarest < np.median(rarest)
    first = order[: len(train) // 4]
    assert below[first].mean() == pytest.approx(below.mean(), abs=0.03)


def test_held_out_documents_are_not_trained_on(dataset: Dataset) -> None:
    sample = draw_sample(dataset.train, seed=1)
    assert set(sample.held.texts).isdisjoint(sample.train.texts)
    assert len(sample.take(50)) == 50
    assert set(sample.take(20).texts) <= set(sample.take(50).texts), "a larger sample contains a smaller one"
    again = draw_sample(dataset.train, seed=1)
    assert again.held.texts == sample.held.texts


def test_documents_without_labels_can_be_ordered(dataset: Dataset) -> None:
    from dataclasses import replace

    from scipy import sparse

    bare = dataset.train.take([0, 1, 2])
    bare = replace(bare, Y=sparse.csr_array(bare.Y.shape, dtype=np.float32))
    assert sorted(order_by_strata(bare, np.random.default_rng(0))) == [0, 1, 2]


def test_the_race_ranks_methods_by_what_they_reach(dataset: Dataset) -> None:
    sample = draw_sample(dataset.train)
    # Where time stands still, nothing is given up, however busy the machine and however long a kernel is compiled.
    candidates = {"popularity": {}, "nearest_documents": {}, "tfidf": {}}
    found = try_methods(sample, candidates, seconds=60, n_all=320, clock=lambda: 0.0)
    assert {each.method for each in found} == {"popularity", "nearest_documents", "tfidf"}
    assert found[-1].method == "popularity"
    values = [each.expected.value for each in found]
    assert values == sorted(values, reverse=True)
    best = found[0]
    assert best.documents[-1] == len(sample.train), "a small dataset is tried as a whole"
    assert best.expected.low <= best.expected.value <= best.expected.high


def test_a_method_that_takes_too_long_is_given_up_and_the_others_go_on(dataset: Dataset) -> None:
    ticks = iter(np.arange(0, 1e6, 2.0))  # every look at the clock takes two seconds
    sample = draw_sample(dataset.train)
    found = try_methods(sample, {"tfidf": {}, "zestxml": {}}, seconds=30, n_all=320, clock=lambda: float(next(ticks)))
    notes = {each.method: each.note for each in found}
    assert "given up" in notes["zestxml"] or "time was over" in notes["zestxml"]


def test_a_refused_method_says_why(dataset: Dataset) -> None:
    sample = draw_sample(dataset.train)
    candidates = {"tfidf": {}, "label_tree": {"kind": "given"}}
    found = try_methods(sample, candidates, seconds=60, n_all=320, clock=lambda: 0.0)
    assert found[0].method == "tfidf"
    assert found[1].expected is None
    assert found[1].note


def test_a_person_can_cancel_it(dataset: Dataset) -> None:
    class Stop(Callback):
        def on_step(self, phase: str, step: int, total: int | None) -> bool:
            return True

    with listen([Stop()]), pytest.raises(Cancelled):
        try_methods(draw_sample(dataset.train), {"tfidf": {}}, seconds=60, n_all=320)


def test_too_few_documents_are_refused() -> None:
    small = xcwork.from_lists([f"word {i}" for i in range(10)], [["a"] if i % 2 else ["b"] for i in range(10)])
    with pytest.raises(DataError, match="too few"):
        recommend(small, minutes=1)


@settings(max_examples=60, deadline=None)
@given(
    st.floats(0, 100),
    st.floats(0, 100),
    st.integers(1, 4),
    st.integers(1, 10),
    st.integers(20, 2000),
)
def test_an_expectation_stays_between_0_and_100_and_in_its_interval(
    before: float, after: float, growth: int, rest: int, held: int
) -> None:
    sizes = (1000, 1000 * (growth + 1))
    found = extrapolate_precision(sizes, (before, after), sizes[1] * rest, held)
    assert 0 <= found.low <= found.value <= found.high <= 100
    if rest == 1 or after <= before:
        assert found.value == pytest.approx(after, abs=0.01), "nothing is added that was not seen to grow"
    else:
        assert found.value >= after - 0.01


def test_growth_is_continued_in_log_odds() -> None:
    # Log-odds that grow by log 2 when documents double: 50 % → 66.7 % → 80 %.
    found = extrapolate_precision((1000, 2000), (50.0, 200 / 3), 4000, 10**6)
    assert found.value == pytest.approx(80.0, abs=0.1)
    assert "points added" in found.basis
    assert found.high - found.value == pytest.approx((80 - 66.7) / 2, abs=0.3), "half of what was added is doubtful"


def make_tried(method: str, value: float | None, seconds: float = 1.0) -> TriedMethod:
    expected = None if value is None else Expectation(value, value - 3, value + 3, "")
    return TriedMethod(method, (100,), (value or 0.0,), (seconds,), expected)


def test_the_three_of_a_pilot_are_the_winner_the_clearest_and_a_fast_one(dataset: Dataset) -> None:
    costs = CostTable(read_traits(dataset), [])
    tried = [make_tried("flat", 70), make_tried("mhs", 69), make_tried("one_vs_all", 65), make_tried("tfidf", 50)]
    assert [pick.method for pick in choose_by_pilot(tried, [], costs)] == ["flat", "one_vs_all", "tfidf"]
    assert choose_by_pilot([make_tried("flat", None)], [], costs) == []


def test_what_the_rule_has_for_the_best_list_is_not_beaten_by_being_slow(dataset: Dataset) -> None:
    costs = CostTable(read_traits(dataset), [])
    ruled = [RolePick(FOR_THE_BEST, "siamesexml", "why")]
    tried = [make_tried("tfidf", 50), make_tried("siamesexml", None)]
    assert [pick.method for pick in choose_by_pilot(tried, ruled, costs)] == ["siamesexml", "tfidf"]
    beaten = [make_tried("tfidf", 50), make_tried("siamesexml", 40)]
    assert choose_by_pilot(beaten, ruled, costs)[0].method == "tfidf"


def test_racers_that_are_far_behind_are_left_out() -> None:
    def ran(method: str, value: float) -> Racer:
        return Racer(method, {}, [1000], [value], [1.0])

    racers = [ran(f"m{at}", value) for at, value in enumerate((60, 59, 58, 57, 56.5, 56.1, 30))]
    assert len(pilot._choose_survivors(racers, 1000, 1000, 500, 0)) == 6
    racers = [ran("best", 60.0), *(ran(f"m{at}", 20.0) for at in range(6))]
    assert len(pilot._choose_survivors(racers, 1000, 1000, 500, 0)) == 3


def test_a_pilot_in_a_process_is_kept_with_its_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "data" / "fruit.csv"
    file.parent.mkdir()
    rows = [f'"{word} and more {word} number {i}",{word}' for i in range(20) for word in ("apple", "pear", "plum")]
    file.write_text("\n".join(["text,labels", *rows]))
    source = resolve_source("fruit.csv", home=tmp_path)
    asked = {"data": str(file), "options": {}, "home": str(tmp_path), "minutes": 1.0, "seed": 0}
    request = pilot_job.locate_file(source, "request.json")
    request.parent.mkdir(parents=True)
    request.write_text(json.dumps(asked))
    monkeypatch.setattr(recommending, "list_usable_methods", lambda: ["tfidf", "nearest_documents", "popularity"])
    assert pilot_job.main(request) == 0
    progress = pilot_job.read_progress(source)
    assert progress.state == "finished"
    fingerprint = source.load().fingerprint
    found = storing.read_recommendation(source, fingerprint)
    assert found.level == "pilot"
    assert found.suggestions[0].expected is not None
    assert storing.read_recommendation(source, "of other data") is None
    storing.locate_recommendation(source, fingerprint).write_text("{")
    assert storing.read_recommendation(source, fingerprint) is None, "a damaged file is not a recommendation"
    drop_cache(file, tmp_path)
    assert not storing.locate_recommendation(source, fingerprint).exists()
    assert pilot_job.read_progress(source) is None


def test_a_pilot_whose_process_is_gone_says_so(tmp_path: Path) -> None:
    source = resolve_source("pyseealso", home=tmp_path)
    (tmp_path / "data" / ".cache").mkdir(parents=True)
    pilot_job._write_progress(source, pilot_job.PilotProgress(pid=2**22 + 1, process="gone"))
    assert pilot_job.read_progress(source).state == "stopped"
    pilot_job.locate_file(source, "progress.json").write_text("[]")
    assert pilot_job.read_progress(source) is None


def test_a_flag_cancels_a_pilot(tmp_path: Path) -> None:
    source = resolve_source("pyseealso", home=tmp_path)
    (tmp_path / "data" / ".cache").mkdir(parents=True)
    reporter = pilot_job.PilotReporter(source, 300)
    reporter.on_phase("trying 3 methods on 100 documents", 3)
    reporter.on_phase("ranking labels", 5)
    assert pilot_job.read_progress(source).phase == "trying 3 methods on 100 documents"
    assert not reporter.on_step("ranking labels", 0, 5)
    assert 0 <= pilot_job.read_progress(source).share < 1
    pilot_job.cancel_pilot(source)
    assert pilot_job.read_progress(source).is_stopping
    assert reporter.on_step("ranking labels", 1, 5)
