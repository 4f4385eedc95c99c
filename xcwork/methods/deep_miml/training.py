"""Training the Deep-MIML network on bags, by Adam, with everything random derived from the number of the epoch."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from scipy import sparse

from xcwork.compute.device import resolve
from xcwork.core.split import Split
from xcwork.data.groups import Groups, collect_groups
from xcwork.methods.common.checkpoints import TrainingProgress
from xcwork.methods.common.epochs import Curve, train_epochs
from xcwork.methods.common.grlr import KEPT_ENTRIES, LabelAssignment, assign_labels, compute_cosines
from xcwork.methods.common.row_adam import RowAdam
from xcwork.methods.deep_miml.network import (
    NO_INSTANCE,
    MIMLWeights,
    compute_instance_logits,
    compute_log_probabilities,
    compute_loss,
    pool_bags,
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
    is_exclusive = params.instances == "one" or (params.instances == "auto" and has_one_label_each(groups))
    settings = BagTrainingSettings(
        tau=params.tau,
        K=params.concepts,
        dropout=params.dropout,
        batch_size=params.batch_size,
        learning_rate=params.learning_rate,
        is_exclusive=is_exclusive,
        seed=params.seed,
    )
    prior = torch.zeros(train.n_labels)
    if not is_exclusive:  # most labels are absent from most bags, which need not be learned step by step
        share = torch.as_tensor((groups.labels > 0).sum(axis=0) + 1) / (len(groups) + 2)
        prior = torch.logit(share).float()
    start = MIMLWeights.from_seed(train.X.shape[1], params.width, prior, params.concepts, params.seed)
    embedded = embed_labels(train, groups, params)
    trainer = BagTrainer(train.X, mean, groups, embedded, start, settings, resolve(params.device))
    curve = train_epochs(trainer, "training", progress, epochs=params.epochs, patience=1)
    weights = trainer.weights()
    if mean is not None:
        weights["hidden_bias"] = (weights["hidden_bias"] - mean @ weights["hidden"]).astype(np.float32)
    return curve, weights


def has_one_label_each(groups: Groups) -> bool:
    """Tell whether every group has as many labels, counted, as members."""
    return np.array_equal(groups.labels.sum(axis=1), np.diff(groups.members.indptr))


def embed_labels(train: Split, groups: Groups, params: Params) -> LabelAssignment | None:
    """Return the embedding of every label, where a mask is made of them."""
    if params.tau == 0 or len(groups) == len(train):
        return None
    keep = max(KEPT_ENTRIES, EMBEDDING_BYTES // (8 * train.n_labels))
    return assign_labels(train.X, groups, steps=params.steps, keep=keep, seed=params.seed, device=params.device)


@dataclass(frozen=True)
class BagTrainingSettings:
    """What a training needs to know besides the data."""

    tau: float
    K: int
    dropout: float
    batch_size: int
    learning_rate: float
    is_exclusive: bool  # every instance has exactly one label
    seed: int


class BagTrainer:
    """A training in the sense of `xcwork.methods.common.epochs`."""

    def __init__(
        self,
        X: sparse.csr_array,
        mean: np.ndarray | None,
        groups: Groups,
        embedded: LabelAssignment | None,
        weights: MIMLWeights,
        settings: BagTrainingSettings,
        device: torch.device,
    ) -> None:
        self._X = X
        self._mean = mean
        self._groups = groups
        self._embedded = embedded
        self._settings = settings
        self._device = device
        self.learned = MIMLWeights(*(part.to(device) for part in vars(weights).values()))
        self._adam = {name: RowAdam(table) for name, table in vars(self.learned).items()}
        self.steps = math.ceil(len(groups) / settings.batch_size)

    @cached_property
    def _is_dense(self) -> bool:
        return self._mean is not None or self._X.nnz > MIN_DENSE_SHARE * math.prod(self._X.shape)

    def begin(self, epoch: int) -> None:
        self._order = np.random.default_rng((self._settings.seed, epoch)).permutation(len(self._groups))
        self._drop = torch.Generator().manual_seed(self._settings.seed * 1_000_003 + epoch)

    def step(self, number: int) -> float:
        settings = self._settings
        chosen = self._order[number * settings.batch_size : (number + 1) * settings.batch_size]
        members, bags = self._list_members(chosen)
        rows, multiply, used = self._prepare_inputs(members)
        parts = [part.detach().requires_grad_() for part in vars(self.learned).values() if part is not self._hidden]
        weights = MIMLWeights(rows, *parts)
        keep = torch.rand(len(members), rows.shape[1], generator=self._drop) >= settings.dropout
        keep = keep.to(self._device, rows.dtype) / (1 - settings.dropout)
        logits = compute_instance_logits(weights, multiply(rows), settings.K, keep)
        log_p = compute_log_probabilities(logits, settings.is_exclusive)
        places = torch.as_tensor(bags, device=self._device)
        counts = torch.as_tensor(self._groups.labels[chosen].toarray(), device=self._device)
        loss = compute_loss(*pool_bags(log_p, places, self._measure_affinity(members), settings.tau), counts)
        gradients = torch.autograd.grad(loss, [rows, *parts])
        for (name, adam), gradient in zip(self._adam.items(), gradients, strict=True):
            adam.step(gradient, settings.learning_rate, used if name == "hidden" else None)
        return loss.item()

    @property
    def _hidden(self) -> torch.Tensor:
        return self.learned.hidden

    def _list_members(self, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the documents of the bags, and where those of each bag are among them, (n_bags, g)."""
        inside = self._groups.members[chosen]
        sizes = np.diff(inside.indptr)
        bags = np.full((len(chosen), sizes.max()), NO_INSTANCE, np.int64)
        bags[np.arange(sizes.max()) < sizes[:, None]] = np.arange(inside.nnz)
        return inside.indices, bags

    def _prepare_inputs(self, members: np.ndarray) -> tuple[torch.Tensor, InputProduct, torch.Tensor | None]:
        """Return the rows of W that matter, a function that gives x W from them, and which rows they are."""
        X = self._X[members]
        if self._is_dense:
            dense = X.toarray() if self._mean is None else X.toarray() - self._mean
            x = torch.as_tensor(dense, dtype=torch.float32, device=self._device)
            return self._hidden.detach().requires_grad_(), lambda rows: x @ rows, None
        features, inverse = np.unique(X.indices, return_inverse=True)
        used, place, offsets = (
            torch.as_tensor(part, dtype=torch.int64, device=self._device) for part in (features, inverse, X.indptr[:-1])
        )
        values = torch.as_tensor(X.data, device=self._device)

        def product(rows: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.embedding_bag(place, rows, offsets, mode="sum", per_sample_weights=values)

        return self._hidden[used].requires_grad_(), product, used

    def _measure_affinity(self, members: np.ndarray) -> torch.Tensor | None:
        """Return the cosine of each document and each label's embedding, (n_documents, n_labels)."""
        if self._embedded is None:
            return None
        known = self._affinities
        affinity = compute_cosines(self._X[members], self._embedded) if known is None else known[members]
        return torch.as_tensor(affinity, dtype=torch.float32, device=self._device)

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

    def measure(self) -> dict[str, float]:
        return {}

    def weights(self) -> dict[str, np.ndarray]:
        return {name: part.cpu().numpy().copy() for name, part in vars(self.learned).items()}

    def set_weights(self, weights: Mapping[str, Any]) -> None:
        for name, part in vars(self.learned).items():
            part.copy_(torch.from_numpy(np.asarray(weights[name])))

    def momentum(self) -> dict[str, Any]:
        return {name: adam.state() for name, adam in self._adam.items()}

    def set_momentum(self, momentum: Mapping[str, Any]) -> None:
        for name, adam in self._adam.items():
            adam.set_state(momentum[name])
