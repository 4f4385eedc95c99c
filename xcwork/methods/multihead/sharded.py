"""The flat classifier and MHS with their label matrix cut by rows among ranks (label parallelism).

Every rank reads the same documents, in the same order and with the same random numbers, and computes the same features
F (batch, width). It holds the rows of W of its own labels and computes, ranks and trains those alone:

    loss      each rank adds up the loss of its labels; a softmax over all labels needs two numbers per document from
              each rank (its largest logit, the sum of exponentials) and the logit of the right label
    gradient  ∂loss/∂W stays where the rows are. ∂loss/∂F is the sum of what the ranks find; with it every rank has the
              whole gradient of the backbone, so all take the same step and their backbones stay the same
    ranking   each rank returns its k best labels, and the k best of those are the answer

Communication per step: batch · width numbers for ∂loss/∂F, 3 · batch for a softmax. It does not depend on the number of
labels: 128 documents of 256 features are 131 kB. Sharing the documents as well would save backbone time, which is small
for bags of words, and cost the gradients of all word embeddings in use, several times as much. At the start of an epoch
the first rank's backbone is copied to the others, so that different processors cannot drift apart by rounding.

Memory of a rank: n_labels / ranks · (width + 2) numbers, the backbone, and the data (which may be memory-mapped). Only
the first rank ever has all of W, when it writes a checkpoint or the model, which then is an ordinary one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy import sparse
from scipy.special import expit

from xcwork.compute.precision import widen
from xcwork.compute.ranks import Group, Shard
from xcwork.compute.transfer import send_arrays
from xcwork.core.topk import MISSING, TopK
from xcwork.errors import ConfigError
from xcwork.methods.multihead.flat import FlatHeads, choose_batch_heads
from xcwork.methods.multihead.heads import (
    LABEL_STANDARD_DEVIATION,
    BatchTargets,
    Factor,
    compute_binary_loss,
    compute_first_biases,
    count_documents,
    sort_slots,
)
from xcwork.search import top_k_rows

ROWS_PER_DRAW = 4096  # first weights drawn together; a multiple of 16 keeps the numbers those of one large draw
WHOLE_MODEL_REMEDY = "explanations and embeddings need the whole model; use it outside of compute.ranks.join_ranks"


class ShardedHeads(FlatHeads):
    """One logit per label, for the labels of this rank; `sampled` (n_heads, length, S) trains some heads per step."""

    shard: Shard

    def __init__(
        self, width: int, n_labels: int, loss: str, shard: Shard, sampled: tuple[int, int, int] | None = None
    ) -> None:
        super().__init__(width, shard.stop - shard.first, loss)
        self.n_labels = n_labels
        self.shard = shard
        self.sampled = sampled

    def initialise(self, Y: sparse.csr_array) -> None:
        """Draw the numbers that one process would draw, of which this rank keeps its rows."""
        first = self.shard.first
        stop = self.shard.stop
        width = self.labels.weight.shape[1]
        for start in range(0, self.n_labels, ROWS_PER_DRAW):
            drawn = torch.empty(min(ROWS_PER_DRAW, self.n_labels - start), width).normal_(
                std=LABEL_STANDARD_DEVIATION * width**-0.5
            )
            begin, end = max(start, first), min(start + len(drawn), stop)
            if begin < end:
                self.labels.weight[begin - first : end - first] = drawn[begin - start : end - start]
        self.labels.weight[:, -1] = compute_first_biases(count_documents(Y), Y.shape[0], self.kind)[first:stop]

    def compute_loss(self, features: torch.Tensor, targets: BatchTargets) -> torch.Tensor:
        documents, codes = targets.positives
        if len(codes) == 0 and self.sampled is not None:
            return features.sum() * 0.0
        mine = (codes >= self.shard.first) & (codes < self.shard.stop)
        rows, columns = self._find_rows_in_use(codes, mine, targets.rng)
        logits = self.compute_logits(SharedInput.apply(self.shard.group, features), self.labels.take_rows(rows))
        if self.kind == "bce":
            return SumOfParts.apply(self.shard.group, compute_binary_loss(logits, documents[mine], columns))
        # A document without a label teaches nothing here; the others have one each, in order.
        chosen, *at = send_arrays(logits.device, documents, np.flatnonzero(mine), columns)
        logits = widen(logits[chosen])
        return SharedCrossEntropy.apply(self.shard.group, logits, *at)

    def _find_rows_in_use(
        self, codes: np.ndarray, mine: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray | None, np.ndarray]:
        """Return the rows of this rank that the step trains (None: all), and where the codes that are `mine` are."""
        local = codes[mine] - self.shard.first
        if self.sampled is None:
            return None, local
        n_heads, length, sampled = self.sampled
        rows, _ = choose_batch_heads(codes, rng.integers(n_heads, size=sampled - 1), length, self.n_labels)
        rows = rows[(rows >= self.shard.first) & (rows < self.shard.stop)] - self.shard.first
        return rows, np.searchsorted(rows, local)

    def rank(self, features: torch.Tensor, k: int, allowed: np.ndarray, label_of: np.ndarray) -> TopK:
        group = self.shard.group
        here = slice(self.shard.first, self.shard.stop)
        logits = self.compute_logits(features, self.labels.take_rows())
        total = 0.0 if self.kind == "bce" else compute_log_sum_exp(group, logits)[:, None].cpu().numpy()
        labels = label_of[here]
        order = np.argsort(labels)
        scores = logits.float().cpu().numpy()[:, order]
        scores[:, ~allowed[here][order]] = -np.inf
        found = top_k_rows(scores, k)
        ids = np.where(found.ids == MISSING, MISSING, labels[order][found.ids])
        missing = ((0, 0), (0, k - ids.shape[1]))  # a rank with fewer labels than k fills up
        ids = group.join_columns(np.pad(ids.astype(np.int64), missing, constant_values=MISSING))
        scores = group.join_columns(np.pad(found.scores, missing, constant_values=-np.inf))
        merged = sort_slots(ids, scores).head(k)
        return sort_slots(merged.ids, expit(merged.scores) if self.kind == "bce" else np.exp(merged.scores - total))

    def take_apart(self, features: torch.Tensor, code: int) -> list[Factor]:
        raise ConfigError(WHOLE_MODEL_REMEDY)

    def read_embeddings(self) -> torch.Tensor:
        raise ConfigError(WHOLE_MODEL_REMEDY)

    def count_floats_per_document(self) -> int:
        return 3 * -(-self.n_labels // self.shard.group.size)  # the same on all ranks, which rank batches together


class SharedInput(torch.autograd.Function):
    """Features that all ranks have; their gradient is the sum of the ranks' gradients."""

    @staticmethod
    def forward(ctx: Any, group: Group, features: torch.Tensor) -> torch.Tensor:
        ctx.group = group
        return features.view_as(features)

    @staticmethod
    def backward(ctx: Any, outer: torch.Tensor) -> tuple[None, torch.Tensor]:
        return None, ctx.group.sum(outer.clone(memory_format=torch.contiguous_format))


