"""A trained model at work: encoders, searches and weights made from the learned arrays, and the best labels."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from xcwork.compute.device import resolve
from xcwork.core.topk import MISSING, TopK
from xcwork.methods.layout import compact
from xcwork.methods.siamesexml.fusion import Fusion
from xcwork.methods.siamesexml.scores import LabelWeights, Member, Scored, score
from xcwork.methods.siamesexml.terms import Terms
from xcwork.search import top_k_rows

if TYPE_CHECKING:
    from xcwork.methods.siamesexml.method import SiameseXML


def _as_compiled(matrix: sparse.csr_array) -> sparse.csr_array:
    """The matrix in the types that kernels are compiled for, whatever a file has them in."""
    return compact(matrix.astype(np.float32, copy=False))


class Runtime:
    """Encoders, searches and weights of one trained model."""

    def __init__(self, method: SiameseXML) -> None:
        device = resolve(method.device)
        self.method, self.tokens = method, method.tokens
        self.members = [
            Member.from_state(state, method.Y_, method, method.seed + number, device)
            for number, state in enumerate(method.members_)
        ]
        self.Z = _as_compiled(method.Z_)
        self.terms = Terms(_as_compiled(method.terms_), method.terms_bias_.astype(np.float32, copy=False))

    @cached_property
    def weights(self) -> LabelWeights:
        m = self.method
        tail = m.tail if m.alpha is None else 0.0
        return Fusion(m.weights_, m.unseen_bonus_, tail).of_labels(m.label_frequencies_)

    def scored(self, X: sparse.csr_array, k: int, among: np.ndarray | None = None) -> Scored:
        """Candidates of the rows of `X` (n, n_features) and their scores."""
        m = self.method
        return score(
            self.members,
            self.tokens.of_documents(X),
            self.Z,
            self.terms,
            size=max(m.shortlist, k),
            neighbours=m.neighbours,
            among=among,
            needs=self.weights.needs,
        )

    def best(self, X: sparse.csr_array, k: int, among: np.ndarray | None = None) -> TopK:
        """The k best labels of every row."""
        found = self.scored(X, k, among)
        best = top_k_rows(found.total(self.weights), k)
        ids = np.take_along_axis(found.ids, np.maximum(best.ids, 0), axis=1)
        return TopK(np.where(best.ids == MISSING, MISSING, ids).astype(np.int32), best.scores)
