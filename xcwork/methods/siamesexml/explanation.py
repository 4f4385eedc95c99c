"""Why a label has its score: which token of the document met which token of the label, and the other evidence.

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
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from scipy import sparse

from xcwork.compute.transfer import send_arrays
from xcwork.core.explanation import ANY_DOCUMENT, LABEL_RARITY, TRAINING_DOCUMENT, Explanation, Family, Part
from xcwork.core.features import Features
from xcwork.core.topk import MISSING
from xcwork.methods.siamesexml.encoder import Activation, Encoder
from xcwork.methods.siamesexml.prediction import SiameseRanker
from xcwork.methods.siamesexml.scores import SCORE_NAMES, Member

GATES: dict[str, Activation] = {
    "gelu": lambda v: 0.5 * (1 + torch.erf(v / 2**0.5)),
    "relu": lambda v: (v > 0).to(v),
    "identity": torch.ones_like,
}


class EmbeddingPieces(NamedTuple):
    """Vectors that add up to an embedding, and the token behind each (-1: none)."""

    tokens: np.ndarray  # (n,)
    vectors: np.ndarray  # (n, dimension)

    def scale(self, factor: float) -> EmbeddingPieces:
        """Return the vectors times a factor."""
        return EmbeddingPieces(self.tokens, self.vectors * factor)


def split_intermediate(encoder: Encoder, row: sparse.csr_array) -> EmbeddingPieces:
    """Return the parts of f of one text (1, n_tokens); none where it has no tokens."""
    if row.nnz == 0:
        return EmbeddingPieces(row.indices, np.zeros((0, encoder.dimension)))
    (at,) = send_arrays(encoder.device, row.indices.astype(np.int64))
    values = torch.from_numpy(row.data.astype(np.float64))
    vectors = encoder.table[at].cpu().double() * values[:, None]  # (n, dimension)
    vectors = vectors * GATES[encoder.activation](vectors.sum(0))
    return normalise_pieces(row.indices, vectors, encoder.nu)


def split_final(encoder: Encoder, pieces: EmbeddingPieces) -> EmbeddingPieces:
    """Return the parts of E, given those of f."""
    vectors = torch.from_numpy(pieces.vectors)
    block = encoder.residual.copy_to_cpu()  # one document needs no device, and not every device has double precision
    bias = block.bias.double()
    linear = block.compute_branch(vectors) - bias  # R̂ a_t: the bias belongs to no token
    factor = block.radius.double() * GATES[block.activation](linear.sum(0) + bias)
    vectors = torch.cat([vectors + factor * linear, (factor * bias)[None]])
    return normalise_pieces(np.append(pieces.tokens, MISSING), vectors, encoder.nu)


def normalise_pieces(tokens: np.ndarray, vectors: torch.Tensor, nu: float) -> EmbeddingPieces:
    """Return the vectors divided by the length of N(their sum); ν is a part of its own."""
    length = torch.sqrt((vectors.sum(0) ** 2).sum() + nu**2)
    parts = (vectors / length.clamp_min(1e-12)).numpy()
    if nu == 0:
        return EmbeddingPieces(np.asarray(tokens), parts)
    constant = np.zeros((1, parts.shape[1] + 1))
    constant[0, -1] = nu / float(length)
    return EmbeddingPieces(np.append(tokens, MISSING), np.vstack([np.pad(parts, ((0, 0), (0, 1))), constant]))


@dataclass(frozen=True, eq=False)
class ScoreReader:
    """Puts scores into words."""

    ranker: SiameseRanker
    features: Features  # of documents
    label_features: Features | None  # of labels, if they have others

    def explain(self, x: sparse.csr_array, label: int, is_seen: bool) -> Explanation:
        """Return the parts of the score of one document (1, n_features) and one label."""
        ranker = self.ranker
        row = ranker.tokens.map_documents(x)
        weights = dict(zip(SCORE_NAMES, ranker.weights.of_scores[:, label].tolist(), strict=True))
        share = 1 / len(ranker.members)
        of_member = {name: share * weight for name, weight in weights.items()}
        parts: list[Part] = []
        for member in ranker.members:
            parts += MemberReader(self, member, row, label, is_seen).list_parts(of_member)
        parts += self.explain_words(row, label, weights["words"])
        parts += self.explain_terms(row, label, weights["terms"])
        if constant := float(ranker.weights.constant[label]):
            parts.append(Part(ANY_DOCUMENT, LABEL_RARITY, constant))
        return Explanation.from_parts(parts)

    def name_token(self, token: int) -> str:
        """Return what a token is called; MISSING belongs to no token."""
        if token == MISSING:
            return ANY_DOCUMENT
        return self.ranker.tokens.name_token(token, self.features, self.label_features)

    def explain_words(self, row: sparse.csr_array, label: int, weight: float) -> Iterator[Part]:
        """Yield what the words in common give."""
        values = (row * self.ranker.Z[[label]]).tocoo() if weight else sparse.coo_array(row.shape)
        for token, value in zip(values.coords[1].tolist(), values.data.tolist(), strict=True):
            if value:
                name = self.name_token(token)
                yield Part(name, name, weight * value, {"score": "words"}, Family.common_words)

    def explain_terms(self, row: sparse.csr_array, label: int, weight: float) -> Iterator[Part]:
        """Yield what each word means to the label's classifier over words."""
        if not weight:
            return
        words = self.ranker.words
        weights = words.weights[row.indices][:, [label]].toarray().ravel()  # (n_tokens of the row,)
        for token, value in zip(row.indices.tolist(), (row.data * weights).tolist(), strict=True):
            if value:
                yield Part(self.name_token(token), "its words", weight * value, {"score": "terms"}, Family.memorised)
        yield Part(ANY_DOCUMENT, "its words", weight * float(words.bias[label]), {"score": "terms"})


