"""The label tree: what it learns, how it explains itself, and what may not change its result."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import xcwork
from xcwork.data.synthetic import make_synthetic
from xcwork.errors import Cancelled, ConfigError, DataError
from xcwork.methods.base import Method
from xcwork.methods.common.checkpoints import Checkpoint
from xcwork.methods.label_tree import LabelTree, training
from xcwork.methods.label_tree.choices import choose_error_weight, choose_power
from xcwork.methods.label_tree.explanation import compute_mean_slope
from xcwork.methods.label_tree.forest import COUNTED, STORED_AS_THEY_ARE
from xcwork.methods.label_tree.packed_weights import NodeClassifiers
from xcwork.methods.model import Params
from xcwork.progress import Callback
from xcwork.sparse import normalise_rows

SMALL = {"leaf_size": 10, "trees": 2}


@pytest.fixture(scope="module")
def topics():
    return make_synthetic(n_documents=800, n_labels=80, n_topics=8, seed=3)


@pytest.fixture(scope="module")
def model(topics) -> LabelTree:
    return LabelTree(**SMALL).fit(topics.train)


def precision(model, split) -> float:
    best = model.predict(split.X, k=1).ids[:, 0]
    return float(np.mean([split.Y[[i], [label]].sum() for i, label in enumerate(best) if label >= 0]))


class StopAt(Callback):
    """Stops in the phase called `phase`."""

    def __init__(self, phase: str) -> None:
        self.phase, self.seen = phase, []

    def on_phase(self, phase, total):
        self.seen.append(phase)

    def on_step(self, phase, step, total):
        return phase == self.phase


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"kind": "bonsai", "branching": 6},
        {"branching": 8},
        {"trees": 1},
        {"beam": 3},
        {"power": 3},
    ],
)
def test_every_kind_finds_labels_about_as_well_as_one_vs_all(topics, params):
    ours = precision(LabelTree(**SMALL | params).fit(topics.train), topics.test)
    reference = precision(xcwork.create("one_vs_all").fit(topics.train), topics.test)
    assert ours >= reference - 0.06


def test_a_tree_of_one_leaf_is_one_vs_all(topics):
    tree = LabelTree(trees=1, leaf_size=1000, C=1.0, prune=0.0, tolerance=1e-3).fit(topics.train)
    flat = xcwork.create("one_vs_all", prune=0.0, tolerance=1e-3).fit(topics.train)
    best = flat.predict(topics.test.X, k=3)
    margins = normalise_rows(topics.test.X) @ tree.label_embeddings().T
    assert len(tree.tabulate_tree()) == 1
    for document in range(20):
        for label, margin in best.get_row(document):
            forest = tree.model_.forest
            bias = forest.bias[np.flatnonzero(forest.targets == ~label)[0]]
            assert margins[[document], [label]][0] + bias == pytest.approx(margin, abs=0.01)


@pytest.mark.parametrize("power", [2, 3])
def test_explanations_add_up_where_the_search_is_narrow(topics, power):
    model = LabelTree(leaf_size=5, trees=3, beam=1, power=power).fit(topics.train)
    best = model.predict(topics.test.X[:10], k=20)
    missed = 0
    for document in range(10):
        for label, score in best.get_row(document):
            explanation = model.explain(topics.test.X[[document]], label)
            assert explanation.score == pytest.approx(score, rel=1e-4, abs=1e-6)
            assert sum(part.value for part in explanation) == pytest.approx(score, rel=1e-4, abs=1e-6)
            missed += sum("turned elsewhere" in part.label_term for part in explanation)
    assert missed > 0


def test_a_part_says_tree_step_node_and_weight(model, topics):
    label = int(model.predict(topics.test.X[[0]], k=1).ids[0, 0])
    explanation = model.explain(topics.test.X[[0]], label)
    terms = [part for part in explanation if part.document_term != "(any document)"]
    steps = {part.label_term for part in terms}
    assert any(step.startswith("tree 1, step 1 of") for step in steps)
    assert any(step.startswith("tree 2, step 2 of") for step in steps)
    for part in terms:
        value = normalise_rows(topics.test.X[[0]])[[0], [model.features_.names.index(part.document_term)]][0]
        assert np.sign(part.value) == np.sign(part.details["weight"] * value) or part.value == 0


def test_an_empty_document_gets_only_what_any_document_gets(model, topics):
    empty = sparse.csr_array((1, topics.train.X.shape[1]), dtype=np.float32)
    label = int(model.predict(empty, k=1).ids[0, 0])
    assert {part.document_term for part in model.explain(empty, label)} == {"(any document)"}


def test_labels_without_documents_are_in_no_tree(topics):
    Y = topics.train.Y.toarray()
    Y[:, :5] = 0
    model = LabelTree(**SMALL).fit(replace(topics.train, Y=sparse.csr_array(Y)))
    assert not np.isin(model.predict(topics.test, k=80).ids, np.arange(5)).any()
    explanation = model.explain(topics.test.X[[0]], 0)
    assert (explanation.score, explanation.exact) == (0.0, True)
    assert explanation.parts[0].label_term == "no training document to learn from"


def test_branches_of_balanced_trees_come_in_powers_of_two():
    with pytest.raises(ConfigError, match="branching must be a power of two for kind=parabel, got 6"):
        LabelTree.from_params({"branching": 6})
    assert LabelTree.from_params({"branching": 6, "kind": "bonsai"}).branching == 6


@pytest.mark.parametrize(
    ("frequencies", "expected"),
    [([24, 24], 1.0), ([0, 24, 0], 1.0), ([6, 96], 1.0), ([1, 2], 8.0), ([384], 0.25), ([10_000], 0.25), ([5], 3.24)],
)
def test_the_fewer_documents_a_label_has_the_more_an_error_weighs(frequencies, expected):
    assert choose_error_weight(np.array(frequencies)) == pytest.approx(expected, rel=0.01)


def test_documents_with_many_labels_have_a_smaller_power(topics):
    assert choose_power(topics.train) == 3
    many = np.ones((len(topics.train), topics.train.n_labels), np.float32)
    assert choose_power(replace(topics.train, Y=sparse.csr_array(many))) == 2


def test_what_is_chosen_can_be_given(model, topics):
    chosen = choose_error_weight(topics.train.label_frequencies)
    given = LabelTree(**SMALL, C=chosen, power=3).fit(topics.train)
    expected = model.predict(topics.test, k=5)
    assert given.predict(topics.test, k=5).scores.tobytes() == expected.scores.tobytes()
    assert (model.model_.power, model.model_.params.power, model.model_.params.C) == (3, None, None)
    other = LabelTree(**SMALL, C=chosen, power=2).fit(topics.train)
    assert other.predict(topics.test, k=5).scores.tobytes() != expected.scores.tobytes()


def test_the_paper_has_fixed_settings_whatever_the_data():
    paper = xcwork.create("label_tree", preset="paper")
    assert (paper.branching, paper.power, paper.C, paper.max_passes) == (2, 2, 1.0, 20)


def test_a_model_of_an_earlier_version_is_refused_with_a_clear_message(model):
    """Its weights were a matrix."""
    state = model.to_state()
    forest = model.model_.forest
    kept = {name: getattr(forest, name) for name in ("roots", "first_slot", "targets", "bias", "first_row", "nodes")}
    earlier = state["learned"] | {"forest": kept | {"weights": forest.decode_weights()}}
    with pytest.raises(DataError, match=r"cannot use the stored model: forest codes is missing; train it again"):
        Method.from_state(state | {"learned": earlier})


@pytest.mark.parametrize("power", [0, 5, 2.0, True, None])
def test_a_power_that_no_training_gives_is_refused(model, power):
    state = model.to_state()
    with pytest.raises(DataError, match="power is no whole number from 1 to 4"):
        Method.from_state(state | {"learned": state["learned"] | {"power": power}})


def test_the_way_a_node_is_solved_hardly_matters(model, topics, monkeypatch):
    expected = model.predict(topics.test, k=1).ids[:, 0]
    for few_slots, few_documents in ((1000, 0), (0, 0)):
        monkeypatch.setattr(training, "MAX_SLOTS_ONE_BY_ONE", few_slots)
        monkeypatch.setattr(training, "MAX_DOCUMENTS_FOR_INNER_PRODUCTS", few_documents)
        found = LabelTree(**SMALL).fit(topics.train).predict(topics.test, k=1).ids[:, 0]
        assert (found == expected).mean() > 0.93


def test_nodes_are_trained_where_their_documents_are_as_on_copies(topics, monkeypatch):
    models = []
    for least in (0.0, np.inf):
        monkeypatch.setattr(training, "MIN_ENTRIES_PER_WEIGHT", least)
        models.append(LabelTree(trees=1, leaf_size=4).fit(topics.train).model_.forest)
    for name in ("codes", "offsets", "nodes", "starts", "scale", "bias"):
        np.testing.assert_array_equal(getattr(models[0], name), getattr(models[1], name))


def test_training_shares_the_unit_rows_of_the_split(topics):
    """Documents are the largest part of a training: there is no second copy of their values or their columns."""
    X = normalise_rows(topics.train.X)
    params = Params(LabelTree(C=1.0, power=2).get_params())
    rows = training.TreeTrainer.from_split(replace(topics.train, X=X), params).rows
    assert np.shares_memory(rows.data, X.data)
    assert np.shares_memory(rows.indices, X.indices)


def test_wide_nodes_are_trained_in_pieces(topics, monkeypatch):
    whole = LabelTree(trees=1, tolerance=1e-3, prune=0.0, max_passes=1000).fit(topics.train).predict(topics.test, k=5)
    monkeypatch.setattr(training, "MAX_SLOTS_PER_BLOCK", 7)
    pieces = LabelTree(trees=1, tolerance=1e-3, prune=0.0, max_passes=1000).fit(topics.train).predict(topics.test, k=5)
    np.testing.assert_allclose(pieces.scores, whole.scores, atol=0.01)


def test_a_finished_tree_is_not_trained_again(topics, tmp_path):
    checkpoint = Checkpoint(tmp_path)
    with pytest.raises(Cancelled):
        LabelTree(**SMALL).fit(topics.train, callbacks=[StopAt("training tree 2")], checkpoint=checkpoint)
    watch = StopAt("")
    resumed = LabelTree(**SMALL).fit(topics.train, callbacks=[watch], checkpoint=checkpoint)
    assert "training tree 1" not in watch.seen
    assert "training tree 2" in watch.seen
    expected = LabelTree(**SMALL).fit(topics.train).predict(topics.test, k=5)
    assert resumed.predict(topics.test, k=5).scores.tobytes() == expected.scores.tobytes()
    other = StopAt("")
    LabelTree(**SMALL, C=2.0).fit(topics.train, callbacks=[other], checkpoint=checkpoint)
    assert "training tree 1" in other.seen


def test_the_number_of_threads_does_not_matter(model, topics, monkeypatch):
    monkeypatch.setattr("xcwork.compute.cores.count_cores", lambda: 1)
    alone = LabelTree(**SMALL).fit(topics.train)
    expected = model.model_.forest.to_state()
    for name, part in alone.model_.forest.to_state().items():
        other = expected[name]
        assert part.tobytes() == other.tobytes(), name


def test_another_seed_grows_other_trees(model, topics):
    other = LabelTree(**SMALL, seed=1).fit(topics.train)
    assert other.model_.forest.targets.tolist() != model.model_.forest.targets.tolist()


def test_a_wider_search_applies_to_a_trained_model(model, topics):
    narrow = LabelTree(**SMALL, beam=1).fit(topics.train)
    few = narrow.predict(topics.test, k=80).ids
    narrow.set_params(beam=50)
    many = narrow.predict(topics.test, k=80).ids
    assert (many >= 0).sum() > (few >= 0).sum()


def test_rounding_weights_changes_no_margin_noticeably():
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((300, 40)).astype(np.float32) * (rng.random((300, 40)) < 0.3)
    weights[:, 7] = 0
    weights[5] = 0
    packed = NodeClassifiers.from_weights(np.arange(300), sparse.csr_array(weights), np.zeros(40, np.float32))
    assert (packed.codes.dtype, packed.offsets.dtype) == (np.int16, np.uint8)
    assert 5 not in packed.features
    found = np.zeros_like(weights)
    row = np.repeat(packed.features, np.diff(packed.starts))
    found[row, packed.offsets] = packed.codes * packed.scale[packed.offsets]
    np.testing.assert_allclose(found, weights, atol=np.abs(weights).max() / 2**16)


def test_wide_forests_predict_and_explain_as_narrow_ones(model, topics, monkeypatch):
    """More nodes, or wider ones, than small numbers can count take larger numbers."""
    expected = model.predict(topics.test, k=5)
    forest = model.model_.forest
    assert (forest.nodes.dtype, forest.starts.dtype, forest.offsets.dtype) == (np.uint16, np.uint32, np.uint8)
    monkeypatch.setattr("xcwork.methods.label_tree.packed_weights.MAX_NARROW_SLOTS", 2)
    wide = LabelTree(**SMALL).fit(topics.train)
    forest = wide.model_.forest
    assert (forest.nodes.dtype, forest.starts.dtype, forest.offsets.dtype) == (np.uint32, np.int64, np.uint32)
    found = wide.predict(topics.test, k=5)
    assert found.ids.tobytes() == expected.ids.tobytes()
    assert found.scores.tobytes() == expected.scores.tobytes()
    label = int(found.ids[0, 0])
    one = topics.test.X[[0]]
    assert wide.explain(one, label).score == model.explain(one, label).score


def load_with(model: LabelTree, **changed: np.ndarray) -> Method:
    """Load the model from a state in which some arrays of the forest are others."""
    state = model.to_state()
    learned = state["learned"] | {"forest": state["learned"]["forest"] | changed}
    return Method.from_state(state | {"learned": learned})


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("targets", 0, "the label trees do not fit together"),
        ("targets", -1000, "the label trees do not fit together"),
        ("node_of_row", 100, "forest node_of_row holds a number that is not below"),
        ("weights_of_row", 200, "the label trees do not fit together"),
        ("offsets", 200, "the label trees do not fit together"),
        ("rows_of_feature", 200, "the label trees do not fit together"),
        ("roots", 99, "the label trees do not fit together"),
        ("roots", 2, "the label trees do not fit together"),
        ("first_slot", 0, "the label trees do not fit together"),
    ],
)
def test_a_model_that_does_not_fit_together_is_refused(model, name, value, problem):
    part = model.model_.forest.to_state()[name]
    changed = np.where(np.arange(len(part)) == 1, value, part).astype(part.dtype)
    with pytest.raises(DataError, match=problem):
        load_with(model, **{name: changed})


@pytest.mark.parametrize("name", [*STORED_AS_THEY_ARE, *COUNTED])
def test_arrays_of_another_length_or_type_are_refused(model, name):
    load_with(model)
    part = model.model_.forest.to_state()[name]
    for changed in (part[:-1], part[:0], part.astype(np.int8), part.astype(np.float64), part.tolist(), part[None]):
        with pytest.raises(DataError, match=r"forest .*(entries where|right type|not below|dimensions)|fit together"):
            load_with(model, **{name: changed})
    state = model.to_state()
    forest = {key: part for key, part in state["learned"]["forest"].items() if key != name}
    with pytest.raises(DataError, match=f"forest {name} is missing"):
        Method.from_state(state | {"learned": state["learned"] | {"forest": forest}})


def test_rows_of_weights_in_another_order_are_refused(model):
    """The search goes through the nodes of a feature from front to back."""
    forest = model.model_.forest
    row = forest.first_row[np.flatnonzero(np.diff(forest.first_row) > 1)[0]]
    order = np.arange(len(forest.nodes))
    order[[row, row + 1]] = order[[row + 1, row]]
    with pytest.raises(DataError, match="the label trees do not fit together"):
        load_with(model, node_of_row=forest.to_state()["node_of_row"][order])


def test_the_tree_as_a_table(model, topics):
    seen = np.flatnonzero(topics.train.label_frequencies)
    for tree in (0, 1):
        frame = model.tabulate_tree(tree, terms=3, labels=2)
        assert frame.labels.iloc[0] == len(seen)
        assert frame.parent.iloc[0] == -1
        assert frame.documents.iloc[0] == topics.train.label_frequencies.sum()
        for _, node in frame.iloc[1:].iterrows():
            parent = frame[frame.node == node.parent].iloc[0]
            assert node.level == parent.level + 1
            assert len(node.terms) <= 3
            assert len(node.some_labels) == 2
        leaves = frame[~frame.node.isin(frame.parent)]
        assert leaves.labels.sum() == len(seen)
        assert (leaves.labels <= 10).all()
    with pytest.raises(ConfigError, match="there is no tree 2; they go from 0 to 1"):
        model.tabulate_tree(2)


@pytest.mark.parametrize("at", [0.0, 1.0, -3e12, 1e200])
def test_the_slope_between_equal_margins_is_a_number(at: float):
    """A weight from a damaged file may be so large that a small step changes nothing."""
    assert abs(compute_mean_slope(lambda margin: 2 * margin, at, at) - 2) < 1e-3
