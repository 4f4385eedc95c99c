"""Why a label has its score: which token of the document met which token of the label, and what else spoke for it.

An activation is a gate: gelu(v) = v Φ(v) and relu(v) = v [v > 0]. With the gates of this document given, each token
adds its own vector to the embedding,

    f(x) = Σ_t a_t,   a_t = x_t gate ∘ E_t / ‖…‖,        E(x) = Σ_t e_t,   e_t = (a_t + ρ gate' ∘ R̂ a_t) / ‖…‖

and the embedding of a label is a sum over its tokens (and those of correlated labels) in the same way. Hence a cosine
is the sum of a_t · b_u over pairs of tokens: nothing is approximated, though a token's part depends on the company it
is in, as the gates and lengths do. Centroids and classifiers are one vector each, so there a token meets "its
documents" or "its classifier". A classifier over words adds value * weight for each. What belongs to no token (biases,
the ν of N_ν, what a label's frequency is worth) is the part of "(any document)".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from scipy import sparse

from xcwork.core.explanation import Explanation, Part
from xcwork.core.topk import MISSING
from xcwork.methods.siamesexml.encoder import Encoder
from xcwork.methods.siamesexml.scores import NAMES, Member

if TYPE_CHECKING:
    from xcwork.methods.siamesexml.method import SiameseXML

NO_TOKEN = "(any document)"
GATES = {
    "gelu": lambda v: 0.5 * (1 + torch.erf(v / 2**0.5)),
    "relu": lambda v: (v > 0).to(v),
    "identity": torch.ones_like,
}


class Pieces(NamedTuple):
    """Vectors that add up to an embedding, and the token behind each (-1: none)."""

    tokens: np.ndarray  # (n,)
    vectors: np.ndarray  # (n, dimension)

    def scaled(self, factor: float) -> Pieces:
        return Pieces(self.tokens, self.vectors * factor)


def pieces_of(encoder: Encoder, row: sparse.csr_array) -> Pieces:
    """The parts of f of one text (1, n_tokens); none where it has no tokens."""
    if row.nnz == 0:
        return Pieces(row.indices, np.zeros((0, encoder.dimension)))
    vectors = (
        encoder.table[torch.from_numpy(row.indices.astype(np.int64))].double()
        * torch.from_numpy(row.data.astype(np.float64)).to(encoder.device)[:, None]
    )  # (n, dimension)
    vectors = vectors * GATES[encoder.activation](vectors.sum(0))
    return _normalised(row.indices, vectors, encoder.nu)


def finished(encoder: Encoder, pieces: Pieces) -> Pieces:
    """The parts of E, given those of f."""
    vectors, block = torch.from_numpy(pieces.vectors).to(encoder.device), encoder.residual
    branch, bias = block.branch(vectors), block.bias.double()
    linear = branch - bias  # R̂ a_t: the bias belongs to no token
    factor = block.radius.double() * GATES[block.activation](linear.sum(0) + bias)
    vectors = torch.cat([vectors + factor * linear, (factor * bias)[None]])
    return _normalised(np.append(pieces.tokens, MISSING), vectors, encoder.nu)


def _normalised(tokens: np.ndarray, vectors: torch.Tensor, nu: float) -> Pieces:
    """The vectors divided by the length of N(their sum); ν is a part of its own."""
    length = torch.sqrt((vectors.sum(0) ** 2).sum() + nu**2)
    vectors = (vectors / length.clamp_min(1e-12)).cpu().numpy()
    if nu == 0:
        return Pieces(np.asarray(tokens), vectors)
    constant = np.zeros((1, vectors.shape[1] + 1))
    constant[0, -1] = nu / float(length)
    return Pieces(np.append(tokens, MISSING), np.vstack([np.pad(vectors, ((0, 0), (0, 1))), constant]))


def explain(method: SiameseXML, x: sparse.csr_array, label: int) -> Explanation:
    """The parts of the score of one document (1, n_features) and one label."""
    runtime = method.runtime
    row = runtime.tokens.of_documents(x)
    weights = dict(zip(NAMES, runtime.weights.of_scores[:, label].tolist(), strict=True))
    parts = []
    for member in runtime.members:
        share = 1 / len(runtime.members)
        parts += list(_Reader(method, member, row, label).parts({n: share * w for n, w in weights.items()}))
    parts += _words(method, row, label, weights["words"]) + _terms(method, row, label, weights["terms"])
    if constant := float(runtime.weights.constant[label]):
        parts.append(Part(NO_TOKEN, "how frequent the label is", constant))
    return Explanation.of(parts)


def _words(method: SiameseXML, row: sparse.csr_array, label: int, weight: float) -> list[Part]:
    values = (row * method.Z_[[label]]).tocoo() if weight else sparse.coo_array(row.shape)
    names = [_name(method, token) for token in values.coords[1].tolist()]
    products = zip(names, values.data.tolist(), strict=True)
    return [Part(name, name, weight * value, {"score": "words"}) for name, value in products if value]


def _terms(method: SiameseXML, row: sparse.csr_array, label: int, weight: float) -> list[Part]:
    """What each word means to the label's classifier over words."""
    terms, details = method.runtime.terms, {"score": "terms"}
    if not weight:
        return []
    weights = terms.weights[row.indices][:, [label]].toarray().ravel()  # (n_tokens of the row,)
    products = zip(row.indices.tolist(), (row.data * weights).tolist(), strict=True)
    parts = [Part(_name(method, token), "its words", weight * value, details) for token, value in products if value]
    return [*parts, Part(NO_TOKEN, "its words", weight * float(terms.bias[label]), details)]


