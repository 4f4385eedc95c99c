"""GRLR on an accelerator: the steps of algorithm 1 for a block of labels at a time, as sparse products in torch.

The embeddings of a block are the columns of a dense matrix E (features × labels). X E gives the similarity of every
document to every label of the block, of which the members of the label's groups are picked; the winners, weighted, form
a matrix G (documents × labels), and XᵀG sums them up.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from scipy import sparse

from xcwork.compute.device import resolve_device
from xcwork.compute.device_memory import run_in_parts
from xcwork.compute.transfer import fetch_arrays, send_arrays
from xcwork.kernels.centred_sums import EMPTY_DOCUMENT_COSINE
from xcwork.kernels.grlr import (
    COSINE_TIE_TOLERANCE,
    MIN_SUM_LENGTH_SHARE,
    SETTLED_GROUPS_PER_CHANGE,
    SETTLED_STEPS,
    draw_member,
    mark_members,
)
from xcwork.methods.common.grlr_problem import AssignmentProblem, count_block_labels, gather_embeddings
from xcwork.methods.common.sparse_torch import SparseProduct
from xcwork.progress import track


class DocumentTensors:
    """Centred documents of unit length, never formed."""

    def __init__(self, problem: AssignmentProblem, place: torch.device) -> None:
        self._rows, self._columns = (
            SparseProduct(A, torch.float64, place, kernel=False) for A in (problem.X, problem.X.T)
        )
        self._mean, self._scale = send_arrays(place, problem.mean, problem.scale)

    def compute_cosines(self, E: torch.Tensor) -> torch.Tensor:
        """Return the cosines with every column of E, (n_documents, n_labels)."""
        v = self._scale[:, None] * (self._rows @ E - self._mean @ E)
        return torch.where(self._scale[:, None] > 0, v, EMPTY_DOCUMENT_COSINE)

    def sum_weighted(self, G: torch.Tensor) -> torch.Tensor:
        """Return the sums of the documents weighted by every column of G, (n_features, n_labels)."""
        scaled = self._scale[:, None] * G
        return self._columns @ scaled - self._mean[:, None] * scaled.sum(dim=0)


class TripleBlock:
    """The (label, group, member) triples of some neighbouring labels.

    Those of the labels' own groups come first, label after label and group after group, then those of groups that
    stand for any.
    """

    def __init__(self, problem: AssignmentProblem, labels: np.ndarray, place: torch.device) -> None:
        self.begin, self.end = (int(problem.label_groups.indptr[label]) for label in (labels[0], labels[-1] + 1))
        own, others = (list_pairs(part, labels) for part in (problem.label_groups, problem.others))
        groups, column, weight = (np.concatenate(parts) for parts in zip(own, others, strict=True))
        starts = problem.members.indptr
        sizes = np.diff(starts)[groups]
        places = np.repeat(starts[groups] - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
        members = problem.members.indices[places]
        self.n_pairs = len(groups)
        self.shape = (problem.members.shape[1], len(labels))
        self.n_own = int(sizes[: len(own[0])].sum())
        self.members = members[: self.n_own].astype(np.int32)
        self.firsts = np.concatenate([[0], np.cumsum(sizes[: len(own[0])])])
        self.document, self.column_of_pair, self.place, self.pair, self.n_groups, *rest = send_arrays(
            place,
            members.astype(np.int64),
            column.astype(np.int64),
            places.astype(np.int64),
            np.repeat(np.arange(len(groups)), sizes),
            np.diff(problem.label_groups.indptr)[labels].astype(np.int64),
            np.repeat(weight, sizes).astype(np.float64),
            (problem.scale[members] > 0).astype(np.float64),
            np.diff(problem.others.indptr)[labels] > 0 if problem.careful else labels >= 0,
        )
        self.weight, self.there, self.takes_steps = rest
        self.is_careful = torch.zeros(len(places), dtype=torch.bool, device=place)
        self.column = self.column_of_pair[self.pair]

    def find_winners(self, similarity: torch.Tensor, own: torch.Tensor) -> torch.Tensor:
        """Return the triple that wins each pair by its similarity without `own`, the first of equals, (n_pairs,)."""
        v = similarity[self.document, self.column] - own
        best = torch.full((self.n_pairs,), -torch.inf, dtype=v.dtype, device=v.device)
        best = best.scatter_reduce(0, self.pair, v, "amax")
        place = torch.arange(len(v), device=v.device)
        place = torch.where(v < best[self.pair] - COSINE_TIE_TOLERANCE, len(v), place)
        return torch.full_like(best, len(v), dtype=torch.int64).scatter_reduce(0, self.pair, place, "amin")

    def find_settled(self, winners: torch.Tensor, old: torch.Tensor) -> torch.Tensor:
        """Return which labels have nearly the same winners as before, (n_labels,)."""
        new, all_ = (
            torch.zeros(self.shape[1], dtype=torch.int64, device=winners.device).index_add(0, self.column_of_pair, part)
            for part in ((winners != old).to(torch.int64), torch.ones_like(winners))
        )
        return SETTLED_GROUPS_PER_CHANGE * new < all_

    def spread_weights(self, triples: torch.Tensor | slice) -> torch.Tensor:
        """Return the weights of some triples at their documents and labels, (n_documents, n_labels)."""
        G = torch.zeros(self.shape, dtype=torch.float64, device=self.weight.device)
        return G.index_put((self.document[triples], self.column[triples]), self.weight[triples], accumulate=True)

    def sum_by_label(self, values: torch.Tensor, triples: torch.Tensor | slice) -> torch.Tensor:
        """Return the sums of the values of some triples, by label, (n_labels,); empty documents do not count."""
        sums = torch.zeros(self.shape[1], dtype=values.dtype, device=values.device)
        return sums.index_add(0, self.column[triples], (values * self.there)[triples])


def list_pairs(groups: sparse.csr_array, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return group, place of the label in `labels` and weight of the entries of some neighbouring labels."""
    some = slice(groups.indptr[labels[0]], groups.indptr[labels[-1] + 1])
    column = np.repeat(np.arange(len(labels)), np.diff(groups.indptr)[labels])
    return groups.indices[some], column, groups.data[some].astype(np.float32)


