"""SiameseXML's likelihood, encoder, optimiser, starting points and module I against brute force and closed forms."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from xcwork.core.features import Features
from xcwork.errors import ConfigError, DataError
from xcwork.methods.common.row_adam import RowAdam
from xcwork.methods.common.token_bags import TokenBags
from xcwork.methods.siamesexml.encoder import Encoder, ResidualBlock, normalise
from xcwork.methods.siamesexml.encoder_training import EncoderTraining, LabelSampler, decay_learning_rate
from xcwork.methods.siamesexml.initial_embeddings import (
    decompose,
    fill_missing_rows,
    iterate_subspace,
    make_initial_table,
    mix_with_random,
    read_table,
)
from xcwork.methods.siamesexml.loss import (
    CLASSIFIER_LIKELIHOOD,
    ENCODER_LIKELIHOOD,
    Likelihood,
    compute_encoder_loss,
)
from xcwork.methods.siamesexml.token_map import TokenMap
from xcwork.sparse import normalise_rows

CPU = torch.device("cpu")
NOTHING = sparse.csr_array((30, 8), dtype=np.float32)  # no filter pairs


def random_texts(n: int, n_tokens: int, seed: int = 0) -> sparse.csr_array:
    rng = np.random.default_rng(seed)
    return normalise_rows(sparse.random_array((n, n_tokens), density=0.3, format="csr", dtype=np.float32, rng=rng))


# At 0.4388 the loss of a negative over d is the 0.05 below which it no longer counts.
@pytest.mark.parametrize(
    ("likelihood", "v", "positive", "negative"),
    [
        (CLASSIFIER_LIKELIHOOD, 1.0, 0.2876820724517809, 1.3862943611198906),
        (CLASSIFIER_LIKELIHOOD, 0.4388, 1.9712820724517809, 0.15000),
        (CLASSIFIER_LIKELIHOOD, 0.0, 3.2876820724517809, 0.03805531),
        (CLASSIFIER_LIKELIHOOD, -1.0, 6.2876820724517809, 0.0018607995),
        (ENCODER_LIKELIHOOD, 1.0, 0.1053605156578263, 2.3025850929940455),
        (ENCODER_LIKELIHOOD, -1.0, 3.1053605156578263, 0.04584329),
    ],
)
def test_losses_and_slopes_at_the_ends_and_between(likelihood, v, positive, negative):
    at = torch.tensor(v, dtype=torch.float64, requires_grad=True)
    assert likelihood.compute_positive_loss(at).item() == pytest.approx(positive, rel=1e-12)
    assert likelihood.compute_negative_loss(at).item() == pytest.approx(negative, rel=2e-4)
    (slope,) = torch.autograd.grad(likelihood.compute_positive_loss(at), at)
    assert slope.item() == -likelihood.d
    (slope,) = torch.autograd.grad(likelihood.compute_negative_loss(at), at)
    p = likelihood.c * math.exp(likelihood.d * (v - 1))
    assert slope.item() == pytest.approx(likelihood.d * p / (1 - p), rel=1e-12)
    single = likelihood.compute_negative_loss(torch.tensor(v, dtype=torch.float32)).item()
    assert single == pytest.approx(likelihood.compute_negative_loss(at).item(), rel=2e-6)


def test_the_margin_of_negatives_and_the_lipschitz_constants():
    assert CLASSIFIER_LIKELIHOOD.find_cosine(0.05 * CLASSIFIER_LIKELIHOOD.d) == pytest.approx(0.4388, abs=1e-4)
    assert CLASSIFIER_LIKELIHOOD.lipschitz == 9.0
    assert CLASSIFIER_LIKELIHOOD.inverse_lipschitz == pytest.approx(math.exp(6) / 2.25)


@given(c=st.floats(0.01, 0.999), d=st.floats(0.1, 50), a=st.floats(-1.5, 1.5), b=st.floats(-1.5, 1.5))
def test_losses_are_finite_and_monotone(c, d, a, b):
    v = torch.tensor(sorted((a, b)), dtype=torch.float64)
    model = Likelihood(c, d)
    for loss in (model.compute_positive_loss(v), -model.compute_negative_loss(v)):
        assert torch.isfinite(loss).all()
        assert loss[0] >= loss[1]


@pytest.mark.parametrize("nu", [0.0, 0.3])
def test_the_encoder_is_its_formula_and_rows_outside_the_batch_have_no_gradient(nu):
    X = random_texts(7, 20)
    X = sparse.csr_array(sparse.vstack([X, sparse.csr_array((1, 20), dtype=np.float32)]))
    table = torch.from_numpy(np.random.default_rng(1).standard_normal((20, 5)).astype(np.float32))
    encoder = Encoder(table, "gelu", nu)
    v = torch.nn.functional.gelu(torch.from_numpy(X.toarray()) @ table)
    if nu:
        v = torch.cat([v, torch.full((8, 1), nu)], dim=1)
    expected = v / v.norm(dim=1, keepdim=True).clamp_min(1e-12)
    expected[-1] = 0  # a text without tokens has no direction, whatever ν says
    f = encoder.encode(X)
    np.testing.assert_allclose(f, expected.numpy(), atol=1e-6)
    assert encoder.finish(f).shape == (8, 5 + 2 * (nu > 0))
    bags, sums = encoder.sum_bags(X[:2])
    encoder.activate(sums).sum().backward()
    tokens, gradients = bags.sum_gradients(sums.grad)
    assert tokens.tolist() == sorted(set(X[:2].indices.tolist()))
    whole = table.clone().requires_grad_()
    dense = torch.nn.functional.gelu(torch.from_numpy(X[:2].toarray()) @ whole)
    normalise(dense, nu).sum().backward()
    np.testing.assert_allclose(gradients, whole.grad[tokens], atol=1e-5)
    assert not np.delete(whole.grad.numpy(), tokens.numpy(), axis=0).any()


def test_an_embedding_does_not_depend_on_the_batch():
    X = random_texts(40, 30)
    encoder = Encoder(torch.from_numpy(np.random.default_rng(2).standard_normal((30, 33)).astype(np.float32)))
    encoder.residual.radius += 0.7
    encoder.residual.R += 0.1 * torch.from_numpy(np.random.default_rng(3).standard_normal((33, 33)).astype(np.float32))
    together = encoder.finish(encoder.encode(X))
    for row in (0, 17, 39):
        np.testing.assert_array_equal(encoder.finish(encoder.encode(X[[row]]))[0], together[row])


@pytest.mark.parametrize("nu", [0.01, 0.5])
def test_n_nu_gives_unit_vectors_even_of_zero_and_is_lipschitz(nu):
    a, b = torch.randn(2, 50, 6, generator=torch.Generator().manual_seed(0))
    a[0] = 0
    assert normalise(a, nu).norm(dim=1).numpy() == pytest.approx(np.ones(50), rel=1e-5)
    moved = (normalise(a, nu) - normalise(b, nu)).norm(dim=1)
    assert (moved <= 2 / nu * (a - b).norm(dim=1)).all()


def test_the_residual_block_starts_as_the_identity_and_follows_the_spectral_norm():
    block = ResidualBlock(6, "gelu", 0.0, CPU)
    v = normalise(torch.randn(9, 6, generator=torch.Generator().manual_seed(1)), 0.0)
    np.testing.assert_allclose(block(v), v, atol=1e-6)
    block.R.copy_(torch.from_numpy(np.random.default_rng(4).standard_normal((6, 6)).astype(np.float32)))
    for _ in range(200):
        block.improve_spectrum()
    assert block.estimate_norm(block.R).item() == pytest.approx(np.linalg.norm(block.R.numpy(), 2), rel=1e-4)
    block.radius += 2.0
    R = block.R.numpy() / np.linalg.norm(block.R.numpy(), 2)
    expected = v + 2 * torch.nn.functional.gelu(v @ torch.from_numpy(R).T)
    np.testing.assert_allclose(block(v), normalise(expected, 0.0), atol=1e-4)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("rows", [None, [0, 2, 5]])
def test_adam_is_torchs(rows, compiled):
    start = torch.randn(6, 3, generator=torch.Generator().manual_seed(2))
    ours, theirs = start.clone(), start.clone().requires_grad_()
    adam = RowAdam(ours, compiled=compiled)
    other = (torch.optim.Adam if rows is None else torch.optim.SparseAdam)([theirs], lr=0.1)
    at = None if rows is None else torch.tensor(rows)
    for step in range(5):
        gradient = torch.randn(6 if rows is None else 3, 3, generator=torch.Generator().manual_seed(step))
        theirs.grad = (
            gradient if at is None else torch.sparse_coo_tensor(at[None], gradient, (6, 3), check_invariants=True)
        )
        other.step()
        adam.step(gradient, 0.1, at)
    np.testing.assert_allclose(ours, theirs.detach(), atol=1e-5)
    again = RowAdam(start.clone())
    again.set_state(adam.get_state())
    assert again.steps == 5
    assert torch.equal(again.square, adam.square)


@pytest.mark.parametrize("compiled", [False, True])
def test_rows_that_catch_up_move_as_with_adam_for_all(compiled):
    """Of rows in one batch of fifteen the way is otherwise another by a third."""
    start = torch.randn(60, 5, generator=torch.Generator().manual_seed(1))
    caught_up, left_out, of_all = start.clone(), start.clone(), start.clone()
    adam, lazy, full = (RowAdam(table, compiled=compiled) for table in (caught_up, left_out, of_all))
    for step in range(400):
        generator = torch.Generator().manual_seed(step)
        rows = torch.randperm(60, generator=generator)[:4]
        gradient = torch.randn(4, 5, generator=generator) + 0.5
        whole = torch.zeros(60, 5).index_add_(0, rows, gradient)
        adam.catch_up(0.01, rows)
        adam.step(gradient, 0.01, rows)
        lazy.step(gradient, 0.01, rows)
        full.step(whole, 0.01)
    adam.catch_up(0.01)
    moved = (of_all - start).norm()
    assert (caught_up - of_all).norm() < 0.06 * moved  # corrections of bias are of the later step
    assert (left_out - of_all).norm() > 0.3 * moved
    np.testing.assert_allclose(adam.mean, full.mean, atol=1e-5)
    np.testing.assert_allclose(adam.square, full.square, rtol=1e-3)


@pytest.mark.parametrize("n_texts", [0, 1, 90])
def test_compiled_steps_of_tokens_are_those_of_torch(n_texts):
    """Also with tokens that occur in many texts, in none, and with more of them than share a buffer."""
    X = sparse.random_array((n_texts, 150), density=0.1, format="csr", dtype=np.float32, rng=np.random.default_rng(1))
    tables = [torch.ones(150, 7), torch.ones(150, 7)]
    for table, compiled in zip(tables, (False, True), strict=True):
        adam = RowAdam(table, compiled=compiled)
        for step in range(3):
            gradient = torch.randn(n_texts, 7, generator=torch.Generator().manual_seed(step))
            adam.step_bags(TokenBags(X, CPU), gradient, 0.1)
    np.testing.assert_allclose(*tables, atol=1e-5)
    untouched = np.setdiff1d(np.arange(150), X.indices)
    assert (tables[1][untouched] == 1).all()


def test_similar_texts_start_similar_and_equal_words_more_so():
    """Tokens 0 and 1 always occur together, 2 and 3 never with them."""
    texts = np.zeros((40, 5), np.float32)
    texts[:20, [0, 1]], texts[20:, [2, 3]] = 1, 1  # token 4 never occurs
    for source in ("svd", "pmi"):
        tables = [make_initial_table(normalise_rows(sparse.csr_array(texts)), source, 2, seed) for seed in range(100)]
        assert np.linalg.norm(tables[0], axis=1) == pytest.approx(np.ones(5), rel=1e-5)
        cosines = np.mean([table @ table.T for table in tables], axis=0)
        assert cosines[0, 1] > 0.3
        assert cosines[2, 3] > 0.3
        assert abs(cosines[0, 2]) < 0.2
        assert np.abs(cosines[4, :4]).max() < 0.2


def test_large_and_small_data_are_decomposed_alike():
    X = random_texts(300, 60, seed=5)
    wide = sparse.csr_array(sparse.hstack([X, sparse.csr_array((300, 1200), dtype=np.float32)]))
    small, large = (decompose(M, 60, 0, root=False) for M in (X, wide))
    np.testing.assert_allclose(X @ small @ small.T @ X.T, X @ X.T.toarray(), atol=1e-4)
    np.testing.assert_allclose(wide @ large @ large.T @ wide.T, X @ X.T.toarray(), atol=1e-3)


@pytest.mark.parametrize("is_wide", [True, False])
def test_the_directions_are_those_of_a_decomposition_of_the_whole_matrix(is_wide):
    tall = random_texts(900, 300, seed=6) @ sparse.diags_array(0.97 ** np.arange(300, dtype=np.float32))
    matrix = sparse.csr_array(tall.T if is_wide else tall, dtype=np.float32)
    values, right = iterate_subspace(matrix, 20, 0)
    _, expected, directions = np.linalg.svd(matrix.toarray(), full_matrices=False)
    np.testing.assert_allclose(values[:10], expected[:10], rtol=1e-2)
    np.testing.assert_allclose(right @ right.T, np.eye(len(right)), atol=1e-3)
    inside = np.linalg.norm(right[:20] @ directions[:5].T, axis=0)
    np.testing.assert_allclose(inside, np.ones(5), atol=1e-2)


def test_word_vectors_come_from_a_file(tmp_path):
    file = tmp_path / "words.vec"
    file.write_text("3 2\nred 1 0\nsquare 0 2\nblue 5 5\n", "utf-8")
    names = ["red", "square", "red square", "unknown"]
    table = read_table(str(file), names, 4)
    assert table.tolist() == [[1, 0], [0, 2], [1, 2], [0, 0]]
    assert (mix_with_random(table, seed=0)[:3] * normalise_rows(table[:3])).sum(axis=1).min() > 0
    filled = fill_missing_rows(table.copy(), seed=0)
    np.testing.assert_array_equal(filled[table.any(axis=1)], table[table.any(axis=1)])
    assert filled.any(axis=1).all()
    file.write_text("red 1 0\nsquare 0 2\n", "utf-8")
    assert read_table(str(file), ["red"], 1).shape == (1, 2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("red 1 0\nsquare 2\n", "words.vec, line 2: 1 numbers where 2 belong"),
        ("red 1 zero\n", "words.vec, line 1: this is not a word followed by numbers"),
        ("green 1 0\n", "no word of this dataset is in the file"),
    ],
)
def test_a_bad_file_of_word_vectors_is_refused(tmp_path, content, message):
    (tmp_path / "words.vec").write_text(content, "utf-8")
    with pytest.raises(DataError, match=message):
        read_table(str(tmp_path / "words.vec"), ["red", "square"], 2)


def test_word_vectors_need_a_file_and_words(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        read_table(str(tmp_path / "none.vec"), ["red"], 1)
    with pytest.raises(ConfigError, match="no names"):
        read_table(str(tmp_path / "none.vec"), None, 1)


def test_label_features_share_tokens_by_column_or_by_name():
    ours = Features(3, ["a", "b", "c"])
    assert TokenMap.from_features(ours, ours, 3).of_label_feature.tolist() == [0, 1, 2]
    assert TokenMap.from_features(ours, None, 3).size == 3
    theirs = Features(3, ["c", "x", "a"])
    tokens = TokenMap.from_features(ours, theirs, 3)
    assert tokens.of_label_feature.tolist() == [2, 3, 0]
    assert [tokens.name_token(token, ours, theirs) for token in range(4)] == ["a", "b", "c", "x"]
    Z = tokens.map_labels(sparse.csr_array(np.array([[3.0, 0, 4.0]], np.float32)))
    np.testing.assert_allclose(Z.toarray(), [[0.8, 0, 0.6, 0]])
    assert TokenMap.from_features(ours, Features(2), 2).of_label_feature.tolist() == [3, 4]


def random_labels(n_documents: int = 30, n_labels: int = 8, seed: int = 0) -> sparse.csr_array:
    rng = np.random.default_rng(seed)
    Y = (rng.random((n_documents, n_labels)) < 0.25).astype(np.float32)
    Y[0] = 1
    return sparse.csr_array(Y)


def test_targets_mark_accidental_positives_and_filter_pairs():
    Y = random_labels()
    filtered = (np.random.default_rng(9).random((30, 8)) < 0.2).astype(np.float32)
    sampler = LabelSampler(Y, sparse.csr_array(filtered), np.arange(8), 0.45)
    drawn = sampler.draw(np.random.default_rng(1), 50)
    batch = sampler.make_batch(drawn)
    dense = Y.toarray()
    assert all(dense[i, label] and dense[j, label] for label, i, j in drawn)
    np.testing.assert_array_equal(batch.targets, dense[batch.first][:, batch.labels].T > 0)
    np.testing.assert_array_equal(batch.ignored, (filtered[batch.first][:, batch.labels].T > 0) & ~batch.targets)
    assert batch.targets.sum() > 50, "there are more positives than the diagonal"


def test_labels_are_drawn_by_a_power_of_their_frequency():
    Y = np.zeros((100, 2), np.float32)
    Y[:, 0], Y[0, 1] = 1, 1
    drawn = LabelSampler(sparse.csr_array(Y), sparse.csr_array((100, 2)), np.arange(2), 0.45).draw(
        np.random.default_rng(0), 20_000
    )
    assert (drawn[:, 0] == 0).mean() == pytest.approx(100**0.45 / (1 + 100**0.45), abs=0.01)


def test_the_contrast_is_the_mean_of_positives_and_the_hardest_negatives():
    rng = np.random.default_rng(2)
    v, targets = torch.from_numpy(rng.uniform(-1, 1, (5, 7))), torch.from_numpy(rng.random((5, 7)) < 0.4)
    targets[3] = True  # a row without negatives
    v[0, 0], targets[0, 0] = -1.0, True  # a positive at cosine -1 must not take the place of a negative
    ignored = torch.from_numpy(rng.random((5, 7)) < 0.2) & ~targets
    for hardest in (0, 1, 3):
        expected = 0.0
        for row, positive, skip in zip(v, targets, ignored, strict=True):
            expected += float(ENCODER_LIKELIHOOD.compute_positive_loss(row[positive]).mean()) if positive.any() else 0.0
            rivals = sorted(row[~positive & ~skip].tolist(), reverse=True)[:hardest]
            expected += float(ENCODER_LIKELIHOOD.compute_negative_loss(torch.tensor(rivals, dtype=torch.float64)).sum())
        assert compute_encoder_loss(v, targets, ignored, hardest, ENCODER_LIKELIHOOD).item() == pytest.approx(
            expected / 5, rel=1e-9
        )


def test_the_rate_falls_as_in_the_paper():
    rates = [decay_learning_rate(0.01, epoch, 50) / 0.01 for epoch in (0, 29, 30, 44, 45, 49)]
    assert rates == pytest.approx([1, 1, 0.75, 0.75, 0.5625, 0.5625])


def training(offline: bool = False, batch_size: int = 16, residual: bool = False) -> EncoderTraining:
    X, Z, Y = random_texts(30, 40, seed=1), random_texts(8, 40, seed=2), random_labels()
    settings = SimpleNamespace(
        batch_size=batch_size,
        learning_rate=0.05,
        epochs=10,
        offline_negatives=offline,
        encoder_residual=residual,
        hard_negatives=2,
        encoder_c=0.9,
        encoder_d=1.5,
        search="exact",
        precision="float32",
        device="cpu",
    )
    encoder = Encoder(torch.from_numpy(make_initial_table(X, "svd", 10, 0)))
    return EncoderTraining(encoder, X, Z, LabelSampler(Y, NOTHING, np.arange(8), 0.45), settings, 0, dict)


@pytest.mark.parametrize(("offline", "residual"), [(False, False), (True, False), (True, True)])
def test_module_one_lowers_its_loss(offline, residual):
    trainer = training(offline, residual=residual)
    losses = []
    for epoch in range(10):
        trainer.begin(epoch)
        losses.append(np.mean([trainer.step(number) for number in range(trainer.steps)]))
    assert trainer.steps == 2
    assert np.isfinite(losses).all()
    assert losses[-1] < 0.8 * losses[0]
    assert bool(trainer.encoder.residual.radius != 0) is residual  # learned only where it is asked for


def test_offline_negatives_are_near_and_never_carry_the_label():
    trainer = training(offline=True)
    trainer.begin(0)
    Y = trainer.sampler.Y.toarray()
    f, z = trainer.encoder.encode(trainer.X), trainer.encoder.encode(trainer.Z)
    for label, documents in enumerate(trainer.offline):
        documents = documents[documents >= 0]
        assert not Y[documents, label].any()
        others = np.flatnonzero(Y[:, label] == 0)
        assert set(documents.tolist()) == set(others[np.argsort(-(f[others] @ z[label]))[:10]].tolist())


def test_a_batch_of_one_has_no_negatives_and_no_nan():
    trainer = training(batch_size=1)
    trainer.begin(0)
    losses = [trainer.step(number) for number in range(trainer.steps)]
    assert trainer.steps == 30
    assert np.isfinite(losses).all()
    assert torch.isfinite(trainer.encoder.table).all()
