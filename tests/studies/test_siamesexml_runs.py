"""SiameseXML's theory on a trained model: the bounds hold, the numbers are what they are called."""

from __future__ import annotations

import pytest

from xcwork.core.dataset import Dataset
from xcwork.data.synthetic import make_synthetic
from xcwork.methods.siamesexml.method import SiameseXML
from xcwork.studies.siamesexml_runs import compare_by_band, compute_bound, follow_bounds, measure_lemma_2

SMALL = {"dimension": 16, "classifier_epochs": 3, "terms": False, "start": "random"}
QUICK = SMALL | {"epochs": 2}


@pytest.fixture(scope="module")
def data() -> Dataset:
    return make_synthetic(n_documents=150, n_labels=30, n_topics=4, labels_per_document=2, seed=1)


@pytest.fixture(scope="module")
def model(data: Dataset) -> SiameseXML:
    return SiameseXML.from_params(QUICK).fit(data.train)


def test_no_score_moves_further_than_lemma_1_allows(model: SiameseXML, data: Dataset) -> None:
    frame = compare_by_band(model, data.test)
    assert set(frame["band"]) <= {"many-shot", "few-shot"}
    assert (frame["broken"] == 0).all()
    assert (frame["largest change of a score"] <= frame["bound"]).all()
    assert (frame["mean change of a score"] <= frame["largest change of a score"]).all()


def test_training_ends_below_the_loss_of_the_texts(model: SiameseXML, data: Dataset) -> None:
    losses = measure_lemma_2(model, data.train)
    assert losses["after"] < losses["before"]


def test_untrained_classifiers_are_the_texts(data: Dataset) -> None:
    model = SiameseXML.from_params(QUICK | {"classifier_epochs": 0, "correlated": 0}).fit(data.train)
    losses = measure_lemma_2(model, data.train)
    assert losses["after"] == pytest.approx(losses["before"], rel=1e-4)
    assert (compare_by_band(model, data.test)["largest change of a score"] < 1e-3).all()


def test_classifiers_add_to_the_bound_and_documents_take_away(model: SiameseXML) -> None:
    few, many = (compute_bound(model, n, 10) for n in (1_000, 1_000_000))
    assert few["Q"] > few["P"] > 0
    assert many["P"] == few["P"]
    assert many["P adds"] < few["P adds"]


def test_every_number_of_epochs_is_a_row(data: Dataset) -> None:
    frame = follow_bounds(data.train, data.test, epochs=(1, 2), **SMALL | {"classifier_epochs": 1})
    assert frame["epochs"].tolist() == [1, 2]
    assert {"P", "Q", "before", "after", "P@1"} <= set(frame.columns)
