"""SiameseXML as a whole: learning, limits, ensembles, graphs, explanations, diagnostics, and awkward data."""

from __future__ import annotations

import functools
import logging
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import roc_auc_score

import xcwork
from xcwork.core.dataset import Dataset
from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.core.topk import MISSING
from xcwork.data.synthetic import make_synthetic
from xcwork.errors import Cancelled, ConfigError, DataError
from xcwork.methods.base import Method
from xcwork.methods.common.checkpoints import Checkpoint
from xcwork.methods.siamesexml.method import SiameseXML, make_supplement_variant
from xcwork.methods.siamesexml.scores import SCORE_NAMES
from xcwork.progress import Callback

pytestmark = pytest.mark.slow

QUICK = {"dimension": 16, "epochs": 4, "classifier_epochs": 3, "batch_size": 128}


@functools.cache
def data() -> Dataset:
    return make_synthetic(n_documents=800, n_labels=50, n_topics=5, labels_per_document=2, seed=3)


@functools.cache
def fitted(**changes) -> SiameseXML:
    return SiameseXML(**QUICK | changes).fit(data().train)


def p1(model: SiameseXML) -> float:
    return xcwork.evaluate(model, data()).metrics["P@1"]


class Recorder(Callback):
    def __init__(self, stop_after: int | None = None) -> None:
        self.values, self.stop_after = list[tuple[str, dict[str, float]]](), stop_after

    def on_values(self, phase: str, values: dict[str, float]) -> None:
        self.values.append((phase, values))

    def on_step(self, phase: str, step: int, total: int | None) -> bool:
        return self.stop_after is not None and len(self.values) >= self.stop_after


def test_it_learns_and_finds_unseen_labels_by_their_text():
    model = fitted()
    report = xcwork.evaluate(model, data())
    tfidf = xcwork.evaluate(xcwork.create("tfidf").fit(data().train), data())
    assert report.metrics["P@1"] > tfidf.metrics["P@1"] - 1
    assert report.unseen["P@1"] > 30
    phases = ("training the encoder", "training the classifiers")
    parts = ("", ", other part", ", all documents")
    assert set(model.model_.curves) == {phase + part for phase in phases for part in parts}
    assert set(fitted(alpha=0.9).model_.curves) == set(phases)  # without weights to learn, one training is enough


def test_training_beats_the_start():
    untrained = fitted(epochs=0, classifier_epochs=0, alpha=0.0)
    assert p1(fitted(alpha=0.8, classifier_epochs=10)) > p1(untrained) + 5


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_the_limits_of_alpha(alpha):
    """α = 1 ranks by the classifiers alone; α = 0 ranks without them."""
    model = fitted(alpha=alpha)
    ranker, X = model.model_.ranker, data().test.X[:20]
    member = ranker.members[0]
    f = member.encoder.encode(model.model_.tokens.map_documents(X))
    cosines = member.encoder.finish(f) @ member.classifiers.T
    best = model.predict(X, k=50)
    if alpha == 1:
        np.testing.assert_allclose(best.scores, np.take_along_axis(cosines, best.ids, axis=1), atol=1e-5)
        assert ranker.weights.needs == [True, False, False, False, False, False]
    else:
        member.classifiers[:] = 0
        again = model.predict(X, k=50)
        np.testing.assert_array_equal(best.ids, again.ids)


@pytest.mark.parametrize("nu", [0.0, 0.1])
def test_the_sum_of_the_paper_is_of_the_final_embedding(nu):
    """y = α w·E(x) + (1 - α) (z̃ + v)·E(x), and its explanation adds up to it."""
    model = fitted(alpha=0.75, nu=nu, shortlist=50)
    member, X = model.model_.ranker.members[0], data().test.X[:5]
    final = member.encoder.finish(member.encoder.encode(model.model_.tokens.map_documents(X)))
    around = member.around
    texts = (around.text + around.centroids) @ final[:, : around.text.shape[1]].T
    expected = 0.75 * member.classifiers @ final.T + 0.25 * texts
    best = model.predict(X, k=50)
    np.testing.assert_allclose(best.scores, np.take_along_axis(expected.T, best.ids, axis=1), atol=1e-5)
    for label in best.ids[0, :3].tolist():
        explanation = model.explain(X[[0]], label)
        assert sum(part.value for part in explanation) == pytest.approx(expected[label, 0], abs=1e-5)


