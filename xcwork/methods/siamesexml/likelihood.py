"""The likelihood of relevance as a function of a cosine v, and the losses that follow from it.

    p(+|v) = c exp(d (v - 1)),   loss₊(v) = -ln c + d (1 - v),   loss₋(v) = -ln(1 - c exp(d (v - 1)))

Because c < 1, the loss of a negative is finite even at v = 1, where it is -ln(1 - c). The slope of loss₊ is constant;
that of loss₋ grows from almost nothing to d c / (1 - c), so that negatives far away do not matter. The constants are
those of the paper: (0.9, 1.5) for the encoder and (0.75, 3) for the classifiers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Likelihood:
    """p(+|v) = c exp(d (v - 1))."""

    c: float
    d: float

    def probability(self, v: torch.Tensor) -> torch.Tensor:
        """That a pair with cosine v is relevant."""
        return self.c * torch.exp(self.d * (v.clamp(-1, 1) - 1))

    def positive(self, v: torch.Tensor) -> torch.Tensor:
        """The loss of a relevant pair."""
        return -math.log(self.c) + self.d * (1 - v.clamp(-1, 1))

    def negative(self, v: torch.Tensor) -> torch.Tensor:
        """The loss of an irrelevant pair; log1p keeps it exact where it is small."""
        return -torch.log1p(-self.probability(v))

    @property
    def inverse_lipschitz(self) -> float:
        """How much a cosine can move when its probability moves by one: exp(2d) / (c d)."""
        return math.exp(2 * self.d) / (self.c * self.d)

    @property
    def lipschitz(self) -> float:
        """The steepest slope of either loss: the larger of d and d c / (1 - c)."""
        return max(self.d, self.d * self.c / (1 - self.c))

    def cosine_at(self, loss: float) -> float:
        """The cosine below which an irrelevant pair costs less than `loss`."""
        return 1 + math.log(-math.expm1(-loss) / self.c) / self.d


ENCODER = Likelihood(c=0.9, d=1.5)
CLASSIFIERS = Likelihood(c=0.75, d=3.0)
