"""EAGLE: the method around any learner."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.support.brief_training import BRIEF
from tests.support.planted_groups import planted
from tests.support.stub_encoder import FunctionEncoder, HashedWords, use_encoder
from xcwork.core.dataset import Dataset
from xcwork.data.groups import aggregate_labels, draw_random_groups
from xcwork.errors import ConfigError
from xcwork.methods.base import Method
from xcwork.methods.eagle.method import LEARNERS
from xcwork.methods.registry import create
from xcwork.progress import Callback

pytestmark = pytest.mark.slow


class Heard(Callback):
    def __init__(self) -> None:
        self.values: dict[str, float] = {}

    def on_values(self, phase: str, values: dict[str, float]) -> None:
        self.values |= values


def test_assigning_beats_sharing_and_the_oracle_beats_both():
    split, test = planted()
    found = {}
    for name, params in {"oracle": {"assign": "truth"}, "baseline": {"assign": "all"}, "eagle": {}}.items():
        model = create("eagle", learner="one_vs_all", **params).fit(split)
        best = model.predict(test, k=1).ids[:, 0]
        found[name] = np.asarray(test.Y[np.arange(len(test)), best]).mean()
    assert found["oracle"] >= found["eagle"] > found["baseline"]


def test_the_truth_is_only_looked_at_to_report_precision():
    split, test = planted()
    heard = Heard()
    told = create("eagle", learner="one_vs_all", merge="set").fit(split, callbacks=[heard])
    hidden = create("eagle", learner="one_vs_all", merge="set").fit(aggregate_labels(split))
    np.testing.assert_array_equal(told.predict(test, k=5).ids, hidden.predict(test, k=5).ids)
    assert heard.values["assignment_precision"] == told.diagnose(test)["assignment_precision"] > 0.5
    assert hidden.diagnose(test) == {}


def test_groups_are_made_on_request():
    split, test = planted()
    bare = replace(split, groups=None)
    given_by_data = create("eagle", learner="one_vs_all", seed=0).fit(split)
    made = create("eagle", learner="one_vs_all", grouping="random", group_size=5, seed=0).fit(bare)
    np.testing.assert_array_equal(given_by_data.predict(test, k=3).ids, made.predict(test, k=3).ids)
    clusters = create("eagle", grouping="clusters", depth=3).group_documents(bare)
    assert len(set(clusters.groups)) == 8


def test_the_learner_takes_its_own_parameters():
    split, _ = planted()
    model = create("eagle", learner="nearest_documents", learner_params="neighbours=3, seed=9").fit(split)
    assert model.model_.learner.get_params()["neighbours"] == 3
    assert model.model_.learner.seed == 9
    assert create("eagle", learner="one_vs_all", seed=4).fit(split).model_.learner.seed == 4
    for params, message in {
        "neighbours": "learner_params takes name=value, got 'neighbours'; write seed=1, epochs=5",
        "trees=3": "NearestDocuments has no parameter 'trees'; it has seed, ",
        "neighbours=0": "neighbours must be at least 1, got 0",
    }.items():
        with pytest.raises(ConfigError, match=message):
            create("eagle", learner="nearest_documents", learner_params=params)
    with pytest.raises(ConfigError, match="learner must be one of"):
        create("eagle", learner="eagle")


@pytest.mark.parametrize(
    ("learner", "given", "expected"),
    [
        ("siamesexml", "graphs=text,centroids", {"graphs": "text,centroids"}),
        ("siamesexml", " graphs = text, centroids , epochs = 2,", {"graphs": "text, centroids", "epochs": 2}),
        ("mhc", "epochs=2,heads=4,3", {"epochs": 2, "heads": "4,3"}),
        ("label_tree", ",trees=1,,C=0.5,", {"trees": 1, "C": 0.5}),
        ("label_tree", "", {}),
    ],
)
def test_a_value_of_the_learner_may_hold_commas(learner, given, expected):
    params = create("eagle", learner=learner, learner_params=given).make_learner().get_params()
    assert params == create(learner).get_params() | expected


def test_a_parameter_of_the_learner_is_given_once():
    with pytest.raises(ConfigError, match="learner_params gives trees twice"):
        create("eagle", learner_params="trees=1,trees=2")


def test_documents_are_read_as_the_learner_reads_them(checkerboard, monkeypatch, tmp_path):
    """A sentence encoder reads texts, where other learners read rows of the features."""

    use_encoder(monkeypatch, FunctionEncoder(lambda text: [float("red" in text), float("black" in text), 1.0]))
    params = f"backbone=sentence,encoder={tmp_path},width=16,learning_rate=0.03"
    model = create("eagle", learner="flat", learner_params=params).fit(checkerboard.train)
    expected = model.model_.learner.predict(checkerboard.test, k=4)
    np.testing.assert_array_equal(model.predict(checkerboard.test, k=4).ids, expected.ids)
    assert set(model.predict("something red", k=4).ids[0].tolist()) == {0, 2, 4, 6}
    assert model.explain("something red", 0) == model.model_.learner.explain("something red", 0)


def test_it_can_do_what_its_learner_can(checkerboard, tmp_path):
    assert create("eagle", learner="popularity").capabilities.aggregated_labels
    assert not create("eagle", learner="popularity").capabilities.zero_shot
    model = create("eagle", learner="zestxml").fit(checkerboard.train)
    assert model.capabilities.zero_shot
    assert model.add_labels(["green triangle"]).tolist() == [9]
    assert model.predict("green triangle", k=1).ids.tolist() == [[9]]
    model.save(tmp_path / "model")
    assert Method.load(tmp_path / "model").predict("green triangle", k=1).ids.tolist() == [[9]]
    assert model.explain("green triangle", 9) == model.model_.learner.explain("green triangle", 9)
    rows = model.label_embeddings()
    assert rows is None or rows.shape[0] == 10


@pytest.mark.parametrize("learner", LEARNERS)
def test_any_learner_sees_the_assigned_labels_as_ordinary_data(
    learner: str, checkerboard: Dataset, tmp_path, monkeypatch: pytest.MonkeyPatch
):
    use_encoder(monkeypatch, HashedWords())  # for sentence_match
    grouped = draw_random_groups(checkerboard.train, 3, seed=0)
    short = ",".join(f"{name}={value}" for name, value in BRIEF.get(learner, {}).items())
    model = create("eagle", learner=learner, learner_params=short).fit(grouped)
    alone = model.make_learner().fit(model.assign_labels(grouped).train)
    model.save(tmp_path / "model")
    for wrapped in (model, Method.load(tmp_path / "model")):
        a, b = (some.predict(checkerboard.test, k=4) for some in (alone, wrapped))
        assert a.ids.tobytes() == b.ids.tobytes()
        assert a.scores.tobytes() == b.scores.tobytes()


def test_ordinary_data_are_left_to_the_learner(jumble):
    alone, wrapped = create("one_vs_all").fit(jumble.train), create("eagle", learner="one_vs_all").fit(jumble.train)
    a, b = (model.predict(jumble.test, k=11) for model in (alone, wrapped))
    assert a.ids.tobytes() == b.ids.tobytes()
    assert a.scores.tobytes() == b.scores.tobytes()


def test_pyseealso_style_groups_and_a_dataset_end_to_end(checkerboard: Dataset):
    """One group of a red and a black document each: only the words tell which labels are whose."""
    train = checkerboard.train
    groups = [f"pair {row // 2}" if row < 24 else "" for row in range(len(train))]
    model = create("eagle", learner="one_vs_all").fit(replace(train, groups=groups))
    # Red and black always come together, so their labels start from the same embedding: a tie that goes one way.
    assert model.diagnose(train)["assignment_precision"] == pytest.approx(0.5, abs=0.5)
    shuffled = np.random.default_rng(0).permutation(24) // 3
    mixed = replace(train, groups=[f"group {shuffled[row]}" if row < 24 else "" for row in range(len(train))])
    model = create("eagle", learner="one_vs_all").fit(mixed)
    assert model.diagnose(train)["assignment_precision"] == 1.0
    best = model.predict(checkerboard.test, k=4)
    for document in range(6):
        assert set(best.ids[document].tolist()) == set(range(document % 2, 8, 2))
