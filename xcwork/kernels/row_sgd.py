"""One step of descent on the few rows of a large table that a batch has used.

The gradient of row r is a weighted sum of the rows of a small matrix, g_r = Σ_j v_j G[s_j]: for a bag of words G holds
a gradient per document and the sum runs over the documents that contain word r, so the gradient of the table is never
formed. Gradients are measured in units of what is usual, of which there are two kinds:

    own      each row remembers what it has met:     q_r += mean(g_r²),    table[r] -= rate · g_r / √q_r      (AdaGrad)
    shared   one number q for the whole table:                             table[r] -= rate · g_r / √q

Own scales suit labels, where a rare row must learn from its few gradients. A shared scale suits words, where a rare row
would otherwise learn its few documents by heart. One number per row or none, instead of two per weight as in Adam,
keeps low the memory that a step touches, and memory is what a step costs.

Reference: Duchi, Hazan, Singer, Adaptive subgradient methods, JMLR 2011; one accumulator per row as in Gupta et al.,
Training recommender systems at scale, 2020.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from xcwork.kernels.stored_code import njit

EPSILON = 1e-12  # added to mean squares before their root is taken


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _descend_row(weights, squares, row, sources, values, gradients, rate, shared):
    """Sum the gradient of one row and move its `weights` against it."""
    width = weights.shape[0]
    gradient = np.zeros(width, np.float32)
    for at in range(len(sources)):
        source = sources[at]
        value = values[at]
        for j in range(width):
            gradient[j] += value * gradients[source, j]
    total = np.float32(0)
    for j in range(width):
        total += gradient[j] * gradient[j]
    if shared > 0:
        squares[row] = total / width
        step = rate / np.sqrt(shared)
    else:
        squares[row] += total / width
        step = rate / np.sqrt(squares[row] + EPSILON)
    for j in range(width):
        weights[j] -= step * gradient[j]


@njit(cache=True, nogil=True)
def descend_few_rows(table, squares, rows, starts, sources, values, gradients, rate, shared):
    """Move rows as `descend_rows` does, in one thread, for steps too small to share."""
    for i in range(rows.shape[0]):
        row = rows[i]
        some = slice(starts[i], starts[i + 1])
        _descend_row(table[row], squares, row, sources[some], values[some], gradients, rate, shared)


@njit(cache=True, parallel=True, nogil=True)
def descend_rows(table, squares, rows, starts, sources, values, gradients, rate, shared):
    """Move `rows` of `table` (n, d) in place; entries starts[i]:starts[i + 1] give the gradient of rows[i].

    With own scales (`shared` 0) `squares` (n,) is what each row has met so far; with a shared scale it receives the
    mean square of each gradient.
    """
    for i in prange(rows.shape[0]):
        row = rows[i]
        some = slice(starts[i], starts[i + 1])
        _descend_row(table[row], squares, row, sources[some], values[some], gradients, rate, shared)
