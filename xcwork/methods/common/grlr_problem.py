"""What GRLR has to solve: documents of unit length, the groups of every label, and how many members each may mark.

The problem is stated once. `xcwork.methods.common.grlr` solves it with a compiled kernel, `grlr_torch` on an
accelerator.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from xcwork.core.data_sizes import DataSizes
from xcwork.data.groups import Groups
from xcwork.sparse import normalise_rows, replace_values, sort_entries

MIN_OTHER_GROUPS = 10  # that show what wins in any group
MIN_SQUARED_LENGTH = 1e-9  # below which only rounding is left
BLOCK_BYTES = 2**28  # of embeddings and cosines of a block of labels on an accelerator
MATRICES_OF_BLOCK = 6  # of embeddings, and as many of cosines
BYTES_PER_TRIPLE = 160  # of a label, a group and a member


@dataclass(frozen=True, eq=False)
class AssignmentProblem:
    """Unit-length documents, the groups of every label, and how many members each may mark."""

    X: sparse.csr_array  # (n_documents, n_features)
    mean: np.ndarray  # (n_features,): what is subtracted from every document
    members: sparse.csr_array  # (n_groups, n_documents)
    label_groups: sparse.csr_array  # (n_labels, n_groups): weights
    others: sparse.csr_array  # (n_labels, n_groups): negative weights of groups that stand for any
    slots: np.ndarray  # (n_pairs + 1,): the stretch of results that belongs to each entry of `label_groups`
    steps: int
    learning_rate: float
    careful: bool  # winners common to all groups are subtracted, and no group counts towards itself
    random: np.ndarray  # (n_labels,) uint64
    keep: int  # entries kept of an embedding

    @classmethod
    def from_groups(
        cls,
        X: sparse.csr_array,
        groups: Groups,
        *,
        steps: int,
        learning_rate: float,
        careful: bool,
        assign: str,
        centre: bool,
        keep: int,
        seed: int,
    ) -> AssignmentProblem:
        """Return the problem of assigning the labels of `groups` to the documents at the rows of `X`."""
        label_groups = sort_entries(sparse.csr_array(groups.labels.T))
        marked = np.ones(label_groups.nnz, np.int64)
        if assign == "top_c":
            sizes = np.diff(groups.members.indptr)
            marked = np.minimum(np.rint(label_groups.data).astype(np.int64), sizes[label_groups.indices])
        slots = np.concatenate([[0], np.cumsum(marked)])
        rng = np.random.default_rng(seed)
        random = rng.integers(2**63, size=label_groups.shape[0], dtype=np.uint64)
        careful = careful and centre
        others = (
            draw_other_groups(label_groups, rng)
            if careful and steps > 0
            else sparse.csr_array(label_groups.shape, dtype=float)
        )
        X = normalise_rows(X)
        mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel() if centre else np.zeros(X.shape[1])
        keep = min(keep, X.shape[1])
        return cls(X, mean, groups.members, label_groups, others, slots, steps, learning_rate, careful, random, keep)

    @cached_property
    def offset(self) -> np.ndarray:
        """The products <μ, x> of every document, (n_documents,)."""
        return np.asarray(self.X @ self.mean)

    @cached_property
    def scale(self) -> np.ndarray:
        """What makes the length of a centred document one, (n_documents,); 0 where nothing is left of it."""
        return measure_scale(self.X, self.mean)

    @cached_property
    def products_with_own_groups(self) -> np.ndarray:
        """The products <x_i, sum of its group> of every member, group after group, centred as in the kernel."""
        group = np.repeat(np.arange(self.members.shape[0]), np.diff(self.members.indptr))
        scaled = sparse.diags_array(self.scale) @ self.X
        totals = sparse.csr_array(self.members @ scaled)
        alpha = self.members @ self.scale
        meeting = self.members @ (self.scale * self.offset)
        i = self.members.indices
        product = np.asarray(scaled[i].multiply(totals[group]).sum(axis=1)).ravel()
        rest = self.mean @ self.mean * alpha[group] - alpha[group] * self.offset[i] - meeting[group]
        return product + self.scale[i] * rest

    def compute_products(self, some: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Return <x, x'> of centred documents side by side, (n,)."""
        product = np.asarray(self.X[some].astype(np.float64).multiply(self.X[others]).sum(axis=1)).ravel()
        product += self.mean @ self.mean - self.offset[some] - self.offset[others]
        return self.scale[some] * self.scale[others] * product

    @property
    def costs(self) -> np.ndarray:
        """The number of members of all groups that count for each label, (n_labels,)."""
        sizes = np.diff(self.members.indptr)
        own, others = (part.astype(bool).astype(np.int64) for part in (self.label_groups, self.others))
        return np.asarray(own @ sizes) + np.asarray(others @ sizes)


