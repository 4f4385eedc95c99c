"""The evidence for a label: six scores of a (document, label) pair, and their weighted sum.

    s(x, l) = Σ_c weight_c(l) * score_c(x, l) + constant(l)

| c | score |
| --- | --- |
| classifier | cos(E(x), w_l), from modules III and IV |
| text | cos(f(x), z̃_l), the label's smoothed text embedding |
| centroid | cos(f(x), v_l), the mean of the label's documents |
| documents | votes of the nearest training documents, in [0, 1] |
| words | tf-idf cosine of the two texts themselves: exact matches, which embeddings blur |
| terms | margin of a linear classifier over the words themselves (`word_classifiers`), -1 where there is none |

The sum is linear: so its parts explain it exactly, and an ensemble is the mean over its members. The paper has
classifier, text and centroid with weights α, (1 - α)/2 and (1 - α)/2 (up to scale); its program adds 2.5 % of the
documents' votes. `words` and `terms` are ours: rare words that occur in no training document mean nothing to a trained
embedding but often decide between unseen labels, and what a frequent label needs to know does not always fit into a few
hundred numbers. How weights depend on the label is said in `fusion`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import sparse

from xcwork.core.topk import MISSING
from xcwork.kernels import use_cores_for
from xcwork.kernels.pair_scores import compute_pair_dots, compute_pair_matches
from xcwork.methods.model import Params
from xcwork.methods.siamesexml.encoder import Encoder
from xcwork.methods.siamesexml.neighbourhood import Neighbourhood, read_graphs, unite_ids
from xcwork.methods.siamesexml.token_map import split_columns
from xcwork.methods.siamesexml.word_classifiers import WordClassifiers
from xcwork.sparse import sort_entries

SCORE_NAMES = ("classifier", "text", "centroid", "documents", "words", "terms")
DOCUMENTS_PLACE = SCORE_NAMES.index("documents")
WORDS_PLACE = SCORE_NAMES.index("words")
TERMS_PLACE = SCORE_NAMES.index("terms")


@dataclass(eq=False)
class Member:
    """One trained encoder with all that belongs to it."""

    encoder: Encoder
    around: Neighbourhood
    classifiers: np.ndarray  # (n_labels, dimension of E)
    eta_norms: np.ndarray  # (2,): ‖η‖₁,₁ and ‖η‖₁,∞
    has_final_sum: bool = False  # texts and centroids meet E(x), as in the paper's sum, and not f(x)

    def to_state(self) -> dict[str, Any]:
        """Return arrays that `from_state` understands."""
        around = {name: getattr(self.around, name) for name in ("text", "centroids", "documents", "correlation")}
        return {
            "encoder": self.encoder.to_state(),
            "classifiers": self.classifiers,
            "eta_norms": self.eta_norms,
            **around,
            "indices": self.around.pack_indices(),
        }

    @classmethod
    def from_state(
        cls, state: Mapping[str, Any], Y: sparse.csr_array, params: Params, seed: int, device: torch.device
    ) -> Member:
        """Return the member that `to_state` described; its training documents have the labels `Y`."""
        encoder = Encoder.from_state(state["encoder"], params.activation, params.nu, device)
        names = ("text", "centroids", "documents", "classifiers")
        text, centroids, documents, classifiers = (state[name].astype(np.float32, copy=False) for name in names)
        graphs = read_graphs(params.graphs)
        around = Neighbourhood(
            text, centroids, documents, Y, state["correlation"], graphs, params.search, seed, params.device
        )
        around.unpack_indices(state["indices"])
        return cls(encoder, around, classifiers, state["eta_norms"], has_final_sum=params.alpha is not None)

    def extend(self, Z: sparse.csr_array) -> dict[str, Any]:
        """Return the state with new labels, which are known by their text (n_new, n_tokens) alone."""
        f = self.encoder.encode(Z)
        text, centroids = (np.vstack([old, f]) for old in (self.around.text, self.around.centroids))
        classifiers = np.vstack([self.classifiers, self.encoder.finish(f)])
        alone = sparse.eye_array(len(f), format="csr", dtype=np.float32)
        correlation = sparse.csr_array(sparse.block_diag([self.around.correlation, alone]))
        return self.to_state() | {
            "text": text,
            "centroids": centroids,
            "classifiers": classifiers,
            "correlation": correlation,
        }


@dataclass(frozen=True, eq=False)
class LabelWeights:
    """What each score counts for each label, and what a label has besides."""

    of_scores: np.ndarray  # (n_scores, n_labels) float32
    constant: np.ndarray  # (n_labels,) float32

    @property
    def needs(self) -> list[bool]:
        """Which scores count at all."""
        return [bool(row.any()) for row in self.of_scores]


@dataclass(frozen=True, eq=False)
class ScoredCandidates:
    """Candidates of some documents and the scores of each."""

    ids: np.ndarray  # (n_documents, n_candidates), -1 where there is none
    values: np.ndarray  # (n_scores, n_documents, n_candidates) float32

    def add_up(self, weights: LabelWeights) -> np.ndarray:
        """Return the weighted sum, (n_documents, n_candidates); -inf where there is no candidate."""
        total = weights.constant[self.ids]
        for weight, values in zip(weights.of_scores, self.values, strict=True):
            if weight.any():
                total += weight[self.ids] * values
        return np.where(self.ids == MISSING, -np.inf, total).astype(np.float32)


def score_candidates(
    members: Sequence[Member],
    x: sparse.csr_array,
    Z: sparse.csr_array,
    words: WordClassifiers,
    *,
    size: int,
    neighbours: int,
    among: np.ndarray | None = None,
    needs: Sequence[bool] = (True,) * len(SCORE_NAMES),
) -> ScoredCandidates:
    """Return candidates of the rows of `x` (n, n_tokens) and their scores, averaged over `members`.

    Rows of `x` and `Z` may go on with the embeddings of their texts, of which words take no notice. `needs` says which
    scores will be used; the others are left at 0.
    """
    voters = neighbours if needs[DOCUMENTS_PLACE] or "documents" in members[0].around.graphs else 0
    views = [MemberView.from_member(member, x, voters) for member in members]
    ids = views[0].find_candidates(size, among)
    if len(views) > 1:
        ids = unite_ids(np.hstack([view.find_candidates(size, among) for view in views]))
    ids = np.ascontiguousarray(ids)
    values = np.zeros((len(SCORE_NAMES), *ids.shape), np.float32)
    for view in views:
        view.add_scores(values, ids, needs)
    values /= len(views)
    x, Z = (split_columns(rows, words.weights.shape[0])[0] for rows in (x, Z))
    if needs[WORDS_PLACE]:
        by_words = values[WORDS_PLACE]
        with use_cores_for(x.nnz * ids.shape[1]):
            compute_pair_matches(x.data, x.indices, x.indptr, Z.data, Z.indices, Z.indptr, x.shape[1], ids, by_words)
    if needs[TERMS_PLACE]:
        values[TERMS_PLACE] = words.compute_margins(x, ids)
    return ScoredCandidates(ids, values)


@dataclass(frozen=True, eq=False)
class MemberView:
    """Documents as one member sees them."""

    member: Member
    f: np.ndarray  # (n, dimension)
    votes: sparse.csr_array  # (n, n_labels)

    @classmethod
    def from_member(cls, member: Member, x: sparse.csr_array, neighbours: int) -> MemberView:
        """Embed documents and let their neighbours vote."""
        f = member.encoder.encode(x)
        return cls(member, f, member.around.cast_votes(f, neighbours))

    def find_candidates(self, size: int, among: np.ndarray | None) -> np.ndarray:
        """Return the candidates of this member, (n, n_candidates), -1 for none."""
        return self.member.around.find_candidates(self.f, size, self.votes, among)

    def add_scores(self, values: np.ndarray, ids: np.ndarray, needs: Sequence[bool]) -> None:
        """Add this member's scores of the pairs to `values`."""
        around = self.member.around
        dots = np.empty(ids.shape, np.float32)
        # The first three of SCORE_NAMES are cosines; the classifiers' is that of the final embedding.
        for place, vectors in enumerate((self.member.classifiers, around.text, around.centroids)):
            if needs[place]:
                is_final = place == 0 or self.member.has_final_sum
                rows = self.member.encoder.finish(self.f) if is_final else self.f
                rows = np.ascontiguousarray(rows[:, : vectors.shape[1]])  # the last coordinate of N_ν meets a zero
                with use_cores_for(ids.size * vectors.shape[1]):
                    compute_pair_dots(rows, vectors, ids, dots)
                values[place] += dots
        if needs[DOCUMENTS_PLACE]:
            values[DOCUMENTS_PLACE] += look_up(self.votes, ids)


def look_up(matrix: sparse.csr_array, ids: np.ndarray) -> np.ndarray:
    """Return matrix[i, ids[i, j]] for every j; 0 where an id is -1."""
    matrix = sort_entries(matrix)
    width = matrix.shape[1] + 1
    keys = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr)) * width + matrix.indices
    wanted = np.arange(len(ids), dtype=np.int64)[:, None] * width + np.where(ids == MISSING, width - 1, ids)
    place = np.searchsorted(keys, wanted)
    found = np.append(keys, -1)[place] == wanted
    return np.where(found, np.append(matrix.data, 0)[place], 0).astype(np.float32)


def drop_pairs(ids: np.ndarray, barred: sparse.csr_array) -> np.ndarray:
    """Return `ids` (n_documents, k) with -1 instead of the pairs in `barred` (n_documents, n_labels)."""
    return np.where(look_up(barred, ids) != 0, MISSING, ids).astype(np.int32)
