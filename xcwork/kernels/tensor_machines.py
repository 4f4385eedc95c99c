"""Linear machines of many labels at once, as tensors of one device: Newton steps by conjugate gradients.

The problem is the one that `xcwork.kernels.svm` and `xcwork.kernels.bilinear_training` solve in its dual, for a label

    min over w of  f(w) = ½‖w‖² + C Σ_i loss(y_i (w·x_i + o_i))        squared hinge or logistic loss,

with a one behind every x, so that the last weight is the bias. Its gradient is w + Xᵀ l', with l' the slopes of
C loss by the score, and its (generalised) Hessian I + Xᵀ D X. A step solves H s = -g by conjugate gradients, to a tenth
of the gradient, and goes as far along s as the objective falls; X s is known by then, so trying a length costs no
product. All labels of a block move together.

Every w is a sum of documents, w = Xᵀ a with one coefficient per document, and so are gradients and steps. Only the
coefficients are computed, with K = X Xᵀ: scores are K a, ‖w‖² is a·Ka. So a round is one product with K and a few sums
over documents; tensors over all features, of which there are often many more, are never combined. For few documents K
itself is kept, for more it is the two sparse products. The weights are computed once, at the end.

Labels that share their documents have Hessians that differ only in which documents count. For few documents there is a
matrix that resembles all of them and can be inverted (`tensor_preconditioners`): conjugate gradients then take half as
many rounds.

A label is done when ‖g‖ is within the tolerance, which no margin of a document of length one can then violate by much
more, and when f is within a small share of its minimum: f is strongly convex, so f(w) - min f ≤ ½‖g‖². Labels that are
done leave the block. The host asks who is done once per step, and once in some rounds of what a step consists of.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import torch

from xcwork.kernels.machine_sizes import keeps_gram
from xcwork.kernels.tensor_preconditioners import Preconditioner, make_preconditioner
from xcwork.kernels.tensor_rows import MAX_DENSE_NUMBERS, TensorRows

OBJECTIVE_SHARE = 5e-5  # of the objective that a label may be above its minimum at most
RESIDUAL_SHARE = 0.1  # of the gradient that conjugate gradients may leave
MAX_STEPS = 60
MAX_CG_ROUNDS = 100
ROUNDS_PER_READ = 4  # of conjugate gradients; a label that is done stands still in the others
MAX_HALVINGS = 20
HALVINGS_PER_READ = 4  # nearly all labels go the whole length, and another one to try costs little
ARMIJO = 1e-4  # share of the fall that the slope promises


@dataclass(frozen=True)
class MachineSettings:
    """How the machines are trained."""

    C: float  # weight of the errors against the size of the weights
    tolerance: float  # largest gradient that may remain
    logistic: bool = False  # the loss; squared hinge otherwise


class Machines(Protocol):
    """Labels with their documents; what is said of all pairs (of document and label) has one shape."""

    @property
    def signs(self) -> torch.Tensor:
        """+1 and -1 of all pairs."""

    @property
    def offsets(self) -> torch.Tensor | None:
        """The scores of all pairs without these weights; None: zero."""

    def multiply(self, coefficients: torch.Tensor) -> torch.Tensor:
        """Return K a, the scores of all pairs by the weights Xᵀ a."""

    def collect(self, coefficients: torch.Tensor) -> torch.Tensor:
        """Return Xᵀ a, the weights of all labels."""

    def score(self, weights: torch.Tensor) -> torch.Tensor:
        """Return w·x of all pairs."""

    def sum_weights(self, values: torch.Tensor) -> torch.Tensor:
        """Return the sum over the weights of each label, (n_labels,)."""

    def sum_pairs(self, values: torch.Tensor) -> torch.Tensor:
        """Return the sum over the pairs of each label, (n_labels,)."""

    def spread(self, values: torch.Tensor) -> torch.Tensor:
        """Return the number of each label at all its pairs."""

    @property
    def preconditioner(self) -> Preconditioner | None:
        """What resembles the inverse of all Hessians."""

    @property
    def max_narrowed_share(self) -> float:
        """The share of labels that are left, up to which it is worth to go on without the others."""

    def narrow(self, labels: torch.Tensor) -> tuple[Machines, torch.Tensor]:
        """Return the machines of some labels, and the places of their pairs in the last axis of all pairs."""


@dataclass(frozen=True, eq=False)
class Documents:
    """Documents that labels share, and how coefficients become scores."""

    X: TensorRows  # (n_documents, n_features + 1)
    X_by_feature: TensorRows
    gram: torch.Tensor | None = None  # K (n_documents, n_documents), if there are few
    preconditioner: Preconditioner | None = None

    @classmethod
    def from_rows(cls, X: TensorRows, n_labels: int, C: float) -> Documents:
        """Prepare documents for so many labels, on their device; for few of them K is computed."""
        gram = compute_gram(X) if keeps_gram(X.n_rows, len(X.values), n_labels) else None
        return cls(X, X.transpose(), gram, make_preconditioner(gram, n_labels, C))

    def multiply(self, coefficients: torch.Tensor) -> torch.Tensor:
        """Return K a, (n_documents, n_labels)."""
        if self.gram is not None:
            return self.gram @ coefficients
        return self.X @ (self.X_by_feature @ coefficients)


def compute_gram(X: TensorRows) -> torch.Tensor:
    """Return the inner products of all pairs of rows, (n_rows, n_rows)."""
    parts = []
    size = max(1, MAX_DENSE_NUMBERS // X.n_columns)
    for first in range(0, X.n_rows, size):
        n = min(size, X.n_rows - first)
        dense = torch.zeros((X.n_columns, n), device=X.device)
        is_here = (X.row_numbers >= first) & (X.row_numbers < first + n)
        places = torch.where(is_here, X.columns * n + X.row_numbers - first, 0)
        dense.view(-1).index_add_(0, places, torch.where(is_here, X.values, 0.0))
        parts.append(X @ dense)
    return torch.cat(parts, dim=1)


@dataclass(frozen=True, eq=False)
class SharedDocuments:
    """Labels that all have the same documents: weights (n_features + 1, n_labels), pairs (n_documents, n_labels)."""

    documents: Documents
    signs: torch.Tensor  # (n_documents, n_labels)
    offsets: torch.Tensor | None = None

    @property
    def preconditioner(self) -> Preconditioner | None:
        return self.documents.preconditioner

    def multiply(self, coefficients: torch.Tensor) -> torch.Tensor:
        return self.documents.multiply(coefficients)

    def collect(self, coefficients: torch.Tensor) -> torch.Tensor:
        return self.documents.X_by_feature @ coefficients

    def score(self, weights: torch.Tensor) -> torch.Tensor:
        return self.documents.X @ weights

    def sum_weights(self, values: torch.Tensor) -> torch.Tensor:
        return values.sum(dim=0)

    def sum_pairs(self, values: torch.Tensor) -> torch.Tensor:
        return values.sum(dim=0)

    def spread(self, values: torch.Tensor) -> torch.Tensor:
        return values[None]

    max_narrowed_share = 0.9

    def narrow(self, labels: torch.Tensor) -> tuple[SharedDocuments, torch.Tensor]:
        return replace(self, signs=_pick(self.signs, labels)), labels


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
    preconditioner: Preconditioner | None = None

    def multiply(self, coefficients: torch.Tensor) -> torch.Tensor:
        return self.score(self.collect(coefficients))

    def collect(self, coefficients: torch.Tensor) -> torch.Tensor:
        return (self.X_by_weight @ coefficients[:, None])[:, 0]

    def score(self, weights: torch.Tensor) -> torch.Tensor:
        return (self.X @ weights[:, None])[:, 0]

    def sum_weights(self, values: torch.Tensor) -> torch.Tensor:
        return values.new_zeros(self.n_labels).index_add_(0, self.label_of_weight, values)

    def sum_pairs(self, values: torch.Tensor) -> torch.Tensor:
        return values.new_zeros(self.n_labels).index_add_(0, self.label_of_pair, values)

    def spread(self, values: torch.Tensor) -> torch.Tensor:
        return values[self.label_of_pair]

    max_narrowed_share = 0.5  # all entries are looked at for it

    def narrow(self, labels: torch.Tensor) -> tuple[OwnDocuments, torch.Tensor]:
        is_left = torch.zeros(self.n_labels, dtype=torch.bool, device=labels.device)
        is_left[labels] = True
        number = torch.cumsum(is_left, 0) - 1
        has_pair, has_weight = is_left[self.label_of_pair], is_left[self.label_of_weight]
        pairs, weights = (torch.nonzero(marks)[:, 0] for marks in (has_pair, has_weight))
        narrower = OwnDocuments(
            self.X.keep(has_pair, has_weight, len(weights)),
            self.X_by_weight.keep(has_weight, has_pair, len(pairs)),
            self.signs[pairs],
            None if self.offsets is None else self.offsets[pairs],
            number[self.label_of_weight[weights]],
            number[self.label_of_pair[pairs]],
            len(labels),
        )
        return narrower, pairs


def _pick(values: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Return some places of the last axis."""
    return values[..., places].contiguous()


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


