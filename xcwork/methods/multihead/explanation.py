"""Why a label has its score: every head adds its log-probability, and that is a sum over the words of the document.

The score of a label is a product of probabilities, one per head. Its logarithm is log p = z - (what normalises it), and
the logit z = w·F(x) + b is a sum over the words, features or pixels of the document (see `backbones`), so all parts add
up exactly.
"""

from __future__ import annotations

import numpy as np
import torch
from scipy import sparse

from xcwork.core.explanation import ANY_DOCUMENT, Explanation, Family, Part
from xcwork.core.features import Features
from xcwork.methods.multihead.backbones import attribute_to_entries
from xcwork.methods.multihead.network import Network

WHOLE_TEXT = "(the whole text)"


def explain_code(network: Network, x: sparse.csr_array, code: int, features: Features | None) -> Explanation:
    """Return the parts of the score of one code for one document; without `features` its entries have no names."""
    with torch.no_grad():
        factors = network.heads.take_apart(network.read(x)[:1], code)
    directions = torch.stack([factor.direction for factor in factors])
    contributions, biases = attribute_to_entries(network.backbone, x, directions)
    parts = []
    for factor, values, bias in zip(factors, contributions.T, biases, strict=True):
        bias += factor.bias
        if features is None:
            parts.append(Part(WHOLE_TEXT, factor.head, float(values.sum()), family=Family.heads))
        else:
            columns = zip(x.indices.tolist(), values.tolist(), strict=True)
            parts += [
                Part(features.get_name(column), factor.head, value, family=Family.heads)
                for column, value in columns
                if value
            ]
        parts.append(Part(ANY_DOCUMENT, f"{factor.head}: bias", float(bias)))
        rest = factor.log_probability - values.sum() - bias
        parts.append(Part(ANY_DOCUMENT, f"{factor.head}: normalisation", float(rest)))
    score = sum(factor.log_probability for factor in factors)
    return Explanation.from_parts(
        parts,
        score=score,
        predicted=float(np.exp(score)),
        link="the probability is exp(score); the heads' log-probabilities add up to the score",
    )
