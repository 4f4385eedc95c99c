"""Methods on an accelerator: the same answers as on the CPU, few copies, models that move, memory that runs out.

There is no GPU here: `tests.support.emulated_accelerator` refuses what one refuses and counts what one pays for.
"""

from __future__ import annotations

import functools
import logging
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.support.brief_training import Stopper
from tests.support.device_traffic import Traffic
from tests.support.emulated_accelerator import emulate
from xcwork.core.data_sizes import DataSizes
from xcwork.core.dataset import Dataset
from xcwork.core.topk import TopK
from xcwork.errors import Cancelled, ConfigError
from xcwork.kernels import tensor_machines
from xcwork.methods.base import Method
from xcwork.methods.common import linear_machines
from xcwork.methods.common.checkpoints import Checkpoint
from xcwork.methods.landmarks.admm import relate_labels_by_admm
from xcwork.methods.registry import METHODS, create, find_method_class
from xcwork.methods.siamesexml import word_classifiers

pytestmark = pytest.mark.slow

ON_DEVICE = sorted(name for name in METHODS if find_method_class(name).capabilities.gpu)
RESUMABLE = [name for name in ON_DEVICE if find_method_class(name).capabilities.resumable]
NETWORK = {"epochs": 2, "min_steps": 0, "width": 8, "batch_size": 8}
SMALL: dict[str, dict[str, Any]] = {
    "sentence_match": {"words": 0.0},  # words in common are compared on the CPU
    "deep_miml": NETWORK,
    "eagle": {"learner_params": "tolerance=1e-4, max_passes=1000"},
    "flat": NETWORK,
    "label_tree": {"tolerance": 1e-4, "max_passes": 1000},
    "landmarks": {"solver": "admm"},
    "mhc": NETWORK | {"label_dimension": 8},
    "mhp": NETWORK,
    "mhs": NETWORK,
    "one_vs_all": {"tolerance": 1e-4, "max_passes": 1000},
    "siamesexml": {
        "epochs": 2,
        "classifier_epochs": 2,
        "dimension": 8,
        "batch_size": 8,
        "classifier_batch_size": 8,
    },
    "zestxml": {"shortlister": "exact", "tolerance": 1e-6, "max_passes": 1000},
}
# On data whose labels have no order.
QUICK: dict[str, dict[str, Any]] = {
    "label_tree": {"kind": "bonsai", "tolerance": 1e-4, "max_passes": 1000},
    "one_vs_all": {"tolerance": 1e-4, "max_passes": 1000},
    "zestxml": {"shortlister": "exact", "shortlist": 10, "tolerance": 1e-6, "max_passes": 1000},
}
K = 5
# Copies to the device per step of training. Words and what moves them, labels and what moves them, a mask of dropout.
COPIES_PER_STEP = {"deep_miml": 3, "flat": 4, "mhc": 9, "mhp": 4, "mhs": 5}
# MHC chooses its groups on the CPU, after each head but the last; nobody else reads anything back in a step.
READ_PER_STEP = {"mhc": 1}
TRAINED_BY_EPOCHS = sorted(COPIES_PER_STEP)


@pytest.fixture(params=ON_DEVICE)
def method_name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def traffic() -> Iterator[Traffic]:
    with emulate() as counted:
        yield counted


