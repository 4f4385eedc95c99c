"""What a low-rank classifier can and cannot do: the experiment behind theorem 3 of multi-head encoding, and its limit.

A classifier with a linear bottleneck of r units, O = W₂ W₁ F + b, has logits of rank r + 1 at most. Trained with the
squared error it can give at most that many classes their own direction. Trained with cross-entropy it may still put the
right class first everywhere, because softmax only asks which logit is largest.

- `compute_low_rank_curves` trains both losses on N Gaussian points, each a class of its own (figure 5 of the paper),
  and follows accuracy and the rank of softmax(O).
- `make_parabola_logits` is an explicit solution for that task with one unit and a bias: with t_i = F_i u, the logits
  2 t t_j - t_j² = t² - (t - t_j)² are largest where t = t_j. Accuracy 100 %, whatever the training does.
- `find_best_on_a_line` bounds the claim. One unit and a bias project the points on a line, where each class wins one
  interval. The four quadrants of the plane are linearly separable, yet no line and no order of intervals gets them
  right: theorem 3 holds for points that are classes of their own, not for classes in general.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from xcwork.compute.device import use_one_thread
from xcwork.progress import track

if TYPE_CHECKING:
    import pandas as pd

LOSSES = ("squared error", "cross-entropy")
RANK_TOLERANCE = 1e-3  # of the largest singular value


def draw_gaussian_points(n: int = 100, dimension: int | None = None, seed: int = 0) -> np.ndarray:
    """Return points of which each is its own class, (n, dimension)."""
    return np.random.default_rng(seed).standard_normal((n, dimension or n)).astype(np.float32)


def compute_low_rank_curves(
    points: np.ndarray,
    *,
    bottleneck: int = 1,
    bias: bool = True,
    epochs: int = 2000,
    every: int = 100,
    rate: float = 0.02,
    decay: bool = False,
    seed: int = 0,
    losses: Sequence[str] = LOSSES,
) -> pd.DataFrame:
    """Return accuracy (%) and rank of softmax(O) while training, for both losses: one row per loss and epoch.

    With `decay` the rate falls linearly to zero.
    """
    import pandas as pd

    with use_one_thread():
        rows = [
            {"loss": loss, "bias": bias, "bottleneck": bottleneck, **row}
            for loss in losses
            for row in _train(points, loss, bottleneck, bias, epochs, every, rate, decay, seed)
        ]
    return pd.DataFrame(rows)


def _train(
    points: np.ndarray,
    loss: str,
    bottleneck: int,
    bias: bool,
    epochs: int,
    every: int,
    rate: float,
    decay: bool,
    seed: int,
) -> list[dict[str, float]]:
    import torch
    from torch.nn import functional as F

    F_, n = torch.from_numpy(points), len(points)
    right = torch.arange(n)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        first = torch.nn.Linear(points.shape[1], bottleneck, bias=False)
        second = torch.nn.Linear(bottleneck, n, bias=bias)
    optimiser = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=rate)
    rows = []
    for epoch in track(range(epochs + 1), f"low rank, {loss}"):
        outputs = second(first(F_))
        if epoch % every == 0:
            softmax = torch.softmax(outputs.detach(), 1)
            accuracy = 100 * float((softmax.argmax(1) == right).float().mean())
            rows.append({"epoch": epoch, "accuracy": accuracy, "rank": int(_compute_rank(softmax.numpy()))})
        for group in optimiser.param_groups:
            group["lr"] = rate * (1 - epoch / (epochs + 1)) if decay else rate
        value = F.cross_entropy(outputs, right) if loss == LOSSES[1] else F.mse_loss(outputs, torch.eye(n))
        optimiser.zero_grad()
        value.backward()
        optimiser.step()
    return rows


def _compute_rank(matrix: np.ndarray) -> int:
    values = np.linalg.svd(matrix, compute_uv=False)
    return int((values > RANK_TOLERANCE * values[0]).sum())


def make_parabola_logits(points: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Return logits (n, n) of one unit and a bias under which every point is its own class."""
    t = points.astype(np.float64) @ direction
    return 2 * t[:, None] * t - t**2


def make_quadrants(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return points of the plane and the number of their quadrant."""
    points = np.random.default_rng(seed).uniform(-1, 1, (n, 2))
    return points, 2 * (points[:, 0] > 0) + (points[:, 1] > 0)


def find_best_on_a_line(points: np.ndarray, classes: np.ndarray, *, directions: int = 180) -> float:
    """Return the best accuracy (0 … 1) of any classifier with one unit and a bias on points of the plane.

    Searched exhaustively: every direction of a grid, every order of the classes, every place of the borders.
    """
    angles = track(np.linspace(0, np.pi, directions, endpoint=False), "directions")
    return max(find_best_in_direction(points, classes, angle) for angle in angles)


def find_best_in_direction(points: np.ndarray, classes: np.ndarray, angle: float) -> float:
    """Return the best accuracy (0 … 1) of any classifier whose one unit looks in one direction, given in radians."""
    n_classes = int(classes.max()) + 1
    order = np.argsort(points @ np.array([np.cos(angle), np.sin(angle)]), kind="stable")
    counts = np.vstack([np.zeros(n_classes), np.cumsum(np.eye(n_classes)[classes[order]], axis=0)])  # (n + 1, c)
    return max(_find_best_borders(counts[:, row]) for row in permutations(range(n_classes))) / len(points)


def _find_best_borders(counts: np.ndarray) -> int:
    """Return how many points can be right when class 0 takes the first interval, class 1 the next, and so on."""
    right = counts[:, 0]  # right[i]: points right among the first i
    for column in counts[:, 1:].T:
        right = np.maximum.accumulate(right - column) + column
    return int(right[-1])
