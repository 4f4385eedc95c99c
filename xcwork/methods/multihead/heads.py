"""What all classifiers on top of a backbone have in common: targets, losses, first biases, and how a score is read.

A classifier is a module with three verbs. `loss` trains it on a batch, `best` ranks labels, and `readings` takes one
score apart: a score is a product of probabilities, one a head, and each probability belongs to a logit that is linear
in the features, z = w·F + b. Labels are codes here, positions in the label order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from scipy import sparse
from torch import nn
from torch.nn import functional as F

from xcwork.compute.ranks import Shard
from xcwork.core.topk import MISSING, TopK
from xcwork.methods.multihead.row_table import Table

LEAST = 0.1  # documents that a label without any counts as, in first biases
LABEL_SCALE = 0.5  # of the first weights of labels, over the root of their number
LOSSES = ("auto", "bce", "ce")


class Targets(NamedTuple):
    """The labels of a batch, and the random numbers of its step."""

    Y: sparse.csr_array  # (n, n_labels), columns in the order of codes
    rng: np.random.Generator

    @property
    def positives(self) -> tuple[np.ndarray, np.ndarray]:
        """(document of the batch, code) of every label."""
        rows = np.repeat(np.arange(self.Y.shape[0]), np.diff(self.Y.indptr))
        return rows, self.Y.indices.astype(np.int64)


class Reading(NamedTuple):
    """One factor of a score: exp(log_probability), with the logit z = direction·F + bias behind it."""

    head: str
    direction: torch.Tensor  # (width,)
    bias: float
    log_probability: float


class Heads(nn.Module):
    """A classifier over features (n, width)."""

    shard: Shard | None = None  # which labels `labels` has rows for, where ranks share them
    labels: Table

    def initialise(self, Y: sparse.csr_array) -> None:
        """First values; the biases give every class the frequency it has in `Y` (n_documents, n_labels)."""
        raise NotImplementedError

    def loss(self, features: torch.Tensor, targets: Targets) -> torch.Tensor:
        """The loss of a batch, a sum over labels and a mean over documents."""
        raise NotImplementedError

    def best(self, features: torch.Tensor, k: int, allowed: np.ndarray, label_of: np.ndarray) -> TopK:
        """The k best labels among the codes marked in `allowed`; `label_of` (n_labels,) names the label of a code."""
        raise NotImplementedError

    def readings(self, features: torch.Tensor, code: int) -> list[Reading]:
        """The factors of the score of one code for one document, `features` (1, width)."""
        raise NotImplementedError

    def embeddings(self) -> torch.Tensor | None:
        """One row a code, (n_labels, …), or None."""
        return None

    def floats_per_document(self) -> int:
        """Numbers that ranking one document needs at once, which decides how many are ranked together."""
        raise NotImplementedError


class BinaryLoss(torch.autograd.Function):
    """Σ over all entries of the binary cross-entropy of σ(z), where only the positive entries are listed.

    The same as torch's loss with a dense target, without ever making one.
    """

    @staticmethod
    def forward(ctx: Any, logits: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(logits, rows, columns)
        return F.softplus(logits).sum() - logits[rows, columns].sum()

    @staticmethod
    def backward(ctx: Any, outer: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        logits, rows, columns = ctx.saved_tensors
        gradient = torch.sigmoid(logits)
        gradient[rows, columns] -= 1
        return gradient.mul_(outer), None, None


def binary_loss(logits: torch.Tensor, rows: np.ndarray, columns: np.ndarray) -> torch.Tensor:
    """The binary cross-entropy of logits (n, m) whose positive entries are at (rows, columns), a document."""
    at = (torch.from_numpy(part).to(logits.device) for part in (rows, columns))
    return BinaryLoss.apply(logits, *at) / len(logits)


def with_one(features: torch.Tensor) -> torch.Tensor:
    """Features with a constant after them, which the last column of a table meets as its bias."""
    return F.pad(features, (0, 1), value=1.0)


def first_biases(counts: np.ndarray, total: float | np.ndarray, loss: str) -> torch.Tensor:
    """The logits that give every class its frequency before anything else is learned."""
    share = np.clip((counts + LEAST) / (total + 2 * LEAST), 1e-6, 1 - 1e-6)
    logits = np.log(share / (1 - share)) if loss == "bce" else np.log(share)
    return torch.from_numpy(logits.astype(np.float32))


def initialise_labels(table: Table, biases: torch.Tensor) -> None:
    """First weights of classifiers, the biases in the last column."""
    table.weight.normal_(std=LABEL_SCALE * table.weight.shape[1] ** -0.5)
    table.weight[:, -1] = biases


def carriers(Y: sparse.csr_array) -> np.ndarray:
    """How many documents carry each label."""
    return np.bincount(Y.indices, minlength=Y.shape[1])


def slot_of(kept: np.ndarray, rows: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Where wanted[i] stands in the row kept[rows[i]], -1 where it does not."""
    hits = kept[rows] == wanted[:, None]
    return np.where(hits.any(axis=1), hits.argmax(axis=1), -1)


def ranked(ids: np.ndarray, scores: np.ndarray) -> TopK:
    """Slots that are nearly in order put exactly in order: rounding to float32 may have made new ties."""
    scores = np.where(ids == MISSING, -np.inf, scores).astype(np.float32)
    order = np.lexsort((ids, -scores), axis=1)
    return TopK(np.take_along_axis(ids, order, 1).astype(np.int32), np.take_along_axis(scores, order, 1))