@pytest.fixture(autouse=True)
def _solve_word_classifiers_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both paths stop at a tolerance; what they learn is compared where it is small."""
    monkeypatch.setattr(word_classifiers, "PAIR_TOLERANCE", 1e-6)
    monkeypatch.setattr(word_classifiers, "MAX_PASSES", 1000)


def make(name: str, device: str = "emu", **params: Any) -> Method:
    return create(name, **SMALL.get(name, {}) | {"device": device} | params)


@functools.cache
def train_on_cpu(name: str, dataset: Dataset) -> Method:
    return make(name, "cpu").fit(dataset.train)


@functools.cache
def predict_on_cpu(name: str, dataset: Dataset) -> TopK:
    return rank(train_on_cpu(name, dataset), dataset.test)


def rank(method: Method, documents: Any) -> TopK:
    """Return one label more than is compared, to tell whether the last of these could be another."""
    return method.predict(documents, k=K + 1)


def assert_close(found: TopK, expected: TopK, tolerance: float = 1e-4) -> None:
    """The same scores, and the same labels above every gap in the scores that rounding cannot close."""
    np.testing.assert_allclose(found.scores, expected.scores, atol=tolerance, rtol=tolerance)
    scores = np.where(np.isfinite(expected.scores), expected.scores, -1e9)
    gaps = np.argwhere(np.abs(np.diff(scores, axis=1)) > 2 * tolerance * (1 + np.abs(scores[:, :-1])))
    assert len(gaps), "no label stands out"
    for row, last in gaps.tolist():
        assert set(found.ids[row, : last + 1].tolist()) == set(expected.ids[row, : last + 1].tolist())


@pytest.mark.parametrize("float64", [True, False], ids=["float64", "as on MPS"])
def test_it_answers_and_explains_as_on_the_cpu(method_name: str, checkerboard: Dataset, float64: bool) -> None:
    expected = predict_on_cpu(method_name, checkerboard)
    with emulate(float64=float64) as traffic:
        method = make(method_name).fit(checkerboard.train)
        assert_close(rank(method, checkerboard.test), expected)
        if float64:
            assert traffic.kernels > 0, "nothing was computed on the device"
        x = checkerboard.test.X[[0]]
        explained = method.explain(x, int(expected.ids[0, 0]))
        assert abs(explained.score - make_explained_score(method_name, checkerboard)) < 1e-3


@functools.cache
def make_explained_score(name: str, dataset: Dataset) -> float:
    label = int(predict_on_cpu(name, dataset).ids[0, 0])
    return train_on_cpu(name, dataset).explain(dataset.test.X[[0]], label).score


def count_training(traffic: Traffic, method: Method, dataset: Dataset) -> Traffic:
    before = traffic.copy()
    method.fit(dataset.train)
    return traffic.subtract(before)


@pytest.mark.parametrize("name", TRAINED_BY_EPOCHS)
def test_a_step_of_training_copies_no_more_than_it_says(name: str, checkerboard: Dataset, traffic: Traffic) -> None:
    method = make(name, epochs=4)
    few, more = (count_training(traffic, each, checkerboard) for each in (make(name, epochs=2), method))
    assert len(method.model_.curve) == 4
    steps = 2 * -(-len(checkerboard.train) // 8)  # of the two epochs more
    assert more.to_device - few.to_device <= COPIES_PER_STEP[name] * steps, more.places
    assert more.from_device - few.from_device <= READ_PER_STEP.get(name, 0) * steps + 2, more.places  # losses, by epoch
    assert more.synchronisations - few.synchronisations == more.from_device - few.from_device
    # All of them are packed, page-locked and waited for by nobody.
    assert more.to_device_asynchronous - few.to_device_asynchronous == more.to_device - few.to_device


# Module IV chooses negatives before its third epoch: what is found comes back together with the losses of the second.
@pytest.mark.parametrize(("stage", "copies"), [("epochs", 3), ("classifier_epochs", 4)])
@pytest.mark.parametrize("plus", [True, False])
def test_a_step_of_siamesexml_copies_no_more_than_it_says(
    stage: str, copies: int, plus: bool, checkerboard: Dataset, traffic: Traffic
) -> None:
    params = {"validation": 0.0, "patience": 100, "plus": plus}
    few, more = (count_training(traffic, make("siamesexml", **params | {stage: n}), checkerboard) for n in (2, 4))
    steps = 2 * 3  # 24 documents have words and labels
    assert more.to_device - few.to_device <= copies * steps, more.places
    assert more.from_device - few.from_device <= 2, more.places
    assert more.synchronisations - few.synchronisations <= 2, more.places
    assert more.to_device_asynchronous - few.to_device_asynchronous == more.to_device - few.to_device


# Copies to the device and back in a training, besides what machines read while they are solved: the data, the weights.
COPIES_PER_TRAINING = {
    "eagle": (15, 11),
    "label_tree": (7, 3),
    "landmarks": (4, 2),
    "one_vs_all": (3, 1),
    "zestxml": (16, 4),
}


@pytest.mark.parametrize("name", COPIES_PER_TRAINING)
def test_what_is_trained_at_once_copies_a_fixed_number_of_times(
    name: str, checkerboard: Dataset, traffic: Traffic, monkeypatch: pytest.MonkeyPatch
) -> None:
    solved: Counter[str] = Counter()

    def count(module: Any, what: str) -> None:
        call = getattr(module, what)
        monkeypatch.setattr(module, what, lambda *given: solved.update([what]) or call(*given))

    count(linear_machines, "solve_machines")
    count(tensor_machines, "_search_line")
    params = {"solver": "square_root_lasso"} if name == "landmarks" else {}
    copied = count_training(traffic, make(name, **params), checkerboard)
    to_device, from_device = COPIES_PER_TRAINING[name]
    # A Newton step of all labels of a block reads three numbers: who is done, by conjugate gradients, along the line.
    read = solved["solve_machines"] + 3 * solved["_search_line"]
    assert copied.to_device <= to_device, copied.places
    assert copied.from_device <= from_device + read, copied.places
    assert name == "landmarks" or solved["_search_line"] >= 4


# Copies to the device and back in a prediction of a model that is there already, of documents that fit into one block.
# A tree reads once per level, the others to tell ties from clear rankings; MHC goes to and fro between its heads.
COPIES_PER_PREDICTION = {
    "bm25": (2, 2),
    "deep_miml": (2, 1),
    "eagle": (2, 5),
    "flat": (1, 1),
    "label_tree": (2, 5),
    "landmarks": (2, 2),
    "mhc": (6, 2),
    "mhp": (1, 1),
    "mhs": (1, 1),
    "nearest_documents": (4, 4),
    "one_vs_all": (2, 2),
    "sentence_match": (2, 2),
    "siamesexml": (3, 4),
    "tfidf": (2, 2),
    "zestxml": (4, 5),
}


def test_a_prediction_sends_its_documents_and_fetches_their_labels(
    method_name: str, checkerboard: Dataset, traffic: Traffic
) -> None:
    method = make(method_name).fit(checkerboard.train)
    method.predict(checkerboard.test, k=K)
    before = traffic.copy()
    method.predict(checkerboard.test, k=K)
    copied = traffic.subtract(before)
    to_device, from_device = COPIES_PER_PREDICTION[method_name]
    assert copied.to_device <= to_device, copied.places
    assert copied.from_device <= from_device, copied.places
    assert copied.to_device_asynchronous == copied.to_device, copied.places


def test_a_round_of_admm_reads_once(checkerboard: Dataset, traffic: Traffic) -> None:
    _, history = relate_labels_by_admm(checkerboard.train.Y, 1.0, device="emu")
    assert len(history.sigma) > 2
    assert traffic.from_device == len(history.sigma) + 2  # and twice at the end
    assert traffic.to_device == 2


def test_a_saved_model_moves_to_the_cpu_and_back(method_name: str, checkerboard: Dataset, tmp_path: Any) -> None:
    with emulate():
        make(method_name).fit(checkerboard.train).save(tmp_path / "there")
        loaded = Method.load(tmp_path / "there")
        assert loaded.device == "emu"
        expected = rank(loaded, checkerboard.test)
        loaded.set_params(device="cpu").save(tmp_path / "here")
    here = Method.load(tmp_path / "here")
    assert_close(rank(here, checkerboard.test), expected)
    with emulate():
        assert_close(rank(here.set_params(device="emu"), checkerboard.test), expected)


def test_a_model_from_a_machine_with_another_device_uses_what_is_here(
    checkerboard: Dataset, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    method = make("flat", "cpu").fit(checkerboard.train)
    method.set_params(device="cuda").save(tmp_path / "model")
    with pytest.raises(ConfigError, match="'cuda' is not available"):
        method.predict(checkerboard.test)
    loaded = Method.load(tmp_path / "model")
    assert loaded.device == "auto"
    assert "there is no cuda here" in caplog.text
    assert_close(rank(loaded, checkerboard.test), predict_on_cpu("flat", checkerboard))


@pytest.mark.parametrize("method_name", RESUMABLE)
def test_a_training_is_cancelled_and_resumed(
    method_name: str, checkerboard: Dataset, tmp_path: Any, traffic: Traffic
) -> None:
    counter = Stopper()
    expected = rank(make(method_name).fit(checkerboard.train, callbacks=[counter]), checkerboard.test)
    checkpoint = Checkpoint(tmp_path)
    with pytest.raises(Cancelled):
        make(method_name).fit(checkerboard.train, callbacks=[Stopper(counter.steps * 2 // 3)], checkpoint=checkpoint)
    resumed = make(method_name).fit(checkerboard.train, checkpoint=checkpoint)
    assert_close(rank(resumed, checkerboard.test), expected, 1e-6)


NEURAL = ["deep_miml", "flat", "mhc", "mhp", "mhs", "siamesexml"]


@pytest.mark.parametrize("name", NEURAL)
@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_lower_precision_learns_nearly_the_same(
    name: str, precision: str, checkerboard: Dataset, traffic: Traffic
) -> None:
    low = rank(make(name, precision=precision).fit(checkerboard.train), checkerboard.test)
    expected = predict_on_cpu(name, checkerboard)
    assert np.abs(low.scores - expected.scores)[np.isfinite(expected.scores)].max() < 0.1
    assert np.abs(low.scores - expected.scores)[np.isfinite(expected.scores)].max() > 0  # it was really lower


@pytest.mark.parametrize("name", NEURAL)
def test_the_estimate_of_memory_is_near_what_training_takes(
    name: str, jumble: Dataset, caplog: pytest.LogCaptureFixture
) -> None:
    with emulate() as traffic, caplog.at_level(logging.INFO, "xcwork.compute.device_memory"):
        make(name, validation=0.0).fit(jumble.train)
    estimates = [record.args for record in caplog.records if "takes about" in record.message]
    assert estimates
    largest = max(args[2] for args in estimates) * 2**20
    assert 0.9 * traffic.peak_bytes < largest < 4 * traffic.peak_bytes, (largest, traffic.peak_bytes)


@pytest.mark.parametrize("name", NEURAL)
def test_a_batch_that_does_not_fit_is_halved_and_said(
    name: str, jumble: Dataset, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from xcwork.compute import device_memory

    big: dict[str, Any] = {"batch_size": 64}
    steps_alone: dict[str, Any] = {}
    if name == "siamesexml":  # its classifiers over words take more than a batch, and have to do with as little
        big["classifier_batch_size"] = 64
        steps_alone["terms"] = False
    with emulate() as traffic:
        make(name, **big, **steps_alone).fit(jumble.train)
        needed = traffic.peak_bytes
    with emulate(memory=int(0.75 * needed)) as traffic:
        make(name, **big).fit(jumble.train)
        assert traffic.peak_bytes <= 0.75 * needed
    assert re.search(r"a batch of \d+ documents does not fit on the device; steps have", caplog.text)
    assert name != "siamesexml" or "words of documents does not fit on the device" in caplog.text
    caplog.clear()
    monkeypatch.setattr(device_memory, "choose_batch_size", lambda wanted, *_: wanted)  # a wrong estimate
    monkeypatch.setattr(linear_machines, "choose_batch_size", lambda wanted, *_: wanted)
    with emulate(memory=int(0.75 * needed)):
        make(name, **big).fit(jumble.train)
    assert "EMU ran out of memory: the batch is halved" in caplog.text
    assert name != "siamesexml" or re.search(r"blocks are halved, from \d+ to \d+ labels", caplog.text)


def measure_peak_of_prediction(folder: Any, X: Any) -> int:
    with emulate() as traffic:
        rank(Method.load(folder), X)
        return traffic.peak_bytes


def test_predictions_that_do_not_fit_are_made_in_halves_and_said(
    method_name: str, checkerboard: Dataset, tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    many = checkerboard.test.X[np.arange(200) % len(checkerboard.test)]
    with emulate():
        make(method_name).fit(checkerboard.train).save(tmp_path / "model")
        expected = rank(Method.load(tmp_path / "model"), many)
    few, all_at_once = (measure_peak_of_prediction(tmp_path / "model", X) for X in (many[:20], many))
    assert all_at_once > few
    with emulate(memory=(few + all_at_once) // 2) as traffic:
        assert_close(rank(Method.load(tmp_path / "model"), many), expected, 1e-6)
        assert traffic.peak_bytes <= (few + all_at_once) // 2
    assert "EMU ran out of memory: blocks are halved, from 200 to" in caplog.text
    with emulate(memory=few // 100), pytest.raises(ConfigError, match="too small even for one of the documents"):
        Method.load(tmp_path / "model").predict(many)


@pytest.mark.parametrize("name", ["label_tree", "one_vs_all", "zestxml"])
def test_blocks_of_labels_that_do_not_fit_are_halved_and_said(
    name: str, jumble: Dataset, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linear_machines, "choose_batch_size", lambda wanted, *_: wanted)  # a wrong estimate
    params = QUICK.get(name, {})
    with emulate() as traffic:
        expected = create(name, device="emu", **params).fit(jumble.train)
        needed = traffic.peak_bytes
    with emulate(memory=int(0.8 * needed)):
        found = create(name, device="emu", **params).fit(jumble.train)
    assert "EMU ran out of memory: blocks are halved" in caplog.text
    best = rank(expected.set_params(device="cpu"), jumble.test)
    assert_close(rank(found.set_params(device="cpu"), jumble.test), best)


@pytest.mark.parametrize("name", [*NEURAL, "eagle", "label_tree", "landmarks", "one_vs_all", "zestxml"])
def test_what_training_takes_is_known_from_the_sizes_of_the_data(name: str, jumble: Dataset) -> None:
    train = jumble.train
    per_document = (train.X.nnz / len(train), train.Y.nnz / len(train))
    settings = SMALL.get(name, {}) if name in NEURAL else QUICK.get(name, {})
    with emulate() as traffic:
        method = create(name, **settings | {"device": "emu"}).fit(train)
        estimate = method.estimate_device_bytes(DataSizes(len(train), train.n_labels, train.X.shape[1], *per_document))
    assert estimate is not None
    assert 0.4 * traffic.peak_bytes < estimate < 5 * traffic.peak_bytes, (estimate, traffic.peak_bytes)


def test_classifiers_over_words_are_those_of_the_cpu(checkerboard: Dataset, caplog: pytest.LogCaptureFixture) -> None:
    expected = train_on_cpu("siamesexml", checkerboard)
    caplog.set_level(logging.INFO, "xcwork.compute.device_memory")
    with emulate():
        found = make("siamesexml").fit(checkerboard.train)
    mine, theirs = found.model_, expected.model_
    assert theirs.word_weights.nnz > 0
    np.testing.assert_allclose(mine.word_weights.toarray(), theirs.word_weights.toarray(), atol=5e-4)
    np.testing.assert_allclose(mine.word_bias, theirs.word_bias, atol=5e-4)
    assert "words of documents takes about" in caplog.text


def test_a_model_that_never_fits_is_refused_with_what_to_do(checkerboard: Dataset) -> None:
    with emulate() as traffic:
        make("flat", batch_size=1, epochs=1).fit(checkerboard.train)
    with (
        emulate(memory=int(0.9 * traffic.peak_bytes)),
        pytest.raises(ConfigError, match="even with one document per step; use device=cpu, a smaller width"),
    ):
        make("flat", batch_size=1, epochs=1).fit(checkerboard.train)


def test_eagle_hands_its_device_to_the_learner(checkerboard: Dataset, traffic: Traffic) -> None:
    params = "epochs=1, min_steps=0, width=8"
    method = make("eagle", learner="flat", learner_params=params).fit(checkerboard.train)
    assert method.model_.predictor.params.device == "emu"
    before = traffic.copy()
    there = rank(method, checkerboard.test)
    assert traffic.subtract(before).kernels > 0
    before = traffic.copy()
    assert_close(rank(method.set_params(device="cpu"), checkerboard.test), there)
    assert traffic.subtract(before).kernels == 0


def test_one_declaration_of_device_and_precision_serves_all_methods() -> None:
    declared = {
        name: {parameter: find_method_class(name).parameters().get(parameter) for parameter in ("device", "precision")}
        for name in METHODS
    }
    assert {name for name in METHODS if declared[name]["device"]} == set(ON_DEVICE)
    assert {name for name in METHODS if declared[name]["precision"]} == set(NEURAL)
    for parameter in ("device", "precision"):
        assert len({repr(found[parameter]) for found in declared.values() if found[parameter]}) == 1


def test_what_runs_on_a_device_is_said() -> None:
    for name in METHODS:
        can = find_method_class(name).capabilities
        assert bool(can.gpu) == bool(can.gpu_training or can.gpu_prediction), name