def solve_with_torch(problem: AssignmentProblem, device: str) -> tuple[np.ndarray, sparse.csr_array]:
    """Return the documents of all slots and the embeddings of every label, as the kernel gives them."""
    place = resolve_device(device)
    X = DocumentTensors(problem, place)
    n_labels = problem.label_groups.shape[0]
    n_features = problem.X.shape[1]
    documents = np.empty(problem.slots[-1], np.int32)
    size = count_block_labels(problem.X.shape)
    blocks = [np.arange(n_labels)[start : start + size] for start in range(0, n_labels, size)]

    def embed_part(all_labels: np.ndarray, part: slice) -> tuple[np.ndarray, np.ndarray]:
        labels = all_labels[part]
        block = TripleBlock(problem, labels, place)
        E, own = start_embeddings(problem, block, X, labels)
        old = torch.full((block.n_pairs,), -1, device=place)
        same = torch.zeros(len(labels), dtype=torch.int64, device=place)  # steps in a row
        for _ in range(problem.steps):
            winners = block.find_winners(X.compute_cosines(E), own)
            same = torch.where(block.find_settled(winners, old), same + 1, 0) if problem.careful else same
            g, length = normalise_columns(sum_documents(X, block, winners))
            moving = block.takes_steps & (same < SETTLED_STEPS) & (length > 0)
            if not moving.any():
                break
            E, rho = normalise_columns(torch.where(moving, E + problem.learning_rate * g, E))
            own = update_own_shares(problem, block, own, winners, moving, length, rho)
            old = winners
        own_pairs = slice(0, block.n_own)
        cosines = X.compute_cosines(E)[block.document[own_pairs], block.column[own_pairs]]
        ids = torch.sort(E.abs(), dim=0, descending=True, stable=True).indices[: problem.keep]
        largest = torch.gather(E, 0, ids).T.to(torch.float32)
        v, shares, *kept_entries = fetch_arrays(cosines, own[own_pairs], ids.T, largest)
        slots = problem.slots[block.begin : block.end + 1]
        mark_members(block.members, block.firsts, v, shares, slots, documents)
        return kept_entries[0], kept_entries[1]

    kept = []
    for labels in track(blocks, "embedding labels"):
        kept += run_in_parts(len(labels), partial(embed_part, labels), place.type, "labels")
    return documents, gather_embeddings(blocks, kept, n_labels, n_features)


def start_embeddings(
    problem: AssignmentProblem, block: TripleBlock, X: DocumentTensors, labels: np.ndarray
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the first embeddings and what groups contributed to their own products, (n_triples,).

    These are the directions of all members' sums, or a random member where they cancel out.
    """
    own = torch.zeros_like(block.weight)
    E, length = normalise_columns(sum_documents(X, block, slice(0, block.n_own)))
    if problem.careful and problem.steps > 0:
        block.is_careful = (block.takes_steps & (block.n_groups > 1))[block.column]
        (products,) = send_arrays(own.device, problem.products_with_own_groups)
        first = torch.where(length > 0, block.weight.new_tensor(1.0) / length, 0.0)[block.column]
        began = block.is_careful & (block.weight > 0)
        own = torch.where(began, first * block.weight * products[block.place], own)
    for column in torch.nonzero(E.abs().sum(dim=0) == 0).ravel().tolist():
        members = block.members[(block.column[: block.n_own] == column).cpu().numpy()]
        chosen = draw_member(problem.scale, members, problem.random[labels[column]])
        if chosen >= 0:
            row = (problem.X[[members[chosen]]].toarray().ravel() - problem.mean) * problem.scale[members[chosen]]
            E[:, column] = torch.as_tensor(row, dtype=E.dtype, device=E.device)
    return E, own


def sum_documents(X: DocumentTensors, block: TripleBlock, triples: torch.Tensor | slice) -> torch.Tensor:
    """Return the sums of some triples' documents; what is only rounding becomes zero."""
    sums = X.sum_weighted(block.spread_weights(triples))
    sizes = block.sum_by_label(block.weight.abs(), triples)
    return torch.where(torch.linalg.vector_norm(sums, dim=0) > MIN_SUM_LENGTH_SHARE * sizes, sums, 0.0)


def normalise_columns(columns: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return columns of unit length or zero, and their lengths."""
    length = torch.linalg.vector_norm(columns, dim=0)
    return columns / torch.where(length > 0, length, 1.0), length


def update_own_shares(
    problem: AssignmentProblem,
    block: TripleBlock,
    own: torch.Tensor,
    winners: torch.Tensor,
    moving: torch.Tensor,
    length: torch.Tensor,
    rho: torch.Tensor,
) -> torch.Tensor:
    """Return what groups have contributed to their own products after the step of those that move, (n_triples,)."""
    careful = torch.nonzero(block.is_careful & moving[block.column]).ravel()
    if len(careful) == 0:
        return own
    some, others = fetch_arrays(block.document[careful], block.document[winners[block.pair[careful]]])
    share = send_arrays(own.device, problem.compute_products(some, others))[0] * block.weight[careful]
    column = block.column[careful]
    return own.index_put((careful,), (own[careful] + problem.learning_rate * share / length[column]) / rho[column])
