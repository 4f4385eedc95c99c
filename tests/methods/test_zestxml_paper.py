"""ZestXML as the paper has it: K-sparse rows, the constants of theorem 1.1, refined pairs and the blended score."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

import xcwork
from xcwork.data.synthetic import make_synthetic
from xcwork.errors import ConfigError
from xcwork.kernels.bilinear_training import LabelledPairs
from xcwork.methods.common.checkpoints import TrainingProgress
from xcwork.methods.zestxml.method import ZestXML
from xcwork.methods.zestxml.refine import SharedProblem
from xcwork.methods.zestxml.xhtp import CountedSides, find_pairs, find_partners, stack_blocks
from xcwork.methods.zestxml.xhtp_torch import find_partners_torch
from xcwork.sparse import normalise_rows, to_rows

N, C, L, D = 40, 6, 7, 5


def draw_matrices(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X, Z = (rng.random(shape) * (rng.random(shape) < 0.6) for shape in ((N, C), (L, D)))
    return X.astype(np.float32), (rng.random((N, L)) < 0.3) * 1.0, Z.astype(np.float32)


@pytest.mark.parametrize("seed", range(3))
def test_without_columns_every_row_has_its_k_best_pairs_and_no_others(seed: int) -> None:
    X, Y, Z = map(sparse.csr_array, draw_matrices(seed))
    everything = find_pairs(X, Y, Z, keep=C + D, blend=0.02).voters.toarray()
    found = find_pairs(X, Y, Z, keep=2, blend=0.02, columns=False)
    assert len(found.counts) == found.voters.nnz
    for row, values in zip(found.voters.toarray(), everything, strict=True):
        np.testing.assert_allclose(np.sort(row)[-2:], np.sort(values)[-2:])
        assert np.count_nonzero(row) <= 2


@pytest.mark.parametrize("seed", range(3))
def test_smoothing_adds_pairs_to_the_denominator_and_shift_is_taken_off(seed: int) -> None:
    X, Y, Z = draw_matrices(seed)
    counts = (X > 0).T @ Y @ (Z > 0)
    possible = np.outer((X > 0).sum(axis=0), (Z > 0).sum(axis=0))
    expected = np.maximum(counts / (possible + 3.0) - 0.1, 0)
    given = map(sparse.csr_array, (X, Y, Z))
    found = find_pairs(*given, keep=C + D, blend=0.0, smoothing=3.0, shift=0.1)
    np.testing.assert_allclose(found.voters.toarray(), expected, rtol=1e-4, atol=1e-7)


def test_torch_smooths_as_numba_does() -> None:
    sides = CountedSides.from_matrices(*map(sparse.csr_array, draw_matrices(0)), False)
    given = (sides.X, sides.T, sides.of_features, sides.of_label_features, 3, 0.02, 5.0)
    ours, theirs = stack_blocks(find_partners(*given))[0], stack_blocks(find_partners_torch(*given))[0]
    np.testing.assert_allclose(ours.toarray(), theirs.toarray(), rtol=1e-6)


@pytest.mark.parametrize("logistic", [False, True], ids=["squared hinge", "logistic"])
def test_refined_pairs_and_their_bias_solve_the_regularised_problem(logistic: bool) -> None:
    X, _, Z = draw_matrices(1)
    rng = np.random.default_rng(1)
    support = rng.random((C, D)) < 0.6
    signs = np.where(X @ (rng.normal(size=(C, D)) * support) @ Z.T + 0.5 * rng.normal(size=(N, L)) > 0.3, 1, -1)
    cost = 0.5
    pairs = LabelledPairs(to_rows(sparse.csr_array(signs.astype(np.int8)), None), np.zeros(N * L, np.float32))
    problem = SharedProblem(
        to_rows(sparse.csr_array(X)),
        to_rows(sparse.csr_array(Z)),
        D,
        pairs,
        learn_from=np.arange(N),
        stop_by=np.empty(0, np.int64),
        decay=(1 / (cost * (X > 0).sum(axis=0))).astype(np.float32),
        bias_decay=1 / (cost * N),
        logistic=logistic,
        learning_rate=0.5,
        batch_size=N,
        seed=0,
    )
    start = sparse.csr_array(support * np.float32(1e-9))
    weights, bias = problem.refine(start, 800, 1, TrainingProgress(None, None, {}))

    def objective(v: np.ndarray) -> float:
        W = np.zeros((C, D))
        W[support] = v[:-1]
        margins = signs * (X @ W @ Z.T + v[-1])
        loss = np.logaddexp(0, -margins) if logistic else np.maximum(0, 1 - margins) ** 2
        return v @ v / (2 * cost) + loss.sum()

    best = minimize(objective, np.zeros(support.sum() + 1), tol=1e-10)
    assert objective(np.append(weights.toarray()[support], bias)) == pytest.approx(best.fun, rel=1e-4)
    assert bias == pytest.approx(best.x[-1], abs=0.05)


@pytest.fixture(scope="module")
def data():
    return make_synthetic(n_documents=500, n_labels=60, n_topics=4, seed=3)


@pytest.fixture(scope="module")
def fitted(data):
    return xcwork.create("zestxml", preset="paper").fit(data.train)


def test_the_paper_refines_every_kept_pair_and_nothing_else(data, fitted) -> None:
    model = fitted.model_
    assert (np.diff(model.voters.indptr) <= model.params.pairs).all()
    refined = model.refined
    assert refined.own.nnz == refined.borrowed.nnz == 0
    assert refined.shared.nnz == model.voters.nnz
    assert np.mean(refined.shared.data != 0) > 0.9  # refined from zero
    assert np.any(refined.shared.indices < len(model.identities))
    assert len(set(refined.bias.tolist())) == 1


@pytest.mark.parametrize("loss", ["squared hinge", "logistic"])
def test_the_score_is_the_blend_of_margin_and_match_and_its_parts_add_up(data, loss) -> None:
    method = xcwork.create("zestxml", preset="paper", loss=loss, epochs=3).fit(data.train)
    model = method.model_
    x = normalise_rows(data.test.X[[0]])
    best = method.predict(data.test.X[[0]], k=5)
    for label, score in best.get_row(0):
        z = model.Z[[label]]
        margin = float(model.refined.bias[label] + (x @ model.refined.shared @ z.T).toarray()[0, 0])
        squashed = 1 / (1 + np.exp(-margin)) if loss == "logistic" else np.exp(-(max(0, 1 - margin) ** 2))
        same = model.matches.copy()
        same.data[:] = 1
        assert score == pytest.approx(0.9 * squashed + 0.1 * float((x @ same @ z.T).toarray()[0, 0]), rel=1e-4)
        reasons = method.explain(data.test.X[[0]], label)
        assert reasons.exact
        assert sum(part.value for part in reasons.parts) == pytest.approx(score, rel=1e-4)


def test_refinement_beats_the_closed_form_where_labels_have_documents(data, fitted) -> None:
    closed = ZestXML(variant="xhtp").fit(data.train)
    refined, plain = (xcwork.evaluate(method, data).metrics["P@1"] for method in (fitted, closed))
    assert refined > plain


def test_pairs_that_no_epoch_refines_are_refused(data) -> None:
    with pytest.raises(ConfigError, match="0 epochs"):
        ZestXML(refined="pairs").fit(data.train)


def test_alpha_one_leaves_the_match_out(data, fitted) -> None:
    model = replace(fitted.model_, params=type(fitted.model_.params)({**fitted.model_.params, "alpha": 1.0}))
    scores = model.predict(data.test.X, 3).scores
    assert scores.max() <= 1.0
