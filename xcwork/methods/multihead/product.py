"""MHP: a label is a code with one digit per head, and the heads are independent of each other.

    log p(y) = Σ_h log p_h(y_h),   p_h ∝ exp(z_h) with cross-entropy, σ(z_h) with binary cross-entropy

One linear layer of Σ h outputs encodes Π h labels. The best label has the best digit of every head; the best k are
found exactly by a best-first search over the grid (`xcwork.kernels.best_sums`), and codes without a label are skipped.

The product is one of probabilities, unlike in the paper: with raw outputs theorem 1 is false, because O¹ = O² = (-3, 1)
has its largest product at (0, 0).

`coding=powerset` encodes the whole label set of a document, b labels per head: a head is a distribution over the 2^b
subsets of its b labels (disjoint RAkEL), so combinations that never occurred are possible. The probability of a label
is the sum over the subsets that contain it.

Cost: O(d Σ h) per document for the logits, O(Σ h log h + k H log k) for the ranking; no term in the number of labels.

Reference: Liang et al., TPAMI 2025, section 4.1; Tsoumakas et al., Random k-labelsets, TKDE 2011.
"""

from __future__ import annotations

import numpy as np
import torch
from scipy import sparse
from torch import nn
from torch.nn import functional as F

from xcwork.compute.device import raise_precision
from xcwork.compute.precision import widen
from xcwork.compute.transfer import send_arrays
from xcwork.core.topk import MISSING, TopK
from xcwork.kernels import use_cores_for
from xcwork.kernels.best_sums import find_grid_top_k
from xcwork.methods.multihead.codes import BitSlices, MixedRadix
from xcwork.methods.multihead.heads import (
    BatchTargets,
    Factor,
    Heads,
    compute_binary_loss,
    compute_first_biases,
    count_documents,
    sort_slots,
)
from xcwork.search import top_k_rows

MAX_SCORED_LABELS = 2000  # up to which each allowed label is simply scored


def compute_head_log_probabilities(logits: torch.Tensor, loss: str) -> torch.Tensor:
    """Return log-probabilities of the codes of one or more heads, along the last axis."""
    return F.log_softmax(logits if loss == "ce" else F.logsigmoid(logits), dim=-1)


class ProductHeads(Heads):
    """Parallel heads over the digits of one label."""

    def __init__(self, width: int, loss: str, radix: MixedRadix) -> None:
        super().__init__()
        self.radix = radix
        self.kind = loss
        self.linear = nn.Linear(width, sum(radix.lengths))

    def initialise(self, Y: sparse.csr_array) -> None:
        counts = count_documents(Y)
        digits = zip(self.radix.split_codes(np.arange(self.radix.n_labels)).T, self.radix.lengths, strict=True)
        shares = [
            compute_first_biases(np.bincount(digit, counts, length), counts.sum(), self.kind)
            for digit, length in digits
        ]
        self.linear.bias.data.copy_(torch.cat(shares))

    @property
    def starts(self) -> np.ndarray:
        """Where the codes of each head start among all outputs, and the end, (n_heads + 1,)."""
        return np.cumsum([0, *self.radix.lengths])

    def compute_loss(self, features: torch.Tensor, targets: BatchTargets) -> torch.Tensor:
        documents, codes = targets.positives
        digits = self.radix.split_codes(codes)  # (n, n_heads)
        at, right = send_arrays(features.device, documents, digits)
        logits = self.linear(features)[at]
        if self.kind == "bce":
            rows = np.repeat(np.arange(len(codes)), digits.shape[1])
            return compute_binary_loss(logits, rows, (digits + self.starts[:-1]).ravel())
        parts = zip(logits.split(self.radix.lengths, dim=1), right.T, strict=True)
        return torch.stack([F.cross_entropy(widen(part), digit) for part, digit in parts]).sum()

    def compute_log_probabilities(self, features: torch.Tensor) -> list[torch.Tensor]:
        """Return the log-probabilities of the codes of every head, (n, h) each."""
        parts = self.linear(features).split(self.radix.lengths, dim=1)
        return [compute_head_log_probabilities(raise_precision(part), self.kind) for part in parts]

    def rank(self, features: torch.Tensor, k: int, allowed: np.ndarray, label_of: np.ndarray) -> TopK:
        heads = [part.cpu().numpy() for part in self.compute_log_probabilities(features)]
        codes = np.flatnonzero(allowed)
        if len(codes) <= MAX_SCORED_LABELS:
            return self._score_codes(heads, codes, k, label_of)
        order = [np.argsort(-part, axis=1, kind="stable") for part in heads]
        values = np.hstack([np.take_along_axis(part, at, 1) for part, at in zip(heads, order, strict=True)])
        found = TopK.make_empty(len(values), min(k, len(codes)))
        sums = np.full(found.ids.shape, -np.inf)
        with use_cores_for(values.size):
            find_grid_top_k(
                values,
                np.hstack(order),
                self.starts,
                self.radix.places,
                np.where(allowed, label_of, MISSING).astype(np.int64),
                found.ids,
                sums,
            )
        return sort_slots(found.ids, np.exp(sums))

    def _score_codes(self, heads: list[np.ndarray], codes: np.ndarray, k: int, label_of: np.ndarray) -> TopK:
        """Return the k best labels by scoring every allowed code."""
        digits = self.radix.split_codes(codes)
        sums = np.zeros((len(heads[0]), len(codes)))
        for part, digit in zip(heads, digits.T, strict=True):
            sums += part[:, digit]
        scores = np.full((len(heads[0]), len(label_of)), -np.inf, np.float32)
        scores[:, label_of[codes]] = np.exp(sums)
        return top_k_rows(scores, k)

    def take_apart(self, features: torch.Tensor, code: int) -> list[Factor]:
        digits = self.radix.split_codes(np.array(code)).tolist()
        rows = [start + digit for start, digit in zip(self.starts.tolist(), digits, strict=False)]
        log_probabilities = self.compute_log_probabilities(features)
        return [
            Factor(
                f"head {h + 1}, digit {digit}",
                self.linear.weight[row],
                float(self.linear.bias[row]),
                float(log_probabilities[h][0, digit]),
            )
            for h, (digit, row) in enumerate(zip(digits, rows, strict=True))
        ]

    def measure_accuracy(self, features: torch.Tensor, Y: sparse.csr_array) -> np.ndarray:
        """Return the share of documents whose digit each head gets right, and last that of all heads together."""
        guesses = np.column_stack([part.argmax(1).cpu().numpy() for part in self.compute_log_probabilities(features)])
        return _measure_shares(guesses == self.radix.split_codes(Y.indices[Y.indptr[:-1]]))

    def count_floats_per_document(self) -> int:
        return 8 * sum(self.radix.lengths)