def test_classifiers_over_words_are_those_of_a_linear_machine():
    """With every label on every shortlist they solve one-vs-all's problem: the same signs, nearly the same margins."""
    model = fitted(validation=0.0, shortlist=50)
    reference = xcwork.create("one_vs_all", prune=0.0, tolerance=0.01).fit(data().train)
    X = data().test.X[:100]
    found = model.model_.ranker.score(X, 50)
    ids, margins = found.ids, found.values[SCORE_NAMES.index("terms")]
    assert (ids == np.arange(50)).all()
    exact = (X @ reference.model_.weights).toarray() + reference.model_.bias
    seen = np.flatnonzero(model.label_frequencies_)
    assert np.abs(margins - exact)[:, seen].max() < 0.25
    assert np.corrcoef(margins[:, seen].ravel(), exact[:, seen].ravel())[0, 1] > 0.99
    assert (margins[:, model.label_frequencies_ == 0] == -1).all()


def test_they_can_be_left_out():
    model = fitted(terms=False)
    assert not model.model_.ranker.weights.needs[SCORE_NAMES.index("terms")]
    assert model.model_.word_weights.nnz == 0


def test_the_tail_knob_prefers_rarer_labels():
    plain, tail = fitted(tail=0.0), fitted(tail=1.0)
    frequencies = plain.label_frequencies_
    means = [frequencies[model.predict(data().test, k=3).ids].mean() for model in (plain, tail)]
    assert means[1] < means[0]


def test_graphs_give_what_exact_search_gives(tmp_path):
    exact, graph = fitted(), fitted(search="hnsw")
    np.testing.assert_array_equal(exact.predict(data().test, k=10).ids, graph.predict(data().test, k=10).ids)
    recalls = {name: value for name, value in graph.diagnose(data().test).items() if "search" in name}
    assert set(recalls) == {"recall@100 of the text search", "recall@100 of the centroid search"}
    assert min(recalls.values()) == 100
    graph.save(tmp_path / "model")
    loaded = xcwork.load_method(tmp_path / "model")
    assert "text_index" in loaded.model_.ranker.members[0].around.__dict__, "the graph is loaded, not built again"
    loaded.add_labels(["t0_w1 t0_w2"], ["new"])
    assert loaded.predict("t0_w1 t0_w2", k=1).to_records()[0]["label"] == "new"


def test_an_ensemble_is_the_mean_of_its_members():
    # Without held-out documents all weights are the usual ones, and terms, which all members share, are left out.
    alike = {"validation": 0.0, "terms": False}
    models = [fitted(**alike), fitted(**alike, seed=1), fitted(**alike, members=2)]
    assert len(models[2].model_.members) == 2
    assert len(models[2].model_.curves) == 4
    X = data().test.X[:10]
    scores = [model.predict(X, k=50).to_csr(50).toarray() for model in models]
    np.testing.assert_allclose(scores[2], (scores[0] + scores[1]) / 2, atol=1e-5)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"activation": "relu"},
        {"activation": "identity"},
        {"nu": 0.2},
        {"plus": False},
        {"members": 2, "validation": 0.0},
    ],
    ids=str,
)
def test_explanations_add_up_for_every_encoder(changes):
    model = fitted(**changes)
    best = model.predict(data().test.X[:3], k=3)
    for document in range(3):
        for label, score in best.get_row(document):
            explanation = model.explain(data().test.X[[document]], label)
            assert explanation.exact
            assert sum(part.value for part in explanation) == pytest.approx(score, abs=1e-4)
    unseen = int(np.flatnonzero(model.label_frequencies_ == 0)[0])
    assert model.explain(data().test.X[[0]], unseen).exact
    terms = {part.label_term for part in model.explain(data().test.X[[0]], unseen)}
    assert not terms & {"its classifier", "its documents"}, "an unseen label is known by its text alone"


def test_an_explanation_names_tokens_documents_and_words():
    model = fitted()
    text = data().labels.texts[0]
    explanation = model.explain(text, 0)
    assert {part.details.get("score") for part in explanation} <= {*SCORE_NAMES, None}
    assert any(part.details.get("score") == "terms" and part.document_term in text.split() for part in explanation)
    words = [part for part in explanation if part.details.get("score") == "words"]
    assert all(part.document_term == part.label_term for part in words)
    assert set(text.split()) >= {part.document_term for part in words}


def test_the_supplements_variant_trains():
    model = make_supplement_variant(**QUICK, search="exact").fit(data().train)
    assert model.model_.members[0]["text"].shape[1] == 17
    assert model.model_.members[0]["classifiers"].shape[1] == 18
    assert not model.model_.ranker.weights.needs[SCORE_NAMES.index("documents")]
    assert p1(model) > 20