class MemberReader:
    """One member's view of one pair."""

    def __init__(self, reader: ScoreReader, member: Member, row: sparse.csr_array, label: int, is_seen: bool) -> None:
        self.reader = reader
        self.member = member
        self.label = label
        self.is_seen = is_seen
        self.f = split_intermediate(member.encoder, row)

    def list_parts(self, weights: dict[str, float]) -> Iterator[Part]:
        """Yield all parts with a weight, except those of words."""
        around = self.member.around
        encoder = self.member.encoder
        text = self._split_text()
        ours = self.f
        if self.member.has_final_sum:
            final = split_final(encoder, self.f)
            ours = EmbeddingPieces(final.tokens, final.vectors[:, : around.text.shape[1]])
        if weights["text"]:
            yield from self._pair_tokens("text", ours, text, weights["text"])
        if weights["centroid"]:
            centroid = around.centroids[self.label] if self.is_seen else text
            yield from self._pair_tokens("centroid", ours, centroid, weights["centroid"])
        if weights["classifier"]:
            own: EmbeddingPieces | np.ndarray = self.member.classifiers[self.label]
            if not self.is_seen and isinstance(text, EmbeddingPieces):
                own = split_final(encoder, text)
            yield from self._pair_tokens("classifier", split_final(encoder, self.f), own, weights["classifier"])
        if weights["documents"]:
            yield from self._list_votes(weights["documents"])

    def _split_text(self) -> EmbeddingPieces | np.ndarray:
        """Return the parts of z̃ by token of this and correlated labels; the plain vector for a label without text."""
        around = self.member.around
        Z = self.reader.ranker.Z
        row = around.correlation[[self.label]]
        known = [(m, share) for m, share in zip(row.indices, row.data, strict=True) if Z.indptr[m] < Z.indptr[m + 1]]
        if not known:
            return around.text[self.label]
        found = [split_intermediate(self.member.encoder, Z[[m]]).scale(share) for m, share in known]
        tokens, place = np.unique(np.concatenate([p.tokens for p in found]), return_inverse=True)
        vectors = np.zeros((len(tokens), around.text.shape[1]))
        np.add.at(vectors, place, np.vstack([p.vectors for p in found]))
        length = float(np.linalg.norm(vectors.sum(axis=0)))
        return EmbeddingPieces(tokens, vectors / max(length, 1e-12))

    def _pair_tokens(
        self, score: str, ours: EmbeddingPieces, theirs: EmbeddingPieces | np.ndarray, weight: float
    ) -> Iterator[Part]:
        """Yield the products of all tokens of the document with all tokens, or the one vector, of the label."""
        if isinstance(theirs, EmbeddingPieces):
            names = [self.reader.name_token(token) for token in theirs.tokens.tolist()]
            vectors = theirs.vectors
            family = Family.learned_pairs
        else:
            family = Family.memorised if score == "classifier" else Family.neighbours
            names = ["its classifier" if score == "classifier" else "its documents"]
            vectors = theirs[None]
        for token, products in zip(ours.tokens.tolist(), weight * (ours.vectors @ vectors.T), strict=True):
            term = self.reader.name_token(token)
            yield from (
                Part(term, name, value, {"score": score}, family if term != name else Family.common_words)
                for name, value in zip(names, products.tolist(), strict=True)
                if value
            )

    def _list_votes(self, weight: float) -> Iterator[Part]:
        """Yield the votes of the nearest training documents that have the label."""
        f = self.f.vectors.sum(axis=0, keepdims=True).astype(np.float32)
        yield from list_votes(self.member, f, self.label, self.reader.ranker.neighbours, weight)


def list_votes(member: Member, f: np.ndarray, label: int, neighbours: int, weight: float) -> Iterator[Part]:
    """Yield the votes for a label of the training documents nearest to f (1, dimension)."""
    around = member.around
    near, shares = around.find_voters(f, neighbours)
    has_label = around.Y[:, [label]].toarray().ravel() > 0
    for document, share in zip(near[0].tolist(), shares[0].tolist(), strict=True):
        if document != MISSING and share and has_label[document]:
            term = f"{TRAINING_DOCUMENT} {document}"
            yield Part(term, "has the label", weight * share, {"score": "documents"}, Family.neighbours)
