"""Copies to an accelerator and back: so many per step, per epoch, per training and per prediction, and no more."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.support.device_contract import K, count_training, make
from tests.support.device_traffic import Traffic
from xcwork.core.dataset import Dataset
from xcwork.kernels import tensor_machines
from xcwork.methods.common import linear_machines
from xcwork.methods.landmarks.admm import relate_labels_by_admm

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("solved_word_classifiers")]

# Copies to the device per step of training. Words and what moves them, labels and what moves them, a mask of dropout.
COPIES_PER_STEP = {"deep_miml": 3, "flat": 4, "mhc": 9, "mhp": 4, "mhs": 5}
# MHC chooses its groups on the CPU, after each head but the last; nobody else reads anything back in a step.
READ_PER_STEP = {"mhc": 1}
TRAINED_BY_EPOCHS = sorted(COPIES_PER_STEP)


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
