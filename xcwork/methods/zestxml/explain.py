"""Why a label has its score: the terms of the sum that the score is.

Each part pairs a feature of the document with a feature of the label and has the value x * weight * z. Three kinds:

- a learned pair, with what XHTP counted: of N (document, label) pairs with both features, n were relevant;
- a direct match, document and label having the term in common, where x enters by its root;
- a memorised pair, of a document feature and the identity of a label seen in training. It says nothing about other
  labels, and an unseen label has none.

With the bias they add up to the score exactly, up to the rounding of 32-bit numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from xcwork.errors import DataError
from xcwork.methods.zestxml.scorer import SEEN, UNSEEN
from xcwork.methods.zestxml.shortlist import truncated
from xcwork.results import Explanation, Part

if TYPE_CHECKING:
    from xcwork.methods.zestxml import ZestXML

ANY_DOCUMENT = "(any document)"


def explain(model: ZestXML, x: sparse.csr_array, label: int) -> Explanation:
    """The parts of the score of `label` for the document `x` (1, n_features) with a unit row."""
    x = sparse.csr_array(x)
    z = model.Z_[[label]]
    if model.variant == "xhtp":
        weights, by_pairs, by_matches = truncated(model.voters_, model.epsilon), 1.0, model.match_weight
    else:
        kind = SEEN if model.is_seen[label] else UNSEEN
        weights, (by_pairs, by_matches) = model.shared_, model.factors_[kind]
    parts = _joint_parts(model, x, z, weights, float(by_pairs), matches=False)
    roots = sparse.csr_array((np.sqrt(np.maximum(x.data, 0)), x.indices, x.indptr), shape=x.shape)
    parts += _joint_parts(model, roots, z, model.matches_, float(by_matches), matches=True)
    if model.variant == "tuned":
        parts += _own_parts(model, x, label)
        bias = float(model.bias_[label])
        parts.append(Part(ANY_DOCUMENT, "bias", bias, {"kind": "bias"}))
    total = sum(abs(part.value) for part in parts)
    for part in parts:
        part.details["share"] = abs(part.value) / total if total else 0.0
    return Explanation.of(parts, exact=True)


def _joint_parts(
    model: ZestXML, x: sparse.csr_array, z: sparse.csr_array, weights: sparse.csr_array, factor: float, matches: bool
) -> list[Part]:
    """One part for each entry of `weights` at a feature of the document and a feature of the label."""
    block = sparse.coo_array(weights[x.indices][:, z.indices])  # (nnz of x, nnz of z)
    parts = []
    for row, column, weight in zip(block.row.tolist(), block.col.tolist(), block.data.tolist(), strict=True):
        feature, label_feature = int(x.indices[row]), int(z.indices[column])
        value = float(x.data[row]) * weight * factor * float(z.data[column])
        if value == 0:
            continue
        details: dict[str, Any] = {
            "kind": "direct match" if matches else _kind(model, label_feature),
            "document_value": float(x.data[row]), "weight": weight * factor, "label_value": float(z.data[column]),
        }  # fmt: skip
        if not matches:
            details |= _counts(model, feature, label_feature)
        parts.append(Part(model.features_.name(feature), name_of(model, label_feature), value, details))
    return parts


def _own_parts(model: ZestXML, x: sparse.csr_array, label: int) -> list[Part]:
    weights = model.own_[x.indices][:, [label]].toarray().ravel()  # (nnz of x,)
    name = model.labels_.names[label]
    return [
        Part(
            model.features_.name(feature), name, value * weight,
            {"kind": "memorised", "document_value": value, "weight": weight, "label_value": 1.0},
        )
        for feature, value, weight in zip(x.indices.tolist(), x.data.tolist(), weights.tolist(), strict=True)
        if weight
    ]  # fmt: skip


def _kind(model: ZestXML, label_feature: int) -> str:
    return "memorised" if label_feature < len(model.identities_) else "learned pair"


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
    n_relevant = int(model.voter_counts_[at])
    return {"pairs": n_pairs, "relevant": n_relevant, "share_relevant": n_relevant / n_pairs}


def pairs_of(model: ZestXML, document_term: str | None, label_term: str | None, k: int) -> list[dict[str, Any]]:
    """The model's strongest pairs of one term, by the size of their weight, with what XHTP counted."""
    if (document_term is None) == (label_term is None):
        raise DataError("give either a document term or a label term")
    weights = model.voters_ if model.variant == "xhtp" else model.shared_
    if document_term is not None:
        features = [_find(model.features_.names, document_term)]
        block = sparse.coo_array(weights[features])
        rows, columns = np.full(block.nnz, features[0]), block.col
    else:
        term = _find((model.labels_.features or model.features_).names, label_term or "")
        column = np.flatnonzero(model.terms_ == term) + len(model.identities_)
        block = sparse.coo_array(weights[:, column])
        rows, columns = block.row, np.repeat(column, block.nnz)
    best = np.lexsort((columns, rows, -np.abs(block.data)))[:k]
    return [
        {
            "document_term": model.features_.name(int(rows[at])), "label_term": name_of(model, int(columns[at])),
            "weight": float(block.data[at]), "kind": _kind(model, int(columns[at])),
            **_counts(model, int(rows[at]), int(columns[at])),
        }
        for at in best
    ]  # fmt: skip


def _find(names: list[str] | None, term: str) -> int:
    if names is None:
        raise DataError("the features of this dataset have no names")
    try:
        return names.index(term)
    except ValueError:
        raise DataError(
            f"there is no term {term!r}", remedy="terms are written as in the vocabulary, stems included"
        ) from None
