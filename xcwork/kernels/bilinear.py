"""Loops over a sparse bilinear model: counting pairs of features, shortlisting labels, scoring them.

A document x meets a label z through weights W on pairs of features, s = Σ x_c W_cd z_ld. Every kernel first projects
the document onto label features, p = Wᵀx, in a dense scratch vector that it clears again by walking the same entries.
Any number of labels then cost one short dot product each.

All kernels allocate their scratch once per call and release the GIL, so that blocks of rows can run side by side. No
result depends on how the rows were cut into blocks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xcwork.kernels.stored_code import njit
from xcwork.kernels.topk import can_enter, push_entry, sort_best_first
from xcwork.sparse import Rows

MIN_LABELS_TO_CLEAR_TOUCHED = 100_000  # from here on it is faster to clear what a document touched than everything
# A smaller product of weight and label value never brings a label into the lazy shortlist.
MIN_LAZY_PRODUCT_SHARE = 1e-6  # of the largest product of the document


class BilinearDocuments(NamedTuple):
    """Documents twice: as they are, for learned pairs, and damped, for terms that document and label share."""

    rows: Rows  # (n_documents, n_features)
    damped: np.ndarray  # (nnz,): the values that meet `BilinearWeights.matches`


class BilinearWeights(NamedTuple):
    """Weights that map a document to label features."""

    pairs: Rows  # (n_features, n_label_features)
    matches: Rows  # the same shape, with entries only where both features are the same term


class TermClassifiers(NamedTuple):
    """The parts of a label's score that it has to itself, and how much the shared ones count."""

    own: Rows  # (n_features, n_labels): the weights that labels have to themselves
    bias: np.ndarray  # (n_labels,)
    kind: np.ndarray  # (n_labels,) uint8: the row of `factors` that a label uses
    factors: np.ndarray  # (n_kinds, 2) float32: how much learned pairs and shared terms count


class PairVotes(NamedTuple):
    """The votes for the pairs, so that a document can be scored by the votes of the others alone."""

    counts: np.ndarray  # (nnz of the pairs,) float32; empty: score by all votes
    by_document: Rows  # (n_documents, n_label_features)
    real_values: bool  # whether a document voted with the values of its features instead of ones


class FeatureTotals(NamedTuple):
    """One side of the pair statistics: how often a feature occurs, and in how many relevant (document, label) pairs."""

    occurrences: np.ndarray  # (n,)
    relevant: np.ndarray  # (n,)


@njit(cache=True, nogil=True)
def find_top_pairs(start, stop, a, b, totals_a, totals_b, blend, smoothing, ids, values, counts):
    """Find for each feature start..stop of side a the partners of highest value that `ids` has room for, in heap order.

    `a` lists the documents of a feature, `b` the partners that a document offers. With n the products summed over the
    documents of both, the value of a pair is n / (blend * (relevant_a + relevant_b - n) + (1 - blend) * all pairs),
    where `smoothing` is added to all pairs.
    Returns how many partners each feature has; `counts` gets their n.
    """
    sums = np.zeros(totals_b.occurrences.shape[0], b.data.dtype)
    touched = np.empty(totals_b.occurrences.shape[0], np.int32)
    filled = np.zeros(stop - start, np.int64)
    for row in range(start, stop):
        n_touched = 0
        out = row - start
        for at in range(a.indptr[row], a.indptr[row + 1]):
            document = a.indices[at]
            for of in range(b.indptr[document], b.indptr[document + 1]):
                column = b.indices[of]
                if sums[column] == 0:  # sums only grow, because all values are positive
                    touched[n_touched] = column
                    n_touched += 1
                sums[column] += a.data[at] * b.data[of]
        for column in touched[:n_touched]:
            n = np.float64(sums[column])
            either = totals_a.relevant[row] + totals_b.relevant[column] - n
            pairs = totals_a.occurrences[row] * totals_b.occurrences[column] + smoothing
            value = np.float32(n / (blend * either + (1 - blend) * pairs))
            filled[out] = push_entry(ids[out], values[out], filled[out], column, value)
        for slot in range(filled[out]):
            counts[out, slot] = sums[ids[out, slot]]
        for column in touched[:n_touched]:
            sums[column] = 0
    return filled


@njit(cache=True, nogil=True)
def project_document(row, documents, data, weights, p):
    """Add Wᵀx of one document to p, with the values `data` of its features."""
    for at in range(documents.indptr[row], documents.indptr[row + 1]):
        feature = documents.indices[at]
        for of in range(weights.indptr[feature], weights.indptr[feature + 1]):
            p[weights.indices[of]] += data[at] * weights.data[of]