def test_curves_are_reported_and_continued_after_a_stop(tmp_path):
    whole, first, second = Recorder(), Recorder(stop_after=3), Recorder()
    expected = SiameseXML(**QUICK).fit(data().train, callbacks=[whole])
    checkpoint = Checkpoint(tmp_path)
    with pytest.raises(Cancelled):
        SiameseXML(**QUICK).fit(data().train, callbacks=[first], checkpoint=checkpoint)
    resumed = SiameseXML(**QUICK).fit(data().train, callbacks=[second], checkpoint=checkpoint)
    assert len(first.values) == 3
    assert first.values + second.values == whole.values
    assert resumed.model_.curves == expected.model_.curves
    assert set(whole.values[0][1]) == {"epoch", "nDCG@5", "P@1", "PSP@1"}  # the start
    assert set(whole.values[1][1]) == {"epoch", "loss", "nDCG@5", "P@1", "PSP@1"}
    a, b = (model.predict(data().test, k=5) for model in (expected, resumed))
    np.testing.assert_array_equal(a.ids, b.ids)
    np.testing.assert_array_equal(a.scores, b.scores)


def test_it_stops_when_validation_gets_no_better():
    recorder = Recorder()
    params = QUICK | {"epochs": 60, "start": "random", "learning_rate": 0.3, "patience": 2, "classifier_epochs": 0}
    model = SiameseXML(**params).fit(data().train, callbacks=[recorder])
    values = [values["nDCG@5"] for phase, values in recorder.values if phase == "training the encoder"]
    curve = model.model_.curves["training the encoder"]
    assert values[1:] == [entry["nDCG@5"] for entry in curve]
    assert 0 < np.argmax(values) == len(curve) - 2 < 58
    others = [values["nDCG@5"] for phase, values in recorder.values if phase == "training the encoder, other part"]
    again = model.model_.curves["training the encoder, all documents"]
    assert len(again) == round((np.argmax(values) + np.argmax(others)) / 2)
    assert set(again[0]) == {"loss"}  # nobody is left to validate


def test_lemma_one_holds_and_norms_are_those_of_the_model():
    model = fitted(classifier_epochs=10)
    found = model.diagnose(data().test)
    assert found["Lemma 1: labels within the bound"] == 100
    assert 0 < found["Lemma 1: largest movement measured, mean"] <= found["Lemma 1: bound on a score's movement, mean"]
    assert found["candidate recall"] == 100
    table = model.model_.members[0]["encoder"]["table"].astype(np.float64)
    assert found["‖E‖₁,₁"] == pytest.approx(np.abs(table).sum(), rel=1e-5)
    assert found["‖E‖∞,₁"] == pytest.approx(sum(np.abs(table[:, i]).max() for i in range(16)), rel=1e-5)
    residual = model.model_.members[0]["encoder"]["residual"]
    assert found["‖R‖σ"] == pytest.approx(abs(residual["radius"][0]), rel=1e-4)
    member, test = model.model_.ranker.members[0], data().test
    rest = sparse.csr_array((len(test), model.model_.tokens.size - test.X.shape[1]), dtype=np.float32)
    X = sparse.csr_array(sparse.hstack([test.X, rest]))
    cosines = member.encoder.finish(member.encoder.encode(X)) @ member.classifiers.T  # (n_documents, n_labels)
    is_relevant = test.Y.toarray() > 0
    assert found["cosine of relevant pairs, mean"] == pytest.approx(cosines[is_relevant].mean(), rel=1e-5)
    assert found["cosine of relevant pairs, mean"] > cosines[~is_relevant].mean() + 0.3
    assert roc_auc_score(is_relevant.ravel(), cosines.ravel()) > 0.85


def test_the_histogram_counts_every_relevant_pair():
    histogram = fitted().count_cosines(data().test, bins=10)
    assert histogram.positive.sum() == data().test.Y.nnz
    assert histogram.negative.sum() == 5 * len(data().test)
    assert histogram.edges[[0, -1]].tolist() == [-1, 1]


def test_word_vectors_set_the_dimension(checkerboard, tmp_path):
    words = ("red", "black", "violet", "star")
    lines = [" ".join([word, *map(str, np.eye(30, dtype=int)[i])]) for i, word in enumerate(words)]
    (tmp_path / "words.vec").write_text("\n".join(lines), "utf-8")
    model = SiameseXML(vectors=str(tmp_path / "words.vec"), epochs=2, classifier_epochs=1).fit(checkerboard.train)
    assert model.model_.members[0]["text"].shape == (9, 30)
    assert set(model.predict("red", k=4).ids[0].tolist()) == {0, 2, 4, 6}


def test_the_log_says_what_is_left_out(jumble, caplog):
    with caplog.at_level(logging.WARNING):
        SiameseXML(epochs=1, classifier_epochs=1).fit(jumble.train)
    assert "labels have no known token and are known by their documents alone" in caplog.text
    assert "2 labels have no training document and are known by their text alone" in caplog.text
    assert "documents have no known token or no label and are left out of training" in caplog.text


