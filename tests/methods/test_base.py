"""The parts of the contract that live in the base class: declared parameters, input forms, adding labels, loading."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from xcwork.data.synthetic import make_synthetic
from xcwork.errors import ConfigError, DataError, NotFittedError
from xcwork.methods.base import Capabilities, Explanation, Method, Part, TopK, param
from xcwork.methods.label_match.method import TfidfMatch
from xcwork.methods.model import FittedModel, narrow
from xcwork.methods.one_vs_all.method import OneVsAll
from xcwork.methods.popularity.method import Popularity
from xcwork.methods.registry import create
from xcwork.storage.state import write_state


@dataclass(frozen=True, kw_only=True, eq=False)
class DeclaredModel(FittedModel):
    """Ranks labels by their ids, the largest first."""

    learned: Any = None

    def predict(self, X, k, among=None):
        scores = np.tile(np.arange(self.n_labels, dtype=np.float32), (X.shape[0], 1))
        order = np.argsort(-scores, axis=1).astype(np.int32)
        found = TopK(order, np.take_along_axis(scores, order, axis=1))
        return (found if among is None else found.keep_labels(among)).head(k)

    def explain(self, x, label):
        return Explanation.from_parts([], exact=True, score=label)


@dataclass(kw_only=True, eq=False)
class Declared(Method):
    """One parameter of each kind."""

    count: int = param(3, "how many", low=1, high=9)
    rate: float = param(0.5, "how fast", low=0.0, high=1.0)
    mode: str = param("fast", "which way", choices=("fast", "slow"))
    deep: bool = param(False, "whether to go deep", advanced=True)
    limit: int | None = param(None, "at most this many", low=2)

    width: int = param(5, "how wide to search", low=1, at_prediction=True, formerly="beam")

    model_type = DeclaredModel

    def _fit(self, train, checkpoint):
        return DeclaredModel(**self._collect_facts(train))


class TestParameters:
    def test_the_declaration_is_the_whole_truth(self):
        declared = Declared.parameters()
        assert list(declared) == ["seed", "count", "rate", "mode", "deep", "limit", "width"]
        assert (declared["count"].type, declared["count"].low, declared["count"].high) == (int, 1, 9)
        assert declared["mode"].choices == ("fast", "slow")
        assert declared["deep"].advanced
        assert declared["limit"].optional
        assert not declared["count"].optional
        assert declared["limit"].type is int
        assert Declared().get_params() == {
            "seed": 0,
            "count": 3,
            "rate": 0.5,
            "mode": "fast",
            "deep": False,
            "limit": None,
            "width": 5,
        }

    @pytest.mark.parametrize(
        ("name", "text", "value"),
        [
            ("count", "7", 7),
            ("rate", "1e-3", 0.001),
            ("rate", "1", 1.0),
            ("mode", "slow", "slow"),
            ("deep", "Yes", True),
            ("deep", "0", False),
            ("limit", "none", None),
            ("limit", "", None),
            ("limit", "5", 5),
        ],
    )
    def test_text_from_a_command_line_is_read(self, name, text, value):
        parsed = Declared.parameters()[name].parse(text)
        assert parsed == value
        assert type(parsed) is type(value)

    @pytest.mark.parametrize(
        ("name", "text", "complaint"),
        [
            ("count", "many", "count must be a whole number, got 'many'"),
            ("count", "3.5", "count must be a whole number, got '3.5'"),
            ("rate", "fast", "rate must be a number, got 'fast'"),
            ("deep", "maybe", "deep must be true or false, got 'maybe'"),
        ],
    )
    def test_text_that_makes_no_sense_is_refused(self, name, text, complaint):
        with pytest.raises(ConfigError, match=complaint):
            Declared.parameters()[name].parse(text)

    @pytest.mark.parametrize(
        ("values", "complaint"),
        [
            ({"count": 0}, "count must be at least 1, got 0"),
            ({"count": 10}, "count must be at most 9, got 10"),
            ({"count": 2.0}, "count must be a whole number, got 2.0"),
            ({"count": True}, "count must be a whole number"),
            ({"count": None}, "count must be a whole number, got None"),
            ({"rate": float("nan")}, "rate must be a finite number"),
            ({"rate": "x"}, "rate must be a number, got 'x'"),
            ({"mode": "medium"}, "mode must be one of fast, slow, got 'medium'"),
            ({"deep": 1}, "deep must be true or false, got 1"),
            ({"limit": 1}, "limit must be at least 2, got 1"),
            ({"speed": 1}, "Declared has no parameter 'speed'; it has seed, count, rate, mode, deep, limit, width"),
        ],
    )
    def test_values_outside_the_declaration_are_refused(self, values, complaint):
        with pytest.raises(ConfigError, match=complaint):
            Declared.from_params(values)
        with pytest.raises(ConfigError, match=complaint):
            Declared().set_params(**values)

    def test_numbers_of_numpy_and_whole_rates_are_welcome(self):
        method = Declared.from_params({"count": np.int64(4), "rate": 1, "limit": np.int32(3)})
        assert (method.count, method.rate, method.limit) == (4, 1.0, 3)
        assert [type(value) for value in (method.count, method.rate, method.limit)] == [int, float, int]

    def test_set_params_changes_all_or_nothing(self):
        method = Declared()
        with pytest.raises(ConfigError):
            method.set_params(count=5, rate=7.0)
        assert method.count == 3

    def test_a_trained_method_changes_all_or_nothing(self, jumble):
        method = Declared().fit(jumble.train)
        with pytest.raises(ConfigError):
            method.set_params(count=5, rate=7.0)
        assert method.set_params(count=4).set_params(rate=0.25).get_params() == Declared().get_params() | {
            "count": 4,
            "rate": 0.25,
        }
        assert (method.model_.params.count, method.model_.params.rate) == (3, 0.5)
        method.fit(jumble.train)
        assert (method.model_.params.count, method.model_.params.rate) == (4, 0.25)

    def test_parameters_that_cannot_work_leave_the_model_as_it_is(self, jumble):
        method = Declared().fit(jumble.train)
        method.count = 99
        with pytest.raises(ConfigError, match="count must be at most 9"):
            method.fit(jumble.train)
        assert method.predict(jumble.test.X, k=1).ids[0].tolist() == [10]

    def test_fit_checks_what_was_assigned_by_hand(self, jumble):
        method = Declared()
        method.count = 99
        with pytest.raises(ConfigError, match="count must be at most 9"):
            method.fit(jumble.train)

    @given(st.integers() | st.floats() | st.text(max_size=3) | st.none() | st.booleans())
    def test_check_returns_a_valid_value_or_refuses(self, value):
        for parameter in Declared.parameters().values():
            try:
                checked = parameter.check(value)
            except ConfigError:
                continue
            assert parameter.check(checked) == checked
            assert checked is None or isinstance(checked, parameter.type)


def test_candidates_can_be_restricted(jumble):
    best = Declared().fit(jumble.train).predict(jumble.test.X, k=2, among=[1, 5, 3])
    assert best.ids[0].tolist() == [5, 3]


def test_filter_pairs_do_not_cost_places(jumble):
    pairs = np.array([[0, 10], [0, 9], [2, 10]])
    best = Declared().fit(jumble.train).predict(replace(jumble.test, filter_pairs=pairs), k=3)
    assert best.ids[:3].tolist() == [[8, 7, 6], [10, 9, 8], [9, 8, 7]]


def test_matrices_of_scipy_and_single_dense_rows_are_accepted(jumble):
    method = Declared().fit(jumble.train)
    for documents in (sparse.coo_matrix(jumble.test.X), jumble.test.X.toarray()[0]):
        assert method.predict(documents, k=1).ids[0].tolist() == [10]


def test_text_needs_a_vectoriser(jumble):
    with pytest.raises(DataError, match="loaded as ready-made features"):
        Declared().fit(jumble.train).predict("some text")


def test_adding_labels_checks_its_arguments(checkerboard):
    method = TfidfMatch().fit(checkerboard.train)
    with pytest.raises(ConfigError, match="put the one text into a list"):
        method.add_labels("green")
    with pytest.raises(ConfigError, match="there are 1 texts but 2 names"):
        method.add_labels(["green"], names=["a", "b"])
    assert len(method.labels_) == 9


def test_a_failed_fit_leaves_the_method_untrained(jumble):
    @dataclass(kw_only=True, eq=False)
    class Failing(Declared):
        """Fails when asked to."""

        def _fit(self, train, checkpoint):
            if self.deep:
                raise ZeroDivisionError
            return super()._fit(train, checkpoint)

    method = Failing().fit(jumble.train).set_params(deep=True)
    with pytest.raises(ZeroDivisionError):
        method.fit(jumble.train)
    with pytest.raises(NotFittedError, match="Failing has not been trained"):
        method.predict(jumble.test)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("shape", [lambda a: a, lambda a: {"deep": [a]}, sparse.csr_array, lambda a: float(a.max())])
def test_a_training_that_diverges_is_an_error_and_no_model(jumble, wrong, shape):
    @dataclass(kw_only=True, eq=False)
    class Diverging(Declared):
        """Learns numbers that are not finite."""

        def _fit(self, train, checkpoint):
            return DeclaredModel(
                **self._collect_facts(train), learned=shape(np.array([[abs(wrong), wrong]], np.float32))
            )

    method = Diverging()
    with pytest.raises(ConfigError, match=r"the training of Diverging diverged: learned .*not finite; use a smaller"):
        method.fit(jumble.train)
    assert not hasattr(method, "model_")


def test_parameters_of_the_prediction_take_effect_immediately_and_drop_what_was_prepared(jumble):
    method = Declared().fit(jumble.train)
    before = method.model_
    assert method.set_params(count=4, width=7).labels_ is before.labels
    assert (method.model_.params.count, method.model_.params.width) == (3, 7)
    assert method.model_ is not before
    method.width = 0
    with pytest.raises(ConfigError, match="width must be at least 1"):
        method.predict(jumble.test)


def test_an_old_name_of_a_parameter_is_understood_with_a_note(caplog):
    assert Declared.from_params({"beam": 9}).width == 9
    assert "the parameter beam of Declared is now called width" in caplog.text
    assert Declared().set_params(beam=8).width == 8
    with pytest.raises(ConfigError, match="width is given twice: beam was its former name"):
        Declared.from_params({"width": 3, "beam": 4})


def test_parameters_of_a_model_do_not_change(jumble):
    params = Declared().fit(jumble.train).model_.params
    with pytest.raises(AttributeError, match="count cannot change"):
        params.count = 5
    with pytest.raises(AttributeError, match="there is no parameter 'speed'"):
        params.speed  # noqa: B018
    assert dict(params | {"count": 5}) == Declared(count=5).get_params()


@pytest.mark.parametrize(
    ("explanation", "exact", "score", "predicted"),
    [
        (Explanation.from_parts([Part("a", "x", 4.0), Part("b", "x", 1.0)]), True, 5.0, None),
        (Explanation.from_parts([Part("a", "x", 4.0), Part("b", "x", 1.0001)]), True, 5.0001, None),
        (Explanation.from_parts([Part("a", "x", 4.0)], exact=True), False, 5.0, None),
        (Explanation.from_parts([Part("a", "x", 4.0)], exact=True, score=5.0), False, 5.0, None),
        (Explanation.from_parts([Part("a", "x", 0.5)], predicted=5.00001, link="a link"), True, 0.5, 5.00001),
        (Explanation.from_parts([Part("a", "x", 0.5)], predicted=0.6, link="a link"), False, 0.5, 5.0),
        (Explanation.from_parts([Part("a", "x", 0.5)], score=0.6, predicted=5.0, link="a link"), False, 0.6, 5.0),
    ],
)
def test_an_explanation_is_exact_if_it_adds_up_to_what_is_predicted(jumble, explanation, exact, score, predicted):
    @dataclass(kw_only=True, eq=False)
    class Claiming(Declared):
        """Predicts 5 for label 5, whatever it says about it."""

        def _fit(self, train, checkpoint):
            return ClaimingModel(**self._collect_facts(train))

    class ClaimingModel(DeclaredModel):
        def explain(self, x, label):
            return explanation

    found = Claiming().fit(jumble.train).explain(jumble.test.X[[0]], 5)
    assert (found.exact, found.score, found.predicted) == (exact, score, predicted)
    assert found.label == "label 5"


def test_a_folder_that_holds_something_else_is_no_model(tmp_path, jumble):
    write_state(tmp_path / "s", {"model": {"a": 1}})
    with pytest.raises(DataError, match="this folder does not hold a model"):
        Method.load(tmp_path / "s")


def test_a_model_must_be_trained_and_registered_to_be_saved(tmp_path, jumble):
    with pytest.raises(ConfigError, match="Declared is not registered"):
        Declared().fit(jumble.train).save(tmp_path / "s")
    assert list(tmp_path.iterdir()) == []


def test_methods_do_not_share_what_they_learned(jumble, checkerboard):
    a, b = Popularity().fit(jumble.train), Popularity().fit(checkerboard.train)
    assert (len(a.labels_), len(b.labels_)) == (11, 9)
    assert Capabilities() == Declared.capabilities


def test_learned_matrices_have_indices_of_32_bits_where_these_suffice() -> None:
    wide = sparse.csr_array(
        (np.ones(2, np.float32), np.array([1, 3], np.int64), np.array([0, 2, 2], np.int64)), shape=(2, 5)
    )
    assert wide.indices.dtype == np.int64
    kept = narrow({"a": wide, "b": np.arange(3)})
    assert kept["a"].indices.dtype == kept["a"].indptr.dtype == np.int32
    assert (kept["a"] != wide).nnz == 0
    assert kept["b"].dtype == np.int64
    huge = sparse.csr_array((np.ones(1), np.array([2**33]), np.array([0, 1])), shape=(1, 2**34))
    assert narrow(huge) is huge


def test_a_trained_model_holds_compact_matrices() -> None:
    data = make_synthetic(n_documents=100, n_labels=20, n_topics=2, labels_per_document=2)
    assert OneVsAll().fit(data.train).model_.weights.indices.dtype == np.int32


@pytest.mark.parametrize("method", ["label_tree", "one_vs_all", "nearest_documents", "popularity"])
def test_a_row_alone_gets_what_it_gets_among_others(method: str) -> None:
    tiny = make_synthetic(n_labels=20, n_documents=100, n_topics=2, seed=3)
    model = create(method).fit(tiny.train)
    together = model.predict(tiny.test.X, k=4)
    for row in range(min(6, len(tiny.test))):
        for form in (tiny.test.X[[row]], sparse.csr_matrix(tiny.test.X[[row]])):
            alone = model.predict(form, k=4)
            assert alone.labels is model.labels_
            np.testing.assert_array_equal(alone.ids[0], together.ids[row])
            np.testing.assert_array_equal(alone.scores[0], together.scores[row])
    with pytest.raises(DataError, match="features, but the model was trained on"):
        model.predict(sparse.csr_array((1, tiny.train.X.shape[1] + 1)))