class PowersetHeads(Heads):
    """Parallel heads over slices of the label set."""

    def __init__(self, width: int, loss: str, slices: BitSlices) -> None:
        super().__init__()
        self.slices = slices
        self.kind = loss
        self.linear = nn.Linear(width, slices.n_heads * slices.length)

    def initialise(self, Y: sparse.csr_array) -> None:
        columns = self.slices.encode_sets(Y) + np.arange(self.slices.n_heads) * self.slices.length
        counts = np.bincount(columns.ravel(), minlength=len(self.linear.bias))
        self.linear.bias.data.copy_(compute_first_biases(counts, len(columns), self.kind))

    def compute_logits(self, features: torch.Tensor) -> torch.Tensor:
        """Return the logits of all codes, (n, n_heads, length)."""
        return self.linear(features).unflatten(1, (self.slices.n_heads, self.slices.length))

    def compute_loss(self, features: torch.Tensor, targets: BatchTargets) -> torch.Tensor:
        codes = self.slices.encode_sets(targets.Y)
        if self.kind == "bce":
            rows = np.repeat(np.arange(len(codes)), codes.shape[1])
            columns = (codes + np.arange(codes.shape[1]) * self.slices.length).ravel()
            return compute_binary_loss(self.linear(features), rows, columns)
        right = send_arrays(features.device, codes)[0]
        return F.cross_entropy(widen(self.compute_logits(features)).transpose(1, 2), right, reduction="sum") / len(
            codes
        )

    def compute_log_probabilities(self, features: torch.Tensor) -> torch.Tensor:
        """Return the log-probabilities of all codes, (n, n_heads, length)."""
        return compute_head_log_probabilities(raise_precision(self.compute_logits(features)), self.kind)

    def rank(self, features: torch.Tensor, k: int, allowed: np.ndarray, label_of: np.ndarray) -> TopK:
        chances = self.slices.compute_marginals(self.compute_log_probabilities(features).exp().cpu().numpy())
        scores = np.full(chances.shape, -np.inf, np.float32)
        codes = np.flatnonzero(allowed)
        scores[:, label_of[codes]] = chances[:, codes]
        return top_k_rows(scores, k)

    def choose_sets(self, features: torch.Tensor) -> sparse.csr_array:
        """Return the most likely label set of every document, (n, n_labels) in the order of codes."""
        return self.slices.decode_sets(self.compute_log_probabilities(features).argmax(2).cpu().numpy())

    def take_apart(self, features: torch.Tensor, code: int) -> list[Factor]:
        head, bit = divmod(code, self.slices.bits)
        contains = torch.from_numpy(self.slices.members[:, bit] > 0).to(features.device)
        chances = self.compute_log_probabilities(features)[0, head][contains]
        log_probability = chances.logsumexp(0)
        # Several subsets contain the label; their logits count as much as the subsets are likely.
        shares = (chances - log_probability).exp().to(self.linear.weight.dtype)
        first = head * self.slices.length
        rows = torch.arange(first, first + self.slices.length, device=features.device)[contains]
        direction = shares @ self.linear.weight[rows]
        bias = float(shares @ self.linear.bias[rows])
        return [Factor(f"head {head + 1}, subsets with the label", direction, bias, float(log_probability))]

    def measure_accuracy(self, features: torch.Tensor, Y: sparse.csr_array) -> np.ndarray:
        """Return the share of documents whose slice each head gets right, and last that of the whole set."""
        guesses = self.compute_log_probabilities(features).argmax(2).cpu().numpy()
        return _measure_shares(guesses == self.slices.encode_sets(Y))

    def count_floats_per_document(self) -> int:
        return 6 * self.slices.n_heads * self.slices.length


def _measure_shares(is_right: np.ndarray) -> np.ndarray:
    """Return the share of documents that each head gets right, and that all of them do."""
    return np.append(is_right.mean(axis=0), is_right.all(axis=1).mean())