@pytest.mark.parametrize("search", ["exact", "hnsw"])
@pytest.mark.parametrize("trait", ["no text", "no document has words", "one pair", "batch of one", "no labels meet"])
def test_awkward_data_neither_crash_nor_make_nan(jumble, trait, search):
    train, params = jumble.train, {"epochs": 2, "classifier_epochs": 2, "search": search, "shortlist": 3}
    if trait == "no text":
        train = replace(train, labels=replace(train.labels, Z=sparse.csr_array(train.labels.Z.shape, dtype=np.float32)))
    elif trait == "no document has words":
        train = replace(train, X=sparse.csr_array(train.X.shape, dtype=np.float32))
    elif trait == "one pair":
        train = train.take([0])
    elif trait == "batch of one":
        params |= {"batch_size": 1, "classifier_batch_size": 1, "negatives": 1}
    else:  # labels with text have no documents, labels with documents no text
        Z = train.labels.Z.toarray()
        Z[train.label_frequencies > 0] = 0
        train = replace(train, labels=replace(train.labels, Z=sparse.csr_array(Z)))
    model = SiameseXML(**params).fit(train)
    best = model.predict(jumble.test, k=11)
    assert np.isfinite(best.scores[best.ids != MISSING]).all()
    assert best.ids.max() < 11
    for label in range(11):
        assert np.isfinite(model.explain(jumble.test.X[[0]], label).score)
    assert all(np.isfinite(value) for value in model.diagnose(jumble.test).values())


def test_label_features_of_their_own_vocabulary(jumble):
    theirs = Features(2, ["t3", "elsewhere"])
    Z = np.zeros((11, 2), np.float32)
    Z[:, 0], Z[0, 1] = 1, 1
    labels = LabelSpace(jumble.labels.names, Z=sparse.csr_array(Z), features=theirs)
    train = Split(jumble.train.X, jumble.train.Y, labels, jumble.train.features)
    model = SiameseXML(epochs=2, classifier_epochs=1).fit(train)
    assert model.model_.members[0]["encoder"]["table"].shape[0] == 26
    terms = {part.label_term for part in model.explain(jumble.test.X[[0]], 0)}
    assert {"t3", "elsewhere"} <= terms


def test_bad_parameters_are_refused():
    with pytest.raises(ConfigError, match="graphs must name some of text, centroids, documents, got 'texts'"):
        xcwork.create("siamesexml", graphs="texts")
    with pytest.raises(ConfigError, match="graphs must name"):
        xcwork.create("siamesexml", graphs="")


def test_a_model_in_double_precision_predicts_the_same():
    """Kernels are compiled for one combination of types; a file that has others is converted, not compiled for."""
    model = fitted()
    state = model.to_state()

    def doubled(value):
        if isinstance(value, dict):
            return {name: doubled(item) for name, item in value.items()}
        if isinstance(value, list):
            return [doubled(item) for item in value]
        if isinstance(value, np.ndarray) and value.dtype == np.float32:
            return value.astype(np.float64)
        if isinstance(value, sparse.csr_array):
            arrays = (value.data.astype(np.float64), value.indices.astype(np.int64), value.indptr.astype(np.int64))
            return sparse.csr_array(arrays, shape=value.shape)
        return value

    learned = state["learned"] | {
        name: doubled(state["learned"][name]) for name in ("members", "Z", "word_weights", "Y")
    }
    again = Method.from_state(state | {"learned": learned})
    expected, found = (m.predict(data().test, k=5) for m in (model, again))
    np.testing.assert_array_equal(expected.ids, found.ids)
    ranker = again.model_.ranker
    assert (ranker.words.weights.dtype, ranker.words.weights.indices.dtype) == (np.float32, np.int32)
    assert ranker.members[0].around.centroids.dtype == np.float32


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda learned: {"label_tokens": learned["label_tokens"] + 10**6}, "label_tokens holds a number that is not"),
        (lambda learned: {"Z": learned["Z"][:, :-1]}, "label_tokens holds a number that is not below"),
        (lambda learned: {"Z": sparse.csr_array((50, 10**6))}, "Z has other tokens than the documents and labels"),
        (lambda learned: {"members": []}, "members is not a list of the right length"),
        (lambda learned: {"members": [learned["members"][0] | {"more": 1}]}, "members more is unknown here"),
        (
            lambda learned: {"members": [learned["members"][0] | {"text": np.zeros((50, 3))}]},
            "text has 3 entries where",
        ),
        (lambda learned: {"members": [learned["members"][0] | {"encoder": {"table": None}}]}, "residual is missing"),
        (lambda learned: {"Y": learned["Y"][1:]}, "documents has"),
    ],
)
def test_a_stored_model_that_does_not_fit_is_refused(change, complaint):
    state = fitted().to_state()
    with pytest.raises(DataError, match=re.escape(complaint)):
        Method.from_state(state | {"learned": state["learned"] | change(state["learned"])})
