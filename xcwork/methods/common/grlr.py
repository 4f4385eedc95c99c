"""From group labels to labels of documents: algorithms 1 and 2 of EAGLE.

Every label gets an embedding that is close to at least one member of every group that carries it (GRLR, the mathematics
is in `xcwork.kernels.grlr`), and every group gives each of its labels to the member nearest to the label's embedding;
with *top-c* assignment, the default, a label that was merged in c times goes to the c nearest members.

Documents are *centred* by default: the mean of all documents is subtracted before their cosines are taken. Without
that, the words that all documents share decide much of the similarity, and every embedding is pulled to the same place
by the members that have nothing to do with its label. The paper does so for images, but not for text. For the same
reason the steps look at other groups as well, and take off what wins in any of them.

Labels are independent of each other: the CPU works on chunks of them in threads, an accelerator on blocks in torch, and
both give the same answer. Only the largest entries of an embedding are kept, because before that it has an entry for
nearly every word that occurs in any of its groups; the assignment uses all of them.

Cost: at most 2 (T + 2) products of a label with the members of its groups, O(T n d̄ ḡ log l) in the paper's symbols, and
as many with the members of the other groups; bounds leave out most of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from xcwork.compute.cores import cpu_count
from xcwork.compute.device import resolve_kind
from xcwork.compute.parallel import parallel_map
from xcwork.data.groups import Groups
from xcwork.errors import ConfigError
from xcwork.kernels import grlr as kernel
from xcwork.kernels.centred_sums import Documents, Sum, summed
from xcwork.sparse import fill_with_ones, normalise_rows, replace_values, sort_entries, to_rows

ASSIGNMENTS = ("one", "top_c")
KEPT = 256  # entries of an embedding
CHUNKS = 64  # steps of progress
FEWEST = 10  # groups that show what wins in any group
NOTHING = 1e-9  # the square of a length below which only rounding is left


@dataclass(frozen=True, eq=False)
class Assigned:
    """What GRLR found."""

    Y: sparse.csr_array  # (n_documents, n_labels), ones
    embeddings: sparse.csr_array  # (n_labels, n_features): the largest entries of unit-length rows
    mean: np.ndarray  # (n_features,): what was subtracted from every document


@dataclass(frozen=True, eq=False)
class Problem:
    """Unit-length documents, the groups of every label, and how many members each may mark."""

    X: sparse.csr_array  # (n_documents, n_features)
    mean: np.ndarray  # (n_features,): what is subtracted from every document
    members: sparse.csr_array  # (n_groups, n_documents)
    carried: sparse.csr_array  # (n_labels, n_groups): weights
    others: sparse.csr_array  # (n_labels, n_groups): negative weights of groups that stand for any
    slots: np.ndarray  # (n_pairs + 1,): the stretch of results that belongs to each entry of `carried`
    steps: int
    rate: float
    careful: bool  # steps take off what wins in any group, and no group has a say about itself
    random: np.ndarray  # (n_labels,) uint64
    keep: int  # entries kept of an embedding

    @classmethod
    def of(
        cls,
        X: sparse.csr_array,
        groups: Groups,
        *,
        steps: int,
        rate: float,
        careful: bool,
        assign: str,
        centre: bool,
        keep: int,
        seed: int,
    ) -> Problem:
        carried = sort_entries(sparse.csr_array(groups.labels.T))
        marked = np.ones(carried.nnz, np.int64)
        if assign == "top_c":
            sizes = np.diff(groups.members.indptr)
            marked = np.minimum(np.rint(carried.data).astype(np.int64), sizes[carried.indices])
        slots = np.concatenate([[0], np.cumsum(marked)])
        rng = np.random.default_rng(seed)
        random = rng.integers(2**63, size=carried.shape[0], dtype=np.uint64)
        careful = careful and centre
        others = any_groups(carried, rng) if careful and steps > 0 else sparse.csr_array(carried.shape, dtype=float)
        X = normalise_rows(X)
        mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel() if centre else np.zeros(X.shape[1])
        keep = min(keep, X.shape[1])
        return cls(X, mean, groups.members, carried, others, slots, steps, rate, careful, random, keep)

    @cached_property
    def offset(self) -> np.ndarray:
        """<μ, x> of every document, (n_documents,)."""
        return np.asarray(self.X @ self.mean)

    @cached_property
    def scale(self) -> np.ndarray:
        """What makes the length of a centred document one, (n_documents,); 0 where nothing is left of it."""
        return _scale(self.X, self.mean)

    @cached_property
    def products_with_own_groups(self) -> np.ndarray:
        """<x_i, sum of its group> of every member, group after group, centred as the kernel does it, (n_members,)."""
        group = np.repeat(np.arange(self.members.shape[0]), np.diff(self.members.indptr))
        scaled = sparse.diags_array(self.scale) @ self.X
        totals = sparse.csr_array(self.members @ scaled)
        alpha, meeting = self.members @ self.scale, self.members @ (self.scale * self.offset)
        i = self.members.indices
        product = np.asarray(scaled[i].multiply(totals[group]).sum(axis=1)).ravel()
        rest = self.mean @ self.mean * alpha[group] - alpha[group] * self.offset[i] - meeting[group]
        return product + self.scale[i] * rest

    def products(self, some: np.ndarray, others: np.ndarray) -> np.ndarray:
        """<x, x'> of centred documents side by side, (n,)."""
        product = np.asarray(self.X[some].astype(np.float64).multiply(self.X[others]).sum(axis=1)).ravel()
        product += self.mean @ self.mean - self.offset[some] - self.offset[others]
        return self.scale[some] * self.scale[others] * product

    @property
    def costs(self) -> np.ndarray:
        """The members of all groups that have a say about each label, (n_labels,)."""
        sizes = np.diff(self.members.indptr)
        return sum(np.asarray(part.astype(bool).astype(np.int64) @ sizes) for part in (self.carried, self.others))


