"""Module I: the encoder learns to bring labels and their documents together.

A batch is B labels, drawn with probability proportional to frequency^0.45, with two of each label's documents, i and
i'. Every label meets the first documents of all labels of the batch, twice:

    S¹ = cos(f(z_l), f(x_j)),    S² = cos(N(f(x_i) + f(x_i')), f(x_j)),    loss = 0.7 L(S¹) + 0.3 L(S²)

where L (`loss.compute_encoder_loss`) is the mean loss of the pairs that are relevant, those by accident among them,
plus the loss of the κ hardest that are not. (The paper sums the former; a frequent label with a hundred of its
documents in the batch would then only ever be pulled.)

S² is the view of centroids: the mean of two of a label's documents stands for the mean of all.

With offline negatives, as in the supplement, one of the κ is a document that a search over all documents found near the
label; the search is repeated every few epochs. With `encoder_residual`, as in the supplement too, texts of both kinds
pass through the residual block here already: cosines are of E, and module IV goes on with the block.

An epoch draws as many labels as there are labels or documents, whichever is more. A batch costs
O(B * tokens * D + B² D).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch.nn import functional as F

from xcwork.compute.device_memory import FittingBatch
from xcwork.compute.precision import MixedPrecision, widen
from xcwork.compute.transfer import send_arrays
from xcwork.methods.common.row_adam import RowAdam
from xcwork.methods.model import Params
from xcwork.methods.siamesexml.encoder import Encoder
from xcwork.methods.siamesexml.loss import Likelihood, compute_encoder_loss
from xcwork.search import make_index

TEXT_LOSS_SHARE = 0.7  # of the loss; the rest belongs to the view of centroids
EPOCHS_PER_SEARCH = 5  # for offline negatives
OFFLINE_NEGATIVES_PER_LABEL = 10  # documents kept for each label


@dataclass(frozen=True, eq=False)
class LabelBatch:
    """Labels, two documents of each, and which label belongs to which first document, or must not be judged for it."""

    labels: np.ndarray  # (B,)
    first: np.ndarray  # (B,)
    second: np.ndarray  # (B,)
    targets: np.ndarray  # (B, B) bool: label of row l belongs to first document of column j
    ignored: np.ndarray  # (B, B) bool: filter pairs, neither positive nor negative


class LabelSampler:
    """Draws batches of labels that have text and documents."""

    def __init__(self, Y: sparse.csr_array, filtered: sparse.csr_array, labels: np.ndarray, power: float) -> None:
        self.Y = Y  # (n_documents, n_labels)
        self.filtered = filtered  # (n_documents, n_labels)
        self.documents_of = sparse.csr_array(Y.T)
        self.labels = labels
        weights = np.diff(self.documents_of.indptr)[labels].astype(np.float64) ** power
        self.chances = weights / weights.sum()

    def draw(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """Return n rows of a label and two of its documents, (n, 3)."""
        labels = rng.choice(self.labels, size=n, p=self.chances)
        start = self.documents_of.indptr[labels]
        end = self.documents_of.indptr[labels + 1]
        documents = self.documents_of.indices[rng.integers(start[:, None], end[:, None], (n, 2))]
        return np.column_stack([labels, documents])

    def make_batch(self, drawn: np.ndarray) -> LabelBatch:
        """Return the batch of the rows of `drawn`."""
        labels, first, second = drawn.T
        n = len(labels)
        chosen = sparse.csr_array((np.ones(n, np.float32), (labels, np.arange(n))), shape=(self.Y.shape[1], n))
        targets, ignored = ((pairs[first] @ chosen).toarray().T > 0 for pairs in (self.Y, self.filtered))
        return LabelBatch(labels, first, second, targets, ignored & ~targets)


class EncoderTraining:
    """Trains the token table of an encoder; a `xcwork.methods.common.epochs.EpochTrainer`."""

    def __init__(
        self,
        encoder: Encoder,
        X: sparse.csr_array,
        Z: sparse.csr_array,
        sampler: LabelSampler,
        params: Params,
        seed: int,
        measure: Callable[[], dict[str, float]],
    ) -> None:
        self.encoder = encoder
        self.X = X
        self.Z = Z
        self.sampler = sampler
        self.params = params
        self.likelihood = Likelihood(params.encoder_c, params.encoder_d)
        self.seed = seed
        self.measure = measure
        self.draws = max(len(sampler.labels), X.shape[0])
        self.steps = -(-self.draws // params.batch_size)
        self.optimiser = RowAdam(encoder.table)
        learned = encoder.residual.parameters() if params.encoder_residual else {}
        self.residual_optimisers = {name: RowAdam(tensor) for name, tensor in learned.items()}
        self.precision = MixedPrecision(
            params.precision, encoder.device, (params.batch_size, encoder.table.shape[1], params.batch_size)
        )
        self.batch = FittingBatch(params.batch_size, self._estimate_bytes, encoder.device)
        self.offline: np.ndarray | None = None  # (n_labels, OFFLINE_NEGATIVES_PER_LABEL), -1 where there are fewer

    def begin(self, epoch: int) -> None:
        self.rng = np.random.default_rng((self.seed, 1, epoch))
        self.drawn = self.sampler.draw(self.rng, self.draws)
        self.learning_rate = decay_learning_rate(self.params.learning_rate, epoch, self.params.epochs)
        if self.params.offline_negatives and (epoch % EPOCHS_PER_SEARCH == 0 or self.offline is None):
            self.offline = self._search_negatives()

    def step(self, number: int) -> float | torch.Tensor:
        size = self.params.batch_size
        return self.batch.run(self.drawn[number * size : (number + 1) * size], self._learn)

    def _learn(self, drawn: np.ndarray) -> torch.Tensor:
        """Take a step on some labels with their documents; return its loss."""
        batch = self.sampler.make_batch(drawn)
        documents = [batch.first, batch.second]
        if self.offline is not None:
            negatives = self.offline[
                batch.labels, self.rng.integers(OFFLINE_NEGATIVES_PER_LABEL, size=len(batch.labels))
            ]
            documents.append(np.maximum(negatives, 0))
        # A text that occurs several times is embedded once.
        labels, label_places = np.unique(batch.labels, return_inverse=True)
        rows, row_places = np.unique(np.concatenate(documents), return_inverse=True)
        bags, sums = self.encoder.sum_bags(sparse.csr_array(sparse.vstack([self.Z[labels], self.X[rows]])))
        residual = {name: adam.table.clone().requires_grad_() for name, adam in self.residual_optimisers.items()}
        all_places = np.concatenate([label_places, len(labels) + row_places])
        places, *masks = send_arrays(sums.device, all_places, batch.targets, batch.ignored)
        # The derivative of `embedding` adds up in the order of places; that of an index, in whichever threads come.
        embedded = F.embedding(places, self._embed(sums, residual))
        z, first, second, *others = embedded.split(len(batch.labels))
        with self.precision.lower():
            loss = self._compute_loss(z, first, second, *masks)
        if others:
            (present,) = send_arrays(sums.device, negatives >= 0)
            offline_loss = self.likelihood.compute_negative_loss((z * others[0]).sum(1))
            loss = loss + (offline_loss * present).mean()
        self.precision.scale(loss).backward()
        assert sums.grad is not None  # they are the leaves
        if self.precision.unscale([sums.grad, *(parameter.grad for parameter in residual.values())]):
            self.optimiser.step_bags(bags, sums.grad, self.learning_rate)
            for name, parameter in residual.items():
                assert parameter.grad is not None  # a leaf
                self.residual_optimisers[name].step(parameter.grad, self.learning_rate)
        return loss.detach()

    def _embed(self, sums: torch.Tensor, residual: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Return the embeddings that are compared, given the sums of the bags: f, or E where the block is learned."""
        f = self.encoder.activate(sums)
        if not residual:
            return f
        self.encoder.residual.improve_spectrum()
        return self.encoder.residual(f, residual)

    def _encode(self, X: sparse.csr_array) -> np.ndarray:
        """Return the embeddings that are compared, of rows of texts."""
        f = self.encoder.encode(X)
        return self.encoder.finish(f) if self.residual_optimisers else f

    def _compute_loss(
        self,
        z: torch.Tensor,
        first: torch.Tensor,
        second: torch.Tensor,
        is_positive: torch.Tensor,
        is_ignored: torch.Tensor,
    ) -> torch.Tensor:
        """Return 0.7 L(S¹) + 0.3 L(S²)."""
        contrast = partial(
            compute_encoder_loss,
            is_positive=is_positive,
            is_ignored=is_ignored,
            hardest=self.params.hard_negatives - (self.offline is not None),
            likelihood=self.likelihood,
        )
        by_text = contrast(widen(z @ first.T))
        by_centroid = contrast(widen(F.normalize(first + second, dim=1) @ first.T))
        return TEXT_LOSS_SHARE * by_text + (1 - TEXT_LOSS_SHARE) * by_centroid

    def _estimate_bytes(self, n_labels: int) -> int:
        """Return about how many bytes a step with so many labels takes on a device."""
        n_texts = (3 + self.params.offline_negatives) * n_labels
        entries = n_texts * max(-(-part.nnz // max(1, part.shape[0])) for part in (self.X, self.Z))
        width = self.encoder.table.shape[1]
        searched = (2 * self.Z.shape[0] + self.X.shape[0]) * width  # texts, centroids and documents, after the training
        learned = 3 * self.encoder.table.numel()
        return 4 * (learned + searched + 8 * n_texts * width + 3 * entries * width + 16 * n_labels**2)

    def _search_negatives(self) -> np.ndarray:
        """Return near documents that do not have the label, for every label."""
        labels = self.sampler.labels
        vectors = self._encode(self.X)
        index = make_index(vectors, self.params.search, seed=self.seed, device=self.params.device)
        most = int(np.diff(self.sampler.documents_of.indptr).max())
        found = index.query(
            self._encode(self.Z[labels]),
            min(OFFLINE_NEGATIVES_PER_LABEL + min(most, 10 * OFFLINE_NEGATIVES_PER_LABEL), len(index)),
        )
        barred = sparse.csr_array((self.sampler.Y + self.sampler.filtered).T)[labels]
        near = found.drop_pairs(np.column_stack(sparse.coo_array(barred).coords)).head(OFFLINE_NEGATIVES_PER_LABEL).ids
        offline = np.full((self.Z.shape[0], OFFLINE_NEGATIVES_PER_LABEL), -1, np.int64)
        offline[labels] = near
        return offline

    def get_weights(self) -> dict[str, Any]:
        table = {"table": self.encoder.table.cpu().numpy().copy()}
        return table | ({"residual": self.encoder.residual.get_state()} if self.residual_optimisers else {})

    def set_weights(self, weights: Mapping[str, Any]) -> None:
        self.encoder.table.copy_(torch.from_numpy(np.asarray(weights["table"])))
        if self.residual_optimisers:
            self.encoder.residual.set_state(weights["residual"])

    def get_momentum(self) -> dict[str, Any]:
        of_residual = {name: adam.get_state() for name, adam in self.residual_optimisers.items()}
        moments = {"adam": self.optimiser.get_state(), "residual": of_residual}
        return moments | ({} if self.offline is None else {"offline": self.offline})

    def set_momentum(self, momentum: Mapping[str, Any]) -> None:
        self.optimiser.set_state(momentum["adam"])
        for name, adam in self.residual_optimisers.items():
            adam.set_state(momentum["residual"][name])
        self.offline = momentum.get("offline")


def decay_learning_rate(learning_rate: float, epoch: int, epochs: int) -> float:
    """Return the step size of an epoch: three quarters after 60 % of them, again after half that time, and so on."""
    wait = 0.6 * epochs
    at = wait
    while epoch >= at:
        learning_rate *= 0.75
        wait = max(wait / 2, 5)
        at += wait
    return learning_rate
