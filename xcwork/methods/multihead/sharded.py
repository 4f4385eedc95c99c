"""Classifiers whose part that grows with the labels is cut by rows among ranks (label parallelism).

First the flat classifier and MHS, which have a label matrix W.

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

MHC shares the label embeddings, which are its last stage; everything before them every rank has and computes. For the
candidates of the last stage a rank computes the logits of its own labels, zero for the others, and their sum is what
all ranks go on with: batch · candidates numbers a step, and batch · width for the gradient of the query.

MHP shares the heads of label sets: each is a softmax of its own, so a rank computes the loss of its heads, as above.
With one label per document its heads have about √L codes each, which need no sharing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy import sparse
from scipy.special import expit
from torch import nn
from torch.nn import functional as F

from xcwork.compute.precision import widen
from xcwork.compute.ranks import Group, GroupedShard, Shard
from xcwork.compute.transfer import send_arrays
from xcwork.core.topk import MISSING, TopK
from xcwork.errors import ConfigError
from xcwork.methods.multihead.cascade import CascadeHeads, multiply_chosen
from xcwork.methods.multihead.codes import BitSlices, MixedRadix
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
from xcwork.methods.multihead.product import PowersetHeads
from xcwork.methods.multihead.row_table import RowTable
from xcwork.search import top_k_rows

ROWS_PER_DRAW = 4096  # first weights drawn together; a multiple of 16 keeps the numbers those of one large draw
WHOLE_MODEL_REMEDY = "explanations and embeddings need the whole model; use it outside of compute.ranks.join_ranks"


class ShardedHeads(FlatHeads):
    """One logit per label, for the labels of this rank; `sampled` (n_heads, length, S) trains some heads per step."""

    shard: Shard
    shared_names = ("labels.weight",)

    def __init__(
        self, width: int, n_labels: int, loss: str, shard: Shard, sampled: tuple[int, int, int] | None = None
    ) -> None:
        super().__init__(width, shard.stop - shard.first, loss)
        self.n_labels = n_labels
        self.shard = shard
        self.sampled = sampled

    def initialise(self, Y: sparse.csr_array) -> None:
        """Draw the numbers that one process would draw, of which this rank keeps its rows."""
        initialise_own_labels(self.labels, compute_first_biases(count_documents(Y), Y.shape[0], self.kind), self.shard)

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
        merged = merge_best(group, ids, found.scores, k)
        return sort_slots(merged.ids, expit(merged.scores) if self.kind == "bce" else np.exp(merged.scores - total))

    def take_apart(self, features: torch.Tensor, code: int) -> list[Factor]:
        raise ConfigError(WHOLE_MODEL_REMEDY)

    def read_embeddings(self) -> torch.Tensor:
        raise ConfigError(WHOLE_MODEL_REMEDY)

    def count_floats_per_document(self) -> int:
        return 3 * -(-self.n_labels // self.shard.group.size)  # the same on all ranks, which rank batches together


class ShardedCascadeHeads(CascadeHeads):
    """The cascade, of whose labels this rank has some."""

    shard: Shard

    def __init__(self, width: int, radix: MixedRadix, *, shard: Shard, label_dimension: int, **settings: Any) -> None:
        super().__init__(width, radix, label_dimension=label_dimension, **settings)
        self.shard = shard
        last = len(self.prefixes) - 1
        self.prefixes[last] = RowTable(shard.stop - shard.first, label_dimension + 1)
        self.shared_names = (f"prefixes.{last}.weight",)

    def _initialise_table(self, table: RowTable, biases: torch.Tensor) -> None:
        if table is self.tables[-1]:
            initialise_own_labels(table, biases, self.shard)
        else:
            super()._initialise_table(table, biases)

    def _multiply_rows(self, query: torch.Tensor, stage: int, rows: np.ndarray, at: torch.Tensor) -> torch.Tensor:
        if stage < len(self.tables):
            return super()._multiply_rows(query, stage, rows, at)
        query = SharedInput.apply(self.shard.group, query)
        mine = (rows >= self.shard.first) & (rows < self.shard.stop)
        embeddings = self.tables[-1].take_rows(rows[mine] - self.shard.first).to(query.dtype)
        place = np.where(mine, np.cumsum(mine) - 1, mine.sum())  # others meet a row of zeros at the end
        at = send_arrays(at.device, place)[0][at]
        return SumOfParts.apply(self.shard.group, multiply_chosen(query, F.pad(embeddings, (0, 0, 0, 1)), at))

    def take_apart(self, features: torch.Tensor, code: int) -> list[Factor]:
        raise ConfigError(WHOLE_MODEL_REMEDY)

    def read_embeddings(self) -> torch.Tensor:
        raise ConfigError(WHOLE_MODEL_REMEDY)


class ShardedPowersetHeads(PowersetHeads):
    """Heads over slices of the label set, of which this rank has some."""

    shard: Shard
    shared_names = ("linear.weight", "linear.bias")

    def __init__(self, width: int, loss: str, slices: BitSlices, group: Group) -> None:
        # Rows of the layer are shared, so whole heads are: those of so many labels.
        heads = Shard(group, slices.n_heads)
        own = slice(heads.first * slices.bits, min(heads.stop * slices.bits, slices.n_labels))
        nn.Module.__init__(self)
        self.kind = loss
        self.own_labels = own
        self.slices = BitSlices(own.stop - own.start, slices.bits)
        self.shard = GroupedShard(group, slices.n_heads * slices.length, slices.length)
        self.linear = draw_own_layer(width, self.shard)

    def initialise(self, Y: sparse.csr_array) -> None:
        super().initialise(sparse.csr_array(Y[:, self.own_labels]))

    def compute_loss(self, features: torch.Tensor, targets: BatchTargets) -> torch.Tensor:
        own = BatchTargets(sparse.csr_array(targets.Y[:, self.own_labels]), targets.rng)
        part = super().compute_loss(SharedInput.apply(self.shard.group, features), own)
        return SumOfParts.apply(self.shard.group, part)

    def rank(self, features: torch.Tensor, k: int, allowed: np.ndarray, label_of: np.ndarray) -> TopK:
        labels = label_of[self.own_labels]
        order = np.argsort(labels)
        found = super().rank(features, k, allowed[self.own_labels], np.argsort(order))
        ids = np.where(found.ids == MISSING, MISSING, labels[order][found.ids])
        return merge_best(self.shard.group, ids, found.scores, k)

    def choose_sets(self, features: torch.Tensor) -> sparse.csr_array:
        raise ConfigError(WHOLE_MODEL_REMEDY)

    def take_apart(self, features: torch.Tensor, code: int) -> list[Factor]:
        raise ConfigError(WHOLE_MODEL_REMEDY)

    def measure_accuracy(self, features: torch.Tensor, Y: sparse.csr_array) -> np.ndarray:
        raise ConfigError(WHOLE_MODEL_REMEDY)

    def count_floats_per_document(self) -> int:
        return 6 * -(-self.shard.n_rows // self.shard.group.size)  # the same on all ranks, which rank batches together


def initialise_own_labels(table: RowTable, biases: torch.Tensor, shard: Shard) -> None:
    """Draw the first weights that one process would draw for all labels, of which this rank keeps its rows."""
    first = shard.first
    width = table.weight.shape[1]
    for start in range(0, shard.n_rows, ROWS_PER_DRAW):
        drawn = torch.empty(min(ROWS_PER_DRAW, shard.n_rows - start), width).normal_(
            std=LABEL_STANDARD_DEVIATION * width**-0.5
        )
        begin, end = max(start, first), min(start + len(drawn), shard.stop)
        if begin < end:
            table.weight[begin - first : end - first] = drawn[begin - start : end - start]
    table.weight[:, -1] = biases[first : shard.stop]


def draw_own_layer(width: int, shard: Shard) -> nn.Linear:
    """Return a layer with this rank's rows of the one that `torch.nn.Linear` would draw."""
    layer = nn.utils.skip_init(nn.Linear, width, shard.stop - shard.first)
    limit = width**-0.5
    with torch.no_grad():
        for part in (layer.weight, layer.bias):
            for start in range(0, shard.n_rows, ROWS_PER_DRAW):
                drawn = part.new_empty(min(ROWS_PER_DRAW, shard.n_rows - start), *part.shape[1:]).uniform_(
                    -limit, limit
                )
                begin, end = max(start, shard.first), min(start + len(drawn), shard.stop)
                if begin < end:
                    part[begin - shard.first : end - shard.first] = drawn[begin - start : end - start]
    return layer


def merge_best(group: Group, ids: np.ndarray, scores: np.ndarray, k: int) -> TopK:
    """Return the k best labels of all ranks, from the best of each; one with fewer labels than k fills up."""
    missing = ((0, 0), (0, k - ids.shape[1]))
    ids = group.join_columns(np.pad(ids.astype(np.int64), missing, constant_values=MISSING))
    scores = group.join_columns(np.pad(scores, missing, constant_values=-np.inf))
    return sort_slots(ids, scores).head(k)


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
    """The sum of what the ranks have; each rank goes on with the gradient of its own part."""

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
