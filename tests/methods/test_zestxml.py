"""ZestXML against brute force: the closed form, the shortlists and their bound, and what unseen labels may use."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from xcwork.data.synthetic import make_synthetic
from xcwork.errors import DataError
from xcwork.methods.base import Method
from xcwork.methods.zestxml.explanation import PairReader
from xcwork.methods.zestxml.method import ZestXML
from xcwork.methods.zestxml.shortlist import Shortlister, prepare_documents
from xcwork.methods.zestxml.xhtp import CountedSides, find_pairs, find_partners, stack_blocks
from xcwork.methods.zestxml.xhtp_torch import find_partners_torch

N, C, L, D = 12, 6, 7, 5


def matrices(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X, Z = (rng.random(shape) * (rng.random(shape) < 0.5) for shape in ((N, C), (L, D)))
    Y = (rng.random((N, L)) < 0.3).astype(float)
    return X, Y, Z


def closed_form(X: np.ndarray, Y: np.ndarray, Z: np.ndarray, blend: float) -> np.ndarray:
    """Count pair by pair: of the (document, label) pairs with both features, how many are relevant."""
    values = np.zeros((C, D))
    relevant = [(i, label) for i in range(N) for label in range(L) if Y[i, label]]
    for c in range(C):
        for d in range(D):
            both = sum(X[i, c] > 0 and Z[label, d] > 0 for i, label in relevant)
            has_c, has_d = sum(X[i, c] > 0 for i, _ in relevant), sum(Z[label, d] > 0 for _, label in relevant)
            possible = (X[:, c] > 0).sum() * (Z[:, d] > 0).sum()
            if both:
                values[c, d] = both / (blend * (has_c + has_d - both) + (1 - blend) * possible)
    return values


@pytest.mark.parametrize("blend", [0.0, 0.02, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_the_closed_form_is_counting(seed: int, blend: float) -> None:
    X, Y, Z = matrices(seed)
    found = find_pairs(*map(sparse.csr_array, (X, Y, Z)), keep=D + C, blend=blend)
    np.testing.assert_allclose(found.voters.toarray(), closed_form(X, Y, Z, blend), rtol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_the_plain_form_is_the_theorem_on_real_values(seed: int) -> None:
    X, Y, Z = matrices(seed)
    found = find_pairs(*map(sparse.csr_array, (X, Y, Z)), keep=D + C, blend=0.5, plain=True)
    possible = X.sum(axis=0)[:, None] * Z.sum(axis=0)[None]
    expected = np.divide(X.T @ Y @ Z, possible, out=np.zeros((C, D)), where=possible > 0)
    np.testing.assert_allclose(found.voters.toarray(), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("plain", [False, True])
def test_torch_finds_the_pairs_that_numba_finds(seed: int, plain: bool) -> None:
    sides = CountedSides.from_matrices(*map(sparse.csr_array, matrices(seed)), plain)
    for a, b, of_a, of_b in (
        (sides.X, sides.T, sides.of_features, sides.of_label_features),
        (sides.T, sides.X, sides.of_label_features, sides.of_features),
    ):
        by_numba = stack_blocks(find_partners(a, b, of_a, of_b, 3, 0.02))
        by_torch = stack_blocks(find_partners_torch(a, b, of_a, of_b, 3, 0.02, device="cpu"))
        for ours, theirs in zip(by_numba, by_torch, strict=True):
            np.testing.assert_array_equal(ours.indices, theirs.indices)
            np.testing.assert_allclose(ours.toarray(), theirs.toarray(), rtol=1e-6)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("keep", [1, 2])
def test_the_best_of_each_row_and_of_each_column_are_kept(seed: int, keep: int) -> None:
    X, Y, Z = matrices(seed)
    values = closed_form(X, Y, Z, 0.02)
    kept = np.zeros_like(values, dtype=bool)
    for c in range(C):
        kept[c, sorted(range(D), key=lambda d: (-values[c, d], d))[:keep]] = True
    for d in range(D):
        kept[sorted(range(C), key=lambda c: (-values[c, d], c))[:keep], d] = True
    found = find_pairs(*map(sparse.csr_array, (X, Y, Z)), keep=keep, blend=0.02)
    np.testing.assert_allclose(found.voters.toarray(), np.where(kept, values, 0), rtol=1e-5)


@pytest.mark.slow
@settings(max_examples=60)
@given(seed=st.integers(0, 10_000), epsilon=st.floats(0.01, 0.9))
def test_leaving_out_small_weights_costs_at_most_what_theorem_1_2_says(seed: int, epsilon: float) -> None:
    X, Y, Z = matrices(seed)
    weights, large = (
        find_pairs(*map(sparse.csr_array, (X, Y, Z)), keep=D + C, blend=0.02, epsilon=limit) for limit in (0.0, epsilon)
    )
    assert len(large.counts) == large.voters.nnz == np.count_nonzero(weights.voters.data >= epsilon)
    scores, approximate = (X @ some.voters.toarray() @ Z.T for some in (weights, large))
    bound = epsilon * X.sum(axis=1) * Z.sum(axis=1).max(initial=0)
    regret = scores.max(axis=1) - scores[np.arange(N), approximate.argmax(axis=1)]
    assert (regret <= bound + 1e-6).all()


@pytest.mark.parametrize("seed", range(5))
def test_the_exact_shortlist_is_the_product_and_the_lazy_one_recalls_no_more(seed: int) -> None:
    X, Y, Z = (sparse.csr_array(part.astype(np.float32)) for part in matrices(seed))
    weights = find_pairs(X, Y, Z, keep=D + C, blend=0.02).voters
    nothing = sparse.csr_array((C, D), dtype=np.float32)
    lists = {
        kind: Shortlister.from_weights(weights, nothing, Z, np.arange(L), kind, overfetch=1).find(
            prepare_documents(X), 3
        )
        for kind in ("exact", "lazy")
    }
    scores = (X @ weights @ Z.T).toarray()
    for document in range(N):
        expected = [label for label in np.argsort(-scores[document], kind="stable")[:3] if scores[document, label] > 0]
        assert [label for label, _ in lists["exact"].get_row(document)] == expected
        for label, score in lists["lazy"].get_row(document):
            assert score == pytest.approx(scores[document, label], rel=1e-5)
    total = {kind: sum(score for row in range(N) for _, score in found.get_row(row)) for kind, found in lists.items()}
    assert total["exact"] >= total["lazy"] - 1e-5


@pytest.fixture(scope="module")
def fitted():
    data = make_synthetic(n_documents=600, n_labels=60, n_topics=4, seed=3)
    return data, ZestXML().fit(data.train)


def test_lazy_shortlists_lead_to_the_predictions_of_exact_ones() -> None:
    data = make_synthetic(n_documents=600, n_labels=200, n_topics=4, seed=3)
    exact, lazy = (
        ZestXML(shortlister=kind, shortlist=20, overfetch=2).fit(data.train).predict(data.test, k=3).ids
        for kind in ("exact", "lazy")
    )
    assert (exact[:, 0] == lazy[:, 0]).mean() > 0.9
    assert np.mean([len(set(a) & set(b)) for a, b in zip(exact.tolist(), lazy.tolist(), strict=True)]) > 2.7


def test_nothing_memorised_fires_for_a_label_that_was_never_seen(fitted) -> None:
    data, model = fitted
    for label in data.unseen_labels.tolist():
        for document in range(5):
            parts = model.explain(data.test.X[[document]], label).parts
            assert not any(part.details.get("kind") == "memorised" for part in parts)
    seen = int(data.train.label_frequencies.argmax())
    with_it = np.flatnonzero(data.test.Y[:, [seen]].toarray())[:5]
    parts = [part for i in with_it for part in model.explain(data.test.X[[i]], seen)]
    assert any(part.details.get("kind") == "memorised" for part in parts)


def test_a_new_label_is_predictable_at_once(fitted) -> None:
    data, _ = fitted
    model = ZestXML().fit(data.train)
    text = data.labels.texts[int(data.unseen_labels[0])]
    (new,) = model.add_labels([text], ["brand new"])
    assert new in model.predict(text, k=3).ids
    assert model.explain(text, "brand new").score > 0 or model.explain(text, "brand new").parts


def test_the_recall_of_the_shortlist_is_reported(fitted) -> None:
    data, model = fitted
    found = model.diagnose(data.test)
    assert 50 < found["shortlist recall"] <= 100


def test_tuning_beats_the_closed_form_alone(fitted) -> None:
    import xcwork

    data, tuned = fitted
    closed = ZestXML(variant="xhtp").fit(data.train)
    a, b = (xcwork.evaluate(model, data).metrics["P@1"] for model in (tuned, closed))
    assert a > b


def test_a_text_without_known_words_gets_no_label(fitted) -> None:
    _, model = fitted
    assert not np.isnan(model.predict("zzz qqq", k=5).scores).any()


def test_a_model_of_the_closed_form_stays_one_until_it_is_trained_again(fitted, tmp_path) -> None:
    data, _ = fitted
    model = ZestXML(variant="xhtp").fit(data.train)
    expected = model.predict(data.test, k=5)
    model.set_params(variant="tuned")
    model.save(tmp_path / "model")
    for same in (model, Method.load(tmp_path / "model")):
        assert same.predict(data.test, k=5).scores.tobytes() == expected.scores.tobytes()
        assert same.explain(data.test.X[[0]], int(expected.ids[0, 0])).exact
    assert model.model_.refined is None
    assert model.fit(data.train).model_.refined is not None


@pytest.mark.parametrize("variant", ["tuned", "xhtp"])
def test_an_explanation_that_lacks_something_is_not_exact(fitted, variant, monkeypatch) -> None:
    data, _ = fitted
    model = ZestXML(variant=variant).fit(data.train)
    best, x = model.predict(data.test.X[[0]], k=1), data.test.X[[0]]
    label, score = best.get_row(0)[0]
    assert model.explain(x, label).exact
    monkeypatch.setattr(PairReader, "explain_pairs", lambda *arguments: [])
    reasons = model.explain(x, label)
    assert not reasons.exact
    assert reasons.score == pytest.approx(score)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda learned: {"voter_counts": learned["voter_counts"][:-1]}, "what was counted of its pairs does not fit"),
        (lambda learned: {"voter_counts": learned["voter_counts"] * np.nan}, "voter_counts holds numbers that are not"),
        (lambda learned: {"terms": learned["terms"] + 10**6}, "terms holds a number that is not below"),
        (lambda learned: {"identities": learned["identities"][1:]}, "identities and terms are not the columns of Z"),
        (lambda learned: {"refined": None}, "refined does not fit the variant"),
        (lambda learned: {"refined": learned["refined"] | {"more": 1}}, "refined more is unknown here"),
        (lambda learned: {"refined": learned["refined"] | {"bias": np.zeros(3)}}, "bias has 3 entries where"),
        (
            lambda learned: {"refined": learned["refined"] | {"factors": np.full((2, 2), np.inf)}},
            "refined holds numbers",
        ),
    ],
)
def test_a_stored_model_that_does_not_fit_is_refused(fitted, change, complaint) -> None:
    state = fitted[1].to_state()
    with pytest.raises(DataError, match=re.escape(complaint)):
        Method.from_state(state | {"learned": state["learned"] | change(state["learned"])})
