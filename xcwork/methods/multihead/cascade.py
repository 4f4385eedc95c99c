"""MHC: heads in a cascade, each choosing among the continuations of what the previous one kept.

    stage 1     z¹ = W¹F + b¹                        over the h_1 first digits, the groups
    stage t     zᵗ_c = ⟨Wᵗ F + bᵗ, E^t_c⟩ + β^t_c    over prefixes c of t digits that continue a kept one
    score(y)  = Π_t σ(zᵗ of the prefix of y)

Several labels of one document cannot be told apart from independent heads: digits of one would pair with digits of
another. Here each stage has an embedding for every composed prefix, the last stage one for every label, so nothing is
mixed up. A document costs h_1 + beam · (h_2 + … + h_H) logits instead of one for each label.

Training: the target of a prefix is 1 where any label of the document has it. Each stage keeps the prefixes with the
highest σ(z) + target, so the true ones come first and the rest are the hardest false ones. The loss is the sum of the
binary cross-entropies of all stages over their candidates.

Where documents have one label each, the loss of a stage is the cross-entropy over its candidates (algorithm 3), and

    score(y)  = p¹(group of y) Π_t softmax of zᵗ among the continuations of the same prefix

so that the scores of all labels add up to one and do not depend on which prefixes were kept.

Prediction: the `beam` best prefixes of each stage by the product so far (more if these could have fewer than k labels
below them), and the k best labels at the end. Codes without a label are never candidates. A restricted search
(`allowed`) drops prefixes without an allowed label first.

There is still one label embedding per label, so parameters shrink only by the bottleneck; time shrinks geometrically.
With one group the cascade is a flat classifier with a bottleneck.

Differences from the paper and its code: any number of heads; a batch whose documents have more true prefixes than are
kept keeps all of them, instead of overwriting candidates; a bias for every prefix; padding is masked rather than filled
with copies of the last label, which can put a label into an answer twice.

Reference: Liang et al., TPAMI 2025, section 4.2 and algorithm 3 (indices corrected).
"""

from __future__ import annotations

import numpy as np
import torch
from scipy import sparse
from torch import nn
from torch.nn import functional as F

from xcwork.compute.precision import widen
from xcwork.compute.transfer import send_arrays
from xcwork.core.topk import TopK
from xcwork.methods.multihead.codes import MixedRadix
from xcwork.methods.multihead.heads import (
    BatchTargets,
    Factor,
    Heads,
    append_one,
    compute_binary_loss,
    compute_first_biases,
    find_slots,
    initialise_labels,
)
from xcwork.methods.multihead.row_table import RowTable
from xcwork.search import top_k_rows

MAX_ROWS_PER_CANDIDATE = 16  # distinct candidates per candidate of a document, up to which one product has them all


