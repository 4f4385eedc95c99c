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

import numpy as np
from scipy import sparse

from xcwork.core.explanation import ANY_DOCUMENT, NO_TRAINING_DOCUMENT, Explanation, Family, Part
from xcwork.core.features import Features
from xcwork.kernels.tree_search import collect_path_weights
from xcwork.methods.label_tree.forest import Forest
from xcwork.methods.label_tree.prediction import BeamSearch
from xcwork.sparse import normalise_rows


def explain_label(search: BeamSearch, x: sparse.csr_array, label: int, features: Features) -> Explanation:
    """Return what each step of each tree adds to the score of `label` for the one document `x`."""
    forest = search.forest
    slots = np.flatnonzero(forest.targets == ~label).tolist()  # one per tree
    if not slots:
        return Explanation.from_parts([Part(ANY_DOCUMENT, NO_TRAINING_DOCUMENT, 0.0)])
    reached = search.find_nodes(x)
    x = normalise_rows(x)
    parts: list[Part] = []
    for number, slot in enumerate(slots, start=1):
        tree = f"tree {number}"
        path = forest.find_path(slot)
        missed = [step for step in path if forest.find_node(step) not in reached]
        if missed:
            where = f"{tree}: the search turned elsewhere after step {path.index(missed[0])} of {len(path)}"
            parts.append(Part(ANY_DOCUMENT, where, 0.0, {"node": forest.find_node(missed[0])}))
        else:
            parts += divide_probability(forest, path, x, features, tree, search.power)
    return Explanation.from_parts(parts)


def divide_probability(
    forest: Forest, path: list[int], x: sparse.csr_array, features: Features, tree: str, power: int
) -> Iterator[Part]:
    """Divide what `tree` adds to the mean probability of the label at the end of `path` among the terms of `x`."""

    def compute_log_probability(margin: float) -> float:
        """Return g(m), the log-probability with which a classifier lets its slot through."""
        return -(max(0.0, 1.0 - margin) ** power)

    steps = collect_path_weights(forest.trees, np.array(path), x.indices)
    biases = [float(forest.bias[slot]) for slot in path]
    margins = [bias + float(weights @ x.data) for bias, weights in zip(biases, steps, strict=True)]
    without_terms = sum(map(compute_log_probability, biases))
    with_terms = sum(map(compute_log_probability, margins))
    share = 1 / forest.n_trees
    yield Part(ANY_DOCUMENT, tree, share * float(np.exp(without_terms)))
    outer = share * compute_mean_slope(np.exp, without_terms, with_terms)
    for depth, (slot, weights, bias, margin) in enumerate(zip(path, steps, biases, margins, strict=True), start=1):
        slope = outer * compute_mean_slope(compute_log_probability, bias, margin)
        where = f"{tree}, step {depth} of {len(path)}"
        for at in np.flatnonzero(weights):
            yield Part(
                features.get_name(int(x.indices[at])),
                where,
                float(slope * weights[at] * x.data[at]),
                {"node": forest.find_node(slot), "weight": float(weights[at]), "margin": margin},
                Family.tree_path,
            )


def compute_mean_slope(function: Callable[[float], float], a: float, b: float) -> float:
    """Return the slope of the secant of `function` through a and b; where they are equal, of one nearby."""
    size = max(1.0, abs(a))
    if abs(b - a) < 1e-9 * size:
        a, b = a - 1e-5 * size, a + 1e-5 * size
    return (function(b) - function(a)) / (b - a)
