"""Training the Deep-MIML network on bags, by Adam, with everything random derived from the number of the epoch."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import torch
from scipy import sparse

from xcwork.compute.device import resolve_device
from xcwork.compute.device_memory import FittingBatch
from xcwork.compute.precision import MixedPrecision, widen
from xcwork.compute.transfer import read_numbers, send_arrays
from xcwork.core.split import Split
from xcwork.data.groups import Groups, collect_groups
from xcwork.methods.common.checkpoints import TrainingProgress
from xcwork.methods.common.epochs import Curve, train_epochs
from xcwork.methods.common.grlr import KEPT_ENTRIES, LabelAssignment, assign_labels, compute_cosines
from xcwork.methods.common.row_adam import RowAdam
from xcwork.methods.deep_miml.network import (
    NO_INSTANCE,
    BagLoss,
    MIMLWeights,
    compute_instance_logits,
)
from xcwork.methods.model import Params

InputProduct = Callable[[torch.Tensor], torch.Tensor]  # from rows of W to x W
EMBEDDING_BYTES = 2**28  # of the entries kept of all labels' embeddings
MAX_KEPT_AFFINITIES = 2**25  # of documents and labels, which are computed once
DOCUMENTS_PER_BLOCK = 8192
MIN_DENSE_SHARE = 0.1  # of non-zero features, from which on instances are multiplied as dense ones


def train_on_bags(train: Split, params: Params, progress: TrainingProgress) -> tuple[Curve, dict[str, np.ndarray]]:
    """Return the curve and the weights of a network that learns the labels of the bags of `train`."""
    groups = collect_groups(train, params.merge)
    # Images have the mean image subtracted; what that changes goes into the bias at the end.
    mean = None if train.features.image_shape is None else np.asarray(train.X.mean(axis=0)).ravel()
    learned, held_out = hold_out_bags(groups, params.validation, params.seed)
    settings = BagTrainingSettings.from_params(params, learned)
    prior = estimate_prior(learned) if params.prior else torch.zeros(train.n_labels)
    start = MIMLWeights.from_seed(train.X.shape[1], params.width, prior, params.concepts, params.seed)
    embedded = embed_labels(train, learned, params, settings.loss)
    trainer = BagTrainer(train.X, mean, learned, held_out, embedded, start, settings, resolve_device(params.device))
    epochs = max(params.epochs, math.ceil(params.min_steps / trainer.steps))
    curve = train_epochs(trainer, "training", progress, epochs=epochs, patience=params.patience, smaller_is_better=True)
    weights = trainer.get_weights()
    if mean is not None:
        weights["hidden_bias"] = (weights["hidden_bias"] - mean @ weights["hidden"]).astype(np.float32)
    return curve, weights


def has_one_label_each(groups: Groups) -> bool:
    """Tell whether every group has as many labels, counted, as members."""
    return np.array_equal(groups.labels.sum(axis=1), np.diff(groups.members.indptr))


def hold_out_bags(groups: Groups, share: float, seed: int) -> tuple[Groups, Groups | None]:
    """Return the bags to learn from and those, if any, that decide which epoch was the best."""
    n_held = min(round(share * len(groups)), len(groups) - 1)
    if n_held <= 0:
        return groups, None
    order = np.random.default_rng((seed, 7)).permutation(len(groups))
    return groups.take(np.sort(order[n_held:])), groups.take(np.sort(order[:n_held]))


def estimate_prior(groups: Groups) -> torch.Tensor:
    """Return the logit of each label's share of bags, (n_labels,), at most 0.

    Most labels are absent from most bags, which need not be learned step by step. Of a label that most bags have, an
    instance may still be without.
    """
    share = torch.as_tensor((groups.labels > 0).sum(axis=0) + 1) / (len(groups) + 2)
    return torch.logit(share).float().clamp(max=0.0)


def embed_labels(train: Split, groups: Groups, params: Params, loss: BagLoss) -> LabelAssignment | None:
    """Return the embedding of every label, where a mask is made of them."""
    if loss.tau == 0 or groups.members.nnz == len(groups):
        return None
    return assign_labels(
        train.X,
        groups,
        steps=params.steps,
        learning_rate=params.embedding_learning_rate,
        careful=params.careful,
        centre=params.centre,
        keep=max(KEPT_ENTRIES, EMBEDDING_BYTES // (8 * train.n_labels)),
        seed=params.seed,
        device=params.device,
    )


@dataclass(frozen=True)
class BagTrainingSettings:
    """What a training needs to know besides the data."""

    K: int
    has_relu: bool
    dropout: float
    batch_size: int
    learning_rate: float
    loss: BagLoss
    precision: str
    seed: int

    @classmethod
    def from_params(cls, params: Params, groups: Groups) -> Self:
        """Return what the parameters mean for these bags.

        Where every instance has one label and the bags tell how often each occurs, the mean probability of a label is
        its share: nothing has to be guessed, so there is neither a maximum nor a mask. Elsewhere only the maximum of
        the instances can be told from the labels of a bag.
        """
        is_exclusive = params.instances == "one" or (params.instances == "auto" and has_one_label_each(groups))
        by_share = is_exclusive and has_one_label_each(groups) and groups.members.nnz > len(groups)
        automatic = ("probabilities", "mean", "counts") if by_share else ("logits", "max", "labels")
        named = (params.pooled, params.pooling, params.targets)
        pooled, pooling, targets = (
            usual if chosen == "auto" else chosen for chosen, usual in zip(named, automatic, strict=True)
        )
        return cls(
            K=params.concepts,
            has_relu=params.output == "relu",
            dropout=params.dropout,
            batch_size=params.batch_size,
            learning_rate=params.learning_rate,
            loss=BagLoss(
                pooled=pooled,
                pooling=pooling,
                targets=targets,
                is_exclusive=is_exclusive,
                tau=0.0 if (pooling, targets) == ("mean", "counts") else params.tau,
                masks_absent=params.mask == "all",
            ),
            precision=params.precision,
            seed=params.seed,
        )


class BagTrainer:
    """A training in the sense of `xcwork.methods.common.epochs`."""

    def __init__(
        self,
        X: sparse.csr_array,
        mean: np.ndarray | None,
        groups: Groups,
        held_out: Groups | None,
        embedded: LabelAssignment | None,
        weights: MIMLWeights,
        settings: BagTrainingSettings,
        device: torch.device,
    ) -> None:
        self._X = X
        self._mean = mean
        self._groups = groups
        self._held_out = held_out
        self._embedded = embedded
        self._settings = settings
        self._device = device
        self.learned = MIMLWeights(*(part.to(device) for part in vars(weights).values()))
        self._adam = {name: RowAdam(table) for name, table in vars(self.learned).items()}
        self.steps = math.ceil(len(groups) / settings.batch_size)
        per_step = -(-groups.members.nnz * settings.batch_size // max(1, len(groups)))  # documents
        product = (per_step, len(weights.concepts), weights.concepts.shape[1])
        self._precision = MixedPrecision(settings.precision, device, product)
        self._batch = FittingBatch(settings.batch_size, self._estimate_bytes, device)

    @cached_property
    def _is_dense(self) -> bool:
        return self._mean is not None or self._X.nnz > MIN_DENSE_SHARE * math.prod(self._X.shape)

    def begin(self, epoch: int) -> None:
        self._order = np.random.default_rng((self._settings.seed, epoch)).permutation(len(self._groups))
        self._drop = torch.Generator().manual_seed(self._settings.seed * 1_000_003 + epoch)

    def step(self, number: int) -> float | torch.Tensor:
        size = self._settings.batch_size
        return self._batch.run(self._order[number * size : (number + 1) * size], self._learn)

    def _estimate_bytes(self, n_bags: int) -> int:
        """Return about how many bytes a step with so many bags takes on a device."""
        hidden, _, concepts, outputs = (part.numel() for part in vars(self.learned).values())
        width, n_labels = self._hidden.shape[1], outputs // self._settings.K
        n_documents = -(-self._groups.members.nnz * n_bags // max(1, len(self._groups)))
        entries = -(-self._X.nnz * n_documents // max(1, self._X.shape[0]))
        used = len(self._hidden) if self._is_dense else min(len(self._hidden), entries)
        batch = n_documents * (6 * width + 3 * outputs + 8 * n_labels) + 5 * used * width + entries * (width + 8)
        return 4 * (3 * hidden + 5 * concepts + batch)

    def _learn(self, chosen: np.ndarray) -> torch.Tensor:
        """Take a step on some bags; return its loss."""
        settings = self._settings
        members, bags = _list_members(self._groups, chosen)
        rows, multiply, used = self._prepare_inputs(members)
        parts = [part.detach().requires_grad_() for part in vars(self.learned).values() if part is not self._hidden]
        weights = MIMLWeights(rows, *parts)
        keep = torch.rand(len(members), rows.shape[1], generator=self._drop) >= settings.dropout
        keep = send_arrays(self._device, keep.numpy())[0].to(rows.dtype) / (1 - settings.dropout)
        with self._precision.lower():
            logits = compute_instance_logits(weights, multiply(rows), settings.K, keep, has_relu=settings.has_relu)
        loss = self._compare(widen(logits), self._groups, chosen, members, bags)
        gradients = torch.autograd.grad(self._precision.scale(loss), [rows, *parts])
        if self._precision.unscale(gradients):
            for (name, adam), gradient in zip(self._adam.items(), gradients, strict=True):
                adam.step(gradient, settings.learning_rate, used if name == "hidden" else None)
        return loss.detach()

    @property
    def _hidden(self) -> torch.Tensor:
        return self.learned.hidden

    def _compare(
        self, logits: torch.Tensor, groups: Groups, chosen: np.ndarray, members: np.ndarray, bags: np.ndarray
    ) -> torch.Tensor:
        """Return the mean loss of the chosen bags, whose instances have these logits."""
        affinity = self._measure_affinity(members)
        sent = (bags, groups.labels[chosen].toarray().astype(np.float32), *([] if affinity is None else [affinity]))
        places, counts, *rest = send_arrays(self._device, *sent)
        return self._settings.loss.compute(logits, places, rest[0] if rest else None, counts)

    def _prepare_inputs(self, members: np.ndarray) -> tuple[torch.Tensor, InputProduct, torch.Tensor | None]:
        """Return the rows of W that matter, a function that gives x W from them, and which rows they are."""
        X = self._X[members]
        if self._is_dense:
            dense = X.toarray() if self._mean is None else X.toarray() - self._mean
            (x,) = send_arrays(self._device, dense.astype(np.float32, copy=False))
            return self._hidden.detach().requires_grad_(), lambda rows: x @ rows, None
        features, inverse = np.unique(X.indices, return_inverse=True)
        whole = (part.astype(np.int64, copy=False) for part in (features, inverse, X.indptr[:-1]))
        used, place, offsets, values = send_arrays(self._device, *whole, X.data)

        def multiply(rows: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.embedding_bag(place, rows, offsets, mode="sum", per_sample_weights=values)

        return self._hidden[used].requires_grad_(), multiply, used

    def _measure_affinity(self, members: np.ndarray) -> np.ndarray | None:
        """Return the cosine of each document and each label's embedding, (n_documents, n_labels)."""
        if self._embedded is None:
            return None
        known = self._affinities
        affinity = compute_cosines(self._X[members], self._embedded) if known is None else known[members]
        return affinity.astype(np.float32, copy=False)

    @cached_property
    def _affinities(self) -> np.ndarray | None:
        """The cosines of all documents, where they are few enough to be kept."""
        n_documents, n_labels = self._X.shape[0], self._groups.labels.shape[1]
        if self._embedded is None or n_documents * n_labels > MAX_KEPT_AFFINITIES:
            return None
        size = DOCUMENTS_PER_BLOCK
        starts = range(0, n_documents, size)
        blocks = [compute_cosines(self._X[start : start + size], self._embedded) for start in starts]
        return np.concatenate(blocks, dtype=np.float32)

    @torch.no_grad()
    def measure(self) -> dict[str, float]:
        """Return the mean loss of the bags that are held out."""
        if self._held_out is None:
            return {}
        losses: list[torch.Tensor] = []
        size = self._settings.batch_size
        for start in range(0, len(self._held_out), size):
            chosen = np.arange(start, min(start + size, len(self._held_out)))
            members, bags = _list_members(self._held_out, chosen)
            rows, multiply, _ = self._prepare_inputs(members)
            weights = replace(self.learned, hidden=rows)
            logits = compute_instance_logits(
                weights, multiply(rows), self._settings.K, has_relu=self._settings.has_relu
            )
            losses.append(len(chosen) * self._compare(logits, self._held_out, chosen, members, bags))
        return {"validation loss": sum(read_numbers(losses)) / len(self._held_out)}

    def get_weights(self) -> dict[str, np.ndarray]:
        return {name: part.cpu().numpy().copy() for name, part in vars(self.learned).items()}

    def set_weights(self, weights: Mapping[str, Any]) -> None:
        for name, part in vars(self.learned).items():
            part.copy_(torch.from_numpy(np.asarray(weights[name])))

    def get_momentum(self) -> dict[str, Any]:
        return {name: adam.get_state() for name, adam in self._adam.items()}

    def set_momentum(self, momentum: Mapping[str, Any]) -> None:
        for name, adam in self._adam.items():
            adam.set_state(momentum[name])


def _list_members(groups: Groups, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the documents of the chosen bags, and where those of each bag are among them, (n_bags, g)."""
    inside = groups.members[chosen]
    sizes = np.diff(inside.indptr)
    bags = np.full((len(chosen), sizes.max()), NO_INSTANCE, np.int64)
    bags[np.arange(sizes.max()) < sizes[:, None]] = np.arange(inside.nnz)
    return inside.indices, bags