class CascadeHeads(Heads):
    """Group head, then one stage per further digit."""

    def __init__(
        self,
        width: int,
        radix: MixedRadix,
        *,
        label_dimension: int,
        training_beam: int,
        beam: int,
        loss: str = "bce",
    ) -> None:
        super().__init__()
        self.radix = radix
        self.kind = loss
        self.training_beam = training_beam
        self.beam = beam
        self.groups = nn.Linear(width, radix.prefixes[0])
        self.queries = nn.ModuleList([nn.Linear(width, label_dimension) for _ in radix.lengths[1:]])
        self.prefixes = nn.ModuleList([RowTable(used, label_dimension + 1) for used in radix.prefixes[1:]])

    @property
    def tables(self) -> list[RowTable]:
        """The embeddings of the prefixes of each stage after the first."""
        return list(self.prefixes)  # type: ignore[arg-type]  # a ModuleList does not know what it holds

    @property
    def linear_queries(self) -> list[nn.Linear]:
        """What the features are multiplied with at each stage after the first."""
        return list(self.queries)  # type: ignore[arg-type]  # a ModuleList does not know what it holds

    def initialise(self, Y: sparse.csr_array) -> None:
        counts = [self._count_documents(Y, stage) for stage in range(len(self.radix.lengths))]
        self.groups.bias.data.copy_(compute_first_biases(counts[0], Y.shape[0], self.kind))
        for stage, table in enumerate(self.tables, start=1):
            parents = counts[stage - 1][np.arange(len(counts[stage])) // self.radix.lengths[stage]]
            self._initialise_table(table, compute_first_biases(counts[stage], parents, self.kind))

    def _initialise_table(self, table: RowTable, biases: torch.Tensor) -> None:
        initialise_labels(table, biases)

    def _count_documents(self, Y: sparse.csr_array, stage: int) -> np.ndarray:
        """Return how many documents have each prefix of a stage."""
        rows = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
        pairs = np.unique(np.column_stack([rows, Y.indices // self.radix.places[stage]]), axis=0)
        return np.bincount(pairs[:, 1].astype(np.int64), minlength=self.radix.prefixes[stage])

    def compute_loss(self, features: torch.Tensor, targets: BatchTargets) -> torch.Tensor:
        documents, codes = targets.positives
        places = self.radix.places
        pairs = np.unique(np.column_stack([documents, codes // places[0]]), axis=0)
        logits = self.groups(features)
        total = self._compute_stage_loss(logits, pairs[:, 0], pairs[:, 1])
        candidates = np.broadcast_to(np.arange(logits.shape[1]), logits.shape)
        columns = pairs[:, 1]
        for stage in range(1, len(places)):
            most = int(np.bincount(pairs[:, 0], minlength=1).max())
            at = tuple(send_arrays(logits.device, pairs[:, 0], columns))
            boost = torch.zeros_like(logits).index_put_(at, logits.new_full((), 2.0))
            chosen = self._choose_columns(logits.detach().sigmoid() + boost, max(self.training_beam, most))
            parents = np.take_along_axis(candidates, chosen, 1)  # (n, training_beam)
            candidates = self._continue_prefixes(parents, stage)
            logits = self._compute_logits(features, candidates, stage)
            pairs = np.unique(np.column_stack([documents, codes // places[stage]]), axis=0)
            length = self.radix.lengths[stage]
            columns = find_slots(parents, pairs[:, 0], pairs[:, 1] // length) * length + pairs[:, 1] % length
            total = total + self._compute_stage_loss(logits, pairs[:, 0], columns)
        return total

    def _compute_stage_loss(self, logits: torch.Tensor, documents: np.ndarray, columns: np.ndarray) -> torch.Tensor:
        """Return the loss of the candidates of a stage, of which those at (documents, columns) are right."""
        if self.kind == "bce":
            return compute_binary_loss(logits, documents, columns)
        if len(documents) == 0:
            return logits.sum() * 0.0
        at, right = send_arrays(logits.device, documents, columns)
        return F.cross_entropy(widen(logits[at]), right)

    @staticmethod
    def _choose_columns(scores: torch.Tensor, n_chosen: int) -> np.ndarray:
        """Return the columns of the largest scores, (n, n_chosen)."""
        return scores.topk(min(n_chosen, scores.shape[1]), dim=1).indices.cpu().numpy()

    def _continue_prefixes(self, parents: np.ndarray, stage: int) -> np.ndarray:
        """Return the prefixes of the stage that continue `parents`, unused ones too, (n, n_parents · length)."""
        length = self.radix.lengths[stage]
        return (parents[:, :, None] * length + np.arange(length)).reshape(len(parents), -1)

    def _compute_logits(self, features: torch.Tensor, candidates: np.ndarray, stage: int) -> torch.Tensor:
        """Return the logits of the candidates of a stage (n, m); -inf for prefixes that are not in use."""
        query = append_one(self.queries[stage - 1](features))
        in_use = candidates < self.radix.prefixes[stage]
        rows, place = np.unique(np.where(in_use, candidates, 0), return_inverse=True)
        at, is_gap = send_arrays(features.device, place.reshape(candidates.shape), ~in_use)
        return self._multiply_rows(query, stage, rows, at).masked_fill(is_gap, -torch.inf)

    def _multiply_rows(self, query: torch.Tensor, stage: int, rows: np.ndarray, at: torch.Tensor) -> torch.Tensor:
        """Return the products of the query with rows of the table of a stage, of which `at` (n, m) says which."""
        return multiply_chosen(query, self.tables[stage - 1].take_rows(rows), at)

    def rank(self, features: torch.Tensor, k: int, allowed: np.ndarray, label_of: np.ndarray) -> TopK:
        places = self.radix.places
        scores = self._compute_log_probabilities(self.groups(features), self.radix.prefixes[0]).exp()
        candidates = np.broadcast_to(np.arange(scores.shape[1]), scores.shape)
        for stage, place in enumerate(places):
            n_allowed = np.add.reduceat(allowed.astype(np.int64), np.arange(0, len(allowed), place))  # (n_prefixes,)
            is_open = n_allowed > 0
            usable = (candidates < len(is_open)) & is_open[np.minimum(candidates, len(is_open) - 1)]
            scores = scores.masked_fill(send_arrays(scores.device, ~usable)[0], -1.0)
            if stage == len(places) - 1:
                break
            chosen = self._choose_columns(scores, self._choose_beam(n_allowed[is_open], k))
            candidates = self._continue_prefixes(np.take_along_axis(candidates, chosen, 1), stage + 1)
            before = scores.gather(1, send_arrays(scores.device, chosen)[0])
            length = self.radix.lengths[stage + 1]
            before = before.repeat_interleave(length, dim=1)
            logits = self._compute_logits(features, candidates, stage + 1)
            scores = before * self._compute_log_probabilities(logits, length).exp()
            scores = scores.masked_fill(before < 0, -1.0)
        return _rank_candidates(scores.cpu().numpy(), candidates, k, label_of)

    def _compute_log_probabilities(self, logits: torch.Tensor, n_siblings: int) -> torch.Tensor:
        """Return the log-probabilities of candidates (n, m), of which so many in a row continue the same prefix."""
        if self.kind == "bce":
            return F.logsigmoid(logits)
        return logits.unflatten(1, (-1, n_siblings)).log_softmax(2).flatten(1)

    def _choose_beam(self, n_allowed: np.ndarray, k: int) -> int:
        """Return how many prefixes to keep so that k labels are below any of them; `n_allowed` counts those of each."""
        if k <= self.beam:  # there is at least one below each
            return self.beam
        below_smallest = np.cumsum(np.sort(n_allowed))
        return max(self.beam, min(len(n_allowed), int(np.searchsorted(below_smallest, k)) + 1))

    def choose_groups(self, features: torch.Tensor) -> np.ndarray:
        """Return the groups that prediction looks into first, (n, beam)."""
        return self._choose_columns(self.groups(features), self.beam)

    def take_apart(self, features: torch.Tensor, code: int) -> list[Factor]:
        group = code // int(self.radix.places[0])
        log_probabilities = self._compute_log_probabilities(self.groups(features), self.radix.prefixes[0])
        bias = float(self.groups.bias[group])
        chance = float(log_probabilities[0, group])
        found = [Factor(f"head 1, group {group}", self.groups.weight[group], bias, chance)]
        for stage, place in enumerate(self.radix.places[1:].tolist(), start=1):
            prefix = code // place
            query = self.linear_queries[stage - 1]
            row = self.tables[stage - 1].take_rows(np.array([prefix]))[0]
            direction = row[:-1] @ query.weight
            bias = float(row[:-1] @ query.bias + row[-1])
            what = "label" if place == 1 else f"group {prefix}"
            length = self.radix.lengths[stage]
            siblings = self._continue_prefixes(np.array([[prefix // length]]), stage)
            logits = self._compute_logits(features, siblings, stage)
            chance = float(self._compute_log_probabilities(logits, length)[0, prefix % length])
            found.append(Factor(f"head {stage + 1}, {what}", direction, bias, chance))
        return found

    def read_embeddings(self) -> torch.Tensor:
        return self.tables[-1].weight[:, :-1]

    def count_floats_per_document(self) -> int:
        widest = self.beam * max(self.radix.lengths[1:])
        return 4 * self.radix.lengths[0] + widest * (6 + self.tables[-1].weight.shape[1])


def multiply_chosen(query: torch.Tensor, embeddings: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
    """Return query · embedding for the embeddings at the places `at` (n, m) of each row of the query, (n, m)."""
    if len(embeddings) <= MAX_ROWS_PER_CANDIDATE * at.shape[1]:
        return (query @ embeddings.T).gather(1, at)
    return torch.einsum("nd,nmd->nm", query, F.embedding(at, embeddings))


def _rank_candidates(scores: np.ndarray, codes: np.ndarray, k: int, label_of: np.ndarray) -> TopK:
    """Return the k best candidates that are not marked by a negative score."""
    present = scores >= 0
    starts = np.append(0, present.sum(axis=1).cumsum())
    matrix = sparse.csr_array((scores[present], label_of[codes[present]], starts), shape=(len(scores), len(label_of)))
    return top_k_rows(matrix, k)
