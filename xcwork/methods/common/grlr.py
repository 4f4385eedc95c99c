"""From group labels to labels of documents: algorithms 1 and 2 of EAGLE.

Every label gets an embedding that is close to at least one member of every group that has it (GRLR, the mathematics
is in `xcwork.kernels.grlr`), and every group gives each of its labels to the member nearest to the label's embedding;
with *top-c* assignment, the default, a label that was merged in c times goes to the c nearest members.

Groups of real data seldom tell how many members have a label. *Outstanding* assignment estimates it: besides the
nearest member, all those get a label whose cosine with its embedding lies three standard deviations above the mean of
the documents in groups without the label. In large groups, where one member out of many that have a label would leave
little to learn from, that is better than one member, and it takes nothing from small groups.

Documents are *centred* by default: the mean of all documents is subtracted before their cosines are taken. Without
that, the words that all documents share decide much of the similarity, and every embedding is pulled to the same place
by the members that have nothing to do with its label. The paper does so for images, but not for text. For the same
reason the steps look at other groups as well, and winners common to all groups are subtracted.

Labels are independent of each other: the CPU works on chunks of them in threads, an accelerator on blocks in torch, and
both give the same answer. Only the largest entries of an embedding are kept, because before that it has an entry for
nearly every word that occurs in any of its groups; the assignment uses all of them.

Cost: at most 2 (T + 2) products of a label with the members of its groups, O(T n d̄ ḡ log l) in the paper's symbols,
and as many with the members of the other groups; bounds leave out most of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from xcwork.compute.cores import count_cores
from xcwork.compute.parallel import parallel_map
from xcwork.data.groups import Groups
from xcwork.errors import ConfigError
from xcwork.kernels import grlr as kernel
from xcwork.kernels.centred_sums import CentredDocuments, CentredSum, sum_members
from xcwork.methods.common.grlr_problem import AssignmentProblem, gather_embeddings, measure_scale
from xcwork.methods.common.sparse_torch import find_accelerator
from xcwork.sparse import fill_with_ones, normalise_rows, sort_entries, to_rows

ASSIGNMENTS = ("one", "top_c", "outstanding")
OUTSTANDING_DEVIATIONS = 3.0  # above the documents of other groups
COSINES_PER_BLOCK = 2**24  # of documents and labels, computed together
KEPT_ENTRIES = 256  # of an embedding
MIN_CHUNKS = 64  # steps of progress


@dataclass(frozen=True, eq=False)
class LabelAssignment:
    """What GRLR found."""

    Y: sparse.csr_array  # (n_documents, n_labels), ones
    embeddings: sparse.csr_array  # (n_labels, n_features): the largest entries of unit-length rows
    mean: np.ndarray  # (n_features,): what was subtracted from every document


def assign_labels(
    X: sparse.csr_array,
    groups: Groups,
    *,
    steps: int = 20,
    learning_rate: float = 0.1,
    careful: bool = True,
    assign: str = "top_c",
    centre: bool = True,
    keep: int | None = KEPT_ENTRIES,
    seed: int = 0,
    device: str = "cpu",
) -> LabelAssignment:
    """Return labels for the documents at the rows of `X`.

    Without steps this is EAGLE-0; keep=None keeps whole embeddings.
    """
    if assign not in ASSIGNMENTS:
        raise ConfigError(f"assign must be one of {', '.join(ASSIGNMENTS)}, got {assign!r}")
    problem = AssignmentProblem.from_groups(
        X,
        groups,
        steps=steps,
        learning_rate=learning_rate,
        careful=careful,
        assign=assign,
        centre=centre,
        keep=X.shape[1] if keep is None else keep,
        seed=seed,
    )
    if find_accelerator(device) is not None:
        from xcwork.methods.common.grlr_torch import solve_with_torch

        documents, embeddings = solve_with_torch(problem, device)
    else:
        documents, embeddings = solve_with_kernel(problem)
    label = np.repeat(np.arange(groups.labels.shape[1]), np.diff(problem.slots[problem.label_groups.indptr]))
    pairs = (np.ones(len(label), np.float32), (documents, label))
    Y = sparse.csr_array(pairs, shape=(X.shape[0], groups.labels.shape[1]))
    found = LabelAssignment(fill_with_ones(Y), embeddings, problem.mean)  # two groups may mark the same document
    return add_outstanding_members(X, groups, found) if assign == "outstanding" else found


def add_outstanding_members(X: sparse.csr_array, groups: Groups, found: LabelAssignment) -> LabelAssignment:
    """Return the assignment with all members whose cosines stand out from those of documents in other groups."""
    X = normalise_rows(X)
    scale = measure_scale(X, found.mean)[:, None]
    n_labels = groups.labels.shape[1]
    size = max(1, COSINES_PER_BLOCK // max(1, X.shape[0]))
    blocks = []
    for start in range(0, n_labels, size):
        E = found.embeddings[start : start + size]
        cosine = scale * ((X @ E.T).toarray() - E @ found.mean)
        is_candidate = (groups.members.T @ groups.labels[:, start : start + size]).toarray() > 0
        n_others = np.maximum((~is_candidate).sum(axis=0), 1)
        mean = np.where(is_candidate, 0.0, cosine).sum(axis=0) / n_others
        variance = np.where(is_candidate, 0.0, (cosine - mean) ** 2).sum(axis=0) / n_others
        # A label that all groups have leaves no documents to stand out from: only the nearest members get it.
        threshold = np.where(is_candidate.all(axis=0), np.inf, mean + OUTSTANDING_DEVIATIONS * np.sqrt(variance))
        blocks.append(sparse.csr_array((is_candidate & (cosine >= threshold)).astype(np.float32)))
    Y = sparse.csr_array(found.Y + sparse.hstack(blocks, format="csr"))
    return replace(found, Y=sort_entries(fill_with_ones(Y)))


def solve_with_kernel(problem: AssignmentProblem) -> tuple[np.ndarray, sparse.csr_array]:
    """Return the documents of all slots and the embeddings, with the kernel."""
    order = problem.members.indices
    starts = problem.members.indptr.astype(np.int64)
    n_members = len(order)
    mean = problem.mean
    # Neighbours in a group become neighbours in memory; a member of two groups is there twice.
    rows = CentredDocuments(
        *to_rows(problem.X[order]), problem.scale[order], problem.offset[order], mean, np.array([mean @ mean])
    )
    bags = kernel.GroupLists(np.arange(n_members, dtype=np.int32), starts)
    members = sparse.csr_array((np.ones(n_members), bags.documents, starts), shape=(len(starts) - 1, n_members))
    sums_of_groups = sum_members(rows, members)
    own_sums = kernel.compute_products_with_own_group(rows, sums_of_groups, bags, make_empty_sum(len(mean)))
    label_groups = to_rows(problem.label_groups)
    others = to_rows(problem.others)
    documents = np.empty(problem.slots[-1], np.int32)
    n_features = problem.X.shape[1]

    def embed_labels(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        sums = tuple(make_empty_sum(n_features) for _ in range(3))
        kept_ids = np.zeros((len(labels), problem.keep), np.int32)
        kept = np.zeros((len(labels), problem.keep), np.float32)
        kernel.assign_members(
            rows,
            sums_of_groups,
            own_sums,
            bags,
            label_groups,
            others,
            labels,
            problem.slots,
            problem.steps,
            problem.learning_rate,
            problem.careful,
            problem.random,
            sums,
            documents,
            kept_ids,
            kept,
        )
        return kept_ids, kept

    chunks = split_labels(problem.costs)
    kept = parallel_map(embed_labels, chunks, "embedding labels")
    return order[documents], gather_embeddings(chunks, kept, problem.label_groups.shape[0], n_features)


def make_empty_sum(n_features: int) -> CentredSum:
    """Return a sum of no documents."""
    used = np.empty(n_features, np.int32)
    in_use = np.zeros(n_features, bool)
    return CentredSum(np.zeros(n_features), used, in_use, np.zeros(1, np.int64), np.zeros(2))


def split_labels(costs: np.ndarray) -> list[np.ndarray]:
    """Return all labels in chunks of about equal cost, each from the costly to the cheap ones."""
    order = np.argsort(-costs, kind="stable")
    n_chunks = max(1, min(max(MIN_CHUNKS, 4 * count_cores()), len(order)))
    return [order[start::n_chunks] for start in range(n_chunks)]


def compute_cosines(X: sparse.csr_array, found: LabelAssignment) -> np.ndarray:
    """Return the cosines of documents, centred as GRLR did, with the embeddings it found, (n_documents, n_labels)."""
    X = normalise_rows(X)
    E = found.embeddings
    return measure_scale(X, found.mean)[:, None] * ((X @ E.T).toarray() - E @ found.mean)


def compute_objective(X: sparse.csr_array, groups: Groups, found: LabelAssignment) -> np.ndarray:
    """Return Σ over the groups of a label of max <x, e>, (n_labels,): what GRLR tries to make large (equation 2)."""
    similarity = compute_cosines(X, found)
    members = groups.members
    best = np.maximum.reduceat(similarity[members.indices], members.indptr[:-1], axis=0)  # (n_groups, n_labels)
    return np.asarray(sparse.csr_array(groups.labels.T).multiply(best.T).sum(axis=1)).ravel()


def measure_assignment_precision(assigned: sparse.csr_array, truth: sparse.csr_array) -> float:
    """Return the share of assigned (document, label) pairs that are true."""
    return float(assigned.multiply(truth).sum() / assigned.nnz) if assigned.nnz else float("nan")
