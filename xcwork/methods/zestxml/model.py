"""What ZestXML learns, and how it ranks and explains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse

from xcwork.compute.device import find_tensor_device
from xcwork.core.explanation import ANY_DOCUMENT, LABEL_RARITY, Explanation, Part
from xcwork.core.split import Split
from xcwork.core.topk import TopK
from xcwork.errors import DataError
from xcwork.methods.common.packed_matrix import pack_matrix, unpack_matrix
from xcwork.methods.model import FittedModel, Misfit, check_array, check_csr
from xcwork.methods.zestxml.explanation import BIAS, BORROWED_TERM, DIRECT_MATCH, PairReader, PairWeights, add_shares
from xcwork.methods.zestxml.label_features import LabelFeatures
from xcwork.methods.zestxml.prediction import LabelRanker
from xcwork.methods.zestxml.refined_weights import RefinedWeights
from xcwork.methods.zestxml.scorer import SEEN_ROW, UNSEEN_ROW, squash_margins
from xcwork.methods.zestxml.shortlist import measure_recall
from xcwork.methods.zestxml.xhtp import PairCounts
from xcwork.sparse import enlarge, fill_with_ones, keep_entries, normalise_rows, replace_values

if TYPE_CHECKING:  # torch takes long to import, and the CPU does without it
    import torch

    from xcwork.methods.zestxml.tensor_ranker import TensorRanker


@dataclass(frozen=True, kw_only=True, eq=False)
class ZestXMLModel(FittedModel):
    """Pairs of document features and label features with their weights; label features are identities, then terms."""

    idf: np.ndarray  # (n_features,)
    Z: sparse.csr_array  # (n_labels, n_label_features)
    identities: np.ndarray  # (n_identities,): the label behind each identity column, ascending
    terms: np.ndarray  # (n_terms,): the label feature behind each term column
    matches: sparse.csr_array  # (n_features, n_label_features): idf where both are the same term
    voters: sparse.csr_array  # (n_features, n_label_features): what XHTP ranks by
    voter_counts: np.ndarray  # (nnz of voters,): relevant pairs of each
    documents_with: np.ndarray  # (n_features,): documents that have a feature
    labels_with: np.ndarray  # (n_label_features,): labels that have a label feature
    refined: RefinedWeights | None  # None in the variant `xhtp`

    def check(self) -> None:
        n_label_features = len(self.labels_with)
        check_array("idf", self.idf, (self.n_features,))
        check_csr("Z", self.Z, (self.n_labels, n_label_features))
        check_array("identities", self.identities, (None,), kind="i", below=self.n_labels)
        check_array("terms", self.terms, (None,), kind="i", below=(self.labels.features or self.features).size)
        check_csr("matches", self.matches, (self.n_features, n_label_features))
        check_csr("voters", self.voters, (self.n_features, n_label_features))
        check_array("voter_counts", self.voter_counts, (None,))
        check_array("documents_with", self.documents_with, (self.n_features,))
        check_array("labels_with", self.labels_with, (n_label_features,))
        if n_label_features != len(self.identities) + len(self.terms):
            raise Misfit("identities and terms are not the columns of Z")
        if not self.params.plain and len(self.voter_counts) != self.voters.nnz:
            raise Misfit("what was counted of its pairs does not fit them")
        if (self.refined is None) != (self.params.variant == "xhtp"):
            raise Misfit("refined does not fit the variant")
        if self.refined is not None:
            self.refined.check(self.n_features, self.n_labels, n_label_features)

    def list_numbers(self) -> dict[str, Any]:
        return super().to_state() | {"refined": None if self.refined is None else vars(self.refined)}

    def to_state(self) -> dict[str, Any]:
        refined = None if self.refined is None else self.refined.to_state()
        return super().to_state() | {
            "voters": pack_matrix(self.voters),
            "voter_counts": shorten_counts(self.voter_counts),
            "refined": refined,
        }

    @classmethod
    def restore_fields(cls, state: Mapping[str, Any]) -> dict[str, Any]:
        refined, counts = state["refined"], state["voter_counts"]
        if isinstance(counts, np.ndarray) and counts.dtype.kind == "u":
            counts = counts.astype(np.float32)
        return {
            **state,
            "voters": unpack_matrix("voters", state["voters"]),
            "voter_counts": counts,
            "refined": None if refined is None else RefinedWeights.from_state(refined),
        }

    def compact(self) -> Self:
        return replace(super().compact(), refined=None if self.refined is None else self.refined.compact())

    def extend(self, Z: sparse.csr_array) -> dict[str, Any]:
        grown = self.label_features.extend(Z, self.labels.features, self.features, self.idf)
        n_label_features = grown.Z.shape[1]
        return {
            **vars(grown),
            "voters": enlarge(self.voters, (self.n_features, n_label_features)),
            "labels_with": np.pad(self.labels_with, (0, n_label_features - len(self.labels_with))),
            "refined": None if self.refined is None else self.refined.extend(grown.Z),
        }

    @cached_property
    def label_features(self) -> LabelFeatures:
        return LabelFeatures(self.Z, self.identities, self.terms, self.matches)

    @property
    def is_seen(self) -> np.ndarray:
        """Which labels have an identity, that is at least one training document, (n_labels,) bool."""
        return self.label_features.is_seen

    # ---- prediction

    @cached_property
    def ranker(self) -> LabelRanker:
        if self.refined is None:
            return LabelRanker.from_voters(self.voters, self.label_features, self.params)
        return LabelRanker.from_weights(self.voters, self.label_features, self.refined, self.params)

    def predict(self, X: sparse.csr_array, k: int, among: np.ndarray | None = None) -> TopK:
        device = find_tensor_device(self.params.device)
        if device is not None:
            return self._get_tensors(device).rank(normalise_rows(X), k, among)
        ranker = self.ranker if among is None else self.ranker.restrict_to(among)
        return ranker.rank(normalise_rows(X), k)

    def _get_tensors(self, device: torch.device) -> TensorRanker:
        """Return the ranker on a device; it is copied there once."""
        from xcwork.methods.zestxml.tensor_ranker import TensorRanker

        if device not in self._tensors:
            self._tensors[device] = TensorRanker.from_ranker(self.ranker, device)
        return self._tensors[device]

    @cached_property
    def _tensors(self) -> dict[torch.device, TensorRanker]:
        return {}

    # ---- explanation

    @cached_property
    def reader(self) -> PairReader:
        counts = PairCounts(self.voters, self.voter_counts, self.documents_with, self.labels_with)
        return PairReader(self.features, self.labels, self.label_features, None if self.params.plain else counts)

    def explain(self, x: sparse.csr_array, label: int) -> Explanation:
        x = normalise_rows(x)
        if self.refined is not None and self.params.refined == "pairs":
            return self._explain_blend(self.refined, x, label)
        roots = replace_values(x, np.sqrt(np.maximum(x.data, 0)))
        pairs, matches = self.weigh_pairs(SEEN_ROW if self.is_seen[label] else UNSEEN_ROW)
        z = self.Z[[label]]
        parts = [*self.reader.explain_pairs(x, z, pairs), *self.reader.explain_pairs(roots, z, matches)]
        if self.refined is not None:
            borrowed = self.refined.borrowed[[label]]
            parts += self.reader.explain_pairs(x, borrowed, pairs._replace(kind=BORROWED_TERM))
            parts += self.reader.explain_pairs(roots, borrowed, matches._replace(kind=BORROWED_TERM))
            parts += self.reader.explain_own(x, self.refined.own, label)
            parts.append(Part(ANY_DOCUMENT, LABEL_RARITY, float(self.refined.bias[label]), {"kind": BIAS}))
        return Explanation.from_parts(add_shares(parts))

    def _explain_blend(self, refined: RefinedWeights, x: sparse.csr_array, label: int) -> Explanation:
        """Return the parts of α g(b + Σ pairs) + (1 - α) Σ matches.

        What the pairs change, g(b + Σ) - g(b), is shared out in proportion to them: as g never falls, no part changes
        its sign, and the parts add up to the score.
        """
        z = self.Z[[label]]
        bias = float(refined.bias[label])
        pairs, matches = self.weigh_pairs(SEEN_ROW)
        total = sum(part.value for part in self.reader.explain_pairs(x, z, pairs))
        start, end = squash_margins(np.array([bias, bias + total]), self.params.loss == "logistic").tolist()
        slope = (end - start) / total if total else 0.0
        alpha = self.params.alpha
        parts = list(self.reader.explain_pairs(x, z, pairs._replace(factor=alpha * slope)))
        parts += self.reader.explain_pairs(x, z, matches)
        parts.append(Part(ANY_DOCUMENT, LABEL_RARITY, alpha * start, {"kind": BIAS}))
        return Explanation.from_parts(add_shares(parts))

    def weigh_pairs(self, row: int) -> tuple[PairWeights, PairWeights]:
        """Return the weights of learned pairs and of direct matches, with the factors in SEEN_ROW or UNSEEN_ROW."""
        if self.refined is None:
            return PairWeights(self.voters, 1.0), PairWeights(self.matches, self.params.match_weight, DIRECT_MATCH)
        pair_factor, match_factor = self.refined.factors[row].tolist()
        matches = PairWeights(self.matches, match_factor, DIRECT_MATCH)
        if self.params.refined == "pairs":
            matches = PairWeights(fill_with_ones(self.matches), 1 - self.params.alpha, DIRECT_MATCH)
        return PairWeights(self.refined.shared, pair_factor), matches

    def list_pairs(self, document_term: str | None, label_term: str | None, k: int) -> list[dict[str, Any]]:
        """Return the k strongest pairs of one term, by the size of their weight for seen labels."""
        if (document_term is None) == (label_term is None):
            raise DataError("give either a document term or a label term")
        joint = list(self.weigh_pairs(SEEN_ROW))
        if document_term is not None:
            own = None if self.refined is None else self.refined.own
            pairs = self.reader.find_document_pairs(document_term, joint, own)
        else:
            pairs = self.reader.find_label_pairs(label_term or "", joint)
        strongest = sorted(pairs, key=lambda pair: (-abs(pair.weight), pair.feature, pair.label_feature))[:k]
        return [self.reader.describe_pair(pair) for pair in strongest]

    # ---- what else it can tell

    def label_embeddings(self) -> sparse.csr_array:
        """Return own weights where there are some, else the label's terms: similar labels lie close together."""
        if self.refined is None or not self.refined.own.nnz:
            return normalise_rows(self.Z)
        by_text = sparse.csr_array((self.Z + self.refined.borrowed) @ self.matches.T)  # (n_labels, n_features)
        of_unseen = keep_entries(by_text, ~np.repeat(self.is_seen, np.diff(by_text.indptr)))
        return normalise_rows(self.refined.own.T + of_unseen)

    def diagnose(self, split: Split) -> dict[str, float]:
        """Return the recall of the shortlist in percent, the ceiling of P@k, and the labels without a known term."""
        shortlist = self.ranker.shortlist(normalise_rows(split.X))
        values = {
            "shortlist recall": measure_recall(shortlist, split.Y),
            "shortlist recall, seen labels": measure_recall(shortlist, split.Y, self.is_seen),
            "shortlist recall, unseen labels": measure_recall(shortlist, split.Y, ~self.is_seen),
            "labels without a known term": float(np.count_nonzero(self.label_features.is_mute)),
        }
        return {name: value for name, value in values.items() if not np.isnan(value)}


def shorten_counts(counts: np.ndarray) -> np.ndarray:
    """Return counts in as few bits as the largest takes; as they are where some are not whole numbers of 32 bits."""
    largest = counts.max(initial=0)
    if counts.min(initial=0) < 0 or largest >= 2**24 or (counts != np.rint(counts)).any():
        return counts
    return counts.astype(np.min_scalar_type(int(largest)))