def any_groups(carried: sparse.csr_array, rng: np.random.Generator) -> sparse.csr_array:
    """For each label of `carried` (n_labels, n_groups) about as many groups as carry it, drawn among all.

    Their weights are equal and negative, and all together they weigh as much as the groups with the label. A label of
    half of the groups or more gets none: too little tells its groups from any.
    """
    n_labels, n_groups = carried.shape
    n_own = np.diff(carried.indptr)
    wanted = np.where((n_own > 0) & (2 * n_own < n_groups), np.maximum(n_own, FEWEST), 0)
    label = np.repeat(np.arange(n_labels), wanted)
    label, group = np.divmod(np.unique(label * n_groups + rng.integers(n_groups, size=len(label))), n_groups)
    share = -np.asarray(carried.sum(axis=1)).ravel() / np.maximum(np.bincount(label, minlength=n_labels), 1)
    return sparse.csr_array((share[label], (label, group)), shape=carried.shape)


def assign_labels(
    X: sparse.csr_array,
    groups: Groups,
    *,
    steps: int = 20,
    rate: float = 0.1,
    careful: bool = True,
    assign: str = "top_c",
    centre: bool = True,
    keep: int | None = KEPT,
    seed: int = 0,
    device: str = "cpu",
) -> Assigned:
    """Labels for the documents at the rows of `X`. Without steps this is EAGLE-0; keep=None keeps whole embeddings."""
    if assign not in ASSIGNMENTS:
        raise ConfigError(f"assign must be one of {', '.join(ASSIGNMENTS)}, got {assign!r}")
    problem = Problem.of(
        X,
        groups,
        steps=steps,
        rate=rate,
        careful=careful,
        assign=assign,
        centre=centre,
        keep=X.shape[1] if keep is None else keep,
        seed=seed,
    )
    # MPS has neither double precision nor sparse products.
    if device != "cpu" and resolve_kind(device) == "cuda":
        from xcwork.methods.common.grlr_torch import solve_with_torch

        documents, embeddings = solve_with_torch(problem, device)
    else:
        documents, embeddings = solve(problem)
    label = np.repeat(np.arange(groups.labels.shape[1]), np.diff(problem.slots[problem.carried.indptr]))
    pairs = (np.ones(len(label), np.float32), (documents, label))
    Y = sparse.csr_array(pairs, shape=(X.shape[0], groups.labels.shape[1]))
    Y = fill_with_ones(Y)  # a document that is in two groups may be marked by both
    return Assigned(Y, embeddings, problem.mean)


