"""Sums of sparse documents, centred or not, and their products with documents and with each other.

Documents may be centred: x_i then stands for s_i (x_i - μ), with μ the mean of all documents and s_i what makes the
length one again. That is dense, but is never formed. A sum of such vectors is kept as A - α μ, with A sparse, and with
the numbers <μ, x_i>, <A, μ> and ‖μ‖² at hand a product with it costs no more than one with A. Without centring μ = 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from xcwork.kernels.stored_code import njit

EMPTY_DOCUMENT_COSINE = -2.0  # instead of a cosine: an empty document loses against any other


class CentredDocuments(NamedTuple):
    """The rows of a CSR matrix, of unit length, and what centring them takes."""

    data: np.ndarray  # float32
    indices: np.ndarray  # int32
    indptr: np.ndarray  # (n_documents + 1,) int64
    scale: np.ndarray  # (n_documents,) float64: 1 / ‖x - μ‖, and 0 where nothing is left of a document
    offset: np.ndarray  # (n_documents,) float64: <μ, x>
    mean: np.ndarray  # (n_features,) float64: μ
    mean_square: np.ndarray  # (1,) float64: ‖μ‖²


def sum_members(rows: CentredDocuments, members: sparse.csr_array) -> CentredDocuments:
    """Return the sums of the centred documents of each row of `members`; `add_row` adds one as it adds a document."""
    scaled = members @ sparse.diags_array(rows.scale)
    X = sparse.csr_array(
        (rows.data.astype(np.float64), rows.indices, rows.indptr), shape=(len(rows.scale), len(rows.mean))
    )
    alpha = np.asarray(scaled.sum(axis=1)).ravel()
    meeting = scaled @ rows.offset
    inverse = np.divide(1.0, alpha, out=np.zeros_like(alpha), where=alpha > 0)
    A = sparse.csr_array(sparse.diags_array(inverse) @ (scaled @ X))
    return CentredDocuments(
        A.data, A.indices, A.indptr.astype(np.int64), alpha, inverse * meeting, rows.mean, rows.mean_square
    )


class CentredSum(NamedTuple):
    """A sum of documents, A - α μ: the entries of A, and the list of those that are in use."""

    values: np.ndarray  # (n_features,) float64, because centred sums may be small differences of large ones
    used: np.ndarray  # (n_features,) int32
    in_use: np.ndarray  # (n_features,) bool
    n_used: np.ndarray  # (1,) int64
    centre: np.ndarray  # (2,) float64: α and <A, μ>


@njit(cache=True, nogil=True)
def add_row(total, rows, i, weight):
    """Add weight times the centred document i to the sum `total`."""
    n = total.n_used[0]
    factor = weight * rows.scale[i]
    for at in range(rows.indptr[i], rows.indptr[i + 1]):
        feature = rows.indices[at]
        if not total.in_use[feature]:
            total.in_use[feature] = True
            total.used[n] = feature
            n += 1
        total.values[feature] += factor * rows.data[at]
    total.n_used[0] = n
    total.centre[0] += factor
    total.centre[1] += factor * rows.offset[i]


@njit(cache=True, nogil=True)
def add_sum(total, other, factor):
    """Add factor times the sum `other` to the sum `total`."""
    n = total.n_used[0]
    for i in range(other.n_used[0]):
        feature = other.used[i]
        if not total.in_use[feature]:
            total.in_use[feature] = True
            total.used[n] = feature
            n += 1
        total.values[feature] += factor * other.values[feature]
    total.n_used[0] = n
    total.centre[:] += factor * other.centre


@njit(cache=True, nogil=True)
def clear_sum(total):
    """Make `total` a sum of no documents again, in the time that its entries take."""
    for i in range(total.n_used[0]):
        total.values[total.used[i]] = 0
        total.in_use[total.used[i]] = False
    total.n_used[0] = 0
    total.centre[:] = 0


@njit(cache=True, nogil=True)
def multiply_sums(one, other, mean_square):
    """Return <A - α μ, B - β μ>, fastest where B has few entries."""
    product = one.centre[0] * other.centre[0] * mean_square
    product -= one.centre[0] * other.centre[1] + other.centre[0] * one.centre[1]
    for i in range(other.n_used[0]):
        feature = other.used[i]
        product += one.values[feature] * other.values[feature]
    return product


@njit(cache=True, nogil=True)
def measure_length(total, mean_square):
    """Return ‖A - α μ‖."""
    return np.sqrt(max(multiply_sums(total, total, mean_square), 0.0))


@njit(cache=True, nogil=True, fastmath=True)
def _multiply_row(rows, i, values):
    """Return x_i · values, not centred."""
    first, end = rows.indptr[i], rows.indptr[i + 1]
    data = rows.data[first:end]
    # A feature without a sign is not first compared with zero, and several are looked up together.
    features = rows.indices[first:end].view(np.uint32)
    product = 0.0
    for at in range(data.shape[0]):
        product += data[at] * values[features[at]]
    return product


@njit(cache=True, nogil=True)
def fill_cosines(total, factor, rows, members, first, last, v):
    """Fill v[first:last] with the products of these members and factor * total."""
    alpha, meeting = total.centre
    constant = alpha * rows.mean_square[0] - meeting
    for i in range(first, last):
        document = members[i]
        if rows.scale[document] == 0:
            v[i] = EMPTY_DOCUMENT_COSINE
        else:
            product = _multiply_row(rows, document, total.values) - alpha * rows.offset[document] + constant
            v[i] = rows.scale[document] * product * factor
