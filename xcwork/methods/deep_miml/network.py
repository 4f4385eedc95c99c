"""The Deep-MIML network with EAGLE's co-attention mask, as functions of plain tensors.

A bag is a set of instances (documents, images) that share their labels. For an instance x,

    h = dropout(ReLU(x W + b)),    v_l = max over K sub-concepts of (h U + c)_{l,k}

and for a bag j of g instances with cosine a_il between instance i and the GRLR embedding of label l,

    M_il = g * softmax over i (τ a_il),    τ = 0: all of M is 1, which is Deep-MIML
    logits:         q_l = σ(pool over i of M_il v_il)
    probabilities:  q_l = pool over i of M_il p_il, at most 1,    p = softmax(v) or sigmoid(v)
    loss = - Σ_l t_l ln q_l + (1 - t_l) ln(1 - q_l)

where the pool is a maximum or a mean, and the target t_l is 1 if the bag has the label, or the share of its instances
that have it. A bag of one instance, the only kind there is when predicting, has M = 1.

The paper pools logits by their maximum and applies the mask to all labels. A mask on a negative logit pushes it *up*
where the mask is small; on probabilities it cannot. A label that the bag does not have has no instance to point at, so
ours leaves the mask out there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch.nn import functional

NO_INSTANCE = -1  # fills the rows of bags that are smaller than the largest
MIN_PROBABILITY = 1e-4  # one nearer to 0 or 1 than this counts as this, so that no loss is infinite
POOLED = ("logits", "probabilities")
POOLINGS = ("max", "mean")
TARGETS = ("labels", "counts")


@dataclass(frozen=True, eq=False)
class MIMLWeights:
    """What is learned."""

    hidden: torch.Tensor  # (n_features, width)
    hidden_bias: torch.Tensor  # (width,)
    concepts: torch.Tensor  # (width, n_labels * K)
    concepts_bias: torch.Tensor  # (n_labels * K,)

    @classmethod
    def from_seed(cls, n_features: int, width: int, prior: torch.Tensor, K: int, seed: int) -> MIMLWeights:
        """Return small random numbers; the logit of a label is about its `prior` (n_labels,)."""
        generator = torch.Generator().manual_seed(seed)

        def draw(n_in: int, n_out: int) -> torch.Tensor:
            return (2 * torch.rand(n_in, n_out, generator=generator) - 1) / math.sqrt(n_in)

        # Documents have unit length and few words: as many inputs count as if there were few features.
        hidden = (2 * torch.rand(n_features, width, generator=generator) - 1) / math.sqrt(min(n_features, 1000))
        return cls(hidden, torch.zeros(width), draw(width, len(prior) * K), prior.repeat_interleave(K))


@dataclass(frozen=True)
class BagLoss:
    """How instances are pooled and what a bag is compared with."""

    pooled: str  # one of POOLED
    pooling: str  # one of POOLINGS
    targets: str  # one of TARGETS
    is_exclusive: bool  # every instance has exactly one label, so that probabilities are a softmax
    tau: float
    masks_absent: bool  # apply the mask to labels that the bag does not have as well

    def compute(
        self, logits: torch.Tensor, bags: torch.Tensor, affinity: torch.Tensor | None, counts: torch.Tensor
    ) -> torch.Tensor:
        """Return the mean loss of bags with these counts of labels (n_bags, n_labels).

        `bags` (n_bags, g) lists rows of `logits` and `affinity` (n_instances, n_labels), filled up with NO_INSTANCE.
        """
        values = logits
        if self.pooled == "probabilities":
            values = logits.softmax(dim=1) if self.is_exclusive else logits.sigmoid()
        mask = None if affinity is None or self.tau == 0 else compute_mask(affinity, bags, self.tau)
        if mask is not None and not self.masks_absent:
            mask = torch.where((counts > 0).unsqueeze(1), mask, 1.0)
        pooled = pool_bags(values, bags, mask, self.pooling)
        sizes = (bags != NO_INSTANCE).sum(dim=1, keepdim=True)
        target = (counts / sizes).clamp(max=1.0) if self.targets == "counts" else (counts > 0).to(counts.dtype)
        if self.pooled == "logits":
            losses = functional.binary_cross_entropy_with_logits(pooled, target, reduction="none")
        else:
            probability = pooled.clamp(MIN_PROBABILITY, 1 - MIN_PROBABILITY)
            # Beyond the bounds the slope goes on, so that a bag that is badly wrong still learns.
            probability = pooled + (probability - pooled).detach()
            losses = functional.binary_cross_entropy(probability, target, reduction="none")
        return losses.sum(dim=1).mean()


def compute_instance_logits(
    weights: MIMLWeights,
    inputs: torch.Tensor,
    K: int,
    keep: torch.Tensor | None = None,
    *,
    has_relu: bool = False,
) -> torch.Tensor:
    """Return v, (n_instances, n_labels), of instances whose x W is `inputs` (n_instances, width).

    `keep` is what dropout multiplies the hidden layer with; with `has_relu` no logit is negative.
    """
    hidden = functional.relu(inputs + weights.hidden_bias)
    if keep is not None:
        hidden = hidden * keep
    scores = hidden @ weights.concepts + weights.concepts_bias
    logits = scores.view(len(inputs), -1, K).amax(dim=2)
    return functional.relu(logits) if has_relu else logits


def compute_mask(affinity: torch.Tensor, bags: torch.Tensor, tau: float) -> torch.Tensor:
    """Return M, (n_bags, g, n_labels), of the cosines of instances and labels (n_instances, n_labels)."""
    scaled = _lay_out(tau * affinity, bags, -torch.inf)
    sizes = (bags != NO_INSTANCE).sum(dim=1).view(-1, 1, 1)
    return scaled.softmax(dim=1) * sizes


def pool_bags(values: torch.Tensor, bags: torch.Tensor, mask: torch.Tensor | None, pooling: str) -> torch.Tensor:
    """Return the maximum or the mean over the instances of each bag, (n_bags, n_labels), of masked values."""
    is_there = bags != NO_INSTANCE
    masked = _lay_out(values, bags, 0.0) if mask is None else _lay_out(values, bags, 0.0) * mask
    if pooling == "max":
        return masked.masked_fill(~is_there.unsqueeze(2), -torch.inf).amax(dim=1)
    return masked.sum(dim=1) / is_there.sum(dim=1, keepdim=True)


def _lay_out(values: torch.Tensor, bags: torch.Tensor, filling: float) -> torch.Tensor:
    """Return the values of the instances of each bag, (n_bags, g, n_labels)."""
    return torch.cat([values, values.new_full((1, values.shape[1]), filling)])[bags]
