"""Training loops of a sparse bilinear model: weights that labels share, and weights that one label has to itself.

Shared weights W live on a fixed support. For one document the gradient at the support entry (c, d) is x_c q_d with
q = Σ_l g_l z_l, where g_l is the slope of label l's loss. A pass over the documents therefore costs nnz(x) times the
support of a row, however many labels compete. Work is cut into shards, one per thread: each row of W belongs to one of
them, which sums its gradient in the order of the documents, so the result is the same for any number of shards.

A label's own weights solve a linear problem, min ½‖w‖² + ½b² + C Σ_i loss(y_i (w·x_i + b + o_i)), where o_i is what the
rest of the model says. Its dual has one a_i per pair, with w = Σ a_i y_i x_i, and is improved one a_i at a time (Hsieh
et al., ICML 2008; for the logistic loss Yu, Huang and Lin, Machine Learning 2011). Labels are independent, each with
random numbers of its own, so again the number of shards does not matter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xcwork.kernels.bilinear import clear_projection, project_document, score_label
from xcwork.kernels.stored_code import njit
from xcwork.kernels.svm import add_row, multiply_row, shuffle_order
from xcwork.kernels.topk import push_entry
from xcwork.sparse import Rows

MIN_SLOPE = np.float32(1e-4)  # a slope below this is not worth a walk over the support
MAX_IDLE_PASSES = 63  # that a pair may be left alone for
MAX_NEWTON_STEPS = 30
NEWTON_TOLERANCE = 1e-6  # the last step is shorter


class SharedWeights(NamedTuple):
    """Shared weights and the state of Adagrad, all on one support."""

    weights: Rows  # (n_features, n_label_features); `data` is what is trained
    squares: np.ndarray  # (nnz,): sum of squared gradients so far
    gradient: np.ndarray  # (nnz,): zero between two steps


class LabelledPairs(NamedTuple):
    """(document, label) pairs, listed by document or by label."""

    others: Rows  # the labels of each document or the documents of each label; `data` is +1 or -1
    offsets: np.ndarray  # (n_pairs,): the score without what is being trained


@njit(cache=True, nogil=True)
def compute_loss_and_slope(margin, logistic):
    """Return squared hinge or logistic loss at the margin y * s, and its derivative there."""
    if logistic:
        if margin < -30:
            return -margin, -1.0
        odds = np.exp(-margin)
        return np.log1p(odds), -odds / (1 + odds)
    gap = 1 - margin
    if gap <= 0:
        return 0.0, 0.0
    return gap * gap, -2 * gap


@njit(cache=True, nogil=True)
def compute_shared_slopes(
    shard, n_shards, batch, documents, shared, bias, labels, n_label_features, pairs, logistic, slopes, losses
):
    """Compute the slopes of all pairs of one shard's documents in `batch`, and the summed loss of each document.

    `bias` is added to the score of every pair.
    """
    p = np.zeros(n_label_features, np.float32)
    for at in range(shard, batch.shape[0], n_shards):
        row = batch[at]
        total = 0.0
        project_document(row, documents, documents.data, shared.weights, p)
        for pair in range(pairs.others.indptr[row], pairs.others.indptr[row + 1]):
            score, _ = score_label(pairs.others.indices[pair], labels, p)
            sign = pairs.others.data[pair]
            loss, slope = compute_loss_and_slope(sign * (score + bias + pairs.offsets[pair]), logistic)
            slopes[pair] = sign * slope
            total += loss
        losses[at] = total
        clear_projection(row, documents, shared.weights, p)


@njit(cache=True, nogil=True)
def take_shared_step(shard, n_shards, batch, documents, shared, decay, labels, n_label_features, pairs, slopes, rate):
    """Take one Adagrad step along the summed gradient of the documents in `batch`, for the rows of one shard.

    Each document adds `decay` (n_features,) times the weights of its features: its share of the L2 term.
    """
    weights = shared.weights
    q = np.zeros(n_label_features, np.float32)
    for row in batch:
        _sum_label_rows(row, pairs.others, labels, slopes, q)
        for at in range(documents.indptr[row], documents.indptr[row + 1]):
            feature = documents.indices[at]
            if feature % n_shards == shard:
                for of in range(weights.indptr[feature], weights.indptr[feature + 1]):
                    gradient = documents.data[at] * q[weights.indices[of]] + decay[feature] * weights.data[of]
                    shared.gradient[of] += gradient
        _clear_label_rows(row, pairs.others, labels, q)
    for row in batch:
        for feature in documents.indices[documents.indptr[row] : documents.indptr[row + 1]]:
            if feature % n_shards == shard:
                for of in range(weights.indptr[feature], weights.indptr[feature + 1]):
                    gradient = shared.gradient[of]
                    if gradient != 0:  # the first document of the batch that has the feature does the step for all
                        shared.gradient[of] = 0
                        shared.squares[of] += gradient * gradient
                        weights.data[of] -= rate * gradient / np.sqrt(shared.squares[of] + np.float32(1e-12))


@njit(cache=True, nogil=True)
def _sum_label_rows(row, others, labels, slopes, q):
    """Set q = Σ slope_l z_l over the labels of one document."""
    for pair in range(others.indptr[row], others.indptr[row + 1]):
        if abs(slopes[pair]) > MIN_SLOPE:
            label = others.indices[pair]
            for of in range(labels.indptr[label], labels.indptr[label + 1]):
                q[labels.indices[of]] += slopes[pair] * labels.data[of]


@njit(cache=True, nogil=True)
def _clear_label_rows(row, others, labels, q):
    """Zero what `_sum_label_rows` can have touched."""
    for label in others.indices[others.indptr[row] : others.indptr[row + 1]]:
        for of in range(labels.indptr[label], labels.indptr[label + 1]):
            q[labels.indices[of]] = 0


@njit(cache=True, nogil=True)
def _find_best_dual(dual, margin, curvature, C, logistic):
    """Return the best value of one dual variable while the others stay; `margin` is y * s at its present value."""
    if not logistic:
        return max(dual - (margin - 1 + dual / (2 * C)) / (curvature + 1 / (2 * C)), 0.0)
    # With a = C sigmoid(u) the optimum solves u + curvature C sigmoid(u) = curvature a_old - margin, increasing in u.
    target = curvature * dual - margin
    low, high = target - curvature * C, target
    u = (low + high) / 2
    for _ in range(MAX_NEWTON_STEPS):
        sigmoid = 1 / (1 + np.exp(-u))
        gap = u + curvature * C * sigmoid - target
        if gap > 0:
            high = u
        else:
            low = u
        newton = u - gap / (1 + curvature * C * sigmoid * (1 - sigmoid))
        before = u
        u = newton if low < newton < high else (low + high) / 2
        if abs(u - before) < NEWTON_TOLERANCE:
            break
    return C / (1 + np.exp(-u))


@njit(cache=True, nogil=True)
def _ascend_dual(rows, curvature, pairs, first, last, C, logistic, passes, tolerance, random, w, is_touched, touched):
    """Solve one label's problem into w; return (bias, number of touched features).

    A pair whose dual variable rests at zero (logistic: hardly moves) is looked at again only after 1, 3, 7, ... passes:
    most pairs are like that after the first pass.
    """
    n_pairs = last - first
    n_touched = 0
    bias = np.float32(0)
    duals = np.zeros(n_pairs, np.float32)
    order = np.arange(n_pairs)
    due = np.zeros(n_pairs, np.int32)  # the pass that looks at a pair again
    rest = np.zeros(n_pairs, np.int32)  # passes for which it was left alone
    for sweep in range(passes):
        largest = 0.0
        random = shuffle_order(order, n_pairs, random)
        for pair in order:
            if due[pair] > sweep:
                continue
            row = pairs.others.indices[first + pair]
            sign = np.float32(pairs.others.data[first + pair])
            score = pairs.offsets[first + pair] + bias + multiply_row(rows, row, w)
            new = np.float32(_find_best_dual(duals[pair], sign * score, curvature[row], C, logistic))
            step = new - duals[pair]
            if (new == 0 and step == 0) or (logistic and abs(step) <= tolerance * C):
                rest[pair] = min(2 * rest[pair] + 1, MAX_IDLE_PASSES)
                due[pair] = sweep + 1 + rest[pair]
                continue
            rest[pair] = 0
            duals[pair] = new
            largest = max(largest, abs(step))
            bias += step * sign
            add_row(rows, row, step * sign, w)
            for feature in rows.indices[rows.indptr[row] : rows.indptr[row + 1]]:
                if not is_touched[feature]:
                    is_touched[feature] = True
                    touched[n_touched] = feature
                    n_touched += 1
        if largest <= tolerance * C:
            break
    return bias, n_touched


@njit(cache=True, nogil=True)
def fit_own_weights(
    shard,
    n_shards,
    block,
    rows,
    n_features,
    curvature,
    pairs,
    C,
    logistic,
    passes,
    tolerance,
    smallest,
    random,
    ids,
    values,
    bias,
    filled,
):
    """Fit the own weights of one shard's labels in `block`: the largest that `ids` has room for, none below `smallest`.

    `random` (n_labels of the block,) is the state of each label's generator, never zero.
    """
    w = np.zeros(n_features, np.float32)
    is_touched = np.zeros(n_features, np.bool_)
    touched = np.empty(n_features, np.int32)
    sizes = np.empty(ids.shape[1], np.float32)
    for at in range(shard, block.shape[0], n_shards):
        first, last = pairs.others.indptr[block[at]], pairs.others.indptr[block[at] + 1]
        bias[at], n_touched = _ascend_dual(
            rows, curvature, pairs, first, last, C, logistic, passes, tolerance, random[at], w, is_touched, touched
        )
        n = np.int64(0)
        for feature in touched[:n_touched]:
            size = abs(w[feature])
            if size >= smallest and size > 0:
                n = push_entry(ids[at], sizes, n, feature, size)
        for slot in range(n):
            values[at, slot] = w[ids[at, slot]]
        filled[at] = n
        for feature in touched[:n_touched]:
            w[feature] = 0
            is_touched[feature] = False