@njit(cache=True, nogil=True)
def project_others(row, documents, weights, votes, own_votes, p):
    """Add Wᵀx to p, every weight v = n / N reduced to what documents other than this one have voted: v (1 - own / n).

    `votes.counts` is n for each entry of the weights, `own_votes` a dense vector of what this document's labels offer.
    """
    for at in range(documents.indptr[row], documents.indptr[row + 1]):
        feature = documents.indices[at]
        value = documents.data[at]
        factor = value if votes.real_values else np.float32(1)
        for of in range(weights.indptr[feature], weights.indptr[feature + 1]):
            column = weights.indices[of]
            others = 1 - factor * own_votes[column] / votes.counts[of]
            p[column] += value * weights.data[of] * max(others, np.float32(0))


@njit(cache=True, nogil=True)
def clear_projection(row, documents, weights, p):
    """Zero what `project_document` can have touched."""
    for at in range(documents.indptr[row], documents.indptr[row + 1]):
        feature = documents.indices[at]
        for of in range(weights.indptr[feature], weights.indptr[feature + 1]):
            p[weights.indices[of]] = 0


@njit(cache=True, nogil=True)
def score_label(label, labels, p):
    """Return z · p, and whether the two meet at all."""
    score = np.float32(0)
    meet = False
    for at in range(labels.indptr[label], labels.indptr[label + 1]):
        value = p[labels.indices[at]]
        if value != 0:
            score += labels.data[at] * value
            meet = True
    return score, meet


@njit(cache=True, nogil=True)
def shortlist_exactly(documents, weights, labels, n_label_features, candidates, ids, scores):
    """Find the best of the label ids `candidates` for each document, among those that meet the document at all."""
    rows = documents.rows
    p = np.zeros(n_label_features, np.float32)
    for row in range(ids.shape[0]):
        own_ids, own_scores = ids[row], scores[row]  # cut out once, not for every label
        filled = np.int64(0)
        project_document(row, rows, rows.data, weights.pairs, p)
        project_document(row, rows, documents.damped, weights.matches, p)
        for label in candidates:
            score, meet = score_label(label, labels, p)
            if meet and can_enter(own_scores, filled, score):
                filled = push_entry(own_ids, own_scores, filled, label, score)
        sort_best_first(own_ids, own_scores, filled)
        clear_projection(row, rows, weights.pairs, p)
        clear_projection(row, rows, weights.matches, p)


@njit(cache=True, nogil=True)
def shortlist_lazily(documents, weights, labels, n_label_features, postings, n_wanted, ids, scores):
    """Find the best labels as `shortlist_exactly` does, but look only at labels that `postings` brings up early.

    `postings` (n_label_features, n_labels) lists the candidates of each label feature by falling z. A falling limit
    admits labels with p_d z_ld >= limit for some feature d until `n_wanted` are there; these are scored exactly. A
    feature that very many labels have in common therefore costs no more than any other.
    """
    rows = documents.rows
    p = np.zeros(n_label_features, np.float32)
    n_labels = labels.indptr.shape[0] - 1
    is_active = np.zeros(n_label_features, np.bool_)
    active = np.empty(n_label_features, np.int32)
    reached = np.empty(n_label_features, np.int64)
    is_found = np.zeros(n_labels, np.bool_)
    found = np.empty(n_labels, np.int32)
    for row in range(ids.shape[0]):
        own_ids, own_scores = ids[row], scores[row]  # cut out once, not for every label
        filled = np.int64(0)
        n_active = 0
        n_found = 0
        limit = np.float32(0)
        project_document(row, rows, rows.data, weights.pairs, p)
        project_document(row, rows, documents.damped, weights.matches, p)
        for side in (weights.pairs, weights.matches):
            for feature in rows.indices[rows.indptr[row] : rows.indptr[row + 1]]:
                for column in side.indices[side.indptr[feature] : side.indptr[feature + 1]]:
                    first = postings.indptr[column]
                    if not is_active[column] and p[column] > 0 and first < postings.indptr[column + 1]:
                        is_active[column] = True
                        active[n_active] = column
                        n_active += 1
                        reached[column] = first
                        limit = max(limit, p[column] * postings.data[first])
        lowest = limit * np.float32(MIN_LAZY_PRODUCT_SHARE)
        while n_found < n_wanted and limit > lowest:
            for column in active[:n_active]:
                at = reached[column]
                end = postings.indptr[column + 1]
                while at < end and n_found < n_wanted and p[column] * postings.data[at] >= limit:
                    label = postings.indices[at]
                    if not is_found[label]:
                        is_found[label] = True
                        found[n_found] = label
                        n_found += 1
                    at += 1
                reached[column] = at
            limit /= 2
        for label in found[:n_found]:
            score, _ = score_label(label, labels, p)
            if can_enter(own_scores, filled, score):
                filled = push_entry(own_ids, own_scores, filled, label, score)
            is_found[label] = False
        sort_best_first(own_ids, own_scores, filled)
        is_active[active[:n_active]] = False
        clear_projection(row, rows, weights.pairs, p)
        clear_projection(row, rows, weights.matches, p)


