"""Adam that touches only the rows of a table that a batch used, so that a step costs what the batch costs.

Moments of the other rows stay as they are, as in torch's SparseAdam. A row that is rarely used then moves less than
with Adam for all: a gradient moves it by a tenth of the way at once, and the rest waits for its next batch. `catch_up`
moves rows as far as the steps without them would have, in closed form. Called for the rows of a batch before they are
read, and for all rows in the end, it gives what Adam for all rows gives, at the price of the batch: after n steps
without a gradient a row has gone Σ_j (β₁ / √β₂)^j times its last step, j = 1 … n.

On the CPU compiled kernels move the rows in place (`xcwork.kernels.row_adam`); elsewhere torch does the same.

Reference: Kingma and Ba, Adam: a method for stochastic optimization, ICLR 2015.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from xcwork.kernels import one_at_a_time
from xcwork.kernels.row_adam import catch_up_rows, move_bags, move_rows
from xcwork.methods.common.token_bags import TokenBags

MEAN_DECAY = 0.9  # β₁, per step
SQUARE_DECAY = 0.999  # β₂, per step
EPSILON = 1e-8  # added to the root of the squares
STEP_RATIO = MEAN_DECAY / SQUARE_DECAY**0.5  # of a step without a gradient to the one before it


class RowAdam:
    """Moments beside one table, which is changed in place."""

    def __init__(self, table: torch.Tensor, *, compiled: bool | None = None) -> None:
        self.table = table
        self.mean = torch.zeros_like(table)
        self.square = torch.zeros_like(table)
        self.steps = 0
        self.moved_at = torch.zeros(
            len(table), dtype=torch.int64, device=table.device
        )  # the step of each row's last move
        self.compiled = table.device.type == "cpu" if compiled is None else compiled

    @torch.no_grad()
    def catch_up(self, learning_rate: float, rows: torch.Tensor | None = None) -> None:
        """Let `rows` (all without it) take the steps that they were left out of, as if each had had a gradient of 0."""
        if self.steps == 0:
            return
        left_out = self.steps - (self.moved_at if rows is None else self.moved_at[rows])
        reach = ((STEP_RATIO - STEP_RATIO ** (left_out + 1)) / (1 - STEP_RATIO)).to(self.table.dtype)
        mean_left, square_left = ((decay**left_out).to(self.table.dtype) for decay in (MEAN_DECAY, SQUARE_DECAY))
        rate, _, _, scale, epsilon = self._list_constants(learning_rate)
        if rows is None:
            rows = torch.arange(len(self.table), device=self.table.device)
        self.moved_at[rows] = self.steps
        if self.compiled:
            with one_at_a_time:
                catch_up_rows(
                    self.table.numpy(),
                    self.mean.numpy(),
                    self.square.numpy(),
                    rows.numpy(),
                    reach.numpy(),
                    mean_left.numpy(),
                    square_left.numpy(),
                    rate,
                    scale,
                    epsilon,
                )
            return
        mean, square = self.mean[rows], self.square[rows]
        moved = mean / (square * float(scale)).sqrt_().add_(EPSILON) * reach[:, None]
        self.table.index_add_(0, rows, moved, alpha=-float(rate))
        self.mean.index_copy_(0, rows, mean * mean_left[:, None])
        self.square.index_copy_(0, rows, square * square_left[:, None])

    @torch.no_grad()
    def step(self, gradient: torch.Tensor, learning_rate: float, rows: torch.Tensor | None = None) -> None:
        """Move `rows` (all without it) against their `gradient`."""
        self.steps += 1
        self.moved_at[slice(None) if rows is None else rows] = self.steps
        if rows is not None and self.compiled:
            with one_at_a_time:
                move_rows(
                    self.table.numpy(),
                    self.mean.numpy(),
                    self.square.numpy(),
                    rows.numpy(),
                    gradient.contiguous().numpy(),
                    *self._list_constants(learning_rate),
                )
        else:
            self._step_in_torch(gradient, learning_rate, rows)

    @torch.no_grad()
    def step_bags(self, bags: TokenBags, gradient: torch.Tensor, learning_rate: float) -> None:
        """Move the tokens of `bags` against what follows from the `gradient` (n_texts, dimension) of their sums."""
        if not self.compiled:
            tokens, sums = bags.sum_gradients(gradient)
            self.step(sums, learning_rate, tokens)
            return
        self.steps += 1
        with one_at_a_time:
            move_bags(
                self.table.numpy(),
                self.mean.numpy(),
                self.square.numpy(),
                *bags.group_by_token(),
                gradient.contiguous().numpy(),
                *self._list_constants(learning_rate),
            )

    def _step_in_torch(self, gradient: torch.Tensor, learning_rate: float, rows: torch.Tensor | None) -> None:
        """Do what the kernels do, with torch."""
        mean, square = (moment if rows is None else moment[rows] for moment in (self.mean, self.square))
        mean.lerp_(gradient, 1 - MEAN_DECAY)
        square.mul_(SQUARE_DECAY).addcmul_(gradient, gradient, value=1 - SQUARE_DECAY)
        rate, _, _, scale, _ = map(float, self._list_constants(learning_rate))
        moved = mean / (square * scale).sqrt_().add_(EPSILON)
        if rows is None:
            self.table.sub_(moved, alpha=rate)
            return
        self.table.index_add_(0, rows, moved, alpha=-rate)
        self.mean.index_copy_(0, rows, mean)
        self.square.index_copy_(0, rows, square)

    def _list_constants(self, learning_rate: float) -> tuple[np.float32, ...]:
        """Return step size, decays, the correction of the squares' bias, and ε."""
        values = (
            learning_rate / (1 - MEAN_DECAY**self.steps),
            MEAN_DECAY,
            SQUARE_DECAY,
            1 / (1 - SQUARE_DECAY**self.steps),
            EPSILON,
        )
        return tuple(np.float32(value) for value in values)

    def get_state(self) -> dict[str, Any]:
        """Return the moments and the number of steps, as new arrays."""
        moments = {"mean": self.mean.cpu().numpy().copy(), "square": self.square.cpu().numpy().copy()}
        return moments | {"steps": self.steps}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Go back to what `get_state` returned."""
        self.mean.copy_(torch.from_numpy(np.asarray(state["mean"])))
        self.square.copy_(torch.from_numpy(np.asarray(state["square"])))
        self.steps = int(state["steps"])
        self.moved_at.fill_(self.steps)
