"""The Deep-MIML network with EAGLE's co-attention mask, as functions of plain tensors.

A bag is a set of instances (documents, images) that share their labels. For an instance x,

    h = dropout(ReLU(x W + b)),    v_l = max over K sub-concepts of (h U + c)_{l,k},    p = softmax(v) or sigmoid(v)

(softmax where an instance has exactly one label), and for a bag j of g instances with cosine a_il between instance i
and the GRLR embedding of label l,

    M_il = g * softmax over i (τ a_il)
    loss = - Σ_{l in bag} w_l ln max_i M_il p_il - Σ_{l not in bag} ln(1 - max_i p_il)

with weights w of mean 1, which follow the counts under list merge. With τ = 0 all of M is 1 and this is Deep-MIML with
its binary cross-entropy; so it is for a bag of one instance, the only kind there is when predicting.

The paper multiplies logits by the mask, which pushes a negative logit *up* where the mask is small; probabilities are
positive. A label that the bag does not have has no instance to point at, so the mask is ignored there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch.nn import functional

NO_INSTANCE = -1  # fills the rows of bags that are smaller than the largest
MAX_PROBABILITY = 1 - 1e-4  # a probability above this counts as this, so that no loss is infinite


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


def compute_instance_logits(
    weights: MIMLWeights, inputs: torch.Tensor, K: int, keep: torch.Tensor | None = None
) -> torch.Tensor:
    """Return v, (n_instances, n_labels), of instances whose x W is `inputs` (n_instances, width).

    `keep` is what dropout multiplies the hidden layer with.
    """
    hidden = functional.relu(inputs + weights.hidden_bias)
    if keep is not None:
        hidden = hidden * keep
    scores = hidden @ weights.concepts + weights.concepts_bias
    return scores.view(len(inputs), -1, K).amax(dim=2)


def compute_log_mask(affinity: torch.Tensor, tau: float) -> torch.Tensor:
    """Return ln M, (n_bags, g, n_labels), of cosines where instances that do not exist have -inf."""
    there = affinity > -torch.inf
    sizes = there[:, :, :1].sum(dim=1, keepdim=True)
    scaled = torch.where(there, tau * affinity, -torch.inf)
    return torch.where(there, functional.log_softmax(scaled, dim=1) + torch.log(sizes), 0.0)


def compute_log_probabilities(logits: torch.Tensor, exclusive: bool) -> torch.Tensor:
    """Return ln p of instance logits (n_instances, n_labels)."""
    return functional.log_softmax(logits, dim=1) if exclusive else functional.logsigmoid(logits)


def pool_bags(
    log_p: torch.Tensor, bags: torch.Tensor, affinity: torch.Tensor | None, tau: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return ln max M p and ln max p, (n_bags, n_labels), over the instances of each bag.

    `bags` (n_bags, g) lists the rows of `log_p` and `affinity` (n_instances, n_labels), filled up with NO_INSTANCE.
    """
    nobody = log_p.new_full((1, log_p.shape[1]), -torch.inf)
    plain = torch.cat([log_p, nobody])[bags]  # (n_bags, g, n_labels)
    if affinity is None or tau == 0:
        return plain.amax(dim=1), plain.amax(dim=1)
    masked = plain + compute_log_mask(torch.cat([affinity, nobody])[bags], tau)
    return masked.amax(dim=1), plain.amax(dim=1)


def compute_loss(masked: torch.Tensor, plain: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    """Return how badly what `pool_bags` returns explains bags with these counts of labels (n_bags, n_labels)."""
    is_relevant = counts > 0
    weights = counts * is_relevant.sum(dim=1, keepdim=True) / counts.sum(dim=1, keepdim=True).clamp(min=1)
    absent = torch.log1p(-plain.exp().clamp(max=MAX_PROBABILITY))
    return -torch.where(is_relevant, weights * masked, absent).sum(dim=1).mean()
