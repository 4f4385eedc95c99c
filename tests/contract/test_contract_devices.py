"""Methods on an accelerator: the same answers as on the CPU, few copies, models that move, memory that runs out.

There is no GPU here: `tests.support.emulated_accelerator` refuses what one refuses and counts what one pays for.
"""

from __future__ import annotations

import functools
import logging
import re
from typing import Any

import numpy as np
import pytest

from tests.support.brief_training import Stopper
from tests.support.device_contract import (
    ON_DEVICE,
    QUICK,
    RESUMABLE,
    SMALL,
    assert_close,
    make,
    predict_on_cpu,
    rank,
    train_on_cpu,
)
from tests.support.device_traffic import Traffic
from tests.support.emulated_accelerator import emulate
from xcwork.core.data_sizes import DataSizes
from xcwork.core.dataset import Dataset
from xcwork.errors import Cancelled, ConfigError
from xcwork.methods.base import Method
from xcwork.methods.common import linear_machines
from xcwork.methods.common.checkpoints import Checkpoint
from xcwork.methods.registry import METHODS, create, find_method_class

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("solved_word_classifiers")]


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