class SumOfParts(torch.autograd.Function):
    """The sum of one number per rank; each rank goes on with the gradient of its own."""

    @staticmethod
    def forward(ctx: Any, group: Group, part: torch.Tensor) -> torch.Tensor:
        return group.sum(part.clone())

    @staticmethod
    def backward(ctx: Any, outer: torch.Tensor) -> tuple[None, torch.Tensor]:
        return None, outer


class SharedCrossEntropy(torch.autograd.Function):
    """The mean cross-entropy of logits (n, m) of which each rank has some columns; (rows, columns) are right."""

    @staticmethod
    def forward(
        ctx: Any, group: Group, logits: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor
    ) -> torch.Tensor:
        total = compute_log_sum_exp(group, logits)
        right = torch.zeros_like(total)
        right[rows] = logits[rows, columns]
        ctx.save_for_backward(logits, total, rows, columns)
        return (total - group.sum(right)).mean()

    @staticmethod
    def backward(ctx: Any, outer: torch.Tensor) -> tuple[None, torch.Tensor, None, None]:
        logits, total, rows, columns = ctx.saved_tensors
        gradient = torch.exp(logits - total[:, None])
        gradient[rows, columns] -= 1
        return None, gradient.mul_(outer / max(1, len(logits))), None, None


def compute_log_sum_exp(group: Group, logits: torch.Tensor) -> torch.Tensor:
    """Return log Σ exp over the columns of all ranks, (n,)."""
    nothing = logits.new_full((len(logits),), -torch.inf)  # where no label of this rank is in use
    largest = group.max(logits.amax(dim=1) if logits.shape[1] else nothing)
    return largest + group.sum(torch.exp(logits - largest[:, None]).sum(dim=1)).log()
