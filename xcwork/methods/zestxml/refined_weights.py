"""The weights that refinement adds to what XHTP counts, and what labels without training documents borrow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy import sparse

from xcwork.methods.common.packed_matrix import pack_matrix, round_weights, unpack_matrix
from xcwork.methods.model import check_array, check_csr, check_keys, check_number, narrow
from xcwork.methods.zestxml.borrow import find_borrowed_terms
from xcwork.sparse import enlarge

PACKED = ("shared", "own", "typical")  # stored in four bytes per weight


@dataclass(frozen=True, eq=False)
class RefinedWeights:
    """What the variant `tuned` has learned; label features are identities, then terms."""

    shared: sparse.csr_array  # (n_features, n_label_features): W, of terms; with refined=pairs of identities, too
    own: sparse.csr_array  # (n_features, n_labels): V, memorised of seen labels
    bias: np.ndarray  # (n_labels,)
    factors: np.ndarray  # (2, 2): (a, m) of seen and of unseen labels
    unseen_bias: float
    typical: sparse.csr_array  # (n_labels, n_label_features): the mean documents, from which labels borrow
    borrowed: sparse.csr_array  # (n_labels, n_label_features): the terms that unseen labels have besides their own
    borrowing_share: float  # of borrowed terms beside a label's own

    @classmethod
    def from_pairs(cls, shared: sparse.csr_array, bias: float, n_labels: int) -> RefinedWeights:
        """Return the weights of the paper: pairs, identities among them, and one bias for all labels."""
        nothing = sparse.csr_array((n_labels, shared.shape[1]), dtype=np.float32)
        return cls(
            shared=shared,
            own=sparse.csr_array((shared.shape[0], n_labels), dtype=np.float32),
            bias=np.full(n_labels, bias, np.float32),
            factors=np.array([(1.0, 0.0)] * 2),
            unseen_bias=bias,
            typical=nothing,
            borrowed=nothing,
            borrowing_share=0.0,
        )

    def round(self) -> RefinedWeights:
        """Return the weights as they are stored."""
        return replace(self, **{name: round_weights(getattr(self, name)) for name in PACKED})

    def to_state(self) -> dict[str, Any]:
        return vars(self) | {name: pack_matrix(getattr(self, name)) for name in PACKED}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> RefinedWeights:
        """Return the weights that `to_state` described; `Misfit` where it is none."""
        check_keys("refined", state, {declared.name for declared in fields(cls)})
        return cls(**{**state, **{name: unpack_matrix(name, state[name]) for name in PACKED}})

    def check(self, n_features: int, n_labels: int, n_label_features: int) -> None:
        """Raise `Misfit` where a field is not what a training would have given."""
        check_csr("shared", self.shared, (n_features, n_label_features))
        check_csr("own", self.own, (n_features, n_labels))
        check_array("bias", self.bias, (n_labels,))
        check_array("factors", self.factors, (2, 2))
        check_number("unseen_bias", self.unseen_bias)
        check_csr("typical", self.typical, (n_labels, n_label_features))
        check_csr("borrowed", self.borrowed, (n_labels, n_label_features))
        check_number("borrowing_share", self.borrowing_share)

    def extend(self, Z: sparse.csr_array) -> RefinedWeights:
        """Return the weights for the labels of `Z` (n_labels, n_label_features), the last of which are new."""
        n_features, n_labels = self.own.shape
        n_new = Z.shape[0] - n_labels
        typical = enlarge(self.typical, Z.shape)
        new = np.arange(n_labels, Z.shape[0])
        borrowed = find_borrowed_terms(Z, new, typical) * np.float32(self.borrowing_share)
        return replace(
            self,
            shared=enlarge(self.shared, (n_features, Z.shape[1])),
            own=enlarge(self.own, (n_features, Z.shape[0])),
            bias=np.append(self.bias, np.full(n_new, self.unseen_bias, np.float32)),
            typical=typical,
            borrowed=sparse.csr_array(enlarge(self.borrowed, Z.shape) + borrowed),
        )

    def compact(self) -> RefinedWeights:
        """Return the same weights with 32-bit indices where these are enough."""
        return RefinedWeights(**{name: narrow(value) for name, value in vars(self).items()})
