"""Every method under every setting: it trains, survives saving, and keeps the parameters it was trained with."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from tests.support.brief_training import BRIEF
from tests.support.parameter_settings import FOLDER, Setting, every_setting
from tests.support.state_bytes import list_bytes
from xcwork.core.dataset import Dataset
from xcwork.core.explanation import Explanation
from xcwork.core.split import Split
from xcwork.core.topk import TopK
from xcwork.methods.base import Method
from xcwork.methods.registry import METHODS, create

pytestmark = pytest.mark.slow

SETTINGS = list(every_setting())
Answers = tuple[TopK, list[Explanation]]
each_setting = pytest.mark.parametrize("setting", SETTINGS, ids=str)


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    """The files that settings name."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "modules.json").write_text("[]")
    (folder / "vectors.txt").write_text("t1 0.5 1 0\nt2 0 1 1\nt3 1 1 1\n")
    return folder


@cache
def furnished(dataset: Dataset, single: bool) -> Dataset:
    """The dataset with all that some parameter asks for: texts, groups, images and a hierarchy of labels.

    With `single`, no document has more than one label.
    """
    names = dataset.labels.names
    labels = replace(dataset.labels, uids=names, parents=[[names[label // 3]] if label else [] for label in range(11)])
    features = replace(dataset.features, image_shape=(5, 5))

    def furnish(split: Split) -> Split:
        texts = ["word " * (1 + 7 * row % 11) for row in range(len(split))]
        groups = [f"group {row // 3}" for row in range(len(split))]
        Y = first_labels(split.Y) if single else split.Y
        return replace(split, Y=Y, labels=labels, features=features, texts=texts, groups=groups)

    return Dataset("furnished", furnish(dataset.train), furnish(dataset.test))


def first_labels(Y: sparse.csr_array) -> sparse.csr_array:
    """Keep the first label of every document."""
    rows = np.flatnonzero(np.diff(Y.indptr))
    first = Y.indptr[rows]
    return sparse.csr_array((Y.data[first], (rows, Y.indices[first])), shape=Y.shape)


def untrained(setting: Setting, files: Path) -> Method:
    return create(setting.method, **BRIEF.get(setting.method, {}) | params_of(setting, files))


def params_of(setting: Setting, files: Path) -> dict[str, object]:
    return {
        name: value.replace(FOLDER, str(files)) if isinstance(value, str) else value
        for name, value in setting.params.items()
    }


def answers(model: Method, split: Split) -> Answers:
    """All predictions, and explanations: of the best label, of an empty document, of a label never trained."""
    best, X = model.predict(split, k=11), model.read_matrix(split)
    return best, [model.explain(X[[row]], label) for row, label in ((0, best.ids[0, 0]), (2, 1), (4, 9))]


@cache
def trained(method: str, dataset: Dataset) -> tuple[Method, Answers]:
    """A trained model that tests may copy but not change, and its answers."""
    model = create(method, **BRIEF.get(method, {})).fit(dataset.train)
    return model, answers(model, dataset.test)


def assert_equal(found: Answers, expected: Answers) -> None:
    assert found[0].ids.tobytes() == expected[0].ids.tobytes()
    assert found[0].scores.tobytes() == expected[0].scores.tobytes()
    assert found[1] == expected[1]


@each_setting
def test_a_trained_model_survives_saving(setting: Setting, files, jumble, tmp_path):
    data = furnished(jumble, setting.needs_single_labels)
    model = untrained(setting, files).fit(data.train)
    best, explanations = answers(model, data.test)
    assert np.isfinite(best.scores[best.ids >= 0]).all()
    assert [reasons.exact for reasons in explanations] == [not setting.reads_text] * len(explanations)
    model.save(tmp_path / "model")
    loaded = Method.load(tmp_path / "model")
    assert loaded.get_params() == model.get_params()
    assert_equal(answers(loaded, data.test), (best, explanations))


@each_setting
def test_a_trained_model_keeps_its_parameters(setting: Setting, files, jumble):
    data, wanted = furnished(jumble, False), params_of(setting, files)
    original, expected = trained(setting.method, data)
    known, learned_with = original.parameters(), original.get_params()
    immediate = {name: value for name, value in wanted.items() if known[name].at_prediction}
    model = copy.copy(original).set_params(**wanted)
    assert model.get_params() == learned_with | wanted
    assert list_bytes(model.to_state()) == list_bytes(original.to_state() | {"params": learned_with | immediate})
    if immediate:
        assert_equal(answers(model, data.test), answers(Method.from_state(model.to_state()), data.test))
    else:
        assert_equal(answers(model, data.test), expected)
    by_hand = copy.copy(original)
    for name in wanted.keys() - immediate.keys():
        setattr(by_hand, name, wanted[name])
    assert list_bytes(by_hand.to_state()) == list_bytes(original.to_state())


@pytest.mark.parametrize("method", sorted(METHODS))
def test_the_next_fit_takes_the_parameters_that_were_set(method, jumble, files):
    data = furnished(jumble, False)
    setting = [one for one in SETTINGS if one.method == method and not one.needs_single_labels][-1]
    model = copy.copy(trained(method, data)[0]).set_params(**params_of(setting, files)).fit(data.train)
    fresh = untrained(setting, files).fit(data.train)
    assert vars(model).keys() == vars(fresh).keys()
    assert model.get_params() == fresh.get_params()
    assert_equal(answers(model, data.test), answers(fresh, data.test))


def test_every_parameter_is_at_another_value_somewhere():
    """A free text has no values of its own: a new one has to be added to the table."""
    for method in METHODS:
        changed = {name for one in SETTINGS if one.method == method for name in one.params}
        assert changed >= create(method).parameters().keys() - {"device", "encoder"}
