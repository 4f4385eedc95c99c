"""What all classifiers on top of a backbone have in common: targets, losses, first biases, and how a score is read.

A classifier is a module with three verbs. `compute_loss` trains it on a batch, `rank` ranks labels, and `take_apart`
splits one score: a score is a product of probabilities, one per head, and each probability belongs to a logit that is
linear in the features, z = w·F + b. Labels are codes here, positions in the label order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from scipy import sparse
from torch import nn
from torch.nn import functional as F

from xcwork.compute.precision import Product, widen
from xcwork.compute.ranks import Shard
from xcwork.compute.transfer import send_arrays
from xcwork.core.topk import MISSING, TopK
from xcwork.methods.multihead.row_table import RowTable

PSEUDO_DOCUMENTS = 0.1  # that a label without any counts as, in first biases
LABEL_STANDARD_DEVIATION = 0.5  # of the first weights of labels, over the root of their number
LOSSES = ("auto", "bce", "ce")


class BatchTargets(NamedTuple):
    """The labels of a batch, and the random numbers of its step."""

    Y: sparse.csr_array  # (n, n_labels), columns in the order of codes
    rng: np.random.Generator

    @property
    def positives(self) -> tuple[np.ndarray, np.ndarray]:
        """The document of the batch and the code of every label."""
        rows = np.repeat(np.arange(self.Y.shape[0]), np.diff(self.Y.indptr))
        return rows, self.Y.indices.astype(np.int64)


class Factor(NamedTuple):
    """One factor of a score: exp(log_probability), with the logit z = direction·F + bias behind it."""

    head: str
    direction: torch.Tensor  # (width,)
    bias: float
    log_probability: float


class Heads(nn.Module):
    """A classifier over features (n, width)."""

    shard: Shard | None = None  # what this rank has of the part that grows with the labels, where ranks share it
    shared_names: tuple[str, ...] = ()  # the tensors of which it has only those rows
    labels: RowTable

    def initialise(self, Y: sparse.csr_array) -> None:
        """Set the first values; the biases give every class the frequency it has in `Y` (n_documents, n_labels)."""
        raise NotImplementedError

    def compute_loss(self, features: torch.Tensor, targets: BatchTargets) -> torch.Tensor:
        """Return the loss of a batch, a sum over labels and a mean over documents."""
        raise NotImplementedError

    def rank(self, features: torch.Tensor, k: int, allowed: np.ndarray, label_of: np.ndarray) -> TopK:
        """Return the k best labels among the codes marked in `allowed`; `label_of` (n_labels,) is their labels."""
        raise NotImplementedError

    def take_apart(self, features: torch.Tensor, code: int) -> list[Factor]:
        """Return the factors of the score of one code for one document, `features` (1, width)."""
        raise NotImplementedError

    def read_embeddings(self) -> torch.Tensor | None:
        """Return one row per code, (n_labels, …), or None."""
        return None

    def count_training_floats(self, n_documents: int, n_pairs: int) -> int:
        """Return about how many numbers a step with so many documents and (document, label) pairs needs at once."""
        return n_documents * self.count_floats_per_document()

    def find_product(self, n_documents: int, n_pairs: int) -> Product:
        """Return the sizes of the product of a step that may be worth a lower precision; heads with few codes: none."""
        return 0, 0, 0

    def count_floats_per_document(self) -> int:
        """Return how many numbers ranking one document needs, which decides how many are ranked together."""
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


def compute_binary_loss(logits: torch.Tensor, rows: np.ndarray, columns: np.ndarray) -> torch.Tensor:
    """Return the binary cross-entropy per document of logits (n, m) whose positive entries are at (rows, columns)."""
    return BinaryLoss.apply(widen(logits), *send_arrays(logits.device, rows, columns)) / len(logits)


def append_one(features: torch.Tensor) -> torch.Tensor:
    """Return features with a one after them, which the last column of a table meets as its bias."""
    return F.pad(features, (0, 1), value=1.0)


def compute_first_biases(counts: np.ndarray, total: float | np.ndarray, loss: str) -> torch.Tensor:
    """Return the logits that give every class its frequency before anything else is learned."""
    share = np.clip((counts + PSEUDO_DOCUMENTS) / (total + 2 * PSEUDO_DOCUMENTS), 1e-6, 1 - 1e-6)
    logits = np.log(share / (1 - share)) if loss == "bce" else np.log(share)
    return torch.from_numpy(logits.astype(np.float32))


def initialise_labels(table: RowTable, biases: torch.Tensor) -> None:
    """Set the first weights of classifiers, the biases in the last column."""
    table.weight.normal_(std=LABEL_STANDARD_DEVIATION * table.weight.shape[1] ** -0.5)
    table.weight[:, -1] = biases


def count_documents(Y: sparse.csr_array) -> np.ndarray:
    """Return how many documents have each label, (n_labels,)."""
    return np.bincount(Y.indices, minlength=Y.shape[1])


def find_slots(candidates: np.ndarray, rows: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return where wanted[i] is in the row candidates[rows[i]], -1 where it is not."""
    hits = candidates[rows] == wanted[:, None]
    return np.where(hits.any(axis=1), hits.argmax(axis=1), -1)


def sort_slots(ids: np.ndarray, scores: np.ndarray) -> TopK:
    """Return slots that are nearly in order exactly in order: rounding to float32 may have made new ties."""
    scores = np.where(ids == MISSING, -np.inf, scores).astype(np.float32)
    order = np.lexsort((ids, -scores), axis=1)
    return TopK(np.take_along_axis(ids, order, 1).astype(np.int32), np.take_along_axis(scores, order, 1))