def solve_machines(machines: Machines, start: torch.Tensor, settings: MachineSettings) -> tuple[torch.Tensor, int]:
    """Return the coefficients that solve all labels, from `start`, and how many labels are not within tolerance.

    `start` is not changed. The weights are `machines.collect` of what is returned.
    """
    coefficients = start
    solution = start
    places = None  # of the pairs that are left in `solution`; None: all
    scores = machines.multiply(coefficients)
    is_stuck = torch.zeros_like(machines.sum_pairs(scores), dtype=torch.bool)  # by rounding: no step lowers it
    share = min(OBJECTIVE_SHARE, settings.tolerance / 1000)
    for _ in range(MAX_STEPS):
        margins = compute_margins(machines, scores)
        slopes, curvatures = _differentiate(machines.signs, margins, settings)
        gradient = coefficients + slopes  # the coefficients of it
        gradient_scores = scores + machines.multiply(slopes)
        squares = machines.sum_pairs(gradient * gradient_scores).clamp(min=0)
        objective = machines.sum_pairs(coefficients * scores / 2 + compute_losses(margins, settings))
        live = ((squares > settings.tolerance**2) | (squares / 2 > share * objective)) & ~is_stuck
        n_live = int(live.sum())
        if n_live == 0:
            break
        if n_live <= machines.max_narrowed_share * len(live):
            labels = torch.nonzero(live)[:, 0]
            solution = coefficients if places is None else solution.index_copy(-1, places, coefficients)
            machines, kept = machines.narrow(labels)
            places = kept if places is None else places[kept]
            coefficients, gradient, gradient_scores, scores, margins, curvatures = (
                _pick(part, kept) for part in (coefficients, gradient, gradient_scores, scores, margins, curvatures)
            )
            live, is_stuck = live[labels], is_stuck[labels]
        step, step_scores = _solve_newton_system(machines, gradient, gradient_scores, curvatures, live)
        length = _search_line(machines, coefficients, gradient, margins, step, step_scores, settings)
        is_stuck |= live & (length == 0)
        coefficients = coefficients + machines.spread(length) * step
        scores = scores + machines.spread(length) * step_scores
    else:
        n_live = int(live.sum())
    return (coefficients if places is None else solution.index_copy(-1, places, coefficients)), n_live


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
    machines: Machines,
    gradient: torch.Tensor,
    gradient_scores: torch.Tensor,
    curvatures: torch.Tensor,
    live: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return (s, K s) with H s ≈ -g for the labels `live`, and zeros for the others; all as coefficients."""
    step = torch.zeros_like(gradient)
    step_scores = torch.zeros_like(gradient)
    is_moving = machines.spread(live)
    preconditioner = machines.preconditioner
    residual, residual_scores = -gradient * is_moving, -gradient_scores * is_moving
    better, better_scores = _precondition(preconditioner, residual, residual_scores)
    direction, direction_scores = better, better_scores
    size = machines.sum_pairs(residual * better_scores).clamp(min=0)
    enough = size * RESIDUAL_SHARE**2
    for done in range(1, MAX_CG_ROUNDS + 1):
        bent = curvatures * direction_scores
        curved = direction + bent
        bend = machines.sum_pairs(curved * direction_scores)
        length = machines.spread(torch.where(bend > 0, size / bend, 0.0))
        step += length * direction
        step_scores += length * direction_scores
        residual = residual - length * curved
        if preconditioner is None:
            residual_scores = residual_scores - length * (direction_scores + machines.multiply(bent))
        better, better_scores = _precondition(preconditioner, residual, residual_scores)
        smaller = machines.sum_pairs(residual * better_scores)
        smaller = torch.where(smaller > enough, smaller, 0.0)  # a label that is done moves no further
        if done % ROUNDS_PER_READ == 0 and not bool((smaller > 0).any()):
            break
        ratio = machines.spread(torch.where(size > 0, smaller / size, 0.0))
        is_moving = machines.spread(smaller > 0)
        direction = (better + ratio * direction) * is_moving
        direction_scores = (better_scores + ratio * direction_scores) * is_moving
        size = smaller
    return step, step_scores


def _precondition(
    preconditioner: Preconditioner | None, residual: torch.Tensor, scores: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return (coefficients, scores) of the residual, or as it is without a preconditioner."""
    return (residual, scores) if preconditioner is None else preconditioner.apply(residual)


def _search_line(
    machines: Machines,
    coefficients: torch.Tensor,
    gradient: torch.Tensor,
    margins: torch.Tensor,
    step: torch.Tensor,
    step_scores: torch.Tensor,
    settings: MachineSettings,
) -> torch.Tensor:
    """Return how far each label goes along its step, (n_labels,): all of it, or halved until the objective falls.

    Differences are taken pair by pair, since those of whole objectives would be lost in rounding.
    """
    slope = machines.sum_pairs(gradient * step_scores)
    along = machines.sum_pairs(coefficients * step_scores)
    square = machines.sum_pairs(step * step_scores)
    losses = compute_losses(margins, settings)
    moves = machines.signs * step_scores
    length = torch.ones_like(slope)
    for done in range(1, MAX_HALVINGS + 1):
        moved = compute_losses(margins + machines.spread(length) * moves, settings)
        fall = machines.sum_pairs(moved - losses) + length * along + length.square() * square / 2
        is_short = fall <= ARMIJO * length * slope
        if done % HALVINGS_PER_READ == 0 and bool(is_short.all()):
            return length
        length = torch.where(is_short, length, length / 2)
    return torch.where(is_short, length, 0.0)
