"""Adam for some rows of a table, in place and in one pass: no temporary is as large as the rows it moves.

`move_bags` starts one step earlier. Where texts are sums of rows, y_i = Σ_t x_it E_t, the gradient of a row is
Σ_i x_it ∂y_i; it is summed in a buffer of one row and used immediately. Every row belongs to one thread and is summed
in the order of the texts, so the result does not depend on the number of threads.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from xcwork.kernels.stored_code import njit

ROWS_PER_CHUNK = 64  # rows that share a buffer


@njit(cache=True, nogil=True, inline="always")
def _move_row(row, mean, square, gradient, rate, decay, square_decay, square_scale, epsilon):
    """Take one step of Adam with one row, its moments and its gradient."""
    for i in range(row.shape[0]):
        mean[i] += (np.float32(1) - decay) * (gradient[i] - mean[i])
        square[i] = square_decay * square[i] + (np.float32(1) - square_decay) * gradient[i] * gradient[i]
        row[i] -= rate * mean[i] / (np.sqrt(square[i] * square_scale) + epsilon)


@njit(cache=True, parallel=True, nogil=True)
def move_rows(table, mean, square, rows, gradient, rate, decay, square_decay, square_scale, epsilon):
    """Move table[rows] against `gradient` (n_rows, d); `rate` and `square_scale` contain the corrections of bias."""
    for r in prange(rows.shape[0]):
        at = rows[r]
        _move_row(table[at], mean[at], square[at], gradient[r], rate, decay, square_decay, square_scale, epsilon)


@njit(cache=True, parallel=True, nogil=True)
def catch_up_rows(table, mean, square, rows, reach, mean_left, square_left, rate, square_scale, epsilon):
    """Move table[rows] along their means as far as steps without a gradient would have, and let the moments decay.

    Row r moves by `reach[r]` times its first step; `mean_left` and `square_left` (n_rows,) of its moments stay.
    """
    for r in prange(rows.shape[0]):
        at = rows[r]
        if reach[r] > 0:
            for i in range(table.shape[1]):
                table[at, i] -= rate * reach[r] * mean[at, i] / (np.sqrt(square[at, i] * square_scale) + epsilon)
                mean[at, i] *= mean_left[r]
                square[at, i] *= square_left[r]


@njit(cache=True, parallel=True, nogil=True)
def move_bags(
    table, mean, square, rows, starts, texts, values, gradient, rate, decay, square_decay, square_scale, epsilon
):
    """Move table[rows] against the gradient that follows from that of the sums, `gradient` (n_texts, d).

    Row r occurs in texts[starts[r]:starts[r + 1]] with the values beside them.
    """
    n_rows = rows.shape[0]
    for chunk in prange((n_rows + ROWS_PER_CHUNK - 1) // ROWS_PER_CHUNK):
        own = np.empty(table.shape[1], np.float32)
        for r in range(chunk * ROWS_PER_CHUNK, min(n_rows, (chunk + 1) * ROWS_PER_CHUNK)):
            own[:] = 0
            for at in range(starts[r], starts[r + 1]):
                value = values[at]
                text = texts[at]
                for i in range(own.shape[0]):
                    own[i] += value * gradient[text, i]
            at = rows[r]
            _move_row(table[at], mean[at], square[at], own, rate, decay, square_decay, square_scale, epsilon)