def _name(method: SiameseXML, token: int) -> str:
    return NO_TOKEN if token == MISSING else method.tokens.name(token, method.features_, method.labels_.features)


class _Reader:
    """One member's view of one pair."""

    def __init__(self, method: SiameseXML, member: Member, row: sparse.csr_array, label: int) -> None:
        self.method, self.member, self.label = method, member, label
        self.f = pieces_of(member.encoder, row)
        self.is_seen = method.label_frequencies_[label] > 0

    def parts(self, weights: dict[str, float]) -> Iterator[Part]:
        """All parts with a weight, except those of words."""
        around, encoder = self.member.around, self.member.encoder
        text = self._text()
        if weights["text"]:
            yield from self._pairs("text", self.f, text, weights["text"])
        if weights["centroid"]:
            centroid = around.centroids[self.label] if self.is_seen else text
            yield from self._pairs("centroid", self.f, centroid, weights["centroid"])
        if weights["classifier"]:
            own = self.member.classifiers[self.label]
            if not self.is_seen and isinstance(text, Pieces):
                own = finished(encoder, text)
            yield from self._pairs("classifier", finished(encoder, self.f), own, weights["classifier"])
        if weights["documents"]:
            yield from self._votes(weights["documents"])

    def _text(self) -> Pieces | np.ndarray:
        """The parts of z̃ by token of this and correlated labels; the plain vector for a label without text."""
        around, Z = self.member.around, self.method.Z_
        row = around.correlation[[self.label]]
        known = [(m, share) for m, share in zip(row.indices, row.data, strict=True) if Z.indptr[m] < Z.indptr[m + 1]]
        if not known:
            return around.text[self.label]
        found = [pieces_of(self.member.encoder, Z[[m]]).scaled(share) for m, share in known]
        tokens, place = np.unique(np.concatenate([p.tokens for p in found]), return_inverse=True)
        vectors = np.zeros((len(tokens), around.text.shape[1]))
        np.add.at(vectors, place, np.vstack([p.vectors for p in found]))
        return Pieces(tokens, vectors / max(np.linalg.norm(vectors.sum(axis=0)), 1e-12))

    def _pairs(self, score: str, ours: Pieces, theirs: Pieces | np.ndarray, weight: float) -> Iterator[Part]:
        if isinstance(theirs, Pieces):
            names = [_name(self.method, token) for token in theirs.tokens.tolist()]
            vectors = theirs.vectors
        else:
            names, vectors = ["its classifier" if score == "classifier" else "its documents"], theirs[None]
        for token, products in zip(ours.tokens.tolist(), weight * (ours.vectors @ vectors.T), strict=True):
            term = _name(self.method, token)
            yield from (
                Part(term, name, value, {"score": score})
                for name, value in zip(names, products.tolist(), strict=True)
                if value
            )

    def _votes(self, weight: float) -> Iterator[Part]:
        around = self.member.around
        f = self.f.vectors.sum(axis=0, keepdims=True).astype(np.float32)
        near, shares = around.voters(f, self.method.neighbours)
        carriers = around.Y[:, [self.label]].toarray().ravel() > 0
        for document, share in zip(near[0].tolist(), shares[0].tolist(), strict=True):
            if document != MISSING and share and carriers[document]:
                yield Part(f"training document {document}", "carries the label", weight * share, {"score": "documents"})