@njit(cache=True, nogil=True)
def score_candidates(documents, weights, labels, n_label_features, terms, votes, indptr, candidates, scores):
    """Compute the score of each candidate label of each document: bias + factors · (pairs, matches) + own weights.

    `indptr` and `candidates` list the label ids of each document; `scores` is parallel to `candidates`.
    """
    rows = documents.rows
    by_document = votes.by_document
    p = np.zeros(n_label_features, np.float32)  # through learned pairs
    q = np.zeros(n_label_features, np.float32)  # through terms in common
    by_own = np.zeros(terms.bias.shape[0], np.float32)
    own_votes = np.zeros(n_label_features, np.float32)
    for row in range(indptr.shape[0] - 1):
        if votes.counts.shape[0]:
            for at in range(by_document.indptr[row], by_document.indptr[row + 1]):
                own_votes[by_document.indices[at]] = by_document.data[at]
            project_others(row, rows, weights.pairs, votes, own_votes, p)
            for at in range(by_document.indptr[row], by_document.indptr[row + 1]):
                own_votes[by_document.indices[at]] = 0
        else:
            project_document(row, rows, rows.data, weights.pairs, p)
        project_document(row, rows, documents.damped, weights.matches, q)
        project_document(row, rows, rows.data, terms.own, by_own)
        for at in range(indptr[row], indptr[row + 1]):
            label = candidates[at]
            by_pairs, _ = score_label(label, labels, p)
            by_matches, _ = score_label(label, labels, q)
            of_pairs, of_matches = terms.factors[terms.kind[label]]
            scores[at] = terms.bias[label] + of_pairs * by_pairs + of_matches * by_matches + by_own[label]
        if by_own.shape[0] < MIN_LABELS_TO_CLEAR_TOUCHED:
            by_own[:] = 0
        else:
            clear_projection(row, rows, terms.own, by_own)
        clear_projection(row, rows, weights.pairs, p)
        clear_projection(row, rows, weights.matches, q)


@njit(cache=True, nogil=True)
def rank_with_own(documents, weights, labels, n_label_features, terms, listed, n_own, indptr, candidates, ids, scores):
    """Find the best labels of each document among its candidates and the labels that their own weights bring up.

    `indptr` and `candidates` are as in `score_candidates`. The `n_own` labels with the highest bias + own weights among
    the label ids `listed` compete as well: their own part is known anyway, for all labels at once.
    """
    rows = documents.rows
    p = np.zeros(n_label_features, np.float32)  # through learned pairs
    q = np.zeros(n_label_features, np.float32)  # through terms in common
    by_own = np.zeros(terms.bias.shape[0], np.float32)
    is_taken = np.zeros(terms.bias.shape[0], np.bool_)
    best = np.empty(n_own, np.int32)
    best_values = np.empty(n_own, np.float32)
    for row in range(ids.shape[0]):
        own_ids, own_scores = ids[row], scores[row]  # cut out once, not for every label
        filled = np.int64(0)
        n_best = np.int64(0)
        project_document(row, rows, rows.data, weights.pairs, p)
        project_document(row, rows, documents.damped, weights.matches, q)
        project_document(row, rows, rows.data, terms.own, by_own)
        for label in listed:
            if by_own[label] != 0 and can_enter(best_values, n_best, terms.bias[label] + by_own[label]):
                n_best = push_entry(best, best_values, n_best, label, terms.bias[label] + by_own[label])
        for part in (candidates[indptr[row] : indptr[row + 1]], best[:n_best]):
            for label in part:
                if is_taken[label]:
                    continue
                is_taken[label] = True
                by_pairs, _ = score_label(label, labels, p)
                by_matches, _ = score_label(label, labels, q)
                of_pairs, of_matches = terms.factors[terms.kind[label]]
                score = terms.bias[label] + of_pairs * by_pairs + of_matches * by_matches + by_own[label]
                if can_enter(own_scores, filled, score):
                    filled = push_entry(own_ids, own_scores, filled, label, score)
        for part in (candidates[indptr[row] : indptr[row + 1]], best[:n_best]):
            for label in part:
                is_taken[label] = False
        sort_best_first(own_ids, own_scores, filled)
        by_own[:] = 0
        clear_projection(row, rows, weights.pairs, p)
        clear_projection(row, rows, weights.matches, q)


@njit(cache=True, nogil=True)
def rank_candidates(indptr, labels, values, ids, scores):
    """Find the best of the listed labels of each row, best first, as many as `ids` (n_rows, k) has room for."""
    for row in range(ids.shape[0]):
        own_ids, own_scores = ids[row], scores[row]  # cut out once, not for every label
        filled = np.int64(0)
        for at in range(indptr[row], indptr[row + 1]):
            if can_enter(own_scores, filled, values[at]):
                filled = push_entry(own_ids, own_scores, filled, labels[at], values[at])
        sort_best_first(own_ids, own_scores, filled)
