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
from xcwork.errors import Cancelled
from xcwork.methods.common.checkpoints import Checkpoint
from xcwork.methods.deep_miml.method import DeepMIML
from xcwork.methods.deep_miml.network import (
    NO_INSTANCE,
    BagLoss,
    MIMLWeights,
    compute_instance_logits,
    compute_mask,
    pool_bags,
)
from xcwork.methods.deep_miml.training import BagTrainingSettings, estimate_prior, has_one_label_each
from xcwork.methods.model import Params
from xcwork.methods.registry import create
from xcwork.progress import Callback

QUICK = {
    "width": 32,
    "concepts": 2,
    "dropout": 0.0,
    "epochs": 15,
    "min_steps": 0,
    "batch_size": 8,
    "learning_rate": 0.01,
}


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


def make_loss(**changes: object) -> BagLoss:
    usual = {
        "pooled": "logits",
        "pooling": "max",
        "targets": "labels",
        "is_exclusive": False,
        "tau": 0.0,
        "masks_absent": False,
    }
    return BagLoss(**usual | changes)


BAGS = torch.tensor([[0, 1, 4], [3, 2, NO_INSTANCE]])


def test_the_mask_is_a_softmax_over_instances_with_column_means_of_one():
    affinity = torch.tensor([[0.9, 0.1], [0.3, 0.1], [0.5, -0.5]])
    bags = torch.tensor([[0, 1], [2, NO_INSTANCE]])
    mask = compute_mask(affinity, bags, tau=2.0)
    assert mask[0, 0, 0].item() == pytest.approx(2 / (1 + np.exp(2 * (0.3 - 0.9))), rel=1e-6)
    np.testing.assert_allclose(mask[0].mean(dim=0), [1, 1], rtol=1e-6)
    np.testing.assert_allclose(mask[1, 0], [1, 1], rtol=1e-6)  # a bag of one is left as it is
    np.testing.assert_allclose(compute_mask(affinity, bags, tau=0.0)[0], np.ones((2, 2)), rtol=1e-6)


@pytest.mark.parametrize("tau", [None, 3.0])
def test_instances_are_pooled_by_maximum_or_mean(tau: float | None):
    values, affinity = torch.randn(5, 3), torch.rand(5, 3)
    mask = None if tau is None else compute_mask(affinity, BAGS, tau)
    for bag, members in enumerate(([0, 1, 4], [3, 2])):
        weight = np.exp((tau or 0.0) * affinity[members].numpy())
        masked = len(members) * weight / weight.sum(axis=0) * values[members].numpy()
        np.testing.assert_allclose(pool_bags(values, BAGS, mask, "max")[bag], masked.max(axis=0), rtol=1e-5)
        np.testing.assert_allclose(
            pool_bags(values, BAGS, mask, "mean")[bag], masked.mean(axis=0), rtol=1e-5, atol=1e-6
        )


