"""MHP of rank G: a label's probability is a sum of G products of short codes (equation 16, the CP decomposition).

    p(y) = Σ_g π_g(F) Π_h p_gh(y_h),      π = softmax over G outputs,  p_gh = softmax over the h-th head of product g

One product (`product`) treats the digits of a label as independent. A sum of G products is a tensor of rank G: it can
say that digits go together, and with enough terms it can be any distribution. Each term costs Σ h outputs more.

All factors are probabilities. The paper adds products of raw outputs inside a softmax over all codes, which would have
to be computed in every step, and whose largest entry no search over heads can find (see theorem 1).

The best labels of a sum are not found head by head. Up to `MAX_SCORED_LABELS` labels every one is scored, and the
answer is exact. Beyond, the best of every single product are candidates, which are scored with all of them.

Cost: O(G d Σ h) per document for the logits.

Reference: Liang et al., TPAMI 2025, section 5 and equation 16.
"""

from __future__ import annotations

import numpy as np
import torch
from scipy import sparse
from torch import nn

from xcwork.compute.device import raise_precision
from xcwork.compute.precision import widen
from xcwork.compute.transfer import send_arrays
from xcwork.core.topk import MISSING, TopK
from xcwork.methods.multihead import product
from xcwork.methods.multihead.codes import MixedRadix
from xcwork.methods.multihead.heads import BatchTargets, Factor, Heads
from xcwork.methods.multihead.product import ProductHeads
from xcwork.search import top_k_rows

CANDIDATES_PER_ANSWER = 4  # labels of each product that are scored with all of them, for each label asked for


class ProductSumHeads(Heads):
    """A sum of products of parallel heads over the digits of one label."""

    def __init__(self, width: int, radix: MixedRadix, n_products: int) -> None:
        super().__init__()
        self.radix = radix
        self.products = nn.ModuleList([ProductHeads(width, "ce", radix) for _ in range(n_products)])
        self.weights = nn.Linear(width, n_products)

    @property
    def terms(self) -> list[ProductHeads]:
        """The products."""
        return list(self.products)  # type: ignore[arg-type]  # a ModuleList does not know what it holds

    def initialise(self, Y: sparse.csr_array) -> None:
        for term in self.terms:
            term.initialise(Y)
        self.weights.bias.data.zero_()

    def compute_loss(self, features: torch.Tensor, targets: BatchTargets) -> torch.Tensor:
        documents, codes = targets.positives
        if len(codes) == 0:
            return features.sum() * 0.0
        at, right = send_arrays(features.device, documents, self.radix.split_codes(codes))
        return -torch.logsumexp(self._score_digits(features[at], right.unsqueeze(1)), dim=2).mean()

    def _score_digits(self, features: torch.Tensor, digits: torch.Tensor) -> torch.Tensor:
        """Return log π_g + Σ_h log p_gh of codes with these digits (n, m, n_heads), (n, m, n_products)."""
        scores = []
        for term in self.terms:
            parts = term.linear(features).split(self.radix.lengths, dim=1)
            chances = (widen(part).log_softmax(1) for part in parts)
            scores.append(torch.stack([part.gather(1, digits[..., h]) for h, part in enumerate(chances)]).sum(0))
        return torch.stack(scores, dim=2) + widen(self.weights(features)).log_softmax(1).unsqueeze(1)

    def _score_codes(self, features: torch.Tensor, codes: np.ndarray) -> np.ndarray:
        """Return the probabilities of codes (n, m)."""
        digits = send_arrays(features.device, self.radix.split_codes(codes))[0]
        return raise_precision(self._score_digits(features, digits)).logsumexp(2).exp().cpu().numpy()

    def rank(self, features: torch.Tensor, k: int, allowed: np.ndarray, label_of: np.ndarray) -> TopK:
        codes = np.flatnonzero(allowed)
        n = len(features)
        if len(codes) <= product.MAX_SCORED_LABELS:
            scores = np.full((n, len(label_of)), -np.inf, np.float32)
            scores[:, label_of[codes]] = self._score_codes(features, np.broadcast_to(codes, (n, len(codes))))
            return top_k_rows(scores, k)
        as_codes = np.arange(len(label_of))
        listed = [term.rank(features, CANDIDATES_PER_ANSWER * k, allowed, as_codes).ids for term in self.terms]
        candidates = np.sort(np.hstack(listed).astype(np.int64), axis=1)
        is_first = candidates != MISSING
        is_first[:, 1:] &= candidates[:, 1:] != candidates[:, :-1]
        chances = self._score_codes(features, np.maximum(candidates, 0))
        starts = np.append(0, is_first.sum(axis=1).cumsum())
        entries = (chances[is_first], label_of[candidates[is_first]], starts)
        return top_k_rows(sparse.csr_array(entries, shape=(n, len(label_of))), k)

    def take_apart(self, features: torch.Tensor, code: int) -> list[Factor]:
        digits = self.radix.split_codes(np.array([[code]]))
        scores = self._score_digits(features, send_arrays(features.device, digits)[0])[0, 0]
        log_probability = scores.logsumexp(0)
        # Each product counts as much as it makes the label likely.
        shares = (scores - log_probability).exp()
        rows = self.terms[0].starts[:-1] + digits[0, 0]
        weights = torch.stack([term.linear.weight[rows].sum(0) for term in self.terms]) + self.weights.weight
        biases = torch.stack([term.linear.bias[rows].sum() for term in self.terms]) + self.weights.bias
        shares = shares.to(weights.dtype)
        name = f"{len(self.terms)} products of {len(rows)} heads"
        return [Factor(name, shares @ weights, float(shares @ biases), float(log_probability))]

    def measure_accuracy(self, features: torch.Tensor, Y: sparse.csr_array) -> np.ndarray:
        """Return the share of documents whose digit of each head is that of the best label, and last of all heads."""
        best = self.rank(features, 1, np.ones(self.radix.n_labels, bool), np.arange(self.radix.n_labels)).ids[:, 0]
        right = self.radix.split_codes(Y.indices[Y.indptr[:-1]])
        is_right = self.radix.split_codes(best) == right
        return np.append(is_right.mean(axis=0), is_right.all(axis=1).mean())

    def count_floats_per_document(self) -> int:
        n_scored = min(self.radix.n_labels, product.MAX_SCORED_LABELS)
        return len(self.terms) * (8 * sum(self.radix.lengths) + n_scored * (2 + len(self.radix.lengths)))
