"""Deep-MIML and the co-attention mask."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import sparse

from xcwork.core.dataset import Dataset
from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.data.groups import aggregate_labels, collect_groups, draw_random_groups
from xcwork.errors import Cancelled, DataError
from xcwork.methods.common.checkpoints import Checkpoint
from xcwork.methods.deep_miml.method import DeepMIML
from xcwork.methods.deep_miml.network import (
    NO_INSTANCE,
    MIMLWeights,
    compute_instance_logits,
    compute_log_mask,
    compute_log_probabilities,
    compute_loss,
    pool_bags,
)
from xcwork.methods.deep_miml.training import has_one_label_each
from xcwork.methods.registry import create
from xcwork.progress import Callback

QUICK = {"width": 32, "concepts": 2, "dropout": 0.0, "epochs": 15, "batch_size": 8, "learning_rate": 0.01}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Networks this small are slower on several threads, much slower when other programs are at work."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def images(n: int = 240, seed: int = 0) -> Dataset:
    """4 × 4 images of one bright row, which is the label."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(4, size=n)
    pixels = rng.uniform(0, 0.5, (n, 4, 4)).astype(np.float32)
    pixels[np.arange(n), rows] += 0.8
    X, Y = sparse.csr_array(pixels.reshape(n, -1)), sparse.csr_array(np.eye(4, dtype=np.float32)[rows])
    split = Split(X, Y, LabelSpace(list("abcd")), Features(16, image_shape=(4, 4)))
    return Dataset("rows", split.take(range(n * 3 // 4)), split.take(range(n * 3 // 4, n)))


def accuracy(model: DeepMIML, split: Split) -> float:
    return float(np.mean(model.predict(split, k=1).ids[:, 0] == split.Y.indices))


def test_instance_logits_are_the_best_concept_of_a_two_layer_network():
    weights = MIMLWeights.from_seed(5, 7, torch.zeros(3), 2, seed=1)
    weights = replace(weights, hidden_bias=torch.randn(7), concepts_bias=torch.randn(6))
    x = torch.randn(4, 5)
    found = compute_instance_logits(weights, x @ weights.hidden, 2)
    hidden = (x @ weights.hidden + weights.hidden_bias).clamp(min=0)
    scores = hidden @ weights.concepts + weights.concepts_bias
    for instance in range(4):
        for label in range(3):
            expected = max(scores[instance, 2 * label].item(), scores[instance, 2 * label + 1].item())
            assert found[instance, label].item() == pytest.approx(expected, rel=1e-5)


def test_the_mask_is_a_softmax_over_instances_with_column_means_of_one():
    affinity = torch.tensor([[[0.9, 0.1], [0.3, 0.1]], [[0.5, -0.5], [-torch.inf, -torch.inf]]])
    mask = compute_log_mask(affinity, tau=2.0).exp()
    expected = 2 / (1 + np.exp(2 * (0.3 - 0.9)))
    assert mask[0, 0, 0].item() == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(mask[0].mean(dim=0), [1, 1], rtol=1e-6)
    np.testing.assert_allclose(mask[1, 0], [1, 1], rtol=1e-6)  # a bag of one is left as it is
    np.testing.assert_allclose(compute_log_mask(affinity, tau=0.0)[0].exp(), np.ones((2, 2)), rtol=1e-6)


def test_without_tau_a_bag_has_the_best_probabilities_of_its_instances():
    log_p, affinity = torch.rand(5, 3).log(), torch.rand(5, 3)
    bags = torch.tensor([[0, 1, 4], [3, 2, NO_INSTANCE]])
    masked, plain = pool_bags(log_p, bags, None, 5.0)
    np.testing.assert_allclose(plain[0], log_p[[0, 1, 4]].amax(dim=0))
    np.testing.assert_allclose(plain[1], log_p[[2, 3]].amax(dim=0))
    np.testing.assert_array_equal(masked, plain)
    np.testing.assert_array_equal(pool_bags(log_p, bags, affinity, 0.0)[0], plain)
    np.testing.assert_allclose(pool_bags(log_p, bags, affinity, 1e-9)[0], plain, atol=1e-6)


def test_the_mask_multiplies_probabilities():
    log_p, affinity = torch.rand(4, 2).log(), torch.rand(4, 2)
    masked, plain = pool_bags(log_p, torch.tensor([[0, 1, 2], [3, NO_INSTANCE, NO_INSTANCE]]), affinity, 3.0)
    weight = np.exp(3 * affinity[:3].numpy())
    expected = (3 * weight / weight.sum(axis=0) * log_p[:3].exp().numpy()).max(axis=0)
    np.testing.assert_allclose(masked[0].exp(), expected, rtol=1e-5)
    np.testing.assert_allclose(masked[1], plain[1], rtol=1e-6)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_mask_favours_the_instance_it_points_at_whatever_the_sign_of_its_logit(sign: float):
    logits = torch.tensor([[1.0 * sign], [1.1 * sign]], requires_grad=True)
    affinity = torch.tensor([[0.9], [0.0]])
    masked, _ = pool_bags(compute_log_probabilities(logits, False), torch.tensor([[0, 1]]), affinity, 10.0)
    masked.sum().backward()
    assert logits.grad[0].item() > 0
    assert logits.grad[1].item() == 0


def test_without_a_mask_the_loss_is_binary_cross_entropy():
    p = torch.tensor([[0.7, 0.2, 0.4], [0.1, 0.9, 0.5]])
    counts = torch.tensor([[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    expected = torch.nn.functional.binary_cross_entropy(p, counts, reduction="sum") / 2
    assert compute_loss(p.log(), p.log(), counts).item() == pytest.approx(expected.item(), rel=1e-5)


def test_counts_weigh_labels_and_the_mask_has_no_say_about_absent_ones():
    masked, plain = torch.tensor([[0.5, 0.2, 0.9]]).log(), torch.tensor([[0.1, 0.1, 0.3]]).log()
    expected = -(2 * 3 / 4 * np.log(0.5) + 2 * 1 / 4 * np.log(0.2) + np.log(1 - 0.3))
    assert compute_loss(masked, plain, torch.tensor([[3.0, 1.0, 0.0]])).item() == pytest.approx(expected, rel=1e-5)
    certain = compute_loss(torch.zeros(1, 1), torch.zeros(1, 1), torch.zeros(1, 1))
    assert torch.isfinite(certain)


def test_one_label_an_instance_is_read_from_the_counts():
    data = images(40)
    grouped = draw_random_groups(data.train, 3)
    assert has_one_label_each(collect_groups(grouped))
    assert not has_one_label_each(collect_groups(grouped, "set"))
    assert not has_one_label_each(collect_groups(aggregate_labels(grouped)))
    found = [
        create("deep_miml", instances=kind, **QUICK | {"epochs": 1}).fit(grouped) for kind in ("auto", "one", "any")
    ]
    np.testing.assert_array_equal(found[0].model_.hidden, found[1].model_.hidden)
    assert not np.array_equal(found[0].model_.hidden, found[2].model_.hidden)


def test_tau_zero_is_deep_miml_and_does_not_look_at_embeddings():
    data = images()
    grouped = draw_random_groups(data.train, 3, seed=0)
    a, b = (create("deep_miml", tau=0.0, steps=steps, **QUICK).fit(grouped) for steps in (0, 20))
    c = create("deep_miml", tau=5.0, **QUICK).fit(grouped)
    np.testing.assert_array_equal(a.model_.hidden, b.model_.hidden)
    assert not np.array_equal(a.model_.hidden, c.model_.hidden)


@pytest.mark.parametrize("tau", [0.0, 5.0])
@pytest.mark.parametrize("merge", ["list", "set"])
def test_labels_of_bags_of_images_are_learned(tau: float, merge: str):
    data = images()
    grouped = draw_random_groups(data.train, 3, seed=0)
    grouped = aggregate_labels(grouped) if merge == "set" else grouped
    model = create("deep_miml", tau=tau, merge=merge, **QUICK).fit(grouped)
    assert accuracy(model, data.test) > 0.9
    losses = [entry["loss"] for entry in model.model_.curve]
    assert len(losses) == QUICK["epochs"]
    assert losses[-1] < losses[0]


def test_who_carries_what_is_not_looked_at():
    data = images()
    grouped = draw_random_groups(data.train, 3, seed=0)
    told, hidden = (
        create("deep_miml", merge="set", **QUICK).fit(split) for split in (grouped, aggregate_labels(grouped))
    )
    np.testing.assert_array_equal(told.model_.hidden, hidden.model_.hidden)


def test_bags_of_text_are_learned(checkerboard: Dataset):
    train = checkerboard.train
    place = np.random.default_rng(0).permutation(24) // 3
    grouped = replace(train, groups=[f"bag {place[row]}" if row < 24 else "" for row in range(len(train))])
    model = create("deep_miml", **QUICK).fit(grouped)
    best = model.predict(checkerboard.test, k=4)
    for document in range(6):
        assert set(best.ids[document].tolist()) == set(range(document % 2, 8, 2))


def test_sparse_and_dense_inputs_give_the_same_training(monkeypatch, jumble: Dataset):
    from xcwork.methods.deep_miml import training

    found = []
    for share in (0.0, 1.0):
        monkeypatch.setattr(training, "MIN_DENSE_SHARE", share)
        found.append(create("deep_miml", **QUICK | {"epochs": 1, "batch_size": 100}).fit(jumble.train))
    np.testing.assert_allclose(found[0].model_.hidden, found[1].model_.hidden, atol=1e-5)
    np.testing.assert_allclose(found[0].model_.concepts, found[1].model_.concepts, atol=1e-5)


class StopAfter(Callback):
    def __init__(self, steps: int) -> None:
        self.left = steps

    def on_step(self, phase: str, step: int, total: int | None) -> bool:
        self.left -= phase == "training"
        return self.left < 0


def test_every_epoch_leaves_a_checkpoint_and_a_resumed_training_is_the_same(tmp_path):
    data = images()
    grouped = draw_random_groups(data.train, 3, seed=0)
    whole = create("deep_miml", **QUICK).fit(grouped)
    checkpoint = Checkpoint(tmp_path)
    per_epoch = -(-60 // 8)
    with pytest.raises(Cancelled):
        create("deep_miml", **QUICK).fit(grouped, callbacks=[StopAfter(5 * per_epoch + 3)], checkpoint=checkpoint)
    assert len(checkpoint.restore()["states"]["training"]["curve"]) == 5
    resumed = create("deep_miml", **QUICK).fit(grouped, checkpoint=checkpoint)
    np.testing.assert_array_equal(resumed.model_.hidden, whole.model_.hidden)
    assert resumed.model_.curve == whole.model_.curve
    other = create("deep_miml", **QUICK).fit(draw_random_groups(data.train, 3, seed=1), checkpoint=checkpoint)
    assert not np.array_equal(other.model_.hidden, whole.model_.hidden)


def test_images_are_explained_by_their_pixels():
    data = images()
    model = create("deep_miml", **QUICK).fit(data.train)
    x = data.test.X[[0]]
    label = int(model.predict(x, k=1).ids[0, 0])
    explanation = model.explain(x, label)
    assert explanation.score == pytest.approx(float(model.predict(x, k=1).scores[0, 0]), rel=1e-5)
    assert len(explanation.parts) == x.nnz + 1


def test_data_without_any_label_are_refused(jumble: Dataset):
    bare = replace(jumble.train, Y=sparse.csr_array(jumble.train.Y.shape, dtype=np.float32))
    with pytest.raises(DataError, match="no training document has a label"):
        create("deep_miml").fit(bare)
