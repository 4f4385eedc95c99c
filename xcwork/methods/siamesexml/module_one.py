"""Module I: the encoder learns to bring labels and their documents together.

A batch is B labels, drawn with probability proportional to frequency^0.45, with two of each label's documents, i and
i'. Every label meets the first documents of all labels of the batch, twice:

    S¹ = cos(f(z_l), f(x_j)),    S² = cos(N(f(x_i) + f(x_i')), f(x_j)),    loss = 0.7 L(S¹) + 0.3 L(S²)

where L is the mean loss of the pairs that are relevant, those by accident among them, plus the loss of the κ hardest
that are not. (The paper sums the former; a frequent label with a hundred of its documents in the batch would then only
ever be pulled.)
S² is the view of centroids: the mean of two of a label's documents stands for the mean of all.

With offline negatives, as in the supplement, one of the κ is a document that a search over all documents found near the
label; the search is repeated every few epochs.

An epoch draws as many labels as there are labels or documents, whichever is more. A batch costs
O(B * tokens * D + B² D).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch.nn import functional as F

from xcwork.methods.common.row_adam import RowAdam
from xcwork.methods.siamesexml.encoder import Encoder
from xcwork.methods.siamesexml.likelihood import ENCODER, Likelihood
from xcwork.search import make_index

TEXT_SHARE = 0.7  # of the loss; the rest belongs to the view of centroids
REFRESH = 5  # epochs between two searches for offline negatives
OFFLINE = 10  # documents kept for each label


@dataclass(frozen=True, eq=False)
class Batch:
    """Labels, two documents of each, and which label belongs to which first document, or must not be judged for it."""

    labels: np.ndarray  # (B,)
    first: np.ndarray  # (B,)
    second: np.ndarray  # (B,)
    targets: np.ndarray  # (B, B) bool: label of row l belongs to first document of column j
    ignored: np.ndarray  # (B, B) bool: filter pairs, neither positive nor negative


class Sampler:
    """Draws batches of labels that have text and documents."""

    def __init__(self, Y: sparse.csr_array, filtered: sparse.csr_array, labels: np.ndarray, power: float) -> None:
        self.Y, self.filtered = Y, filtered  # (n_documents, n_labels)
        self.carriers = sparse.csr_array(Y.T)
        self.labels = labels
        weights = np.diff(self.carriers.indptr)[labels].astype(np.float64) ** power
        self.chances = weights / weights.sum()

    def draw(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """(n, 3): a label and two of its documents a row."""
        labels = rng.choice(self.labels, size=n, p=self.chances)
        start, end = self.carriers.indptr[labels], self.carriers.indptr[labels + 1]
        documents = self.carriers.indices[rng.integers(start[:, None], end[:, None], (n, 2))]
        return np.column_stack([labels, documents])

    def batch(self, drawn: np.ndarray) -> Batch:
        """The batch of the rows of `drawn`."""
        labels, first, second = drawn.T
        n = len(labels)
        chosen = sparse.csr_array((np.ones(n, np.float32), (labels, np.arange(n))), shape=(self.Y.shape[1], n))
        targets, ignored = ((pairs[first] @ chosen).toarray().T > 0 for pairs in (self.Y, self.filtered))
        return Batch(labels, first, second, targets, ignored & ~targets)


def contrast(
    v: torch.Tensor, is_positive: torch.Tensor, is_ignored: torch.Tensor, hardest: int, likelihood: Likelihood
) -> torch.Tensor:
    """The mean loss of the positives of each row plus the losses of its `hardest` negatives, averaged over rows."""
    # The hardest are found without derivatives; only what they and the positives cost is differentiated.
    rivals = v.detach().masked_fill(is_positive | is_ignored, -torch.inf)
    best, place = rivals.topk(min(hardest, v.shape[1]), dim=1)
    negatives = v.gather(1, place)[torch.isfinite(best)]  # a row may have positives only
    shares = (is_positive.to(v.dtype) / is_positive.sum(1, keepdim=True))[is_positive]
    return ((likelihood.positive(v[is_positive]) * shares).sum() + likelihood.negative(negatives).sum()) / len(v)


class EncoderTraining:
    """Trains the token table of an encoder; a `xcwork.methods.common.epochs.Trainer`."""

    def __init__(
        self,
        encoder: Encoder,
        X: sparse.csr_array,
        Z: sparse.csr_array,
        sampler: Sampler,
        settings: Any,
        seed: int,
        measure: Callable[[], dict[str, float]],
    ) -> None:
        self.encoder, self.X, self.Z, self.sampler = encoder, X, Z, sampler
        self.settings, self.seed, self.measure = settings, seed, measure
        self.draws = max(len(sampler.labels), X.shape[0])
        self.steps = -(-self.draws // settings.batch)
        self.optimiser = RowAdam(encoder.table)
        self.offline: np.ndarray | None = None  # (n_labels, OFFLINE), -1 where there are fewer

    def begin(self, epoch: int) -> None:
        self.rng = np.random.default_rng((self.seed, 1, epoch))
        self.drawn = self.sampler.draw(self.rng, self.draws)
        self.rate = rate_at(self.settings.rate, epoch, self.settings.epochs)
        if self.settings.offline_negatives and (epoch % REFRESH == 0 or self.offline is None):
            self.offline = self._search()

    def step(self, number: int) -> float:
        size = self.settings.batch
        batch = self.sampler.batch(self.drawn[number * size : (number + 1) * size])
        texts = [self.Z[batch.labels], self.X[batch.first], self.X[batch.second]]
        if self.offline is not None:
            strangers = self.offline[batch.labels, self.rng.integers(OFFLINE, size=len(batch.labels))]
            texts.append(self.X[np.maximum(strangers, 0)])
        bags, sums = self.encoder.sums(sparse.csr_array(sparse.vstack(texts)))
        z, first, second, *others = self.encoder.intermediate(sums).split(len(batch.labels))
        loss = self._loss(z, first, second, batch)
        if others:
            present = torch.from_numpy(strangers >= 0).to(sums.device)
            loss = loss + (ENCODER.negative((z * others[0]).sum(1)) * present).mean()
        loss.backward()
        self.optimiser.step_bags(bags, sums.grad, self.rate)
        return loss.item()

    def _loss(self, z: torch.Tensor, first: torch.Tensor, second: torch.Tensor, batch: Batch) -> torch.Tensor:
        hardest = self.settings.hard_negatives - (self.offline is not None)
        masks = [torch.from_numpy(mask).to(z.device) for mask in (batch.targets, batch.ignored)]
        by_text = contrast(z @ first.T, *masks, hardest, ENCODER)
        by_centroid = contrast(F.normalize(first + second, dim=1) @ first.T, *masks, hardest, ENCODER)
        return TEXT_SHARE * by_text + (1 - TEXT_SHARE) * by_centroid

    def _search(self) -> np.ndarray:
        """Near documents that do not carry the label, for every label."""
        labels = self.sampler.labels
        index = make_index(self.encoder.encode(self.X), self.settings.search, seed=self.seed)
        most = int(np.diff(self.sampler.carriers.indptr).max())
        found = index.query(self.encoder.encode(self.Z[labels]), min(OFFLINE + min(most, 10 * OFFLINE), len(index)))
        barred = sparse.csr_array((self.sampler.Y + self.sampler.filtered).T)[labels]
        near = found.without(np.column_stack(sparse.coo_array(barred).coords)).head(OFFLINE).ids
        offline = np.full((self.Z.shape[0], OFFLINE), -1, np.int64)
        offline[labels] = near
        return offline

    def weights(self) -> dict[str, Any]:
        return {"table": self.encoder.table.cpu().numpy().copy()}

    def set_weights(self, weights: Mapping[str, Any]) -> None:
        self.encoder.table.copy_(torch.from_numpy(np.asarray(weights["table"])))

    def momentum(self) -> dict[str, Any]:
        return {"adam": self.optimiser.state()} | ({} if self.offline is None else {"offline": self.offline})

    def set_momentum(self, momentum: Mapping[str, Any]) -> None:
        self.optimiser.set_state(momentum["adam"])
        self.offline = momentum.get("offline")


def rate_at(rate: float, epoch: int, epochs: int) -> float:
    """The learning rate of an epoch: three quarters after 60 % of them, and again after half that time, and so on."""
    at, wait = 0.6 * epochs, 0.6 * epochs
    while epoch >= at:
        rate *= 0.75
        wait = max(wait / 2, 5)
        at += wait
    return rate
