"""What the paper has besides plain heads: cross-entropy in a cascade, a bottleneck, and sums of products."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse
from torch.nn import functional as F

from tests.support.multihead_heads import WIDTH, everything, features, labels, prepared, targets
from xcwork.methods.multihead import product
from xcwork.methods.multihead.cascade import CascadeHeads
from xcwork.methods.multihead.codes import MixedRadix
from xcwork.methods.multihead.flat import FlatHeads
from xcwork.methods.multihead.product_sum import ProductSumHeads


@pytest.mark.parametrize("lengths", [(6, 2), (3, 2, 2)])
def test_mhc_with_cross_entropy_is_a_distribution_over_all_labels(lengths):
    n_labels = 11
    Y = labels(9, n_labels, single=True)
    heads = prepared(
        CascadeHeads(WIDTH, MixedRadix(lengths, n_labels), label_dimension=4, training_beam=50, beam=50, loss="ce"), Y
    )
    rows = features(9)
    # With all prefixes kept, the loss of a stage is the cross-entropy over all of its prefixes (algorithm 3).
    logits = [heads.groups(rows)]
    for table, query in zip(heads.prefixes, heads.queries, strict=True):
        logits.append(query(rows) @ table.weight[:, :-1].T + table.weight[:, -1])
    right = [torch.from_numpy(Y.indices.astype(np.int64) // place) for place in heads.radix.places.tolist()]
    expected = sum(float(F.cross_entropy(z, y)) for z, y in zip(logits, right, strict=True))
    assert float(heads.compute_loss(rows, targets(Y))) == pytest.approx(expected, rel=1e-4)
    with torch.no_grad():
        scores = everything(heads.eval(), rows, n_labels)
    np.testing.assert_allclose(scores.sum(axis=1), 1, rtol=1e-5)


def test_mhc_with_cross_entropy_learns_nothing_of_a_batch_without_labels():
    heads = prepared(
        CascadeHeads(WIDTH, MixedRadix((4, 3), 12), label_dimension=4, training_beam=2, beam=2, loss="ce"),
        labels(9, 12, single=True),
    )
    assert float(heads.compute_loss(features(3), targets(sparse.csr_array((3, 12), dtype=np.float32)))) == 0


def test_the_weights_of_a_bottleneck_have_its_rank():
    heads = prepared(FlatHeads(WIDTH, 11, "bce", 2), labels(9, 11))
    whole = heads.labels.weight[:, :-1] @ heads.narrow.weight
    assert np.linalg.matrix_rank(whole.detach().numpy()) == 2
    expected = features(4) @ whole.T + heads.labels.weight[:, -1]
    torch.testing.assert_close(heads.compute_logits(features(4), heads.labels.weight), expected)


def test_a_sum_of_products_is_what_it_says_and_is_trained_by_its_likelihood(monkeypatch):
    n_labels = 11
    Y = labels(9, n_labels, single=True)
    heads = prepared(ProductSumHeads(WIDTH, MixedRadix((4, 3), n_labels), 3), Y).eval()
    rows = features(9)
    with torch.no_grad():
        shares = heads.weights(rows).softmax(1).numpy()
        expected = np.zeros((9, 12))
        for g, term in enumerate(heads.terms):
            first, second = (part.exp().numpy() for part in term.compute_log_probabilities(rows))
            expected += shares[:, [g]] * (first[:, :, None] * second[:, None]).reshape(9, -1)
        np.testing.assert_allclose(everything(heads, rows, n_labels), expected[:, :n_labels], rtol=1e-4)
        likelihood = np.log(expected[np.arange(9), Y.indices])
        assert float(heads.compute_loss(rows, targets(Y))) == pytest.approx(-likelihood.mean(), rel=1e-4)
        listed = heads.rank(rows, 3, np.ones(n_labels, bool), np.arange(n_labels))
        monkeypatch.setattr(product, "MAX_SCORED_LABELS", 0)
        searched = heads.rank(rows, 3, np.ones(n_labels, bool), np.arange(n_labels))
    assert searched.ids.tolist() == listed.ids.tolist()
    np.testing.assert_allclose(searched.scores, listed.scores, rtol=1e-5)


def test_two_products_learn_what_one_cannot():
    """Labels (0, 0) and (1, 1) are equally likely, the other two never occur: digits that go together have rank two."""
    Y = sparse.csr_array(np.eye(4, dtype=np.float32)[[0, 3] * 8])
    rows = torch.ones(16, WIDTH)
    losses = []
    for n_products in (1, 2):
        heads = prepared(ProductSumHeads(WIDTH, MixedRadix((2, 2), 4), n_products), Y)
        optimiser = torch.optim.Adam(heads.parameters(), lr=0.1)
        for _ in range(200):
            optimiser.zero_grad()
            loss = heads.compute_loss(rows, targets(Y))
            loss.backward()
            optimiser.step()
        losses.append(float(loss.detach()))
    assert losses[0] == pytest.approx(2 * np.log(2), abs=0.01)
    assert losses[1] == pytest.approx(np.log(2), abs=0.02)
