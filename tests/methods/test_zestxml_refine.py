"""The refinement of ZestXML against dense solvers, and its resumption after a stop in any phase."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from xcwork.data.synthetic import make_synthetic
from xcwork.errors import Cancelled
from xcwork.kernels.bilinear_training import LabelledPairs, compute_loss_and_slope
from xcwork.methods.common import checkpoints, pair_svm
from xcwork.methods.common.checkpoints import Checkpoint, TrainingProgress
from xcwork.methods.common.pair_svm import PairBlockSolver, PairSVM, PairSvmSettings
from xcwork.methods.zestxml import training
from xcwork.methods.zestxml.method import ZestXML
from xcwork.methods.zestxml.refine import SharedProblem
from xcwork.progress import Callback, listen
from xcwork.sparse import to_rows

pytestmark = pytest.mark.slow

LOGISTIC = pytest.mark.parametrize("logistic", [False, True], ids=["squared hinge", "logistic"])


def loss(margins: np.ndarray, logistic: bool) -> np.ndarray:
    return np.logaddexp(0, -margins) if logistic else np.maximum(0, 1 - margins) ** 2


def no_checkpoint(train=None) -> TrainingProgress:
    return TrainingProgress(None, train, {})


@LOGISTIC
@pytest.mark.parametrize("margin", [-40.0, -3.0, -0.2, 0.0, 0.7, 0.999, 1.5, 40.0])
def test_the_slope_is_the_derivative_of_the_loss(margin: float, logistic: bool) -> None:
    value, slope = compute_loss_and_slope(margin, logistic)
    assert value == pytest.approx(loss(np.array(margin), logistic), abs=1e-9)
    step = 1e-5
    rise = loss(np.array(margin + step), logistic) - loss(np.array(margin - step), logistic)
    assert slope == pytest.approx(rise / (2 * step), abs=1e-4)


@LOGISTIC
@pytest.mark.parametrize("C", [0.3, 4.0])
@pytest.mark.parametrize("seed", range(3))
def test_own_weights_are_those_of_a_dense_solver(seed: int, C: float, logistic: bool) -> None:
    rng = np.random.default_rng(seed)
    n, n_features, n_labels = 30, 6, 3
    X = rng.random((n, n_features)) * (rng.random((n, n_features)) < 0.6)
    signs = rng.choice([-1, 0, 1], (n, n_labels), p=[0.4, 0.2, 0.4])
    offsets = rng.normal(size=(n, n_labels)) * (signs != 0)
    pairs = sparse.csr_array(signs.astype(np.int8))
    settings = PairSvmSettings(
        C=C, max_passes=5000, tolerance=1e-6, prune=0.0, max_weights=n_features, seed=0, logistic=logistic
    )
    problem = PairSVM(sparse.csr_array(X.astype(np.float32)), pairs, offsets[signs != 0].astype(np.float32), settings)
    weights, bias = problem.solve(np.array([0, 2]), no_checkpoint(), "own")
    for label in (0, 2):
        here = signs[:, label] != 0

        def objective(v: np.ndarray, label: int = label, here: np.ndarray = here) -> float:
            margins = signs[here, label] * (X[here] @ v[:-1] + v[-1] + offsets[here, label])
            return v @ v / 2 + C * loss(margins, logistic).sum()

        expected = minimize(objective, np.zeros(n_features + 1), tol=1e-12).x
        found = np.append(weights.toarray()[:, label], bias[label])
        np.testing.assert_allclose(found, expected, atol=3e-3)
    assert not weights.toarray()[:, 1].any()  # nobody asked for this label


@LOGISTIC
def test_small_own_weights_are_dropped_and_only_the_largest_kept(logistic: bool) -> None:
    rng = np.random.default_rng(1)
    X = sparse.csr_array(rng.random((40, 8)).astype(np.float32))
    pairs = sparse.csr_array(rng.choice([-1, 1], (40, 1)).astype(np.int8))

    def solve(smallest: float, keep: int) -> np.ndarray:
        settings = PairSvmSettings(
            C=1.0, max_passes=200, tolerance=1e-4, prune=smallest, max_weights=keep, seed=0, logistic=logistic
        )
        return (
            PairSVM(X, pairs, np.zeros(40, np.float32), settings)
            .solve(np.array([0]), no_checkpoint(), "own")[0]
            .toarray()
            .ravel()
        )

    whole = solve(0.0, 8)
    limit = np.sort(np.abs(whole))[4]
    np.testing.assert_array_equal(solve(limit, 8), np.where(np.abs(whole) >= limit, whole, 0))
    np.testing.assert_array_equal(solve(0.0, 4), np.where(np.abs(whole) >= limit, whole, 0))


def shared_problem(seed: int, logistic: bool, stop_by: np.ndarray) -> tuple[SharedProblem, sparse.csr_array, tuple]:
    """A problem whose positives follow a planted W, with label noise so that the optimum is finite."""
    rng = np.random.default_rng(seed)
    n, n_features, n_labels, n_terms = 60, 4, 5, 3
    X, Z = (rng.random(shape) * (rng.random(shape) < 0.6) for shape in ((n, n_features), (n_labels, n_terms)))
    support = rng.random((n_features, n_terms)) < 0.7
    planted = rng.normal(size=(n_features, n_terms)) * support
    signs = np.where(X @ planted @ Z.T + rng.normal(size=(n, n_labels)) > 0, 1, -1)
    offsets = np.full((n, n_labels), -0.2)
    X, Z = X.astype(np.float32), Z.astype(np.float32)
    pairs = LabelledPairs(to_rows(sparse.csr_array(signs.astype(np.int8)), None), offsets.ravel().astype(np.float32))
    problem = SharedProblem(
        to_rows(sparse.csr_array(X)),
        to_rows(sparse.csr_array(Z)),
        n_terms,
        pairs,
        learn_from=np.setdiff1d(np.arange(n), stop_by),
        stop_by=stop_by,
        decay=np.zeros(n_features, np.float32),
        bias_decay=None,
        logistic=logistic,
        learning_rate=1.0,
        batch_size=n,
        seed=0,
    )
    return problem, sparse.csr_array(support.astype(np.float32) * 0.1), (X, Z, signs, offsets, support)


@LOGISTIC
@pytest.mark.parametrize("seed", range(3))
def test_refined_pairs_reach_the_optimum_of_a_dense_solver(seed: int, logistic: bool) -> None:
    problem, start, (X, Z, signs, offsets, support) = shared_problem(seed, logistic, np.empty(0, np.int64))

    def objective(v: np.ndarray) -> float:
        W = np.zeros(support.shape)
        W[support] = v
        return loss(signs * (X @ W @ Z.T + offsets), logistic).sum()

    refined = problem.refine(start, 600, 1, no_checkpoint())[0].toarray()
    assert not refined[~support].any()
    best = minimize(objective, np.zeros(support.sum()), tol=1e-10).fun
    assert best < objective(np.full(support.sum(), 0.1)) * 0.99  # there was something to learn
    assert objective(refined[support]) == pytest.approx(best, rel=2e-3)


class HeldOut(Callback):
    """Collects the held-out loss of every epoch."""

    def __init__(self) -> None:
        self.losses: list[float] = []

    def on_values(self, phase: str, values: dict[str, float]) -> None:
        self.losses.append(values["held-out loss"])


@pytest.mark.parametrize("patience", [1, 3])
def test_refinement_stops_by_held_out_documents_and_keeps_the_best_epoch(patience: int) -> None:
    stop_by = np.arange(40, 60)
    problem, start, (X, Z, signs, offsets, _) = shared_problem(0, False, stop_by)
    problem = replace(problem, learning_rate=0.2)

    def refined(epochs: int, patience: int) -> tuple[list[float], float]:
        """The held-out loss of the start and of each epoch, and that of the weights that came out."""
        heard = HeldOut()
        with listen([heard]):
            weights = problem.refine(start, epochs, patience, no_checkpoint())[0].toarray()
        margins = (signs * (X @ weights @ Z.T + offsets))[stop_by]
        return heard.losses, loss(margins, False).sum() / len(stop_by)

    every = refined(60, 60)[0]  # the start first
    n_epochs = next(n for n in range(1, 60) if n - np.argmin(every[: n + 1]) >= patience)
    assert n_epochs > patience  # something was learned before it stopped
    losses, final = refined(60, patience)
    assert losses == every[: n_epochs + 1]
    assert final == pytest.approx(min(losses), rel=1e-5)


class StopIn(Callback):
    """Asks to stop after so many steps of a phase, and counts the steps of all phases."""

    def __init__(self, phase: str = "", after: int = 0) -> None:
        self.phase, self.after, self.steps = phase, after, {}

    def on_step(self, phase: str, step: int, total: int | None) -> bool:
        self.steps[phase] = self.steps.get(phase, 0) + (step > 0)
        return phase == self.phase and self.steps[phase] >= self.after


PARAMS = {"epochs": 3, "patience": 10, "validation": 0.1}
PHASES = (
    "counting pairs",
    "weighing matches",
    "borrowing terms",
    "shortlisting",
    "matching",
    "refining shared pairs",
    "scoring shared pairs",
    "training own weights",
    "calibrating",
)


@pytest.fixture(scope="module")
def data():
    return make_synthetic(n_documents=300, n_labels=120, n_topics=4, seed=5)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(pair_svm, "MIN_LABELS_PER_BLOCK", 8)
    monkeypatch.setattr(pair_svm, "BLOCK_BYTES", 1)


def learned(model: ZestXML) -> dict[str, np.ndarray]:
    refined = model.model_.refined
    names = ("shared", "own", "bias", "factors", "typical", "borrowed")
    numbers = {name: np.array(getattr(refined, name)) for name in ("unseen_bias", "borrowing_share")}
    return {"voters": model.model_.voters} | {name: getattr(refined, name) for name in names} | numbers


def assert_same(model: ZestXML, expected: ZestXML) -> None:
    for name, value in learned(model).items():
        other = learned(expected)[name]
        if sparse.issparse(value):
            np.testing.assert_array_equal(value.indices, other.indices, err_msg=name)
            value, other = value.data, other.data
        np.testing.assert_array_equal(value, other, err_msg=name)


@pytest.mark.parametrize("loss", ["squared hinge", "logistic"])
def test_a_stop_in_any_phase_is_resumed_to_the_same_model(loss, data, tmp_path, small_blocks) -> None:
    counter = StopIn()
    expected = ZestXML(loss=loss, **PARAMS).fit(data.train, callbacks=[counter])
    assert set(counter.steps) == set(PHASES)
    for phase in PHASES:
        checkpoint = Checkpoint(tmp_path / phase)
        stop = StopIn(phase, counter.steps[phase] // 2)
        with pytest.raises(Cancelled):
            ZestXML(loss=loss, **PARAMS).fit(data.train, callbacks=[stop], checkpoint=checkpoint)
        assert_same(ZestXML(loss=loss, **PARAMS).fit(data.train, checkpoint=checkpoint), expected)


@pytest.mark.parametrize("save_every", [0, 10**9])
def test_own_weights_that_are_done_are_not_learned_again(data, tmp_path, monkeypatch, small_blocks, save_every) -> None:
    monkeypatch.setattr(
        checkpoints, "MIN_SAVING_TIMES_BETWEEN_SAVES", save_every
    )  # however seldom it saves, a stop saves everything
    monkeypatch.setattr(training, "MIN_VALIDATION_DOCUMENTS", 0)  # so that no label is learned twice
    n_blocks = []
    solve_block = PairBlockSolver.solve

    def counted(solver, labels):
        n_blocks.append(len(labels))
        return solve_block(solver, labels)

    monkeypatch.setattr(PairBlockSolver, "solve", counted)
    for phase, after, still_to_do in (("training own weights", 2, -2), ("calibrating", 0, None)):
        checkpoint = Checkpoint(tmp_path / phase)
        n_blocks.clear()
        expected = ZestXML().fit(data.train)
        total = len(n_blocks)
        assert total > 4
        with pytest.raises(Cancelled):
            ZestXML().fit(data.train, callbacks=[StopIn(phase, after)], checkpoint=checkpoint)
        n_blocks.clear()
        assert_same(ZestXML().fit(data.train, checkpoint=checkpoint), expected)
        assert len(n_blocks) == (0 if still_to_do is None else total + still_to_do)


def test_a_checkpoint_of_other_data_or_parameters_is_ignored(data, tmp_path) -> None:
    checkpoint = Checkpoint(tmp_path)
    ZestXML().fit(data.train, checkpoint=checkpoint)
    assert checkpoint.restore() is not None
    assert_same(ZestXML(C=0.1).fit(data.train, checkpoint=checkpoint), ZestXML(C=0.1).fit(data.train))
    part = data.train.take(range(150))
    assert_same(ZestXML(C=0.1).fit(part, checkpoint=checkpoint), ZestXML(C=0.1).fit(part))