@pytest.mark.parametrize("pooled", ["logits", "probabilities"])
@pytest.mark.parametrize("pooling", ["max", "mean"])
@pytest.mark.parametrize("targets", ["labels", "counts"])
def test_the_loss_is_binary_cross_entropy_of_what_is_pooled(pooled: str, pooling: str, targets: str):
    logits = torch.randn(5, 3)
    counts = torch.tensor([[2.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    found = make_loss(pooled=pooled, pooling=pooling, targets=targets).compute(logits, BAGS, None, counts)
    values = logits if pooled == "logits" else logits.sigmoid()
    expected = 0.0
    for bag, members in enumerate(([0, 1, 4], [3, 2])):
        q = values[members].amax(dim=0) if pooling == "max" else values[members].mean(dim=0)
        q = q.sigmoid() if pooled == "logits" else q
        t = counts[bag] / len(members) if targets == "counts" else (counts[bag] > 0).float()
        expected -= float((t * q.log() + (1 - t) * (1 - q).log()).sum()) / 2
    assert found.item() == pytest.approx(expected, rel=1e-5)


def test_probabilities_of_exclusive_labels_are_a_softmax():
    logits = torch.randn(5, 3)
    counts = torch.tensor([[2.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    loss = make_loss(pooled="probabilities", pooling="mean", targets="counts", is_exclusive=True)
    q = torch.stack([logits[[0, 1, 4]].softmax(dim=1).mean(dim=0), logits[[3, 2]].softmax(dim=1).mean(dim=0)])
    t = counts / torch.tensor([[3.0], [2.0]])
    expected = torch.nn.functional.binary_cross_entropy(q, t, reduction="sum") / 2
    assert loss.compute(logits, BAGS, None, counts).item() == pytest.approx(expected.item(), rel=1e-5)


def test_the_mask_has_a_say_about_absent_labels_only_as_in_the_paper():
    logits, affinity = torch.randn(5, 2), torch.rand(5, 2)
    counts = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    plain, ours, paper = (
        make_loss(tau=tau, masks_absent=everywhere).compute(logits, BAGS, affinity, counts)
        for tau, everywhere in ((0.0, False), (3.0, False), (3.0, True))
    )
    assert len({round(float(each), 6) for each in (plain, ours, paper)}) == 3
    absent = torch.zeros(2, 2)
    assert float(make_loss(tau=3.0).compute(logits, BAGS, affinity, absent)) == pytest.approx(
        float(make_loss().compute(logits, BAGS, affinity, absent)), rel=1e-6
    )


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_mask_on_probabilities_favours_the_instance_it_points_at_whatever_the_sign_of_its_logit(sign: float):
    logits = torch.tensor([[1.0 * sign], [1.1 * sign]], requires_grad=True)
    loss = make_loss(pooled="probabilities", tau=2.0)
    loss.compute(logits, torch.tensor([[0, 1]]), torch.tensor([[0.9], [0.0]]), torch.ones(1, 1)).backward()
    assert logits.grad[0].item() < 0
    assert logits.grad[1].item() == 0


def test_a_certain_mistake_has_a_finite_loss_that_still_teaches():
    logits = torch.full((1, 1), 100.0, requires_grad=True)
    loss = make_loss(pooled="probabilities", tau=2.0).compute(logits / 20, torch.tensor([[0]]), None, torch.zeros(1, 1))
    loss.backward()
    assert torch.isfinite(loss)
    assert logits.grad.item() > 0


def test_a_prior_is_for_labels_that_most_bags_are_without():
    grouped = draw_random_groups(images(200).train, 10, seed=0)  # nearly every bag has all four labels
    np.testing.assert_array_equal(estimate_prior(collect_groups(grouped)), np.zeros(4))
    alone = estimate_prior(collect_groups(images(200).train))
    assert (alone < -0.8).all()


def test_shares_of_labels_are_learned_where_counts_are_known_and_the_best_label_elsewhere():
    grouped = draw_random_groups(images(40).train, 3)
    params = Params(create("deep_miml").get_params())
    known = BagTrainingSettings.from_params(params, collect_groups(grouped)).loss
    assert (known.pooled, known.pooling, known.targets, known.tau) == ("probabilities", "mean", "counts", 0.0)
    sets = BagTrainingSettings.from_params(params, collect_groups(aggregate_labels(grouped), "set")).loss
    assert (sets.pooled, sets.pooling, sets.targets, sets.tau) == ("logits", "max", "labels", 5.0)


def test_the_best_epoch_is_the_one_with_the_smallest_loss_of_bags_held_out():
    grouped = draw_random_groups(images().train, 3, seed=0)
    model = create("deep_miml", validation=0.25, patience=2, **QUICK | {"epochs": 60, "learning_rate": 0.3}).fit(
        grouped
    )
    losses = [entry["validation loss"] for entry in model.model_.curve]
    assert len(losses) < 60
    assert np.argmin(losses) == len(losses) - 3


def test_few_bags_get_more_epochs():
    grouped = draw_random_groups(images(40).train, 3, seed=0)  # ten bags, two steps per epoch
    model = create("deep_miml", **QUICK | {"epochs": 1, "min_steps": 9}).fit(grouped)
    assert len(model.model_.curve) == 5


@pytest.mark.parametrize("output", ["linear", "relu"])
def test_the_paper_can_be_run(output: str):
    grouped = draw_random_groups(images(80).train, 3, seed=0)
    model = create("deep_miml", preset="paper", output=output, epochs=1, width=8, concepts=2).fit(grouped)
    assert np.isfinite(model.model_.curve[0]["loss"])


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
    by_maximum = QUICK | {"pooled": "logits", "pooling": "max", "targets": "labels"}
    a, b = (create("deep_miml", tau=0.0, steps=steps, **by_maximum).fit(grouped) for steps in (0, 20))
    c = create("deep_miml", tau=5.0, **by_maximum).fit(grouped)
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


def test_a_bag_has_the_best_score_of_its_members(checkerboard: Dataset):
    grouped = draw_random_groups(checkerboard.train, 3, seed=1)
    method = DeepMIML(**QUICK).fit(grouped)
    bags = method.predict_bags(grouped, k=2)
    groups = collect_groups(grouped)
    n_labels = grouped.n_labels
    alone = method.predict(grouped, k=n_labels).to_csr(n_labels).toarray()
    for number in range(0, len(groups), 7):
        members = groups.members[[number]].indices
        best = alone[members].max(axis=0)
        assert bags.scores[number, 0] == pytest.approx(best.max(), rel=1e-6)
    measured = method.evaluate_bags(grouped, k=2)
    hits = np.mean([groups.labels[[row], [label]].sum() > 0 for row, label in enumerate(bags.ids[:, 0])])
    assert measured["P@1"] == pytest.approx(100 * hits)


def test_without_bags_every_document_is_one(checkerboard: Dataset):
    method = DeepMIML(**QUICK).fit(draw_random_groups(checkerboard.train, 2))
    bags, documents = method.predict_bags(checkerboard.test, k=1), method.predict(checkerboard.test, k=1)
    assert bags.ids.tolist() == documents.ids.tolist()