def solve(problem: Problem) -> tuple[np.ndarray, sparse.csr_array]:
    """(the documents of all slots, the embeddings), with the kernel."""
    order, starts = problem.members.indices, problem.members.indptr.astype(np.int64)
    mean, n_members = problem.mean, len(order)
    # Neighbours in a group become neighbours in memory; a member of two groups is there twice.
    rows = Documents(
        *to_rows(problem.X[order]), problem.scale[order], problem.offset[order], mean, np.array([mean @ mean])
    )
    bags = kernel.Bags(np.arange(n_members, dtype=np.int32), starts)
    members = sparse.csr_array((np.ones(n_members), bags.documents, starts), shape=(len(starts) - 1, n_members))
    sums_of_groups = summed(rows, members)
    own_sums = kernel.products_with_own_group(rows, sums_of_groups, bags, _empty_sum(len(mean)))
    carried, others = to_rows(problem.carried), to_rows(problem.others)
    documents = np.empty(problem.slots[-1], np.int32)
    n_features = problem.X.shape[1]

    def work(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        sums = tuple(_empty_sum(n_features) for _ in range(3))
        kept_ids = np.zeros((len(labels), problem.keep), np.int32)
        kept = np.zeros((len(labels), problem.keep), np.float32)
        kernel.assign(
            rows,
            sums_of_groups,
            own_sums,
            bags,
            carried,
            others,
            labels,
            problem.slots,
            problem.steps,
            problem.rate,
            problem.careful,
            problem.random,
            sums,
            documents,
            kept_ids,
            kept,
        )
        return kept_ids, kept

    chunks = _chunks(problem.costs)
    kept = parallel_map(work, chunks, "embedding labels")
    return order[documents], gathered(chunks, kept, problem.carried.shape[0], n_features)


def _empty_sum(n_features: int) -> Sum:
    used, in_use = np.empty(n_features, np.int32), np.zeros(n_features, bool)
    return Sum(np.zeros(n_features), used, in_use, np.zeros(1, np.int64), np.zeros(2))


def _chunks(costs: np.ndarray) -> list[np.ndarray]:
    """All labels in chunks of about equal cost, each from the costly to the cheap ones."""
    order = np.argsort(-costs, kind="stable")
    n_chunks = max(1, min(max(CHUNKS, 4 * cpu_count()), len(order)))
    return [order[start::n_chunks] for start in range(n_chunks)]


def gathered(
    chunks: list[np.ndarray], kept: list[tuple[np.ndarray, np.ndarray]], n_labels: int, n_features: int
) -> sparse.csr_array:
    """The kept entries of all labels as one matrix (n_labels, n_features)."""
    labels, ids, values = np.concatenate(chunks), *(np.concatenate(part) for part in zip(*kept, strict=True))
    row, slot = np.nonzero(values)
    entries = (values[row, slot], (labels[row], ids[row, slot]))
    return sparse.csr_array(entries, shape=(n_labels, n_features))


def _scale(X: sparse.csr_array, mean: np.ndarray) -> np.ndarray:
    """1 / ‖x - μ‖ of unit rows, (n_rows,); 0 for an empty row and where nothing is left."""
    squares = replace_values(X, X.data.astype(np.float64) ** 2)
    own = np.asarray(squares.sum(axis=1)).ravel()
    square = np.where(own > 0, own - 2 * (X @ mean) + mean @ mean, 0.0)
    return np.divide(1.0, np.sqrt(np.abs(square)), out=np.zeros_like(square), where=square > NOTHING)


def cosines(X: sparse.csr_array, found: Assigned) -> np.ndarray:
    """Of documents, centred as GRLR did, with the embeddings it found, (n_documents, n_labels)."""
    X, E = normalise_rows(X), found.embeddings
    return _scale(X, found.mean)[:, None] * ((X @ E.T).toarray() - E @ found.mean)


def objective(X: sparse.csr_array, groups: Groups, found: Assigned) -> np.ndarray:
    """Σ over the groups of a label of max <x, e>, (n_labels,): what GRLR tries to make large (equation 2)."""
    similarity = cosines(X, found)
    rows, starts = groups.members.indices, groups.members.indptr[:-1]
    best = np.maximum.reduceat(similarity[rows], starts, axis=0)  # (n_groups, n_labels)
    return np.asarray(sparse.csr_array(groups.labels.T).multiply(best.T).sum(axis=1)).ravel()


def assignment_precision(assigned: sparse.csr_array, truth: sparse.csr_array) -> float:
    """The share of assigned (document, label) pairs that are true."""
    return float(assigned.multiply(truth).sum() / assigned.nnz) if assigned.nnz else float("nan")