def draw_other_groups(label_groups: sparse.csr_array, rng: np.random.Generator) -> sparse.csr_array:
    """Draw for each label of `label_groups` (n_labels, n_groups) about as many groups as have it, among all.

    Their weights are equal and negative, and all together they weigh as much as the groups with the label. A label of
    half of the groups or more gets none: too little tells its groups from any.
    """
    n_labels, n_groups = label_groups.shape
    n_own = np.diff(label_groups.indptr)
    wanted = np.where((n_own > 0) & (2 * n_own < n_groups), np.maximum(n_own, MIN_OTHER_GROUPS), 0)
    label = np.repeat(np.arange(n_labels), wanted)
    label, group = np.divmod(np.unique(label * n_groups + rng.integers(n_groups, size=len(label))), n_groups)
    share = -np.asarray(label_groups.sum(axis=1)).ravel() / np.maximum(np.bincount(label, minlength=n_labels), 1)
    return sparse.csr_array((share[label], (label, group)), shape=label_groups.shape)


def measure_scale(X: sparse.csr_array, mean: np.ndarray) -> np.ndarray:
    """Return 1 / ‖x - μ‖ of unit rows, (n_rows,); 0 for an empty row and where nothing is left."""
    squares = replace_values(X, X.data.astype(np.float64) ** 2)
    own = np.asarray(squares.sum(axis=1)).ravel()
    square = np.where(own > 0, own - 2 * (X @ mean) + mean @ mean, 0.0)
    return np.divide(1.0, np.sqrt(np.abs(square)), out=np.zeros_like(square), where=square > MIN_SQUARED_LENGTH)


def count_block_labels(shape: tuple[int, int]) -> int:
    """Return how many labels an accelerator embeds together, for documents of this shape."""
    return max(1, BLOCK_BYTES // (16 * sum(shape)))


def estimate_assignment_bytes(sizes: DataSizes, members_per_group: float) -> int:
    """Return about how much memory of an accelerator GRLR takes; other groups have as many triples as own ones."""
    width = min(sizes.n_labels, count_block_labels((sizes.n_documents, sizes.n_features)))
    triples = 2 * sizes.n_documents * sizes.labels_per_document * members_per_group * width / max(1, sizes.n_labels)
    dense = 8 * MATRICES_OF_BLOCK * width * (sizes.n_documents + sizes.n_features)
    return 32 * sizes.n_entries + dense + round(BYTES_PER_TRIPLE * triples)


def gather_embeddings(
    chunks: list[np.ndarray], kept: list[tuple[np.ndarray, np.ndarray]], n_labels: int, n_features: int
) -> sparse.csr_array:
    """Return the kept entries of all labels as one matrix (n_labels, n_features)."""
    labels = np.concatenate(chunks)
    ids, values = (np.concatenate(part) for part in zip(*kept, strict=True))
    row, slot = np.nonzero(values)
    entries = (values[row, slot], (labels[row], ids[row, slot]))
    return sparse.csr_array(entries, shape=(n_labels, n_features))
