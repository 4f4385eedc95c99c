"""The classifiers of multi-head encoding against plain definitions on small sizes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from torch.nn import functional as F

from tests.support.multihead_heads import WIDTH, everything, features, labels, prepared, targets
from xcwork.methods.multihead import product
from xcwork.methods.multihead.cascade import CascadeHeads
from xcwork.methods.multihead.codes import BitSlices, MixedRadix
from xcwork.methods.multihead.flat import ARC_SCALE, FlatHeads, SampledHeads, choose_batch_heads, draw_heads
from xcwork.methods.multihead.heads import BatchTargets, compute_binary_loss, find_slots
from xcwork.methods.multihead.product import PowersetHeads, ProductHeads
from xcwork.methods.multihead.product_sum import ProductSumHeads


def test_the_binary_loss_is_torchs_with_a_dense_target():
    Y = labels(5, 7)
    logits = torch.randn(5, 7, generator=torch.Generator().manual_seed(1)).requires_grad_()
    loss = compute_binary_loss(logits, *targets(Y).positives)
    expected = F.binary_cross_entropy_with_logits(logits, torch.from_numpy(Y.toarray()), reduction="sum") / 5
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
    ours, theirs = (torch.autograd.grad(value, logits, retain_graph=True)[0] for value in (loss, expected))
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("lengths", [(4, 3), (3, 2, 2)])
@pytest.mark.parametrize("loss", ["ce", "bce"])
def test_mhp_ranks_products_of_probabilities_and_never_an_unused_code(lengths, loss, monkeypatch):
    n_labels = 11
    Y = labels(9, n_labels, single=True)
    heads = prepared(ProductHeads(WIDTH, loss, MixedRadix(lengths, n_labels)), Y).eval()
    rows = features(4)
    with torch.no_grad():
        parts = [p.exp().numpy() for p in heads.compute_log_probabilities(rows)]
        by_code = [
            [
                np.prod([p[i, d] for p, d in zip(parts, digits, strict=True)])
                for digits in itertools.product(*map(range, lengths))
            ]
            for i in range(4)
        ]
        scored = heads.rank(rows, 40, np.ones(n_labels, bool), np.arange(n_labels))
        monkeypatch.setattr(product, "MAX_SCORED_LABELS", 0)
        searched = heads.rank(rows, 40, np.ones(n_labels, bool), np.arange(n_labels))
    expected = np.argsort(-np.array(by_code)[:, :n_labels], axis=1)
    for found in (scored, searched):
        assert found.ids.tolist() == expected.tolist()
        np.testing.assert_allclose(found.scores, np.take_along_axis(np.array(by_code), expected, 1), rtol=1e-5)


def test_the_best_label_has_the_best_digits_although_raw_outputs_say_otherwise():
    heads = ProductHeads(1, "ce", MixedRadix((2, 2), 4)).eval()
    with torch.no_grad():
        heads.linear.weight.zero_()
        heads.linear.bias.copy_(torch.tensor([-3.0, 1.0, -3.0, 1.0]))
        found = heads.rank(torch.zeros(1, 1), 4, np.ones(4, bool), np.arange(4))
    raw = np.kron([-3.0, 1.0], [-3.0, 1.0])
    assert raw.argmax() == 0
    assert found.ids[0, 0] == 3


def test_mhp_losses_are_sums_over_heads():
    Y = labels(5, 11, single=True)
    heads = prepared(ProductHeads(WIDTH, "ce", MixedRadix((4, 3), 11)), Y)
    rows = features(5)
    digits = torch.from_numpy(heads.radix.split_codes(Y.indices))
    logits = heads.linear(rows)
    expected = F.cross_entropy(logits[:, :4], digits[:, 0]) + F.cross_entropy(logits[:, 4:], digits[:, 1])
    assert float(heads.compute_loss(rows, targets(Y))) == pytest.approx(float(expected), rel=1e-5)
    heads.kind = "bce"
    onehot = torch.cat([F.one_hot(digits[:, 0], 4), F.one_hot(digits[:, 1], 3)], 1).float()
    expected = F.binary_cross_entropy_with_logits(logits, onehot, reduction="sum") / 5
    assert float(heads.compute_loss(rows, targets(Y))) == pytest.approx(float(expected), rel=1e-5)


def test_powerset_heads_score_labels_by_their_subsets_and_answer_with_the_likeliest_set():
    Y = labels(9, 5)
    heads = prepared(PowersetHeads(WIDTH, "ce", BitSlices(5, 2)), Y).eval()
    rows = features(4)
    with torch.no_grad():
        chances = heads.compute_log_probabilities(rows).exp().numpy()  # (4, 3, 4)
        scores, sets = everything(heads, rows, 5), heads.choose_sets(rows).toarray()
    np.testing.assert_allclose(scores[:, 3], chances[:, 1, 2] + chances[:, 1, 3], rtol=1e-5)
    best = chances.argmax(2)
    for i, label in itertools.product(range(4), range(5)):
        assert sets[i, label] == best[i, label // 2] >> label % 2 & 1


def cascade_scores(heads: CascadeHeads, rows: torch.Tensor) -> np.ndarray:
    """The product of the stages for every label, straight from the definition."""
    scores = np.ones((len(rows), heads.radix.n_labels))
    codes = np.arange(heads.radix.n_labels)
    groups = torch.sigmoid(heads.groups(rows)).numpy()
    scores *= groups[:, codes // heads.radix.places[0]]
    for query, table, place in zip(heads.queries, heads.prefixes, heads.radix.places[1:], strict=True):
        logits = query(rows) @ table.weight[:, :-1].T + table.weight[:, -1]
        scores *= torch.sigmoid(logits).numpy()[:, codes // place]
    return scores


@pytest.mark.parametrize("lengths", [(6, 2), (3, 4), (3, 2, 2), (2, 2, 2, 2)])
def test_mhc_with_a_wide_beam_is_the_product_over_all_labels(lengths):
    n_labels = 11
    Y = labels(9, n_labels)
    heads = prepared(
        CascadeHeads(WIDTH, MixedRadix(lengths, n_labels), label_dimension=4, training_beam=2, beam=50), Y
    ).eval()
    with torch.no_grad():
        np.testing.assert_allclose(
            everything(heads, features(4), n_labels), cascade_scores(heads, features(4)), rtol=1e-4
        )


def test_mhc_looks_into_the_best_groups_only():
    heads = prepared(
        CascadeHeads(WIDTH, MixedRadix((4, 3), 12), label_dimension=4, training_beam=2, beam=2), labels(9, 12)
    ).eval()
    rows = features(5)
    with torch.no_grad():
        found = heads.rank(rows, 6, np.ones(12, bool), np.arange(12))
        groups = heads.groups(rows).topk(2).indices.numpy()
    assert [set(row // 3) for row in found.ids] == [set(row) for row in groups.tolist()]
    allowed = np.arange(12) % 3 == 1  # one label per group
    with torch.no_grad():
        restricted = heads.rank(rows, 2, allowed, np.arange(12))
    assert (restricted.ids % 3 == 1).all()


@pytest.mark.parametrize("lengths", [(6, 2), (3, 2, 2)])
def test_the_loss_of_mhc_with_all_groups_kept_is_that_of_all_prefixes(lengths):
    n_labels = 11
    Y = labels(7, n_labels)
    heads = prepared(
        CascadeHeads(WIDTH, MixedRadix(lengths, n_labels), label_dimension=4, training_beam=50, beam=50), Y
    )
    rows, dense = features(7), Y.toarray()
    expected = 0.0
    for stage, place in enumerate(heads.radix.places.tolist()):
        target = np.stack(
            [dense[:, np.arange(n_labels) // place == p].max(1) for p in range(heads.radix.prefixes[stage])], 1
        )
        if stage == 0:
            logits = heads.groups(rows)
        else:
            weight = heads.prefixes[stage - 1].weight
            logits = heads.queries[stage - 1](rows) @ weight[:, :-1].T + weight[:, -1]
        expected += float(F.binary_cross_entropy_with_logits(logits, torch.from_numpy(target), reduction="sum")) / 7
    assert float(heads.compute_loss(rows, targets(Y))) == pytest.approx(expected, rel=1e-4)


def test_true_groups_come_first_however_few_are_kept():
    Y = sparse.csr_array(np.array([[1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0]], np.float32))  # groups 0, 1 and 2 of 4
    heads = prepared(CascadeHeads(WIDTH, MixedRadix((4, 3), 12), label_dimension=4, training_beam=1, beam=1), Y)
    with torch.no_grad():
        heads.groups.bias.copy_(torch.tensor([-9.0, -9.0, -9.0, 9.0]))  # what it believes is wrong
    heads.compute_loss(features(1), targets(Y)).backward()
    used = heads.prefixes[0]._uses[0]
    assert used.rows.tolist() == list(range(9))
    assert (used.values.grad.abs().sum(1) > 0).all()


def test_mhc_with_one_group_is_a_flat_classifier_with_a_bottleneck():
    n_labels = 9
    Y = labels(12, n_labels)
    cascade = prepared(
        CascadeHeads(WIDTH, MixedRadix((1, n_labels), n_labels), label_dimension=4, training_beam=1, beam=1), Y
    )
    flat = FlatHeads(4, n_labels, "bce")
    flat.labels.weight.copy_(cascade.prefixes[0].weight)
    rows = features(12)
    group_loss = compute_binary_loss(
        cascade.groups(rows), np.flatnonzero(np.diff(Y.indptr)), np.zeros(np.count_nonzero(np.diff(Y.indptr)), np.int64)
    )
    bottleneck = cascade.queries[0](rows)
    assert float(cascade.compute_loss(rows, targets(Y)) - group_loss) == pytest.approx(
        float(flat.compute_loss(bottleneck, targets(Y))), rel=1e-4
    )
    with torch.no_grad():
        a = cascade.eval().rank(rows, n_labels, np.ones(n_labels, bool), np.arange(n_labels))
        b = flat.eval().rank(cascade.queries[0](rows), n_labels, np.ones(n_labels, bool), np.arange(n_labels))
    assert a.ids.tolist() == b.ids.tolist()


@given(st.integers(1, 40), st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_fast_sampling_points_to_the_right_rows(n_labels, length, seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(n_labels, size=5)
    extra = rng.integers(-(-n_labels // length), size=2)
    rows, columns = choose_batch_heads(codes, extra, length, n_labels)
    assert rows[columns].tolist() == codes.tolist()
    assert rows.max() < n_labels
    assert set(rows // length) == set(codes // length) | set(extra.tolist())


@given(st.integers(2, 8), st.data())
def test_a_document_gets_its_own_head_and_distinct_others(n_heads, data):
    sampled = data.draw(st.integers(1, n_heads))
    own = np.array(data.draw(st.lists(st.integers(0, n_heads - 1), min_size=1, max_size=6)))
    drawn = draw_heads(own, n_heads, sampled, np.random.default_rng(1))
    assert drawn.shape == (len(own), sampled)
    assert drawn[:, 0].tolist() == own.tolist()
    assert all(len(set(row)) == sampled and max(row) < n_heads for row in drawn.tolist())


@pytest.mark.parametrize(("loss", "sampling"), [*itertools.product(("ce", "bce"), ("batch", "document"))])
def test_mhs_with_all_heads_is_the_flat_classifier(loss, sampling):
    n_labels = 7
    Y = labels(6, n_labels, single=True)
    sampled = prepared(SampledHeads(WIDTH, n_labels, loss, lengths=(4, 2), sampled=4, sampling=sampling, margin=0.0), Y)
    flat = FlatHeads(WIDTH, n_labels, loss)
    flat.labels.weight.copy_(sampled.labels.weight)

    class Everything:
        def integers(self, high, size):
            return np.arange(high)

        def random(self, shape):
            return np.zeros(shape)

    loss_of_sampled = sampled.compute_loss(features(6), BatchTargets(Y, Everything()))
    assert float(loss_of_sampled) == pytest.approx(float(flat.compute_loss(features(6), targets(Y))), rel=1e-4)


def test_other_labels_of_a_document_are_targets_in_drawn_heads_too():
    Y = sparse.csr_array(np.array([[1, 0, 0, 1]], np.float32))
    heads = prepared(SampledHeads(WIDTH, 4, "bce", lengths=(2, 2), sampled=2, sampling="document", margin=0.0), Y)
    logits = (F.pad(features(1), (0, 1), value=1.0) @ heads.labels.weight.T).repeat(2, 1)
    expected = (
        F.binary_cross_entropy_with_logits(logits, torch.from_numpy(Y.toarray()).repeat(2, 1), reduction="sum") / 2
    )
    assert float(heads.compute_loss(features(1), targets(Y))) == pytest.approx(float(expected), rel=1e-4)


def test_arcface_widens_the_angle_of_the_right_label_only():
    Y = labels(5, 6, single=True)
    heads = prepared(SampledHeads(WIDTH, 6, "ce", lengths=(3, 2), sampled=3, sampling="batch", margin=0.5), Y)
    rows = features(5)
    logits = heads.compute_logits(rows, heads.labels.weight)
    cosines = F.normalize(rows) @ F.normalize(heads.labels.weight[:, :-1]).T
    torch.testing.assert_close(logits, ARC_SCALE * cosines)
    widened = heads._widen_angles(logits, *targets(Y).positives)
    right = torch.from_numpy(Y.toarray() > 0)
    torch.testing.assert_close(widened[~right], logits[~right])
    torch.testing.assert_close(
        widened[right] / ARC_SCALE, torch.cos(torch.acos(cosines[right]) + 0.5), atol=1e-3, rtol=1e-3
    )
    heads.compute_loss(rows, targets(Y)).backward()
    assert torch.isfinite(heads.labels._uses[0].values.grad).all()


def test_a_batch_without_labels_costs_nothing_in_mhs():
    heads = prepared(
        SampledHeads(WIDTH, 6, "bce", lengths=(3, 2), sampled=2, sampling="batch", margin=0.0), labels(3, 6)
    )
    loss = heads.compute_loss(features(2).requires_grad_(), targets(sparse.csr_array((2, 6), dtype=np.float32)))
    loss.backward()
    assert float(loss) == 0


ALL_HEADS = {
    "flat bce": lambda: FlatHeads(WIDTH, 11, "bce"),
    "flat ce": lambda: FlatHeads(WIDTH, 11, "ce"),
    "sampled arc": lambda: SampledHeads(WIDTH, 11, "ce", lengths=(6, 2), sampled=2, sampling="batch", margin=0.3),
    "product ce": lambda: ProductHeads(WIDTH, "ce", MixedRadix((4, 3), 11)),
    "product bce": lambda: ProductHeads(WIDTH, "bce", MixedRadix((3, 2, 2), 11)),
    "powerset": lambda: PowersetHeads(WIDTH, "ce", BitSlices(11, 3)),
    "cascade 2": lambda: CascadeHeads(WIDTH, MixedRadix((6, 2), 11), label_dimension=4, training_beam=2, beam=50),
    "flat bottleneck": lambda: FlatHeads(WIDTH, 11, "bce", 3),
    "sum of products": lambda: ProductSumHeads(WIDTH, MixedRadix((4, 3), 11), 3),
    "cascade ce": lambda: CascadeHeads(
        WIDTH, MixedRadix((6, 2), 11), label_dimension=4, training_beam=2, beam=50, loss="ce"
    ),
    "cascade 3": lambda: CascadeHeads(WIDTH, MixedRadix((3, 2, 2), 11), label_dimension=4, training_beam=2, beam=50),
}


@pytest.mark.parametrize("kind", sorted(ALL_HEADS))
def test_readings_multiply_to_the_score_and_are_linear_in_the_features(kind):
    heads = prepared(ALL_HEADS[kind](), labels(9, 11, single=True)).eval()
    rows = features(3)
    with torch.no_grad():
        scores = everything(heads, rows, 11)
        for document, code in itertools.product(range(3), range(11)):
            readings = heads.take_apart(rows[[document]], code)
            assert np.exp(sum(r.log_probability for r in readings)) == pytest.approx(scores[document, code], rel=1e-3)
            for reading in readings:
                assert reading.direction.shape == (WIDTH,)
                logit = float(rows[document] @ reading.direction) + reading.bias
                if kind in ("cascade 2", "cascade 3", "flat bce", "flat bottleneck"):
                    assert reading.log_probability == pytest.approx(-np.logaddexp(0, -logit), rel=1e-3, abs=1e-5)


def test_slots():
    candidates = np.array([[4, 2], [7, 9]])
    assert find_slots(candidates, np.array([0, 0, 1, 1]), np.array([2, 7, 7, 4])).tolist() == [1, -1, 0, -1]
