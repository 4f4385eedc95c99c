"""Why a label has its score: the terms of the sum that the score is.

Each part pairs a feature of the document with a feature of the label and has the value x * weight * z. Four kinds:

- a learned pair, with what XHTP counted: of N (document, label) pairs with both features, n were relevant;
- a direct match, document and label having the term in common, where x enters by its root;
- a borrowed term: the same for a term that an unseen label has from the documents of similar labels;
- a memorised pair, of a document feature and the identity of a label seen in training. It says nothing about other
  labels, and an unseen label has none.

With the bias they add up to the score exactly, up to the rounding of 32-bit numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from xcwork.core.explanation import Explanation, Part
from xcwork.errors import DataError
from xcwork.methods.zestxml.scorer import SEEN, UNSEEN
from xcwork.sparse import replace_values

if TYPE_CHECKING:
    from xcwork.methods.zestxml.method import ZestXML

ANY_DOCUMENT = "(any document)"
LEARNED, MATCH, BORROWED, MEMORISED, BIAS = "learned pair", "direct match", "borrowed term", "memorised", "bias"


def explain(model: ZestXML, x: sparse.csr_array, label: int) -> Explanation:
    """The parts of the score of `label` for the document `x` (1, n_features) with a unit row."""
    x = sparse.csr_array(x)
    roots = replace_values(x, np.sqrt(np.maximum(x.data, 0)))
    if model.variant == "xhtp":
        weights, by_pairs, by_matches = model.voters_, 1.0, model.match_weight
    else:
        kind = SEEN if model.is_seen[label] else UNSEEN
        weights, (by_pairs, by_matches) = model.shared_, model.factors_[kind]
    rows = [(model.Z_[[label]], "", MATCH)]
    if model.variant == "tuned":
        rows.append((model.borrowed_[[label]], BORROWED, BORROWED))
    parts = []
    for z, kind_of_pair, kind_of_match in rows:
        parts += _joint_parts(model, x, z, weights, float(by_pairs), kind_of_pair)
        parts += _joint_parts(model, roots, z, model.matches_, float(by_matches), kind_of_match)
    if model.variant == "tuned":
        parts += _own_parts(model, x, label)
        bias = float(model.bias_[label])
        parts.append(Part(ANY_DOCUMENT, BIAS, bias, {"kind": BIAS}))
    total = sum(abs(part.value) for part in parts)
    for part in parts:
        part.details["share"] = abs(part.value) / total if total else 0.0
    return Explanation.of(parts)


def _joint_parts(
    model: ZestXML, x: sparse.csr_array, z: sparse.csr_array, weights: sparse.csr_array, factor: float, kind: str
) -> list[Part]:
    """One part for each entry of `weights` at a feature of the document and a feature of the label.

    Without a `kind` they are pairs that XHTP has counted.
    """
    parts = []
    for row, column, weight in _entries(weights[x.indices][:, z.indices]):  # (nnz of x, nnz of z)
        feature, label_feature = int(x.indices[row]), int(z.indices[column])
        value = float(x.data[row]) * weight * factor * float(z.data[column])
        if value == 0:
            continue
        details: dict[str, Any] = {
            "kind": kind or _kind(model, label_feature),
            "document_value": float(x.data[row]),
            "weight": weight * factor,
            "label_value": float(z.data[column]),
        }
        if not kind:
            details |= _counts(model, feature, label_feature)
        parts.append(Part(model.features_.name(feature), name_of(model, label_feature), value, details))
    return parts


def _own_parts(model: ZestXML, x: sparse.csr_array, label: int) -> list[Part]:
    weights = model.own_[x.indices][:, [label]].toarray().ravel()  # (nnz of x,)
    name = model.labels_.names[label]
    return [
        Part(
            model.features_.name(feature),
            name,
            value * weight,
            {"kind": MEMORISED, "document_value": value, "weight": weight, "label_value": 1.0},
        )
        for feature, value, weight in zip(x.indices.tolist(), x.data.tolist(), weights.tolist(), strict=True)
        if weight
    ]


def _kind(model: ZestXML, label_feature: int) -> str:
    return MEMORISED if label_feature < len(model.identities_) else LEARNED


def name_of(model: ZestXML, label_feature: int) -> str:
    """What people call a column of Z: a term, or the label whose identity it is."""
    n_identities = len(model.identities_)
    if label_feature < n_identities:
        return model.labels_.names[model.identities_[label_feature]]
    return (model.labels_.features or model.features_).name(int(model.terms_[label_feature - n_identities]))


def _counts(model: ZestXML, feature: int, label_feature: int) -> dict[str, Any]:
    """Of `pairs` (document, label) pairs with both features, `relevant` were relevant."""
    start, stop = model.voters_.indptr[feature], model.voters_.indptr[feature + 1]
    at = start + int(np.searchsorted(model.voters_.indices[start:stop], label_feature))
    if model.plain or at == stop or model.voters_.indices[at] != label_feature:
        return {}
    n_pairs = int(model.documents_with_[feature] * model.labels_with_[label_feature])
    if n_pairs <= 0:
        return {}
    n_relevant = int(model.voter_counts_[at])
    return {"pairs": n_pairs, "relevant": n_relevant, "share_relevant": n_relevant / n_pairs}


def pairs_of(model: ZestXML, document_term: str | None, label_term: str | None, k: int) -> list[dict[str, Any]]:
    """The model's strongest pairs of one term, by the size of their weight, with what XHTP counted.

    A document term has learned pairs, direct matches and what is memorised of labels; a label term the first two.
    """
    if (document_term is None) == (label_term is None):
        raise DataError("give either a document term or a label term")
    if document_term is not None:
        pairs = _pairs_of_feature(model, _find(model.features_.names, document_term))
    else:
        term = _find((model.labels_.features or model.features_).names, label_term or "")
        columns = np.flatnonzero(model.terms_ == term) + len(model.identities_)
        pairs = [
            (row, int(columns[column]), weight, kind)
            for weights, kind in _joint_weights(model)
            for row, column, weight in _entries(weights[:, columns])
        ]
    best = sorted(pairs, key=lambda pair: (-abs(pair[2]), *pair[:2]))[:k]
    return [
        {
            "document_term": model.features_.name(feature),
            "label_term": name_of(model, label_feature),
            "weight": weight,
            "kind": kind or _kind(model, label_feature),
            **({} if kind else _counts(model, feature, label_feature)),
        }
        for feature, label_feature, weight, kind in best
    ]


def _pairs_of_feature(model: ZestXML, feature: int) -> list[tuple[int, int, float, str]]:
    """(document feature, label feature, weight, kind or "" for what XHTP counted) of all pairs of one document term."""
    pairs = [
        (feature, column, weight, kind)
        for weights, kind in _joint_weights(model)
        for _, column, weight in _entries(weights[[feature]])
    ]
    if model.variant == "tuned":
        memorised = _entries(model.own_[[feature]])
        pairs += [
            (feature, int(np.searchsorted(model.identities_, label)), weight, MEMORISED)
            for _, label, weight in memorised
        ]
    return pairs


def _joint_weights(model: ZestXML) -> list[tuple[sparse.csr_array, str]]:
    """The weights over (document features, label features) as they count for seen labels, each with its kind."""
    if model.variant == "xhtp":
        return [(model.voters_, ""), (model.matches_ * np.float32(model.match_weight), MATCH)]
    by_pairs, by_matches = model.factors_[SEEN].astype(np.float32)
    return [(model.shared_ * by_pairs, ""), (model.matches_ * by_matches, MATCH)]


def _entries(matrix: sparse.csr_array) -> list[tuple[int, int, float]]:
    entries = sparse.coo_array(matrix)
    return list(zip(entries.row.tolist(), entries.col.tolist(), entries.data.tolist(), strict=True))


def _find(names: list[str] | None, term: str) -> int:
    if names is None:
        raise DataError("the features of this dataset have no names")
    try:
        return names.index(term)
    except ValueError:
        raise DataError(
            f"there is no term {term!r}", remedy="terms are written as in the vocabulary, stems included"
        ) from None
