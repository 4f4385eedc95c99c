"""Training the Deep-MIML network on bags, by Adam, with everything random derived from the number of the epoch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from scipy import sparse

from xcwork.data.groups import Groups
from xcwork.methods.common.grlr import Assigned, cosines
from xcwork.methods.common.row_adam import RowAdam
from xcwork.methods.deep_miml.network import NOBODY, Weights, instance_logits, log_probabilities, loss_of, pooled

MOST_AFFINITIES = 2**25  # of documents and labels that are computed once
BLOCK = 8192  # documents
DENSE = 0.1  # instances with a larger share of non-zero features are multiplied as dense ones


@dataclass(frozen=True)
class Settings:
    """What a training needs to know besides the data."""

    tau: float
    K: int
    dropout: float
    batch_size: int
    learning_rate: float
    exclusive: bool  # every instance has exactly one label
    seed: int


class BagTrainer:
    """A training in the sense of `xcwork.methods.common.epochs`."""

    def __init__(
        self,
        X: sparse.csr_array,
        mean: np.ndarray | None,
        groups: Groups,
        embedded: Assigned | None,
        weights: Weights,
        settings: Settings,
        device: torch.device,
    ) -> None:
        self._X, self._mean, self._groups, self._settings, self._device = X, mean, groups, settings, device
        self._embedded = embedded
        self.learned = Weights(*(part.to(device) for part in vars(weights).values()))
        self._adam = {name: RowAdam(table) for name, table in vars(self.learned).items()}
        self.steps = math.ceil(len(groups) / settings.batch_size)

    @cached_property
    def _is_dense(self) -> bool:
        return self._mean is not None or self._X.nnz > DENSE * math.prod(self._X.shape)

    def begin(self, epoch: int) -> None:
        self._order = np.random.default_rng((self._settings.seed, epoch)).permutation(len(self._groups))
        self._drop = torch.Generator().manual_seed(self._settings.seed * 1_000_003 + epoch)

    def step(self, number: int) -> float:
        settings = self._settings
        chosen = self._order[number * settings.batch_size : (number + 1) * settings.batch_size]
        members, bags = self._bags(chosen)
        rows, inputs, used = self._inputs(members)
        parts = [part.detach().requires_grad_() for part in vars(self.learned).values() if part is not self._hidden]
        weights = Weights(rows, *parts)
        keep = torch.rand(len(members), rows.shape[1], generator=self._drop) >= settings.dropout
        keep = keep.to(self._device, rows.dtype) / (1 - settings.dropout)
        log_p = log_probabilities(instance_logits(weights, inputs(rows), settings.K, keep), settings.exclusive)
        places = torch.as_tensor(bags, device=self._device)
        counts = torch.as_tensor(self._groups.labels[chosen].toarray(), device=self._device)
        loss = loss_of(*pooled(log_p, places, self._affinity(members), settings.tau), counts)
        gradients = torch.autograd.grad(loss, [rows, *parts])
        for (name, adam), gradient in zip(self._adam.items(), gradients, strict=True):
            adam.step(gradient, settings.learning_rate, used if name == "hidden" else None)
        return loss.item()

    @property
    def _hidden(self) -> torch.Tensor:
        return self.learned.hidden

    def _bags(self, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(documents of the bags, (n_bags, g) places of each bag's documents among them)."""
        inside = self._groups.members[chosen]
        sizes = np.diff(inside.indptr)
        bags = np.full((len(chosen), sizes.max()), NOBODY, np.int64)
        bags[np.arange(sizes.max()) < sizes[:, None]] = np.arange(inside.nnz)
        return inside.indices, bags

    def _inputs(self, members: np.ndarray) -> tuple[torch.Tensor, Any, torch.Tensor | None]:
        """(the rows of W that matter, how to get x W from them, which rows they are)."""
        X = self._X[members]
        if self._is_dense:
            dense = X.toarray() if self._mean is None else X.toarray() - self._mean
            x = torch.as_tensor(dense, dtype=torch.float32, device=self._device)
            return self._hidden.detach().requires_grad_(), lambda rows: x @ rows, None
        features, place = np.unique(X.indices, return_inverse=True)
        used, place, offsets = (
            torch.as_tensor(part, dtype=torch.int64, device=self._device) for part in (features, place, X.indptr[:-1])
        )
        values = torch.as_tensor(X.data, device=self._device)

        def product(rows: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.embedding_bag(place, rows, offsets, mode="sum", per_sample_weights=values)

        return self._hidden[used].requires_grad_(), product, used

    def _affinity(self, members: np.ndarray) -> torch.Tensor | None:
        """The cosine of each document and each label's embedding, (n_documents, n_labels)."""
        if self._embedded is None:
            return None
        known = self._affinities
        affinity = cosines(self._X[members], self._embedded) if known is None else known[members]
        return torch.as_tensor(affinity, dtype=torch.float32, device=self._device)

    @cached_property
    def _affinities(self) -> np.ndarray | None:
        """All of them, where they are few enough to be kept."""
        n_documents, n_labels = self._X.shape[0], self._groups.labels.shape[1]
        if n_documents * n_labels > MOST_AFFINITIES:
            return None
        blocks = [cosines(self._X[at : at + BLOCK], self._embedded) for at in range(0, n_documents, BLOCK)]
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
