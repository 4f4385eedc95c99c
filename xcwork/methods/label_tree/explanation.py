"""Why a label has its score: the way down to it in every tree, node by node and term by term.

In a tree the score is p = exp(Σ g(m)) over the classifiers on the way, with g(m) = -max(0, 1 - m)ᵖ and the margin
m = b + Σ w_f x_f. Two steps divide it among the terms, and both are exact:

- An empty document has the margins b, so p₀ = exp(Σ g(b)) is what the label gets whatever the document says.
- The rest, p - p₀, goes to the terms in proportion to w_f x_f times two secants: the mean slope of g between b and m,
  and the mean slope of exp between the two sums. A secant times the way it spans is the exact difference, so nothing
  is left over. (These are integrated gradients along each step.)

A tree whose search did not reach the label contributes nothing, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from scipy import sparse

from xcwork.core.explanation import Part
from xcwork.core.features import Features
from xcwork.kernels.tree_search import weights_along
from xcwork.methods.label_tree.forest import Forest


def pass_score(margin: float, power: int) -> float:
    """g: the log-probability with which a classifier lets its slot through."""
    return -(max(0.0, 1.0 - margin) ** power)


def secant(function: Callable[[float], float], a: float, b: float) -> float:
    """The mean slope of `function` between a and b."""
    size = max(1.0, abs(a))
    if abs(b - a) < 1e-9 * size:
        a, b = a - 1e-5 * size, a + 1e-5 * size
    return (function(b) - function(a)) / (b - a)


def parts_of_tree(
    forest: Forest, path: list[int], x: sparse.csr_array, features: Features, tree: str, power: int
) -> Iterator[Part]:
    """What `tree` adds to the mean probability of the label at the end of `path`."""
    steps = weights_along(forest.trees, np.array(path), x.indices)
    biases = [float(forest.bias[slot]) for slot in path]
    margins = [bias + float(weights @ x.data) for bias, weights in zip(biases, steps, strict=True)]
    g = partial(pass_score, power=power)
    nothing, all_terms = (sum(map(g, values)) for values in (biases, margins))
    share = 1 / forest.n_trees
    yield Part("(any document)", tree, share * float(np.exp(nothing)))
    outer = share * secant(np.exp, nothing, all_terms)
    for depth, (slot, weights, bias, margin) in enumerate(zip(path, steps, biases, margins, strict=True), start=1):
        slope = outer * secant(g, bias, margin)
        where = f"{tree}, step {depth} of {len(path)}"
        for at in np.flatnonzero(weights):
            yield Part(
                features.name(int(x.indices[at])),
                where,
                float(slope * weights[at] * x.data[at]),
                {"node": forest.node_of(slot), "weight": float(weights[at]), "margin": margin},
            )
