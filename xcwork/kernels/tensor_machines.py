"""Linear machines of many labels at once, as tensors of one device: Newton steps by conjugate gradients.

The problem is the one that `xcwork.kernels.svm` and `xcwork.kernels.bilinear_training` solve in its dual, for a label

    min over w of  f(w) = ½‖w‖² + C Σ_i loss(y_i (w·x_i + o_i))        squared hinge or logistic loss,

with a one behind every x, so that the last weight is the bias. Its gradient is w + C Σ loss' y x and its (generalised)
Hessian I + Xᵀ D X. A step solves H s = -g by conjugate gradients, to a tenth of the gradient, and goes as far along s
as the objective falls; X s is known by then, so trying a length costs no product. All labels of a block move together;
those that are done stand still, and leave the block once they are half of it.

A label is done when ‖g‖ is within the tolerance, which no margin of a document of length one can then violate by much
more, and when f is within a small share of its minimum: f is strongly convex, so f(w) - min f ≤ ½‖g‖².
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import torch

from xcwork.kernels.tensor_rows import TensorRows

OBJECTIVE_SHARE = 5e-5  # of the objective that a label may be above its minimum at most
RESIDUAL_SHARE = 0.1  # of the gradient that conjugate gradients may leave
MAX_STEPS = 60
MAX_CG_ROUNDS = 100
MAX_HALVINGS = 20
ARMIJO = 1e-4  # share of the fall that the slope promises


@dataclass(frozen=True)
class MachineSettings:
    """How the machines are trained."""

    C: float  # weight of the errors against the size of the weights
    tolerance: float  # largest gradient that may remain
    logistic: bool = False  # the loss; squared hinge otherwise


class Machines(Protocol):
    """Labels with their documents. Weights and pairs (of document and label) each have a shape of their own."""

    @property
    def signs(self) -> torch.Tensor:
        """+1 and -1 of all pairs."""

    @property
    def offsets(self) -> torch.Tensor | None:
        """The scores of all pairs without these weights; None: zero."""

    def score(self, weights: torch.Tensor) -> torch.Tensor:
        """Return w·x of all pairs."""

    def collect(self, slopes: torch.Tensor) -> torch.Tensor:
        """Return Σ slope x over the pairs of each label, in the shape of the weights."""

    def sum_weights(self, values: torch.Tensor) -> torch.Tensor:
        """Return the sum over the weights of each label, (n_labels,)."""

    def sum_pairs(self, values: torch.Tensor) -> torch.Tensor:
        """Return the sum over the pairs of each label, (n_labels,)."""

    def spread_to_weights(self, values: torch.Tensor) -> torch.Tensor:
        """Return the number of each label at all its weights."""

    def spread_to_pairs(self, values: torch.Tensor) -> torch.Tensor:
        """Return the number of each label at all its pairs."""

    def narrow(self, labels: torch.Tensor) -> Machines | None:
        """Return the machines of some labels; None where that is not worth it."""

    def pick_weights(self, weights: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the weights of some labels."""

    def pick_pairs(self, values: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the pairs of some labels."""


@dataclass(frozen=True, eq=False)
class SharedDocuments:
    """Labels that all have the same documents: weights (n_features + 1, n_labels), pairs (n_documents, n_labels)."""

    X: TensorRows  # (n_documents, n_features + 1)
    X_by_feature: TensorRows
    signs: torch.Tensor  # (n_documents, n_labels)
    offsets: torch.Tensor | None = None

    def score(self, weights: torch.Tensor) -> torch.Tensor:
        return self.X @ weights

    def collect(self, slopes: torch.Tensor) -> torch.Tensor:
        return self.X_by_feature @ slopes

    def sum_weights(self, values: torch.Tensor) -> torch.Tensor:
        return values.sum(dim=0)

    def sum_pairs(self, values: torch.Tensor) -> torch.Tensor:
        return values.sum(dim=0)

    def spread_to_weights(self, values: torch.Tensor) -> torch.Tensor:
        return values[None]

    def spread_to_pairs(self, values: torch.Tensor) -> torch.Tensor:
        return values[None]

    def narrow(self, labels: torch.Tensor) -> SharedDocuments:
        return replace(self, signs=self.pick_pairs(self.signs, labels))

    def pick_weights(self, weights: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return weights[:, labels].contiguous()

    def pick_pairs(self, values: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return values[:, labels].contiguous()


@dataclass(frozen=True, eq=False)
class OwnDocuments:
    """Labels with documents of their own, side by side: weights (n_weights,), pairs (n_pairs,), both label by label.

    `X` has a row per pair and a column per weight that a label can have.
    """

    X: TensorRows  # (n_pairs, n_weights)
    X_by_weight: TensorRows
    signs: torch.Tensor  # (n_pairs,)
    offsets: torch.Tensor | None  # (n_pairs,)
    label_of_weight: torch.Tensor  # (n_weights,)
    label_of_pair: torch.Tensor  # (n_pairs,)
    n_labels: int

    def score(self, weights: torch.Tensor) -> torch.Tensor:
        return (self.X @ weights[:, None])[:, 0]

    def collect(self, slopes: torch.Tensor) -> torch.Tensor:
        return (self.X_by_weight @ slopes[:, None])[:, 0]

    def sum_weights(self, values: torch.Tensor) -> torch.Tensor:
        return values.new_zeros(self.n_labels).index_add_(0, self.label_of_weight, values)

    def sum_pairs(self, values: torch.Tensor) -> torch.Tensor:
        return values.new_zeros(self.n_labels).index_add_(0, self.label_of_pair, values)

    def spread_to_weights(self, values: torch.Tensor) -> torch.Tensor:
        return values[self.label_of_weight]

    def spread_to_pairs(self, values: torch.Tensor) -> torch.Tensor:
        return values[self.label_of_pair]

    def narrow(self, labels: torch.Tensor) -> None:
        return None

    def pick_weights(self, weights: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return weights[torch.isin(self.label_of_weight, labels)]

    def pick_pairs(self, values: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return values[torch.isin(self.label_of_pair, labels)]


def compute_losses(margins: torch.Tensor, settings: MachineSettings) -> torch.Tensor:
    """Return C loss(y s) of all pairs."""
    if settings.logistic:
        return settings.C * torch.nn.functional.softplus(-margins)
    return settings.C * torch.clamp(1 - margins, min=0).square()


def compute_objectives(machines: Machines, weights: torch.Tensor, settings: MachineSettings) -> torch.Tensor:
    """Return f(w) of each label, (n_labels,)."""
    margins = compute_margins(machines, machines.score(weights))
    return machines.sum_weights(weights.square()) / 2 + machines.sum_pairs(compute_losses(margins, settings))


def compute_margins(machines: Machines, scores: torch.Tensor) -> torch.Tensor:
    """Return y (w·x + o) of all pairs."""
    return machines.signs * (scores if machines.offsets is None else scores + machines.offsets)


def solve_machines(machines: Machines, weights: torch.Tensor, settings: MachineSettings) -> tuple[torch.Tensor, int]:
    """Return the weights that solve all labels, starting from `weights`, and how many labels are not within tolerance.

    `weights` is not changed.
    """
    solution = weights.clone()
    places = None  # of the labels of the block in `solution`; None: all
    scores = machines.score(weights)
    is_stuck = torch.zeros_like(machines.sum_weights(weights), dtype=torch.bool)  # by rounding: no step lowers it
    for _ in range(MAX_STEPS):
        margins = compute_margins(machines, scores)
        slopes, curvatures = _differentiate(machines.signs, margins, settings)
        gradient = weights + machines.collect(slopes)
        squares = machines.sum_weights(gradient.square())
        objective = machines.sum_weights(weights.square()) / 2
        objective += machines.sum_pairs(compute_losses(margins, settings))
        share = min(OBJECTIVE_SHARE, settings.tolerance / 1000)
        live = ((squares > settings.tolerance**2) | (squares / 2 > share * objective)) & ~is_stuck
        n_live = int(live.sum())
        if n_live == 0:
            break
        if 2 * n_live <= len(live) and len(live) > 1:
            labels = torch.nonzero(live)[:, 0]
            narrower = machines.narrow(labels)
            if narrower is not None:
                solution = weights if places is None else solution.index_copy(1, places, weights)
                places = labels if places is None else places[labels]
                weights, gradient = (machines.pick_weights(part, labels) for part in (weights, gradient))
                scores, margins, curvatures = (
                    machines.pick_pairs(part, labels) for part in (scores, margins, curvatures)
                )
                squares, live, is_stuck = squares[labels], live[labels], is_stuck[labels]
                machines = narrower
        step, step_scores = _solve_newton_system(machines, gradient, squares, curvatures, live)
        length = _search_line(machines, weights, gradient, margins, step, step_scores, settings)
        is_stuck |= live & (length == 0)
        weights = weights + machines.spread_to_weights(length) * step
        scores = scores + machines.spread_to_pairs(length) * step_scores
    else:
        n_live = int(live.sum())
    return (weights if places is None else solution.index_copy(1, places, weights)), n_live


def _differentiate(
    signs: torch.Tensor, margins: torch.Tensor, settings: MachineSettings
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the first and second derivative of C loss(y s) by s, for all pairs."""
    if settings.logistic:
        wrong = torch.sigmoid(-margins)
        return -settings.C * signs * wrong, settings.C * wrong * (1 - wrong)
    gaps = torch.clamp(1 - margins, min=0)
    return -2 * settings.C * signs * gaps, 2 * settings.C * (gaps > 0)


def _solve_newton_system(
    machines: Machines, gradient: torch.Tensor, squares: torch.Tensor, curvatures: torch.Tensor, live: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return (s, X s) with H s ≈ -g for the labels `live`, and zeros for the others."""
    step = torch.zeros_like(gradient)
    step_scores = torch.zeros_like(curvatures)
    residual = -gradient * machines.spread_to_weights(live)
    direction = residual
    size = squares * live
    enough = squares * RESIDUAL_SHARE**2
    for _ in range(MAX_CG_ROUNDS):
        direction_scores = machines.score(direction)
        curved = direction + machines.collect(curvatures * direction_scores)
        bend = machines.sum_weights(direction * curved)
        length = torch.where(bend > 0, size / bend, 0.0)
        step += machines.spread_to_weights(length) * direction
        step_scores += machines.spread_to_pairs(length) * direction_scores
        residual = residual - machines.spread_to_weights(length) * curved
        smaller = machines.sum_weights(residual.square())
        smaller = torch.where(smaller > enough, smaller, 0.0)  # a label that is done moves no further
        if not bool((smaller > 0).any()):
            break
        ratio = torch.where(size > 0, smaller / size, 0.0)
        is_moving = machines.spread_to_weights(smaller > 0)
        direction = (residual + machines.spread_to_weights(ratio) * direction) * is_moving
        size = smaller
    return step, step_scores


def _search_line(
    machines: Machines,
    weights: torch.Tensor,
    gradient: torch.Tensor,
    margins: torch.Tensor,
    step: torch.Tensor,
    step_scores: torch.Tensor,
    settings: MachineSettings,
) -> torch.Tensor:
    """Return how far each label goes along its step, (n_labels,): all of it, or halved until the objective falls.

    Differences are taken pair by pair, since those of whole objectives would be lost in rounding.
    """
    slope = machines.sum_weights(gradient * step)
    along = machines.sum_weights(weights * step)
    square = machines.sum_weights(step.square())
    losses = compute_losses(margins, settings)
    moves = machines.signs * step_scores
    length = torch.ones_like(slope)
    for _ in range(MAX_HALVINGS):
        moved = compute_losses(margins + machines.spread_to_pairs(length) * moves, settings)
        fall = machines.sum_pairs(moved - losses) + length * along + length.square() * square / 2
        is_short = fall <= ARMIJO * length * slope
        if bool(is_short.all()):
            return length
        length = torch.where(is_short, length, length / 2)
    return torch.where(is_short, length, 0.0)
