"""Large parameters of which a batch uses few rows: word embeddings, label embeddings, the weights of label heads.

A `RowTable` hands out what a batch needs, as sums of rows (`sum_bags`) or as rows (`take_rows`), remembers where it
came from, and `descend` moves exactly those rows after the backward pass. Autograd sees the handed out values only, so
no gradient of the size of the table ever exists, and a step costs what the batch costs.

On the CPU a compiled kernel forms and applies the gradients of rows in one pass; on other devices torch does the same
with a scatter (`descend_torch`), to which one copy per use takes what it needs and from which nothing is read back.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from scipy import sparse
from torch import nn
from torch.nn import functional as F

from xcwork.compute.transfer import send_arrays
from xcwork.kernels import one_at_a_time
from xcwork.kernels.row_sgd import EPSILON, descend_few_rows, descend_rows

ByRow = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # rows, starts, sources, weights: see `descend`
SHARED_SCALE_DECAY = 0.99  # per step
MAX_PRECISE_NUMBERS = 2**25  # numbers that are worth a copy in double precision
MIN_PARALLEL_NUMBERS = 2**18  # below this, waking another thread takes longer than the work


class RowBags(NamedTuple):
    """The rows of a sparse matrix as bags of weighted columns."""

    columns: torch.Tensor  # (n_entries,)
    starts: torch.Tensor  # (n_rows + 1,)
    values: torch.Tensor  # (n_entries,)
    matrix: sparse.csr_array  # the same, on the CPU

    @classmethod
    def from_matrix(cls, X: sparse.csr_array, device: torch.device) -> RowBags:
        """Return the rows of `X` on the device."""
        columns, starts, values = X.indices.astype(np.int64), X.indptr.astype(np.int64), X.data.astype(np.float32)
        matrix = sparse.csr_array((values, columns, starts), shape=X.shape)
        at, begin, weights = send_arrays(device, columns, starts, values)
        return cls(at, begin, weights, matrix)


class HandedOut(NamedTuple):
    """Values that were handed out, and how they follow from the table: value i = Σ weights[i, r] table[r]."""

    values: torch.Tensor  # (n, width), a leaf whose gradient the backward pass fills
    weights: sparse.csr_array | None  # (n, n_rows); None: value i is row `rows[i]` itself
    rows: np.ndarray | None  # distinct; None: all rows in order
    at: torch.Tensor | None = None  # `rows` on the device of the table


class RowTable(nn.Module):
    """`weight` (n_rows, width), trained row by row."""

    weight: torch.Tensor
    squares: torch.Tensor  # (n_rows,)
    usual: torch.Tensor  # the shared scale

    def __init__(self, n_rows: int, width: int, *, has_common_scale: bool = False) -> None:
        super().__init__()
        self.has_common_scale = has_common_scale  # one scale of gradients for all rows
        self.register_buffer("weight", torch.empty(n_rows, width))
        self.register_buffer("squares", torch.zeros(n_rows), persistent=False)
        self.register_buffer("usual", torch.zeros(()), persistent=False)
        self.is_precise = False  # hand out double precision
        self._uses: list[HandedOut] = []

    def sum_bags(self, bags: RowBags) -> torch.Tensor:
        """Return Σ value · row of every bag, (n_bags, width)."""
        if len(bags.columns) == 0:
            return self._raise_precision(self.weight.new_zeros(len(bags.starts) - 1, self.weight.shape[1]))
        sums = F.embedding_bag(
            bags.columns,
            self.weight,
            bags.starts,
            mode="sum",
            per_sample_weights=bags.values,
            include_last_offset=True,
        )
        if not self.training:
            return self._raise_precision(sums)
        return self._hand_out(HandedOut(sums, bags.matrix, None))

    def take_rows(self, rows: np.ndarray | None = None) -> torch.Tensor:
        """Return these rows, which must be distinct, or all of them."""
        at = None if rows is None else send_arrays(self.weight.device, rows)[0]
        values = self.weight if at is None else self.weight[at]
        if not self.training:
            return self._raise_precision(values)
        return self._hand_out(HandedOut(values.detach(), None, rows, at))

    def _raise_precision(self, values: torch.Tensor) -> torch.Tensor:
        """Return values in double precision, where this is wanted and they are few."""
        return values.double() if self.is_precise and values.numel() <= MAX_PRECISE_NUMBERS else values

    def _hand_out(self, use: HandedOut) -> torch.Tensor:
        """Return values whose gradients `descend` will look at."""
        self._uses.append(use)
        return use.values.requires_grad_()

    @property
    def gradients(self) -> list[torch.Tensor]:
        """The gradients of what was handed out since the last step."""
        return [use.values.grad for use in self._uses if use.values.grad is not None]

    def forget_uses(self) -> None:
        """Forget what was handed out for a step that was never taken."""
        self._uses.clear()

    def descend(self, rate: float) -> None:
        """Take a step on all rows handed out since the last one."""
        for use in self._uses:
            gradients = use.values.grad
            if gradients is None or len(gradients) == 0:
                continue
            if self.weight.device.type == "cpu":
                self._step_with_kernel(find_sources(use, len(self.weight)), gradients, rate)
            else:
                self._step_on_device(use, gradients, rate)
        self._uses.clear()

    def _step_with_kernel(self, by_row: ByRow, gradients: torch.Tensor, rate: float) -> None:
        """Move rows against the gradients of the values they took part in."""
        if not self.has_common_scale:
            descend_numba(self.weight, self.squares, *by_row, gradients, rate, 0.0)
            return
        rows = torch.from_numpy(by_row[0])
        if self.usual == 0:  # a step of no length measures the first gradients
            descend_numba(self.weight, self.squares, *by_row, gradients, 0.0, 1.0)
            self.usual += self.squares[rows].mean()
        descend_numba(self.weight, self.squares, *by_row, gradients, rate, float(self.usual) + EPSILON)
        self.usual += (1 - SHARED_SCALE_DECAY) * (self.squares[rows].mean() - self.usual)

    @torch.no_grad()
    def _step_on_device(self, use: HandedOut, gradients: torch.Tensor, rate: float) -> None:
        """Do the same without waiting for the device."""
        if use.weights is None:
            rows, g = use.at, gradients
        else:
            rows, g = sum_row_gradients(find_sources(use, len(self.weight)), gradients)
        if not self.has_common_scale:
            move_rows(self.weight, self.squares, rows, g, rate, None)
            return
        measured = g.square().mean()
        self.usual.copy_(torch.where(self.usual == 0, measured, self.usual))
        move_rows(self.weight, self.squares, rows, g, rate, self.usual + EPSILON)
        self.usual.lerp_(measured, 1 - SHARED_SCALE_DECAY)


def find_sources(use: HandedOut, n_rows: int) -> ByRow:
    """Return which values each row took part in, as rows, starts, sources and weights."""
    if use.weights is None:
        rows = np.arange(n_rows) if use.rows is None else use.rows
        n = len(rows)
        return rows, np.arange(n + 1), np.arange(n), np.ones(n, np.float32)
    columns = use.weights.tocsc()
    rows = np.flatnonzero(np.diff(columns.indptr))
    starts = np.append(columns.indptr[rows], columns.indptr[-1]).astype(np.int64)
    return rows, starts, columns.indices.astype(np.int64), columns.data


def descend_numba(
    table: torch.Tensor,
    squares: torch.Tensor,
    rows: np.ndarray,
    starts: np.ndarray,
    sources: np.ndarray,
    weights: np.ndarray,
    gradients: torch.Tensor,
    rate: float,
    shared: float,
) -> None:
    """Take a step with the compiled kernel."""
    arrays = (table.numpy(), squares.numpy(), rows, starts, sources, weights, gradients.contiguous().numpy())
    if (len(sources) + len(rows)) * table.shape[1] < MIN_PARALLEL_NUMBERS:
        descend_few_rows(*arrays, np.float32(rate), np.float32(shared))
        return
    with one_at_a_time:
        descend_rows(*arrays, np.float32(rate), np.float32(shared))


@torch.no_grad()
def descend_torch(
    table: torch.Tensor,
    squares: torch.Tensor,
    rows: np.ndarray,
    starts: np.ndarray,
    sources: np.ndarray,
    weights: np.ndarray,
    gradients: torch.Tensor,
    rate: float,
    shared: float,
) -> None:
    """Take the same step on any device."""
    where, g = sum_row_gradients((rows, starts, sources, weights), gradients)
    move_rows(table, squares, where, g, rate, g.new_tensor(shared) if shared > 0 else None)


def sum_row_gradients(by_row: ByRow, gradients: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return rows and the gradient of each, (n_rows, width), on the device of `gradients`."""
    rows, starts, sources, weights = by_row
    owners = np.repeat(np.arange(len(rows)), np.diff(starts))
    where, owner, at, weight = send_arrays(gradients.device, rows, owners, sources, weights)
    g = gradients.new_zeros(len(rows), gradients.shape[1])
    return where, g.index_add_(0, owner, weight[:, None] * gradients[at])


def move_rows(
    table: torch.Tensor,
    squares: torch.Tensor,
    rows: torch.Tensor | None,
    g: torch.Tensor,
    rate: float,
    shared: torch.Tensor | None,
) -> None:
    """Move `rows` (None: all) against their gradients `g`, over the root of `shared` or of the squares they met."""
    met = g.square().mean(1)
    if shared is None:
        met = met + (squares if rows is None else squares[rows])
    scaled = g / ((met + EPSILON)[:, None] if shared is None else shared).sqrt()
    if rows is None:
        squares.copy_(met)
        table.sub_(scaled, alpha=rate)
    else:
        squares.index_copy_(0, rows, met)
        table.index_add_(0, rows, scaled, alpha=-rate)
