"""Aggregated labels: a group of documents is known to have some labels, but not which member has which.

A split says who belongs together in `Split.groups`. `collect_groups` reads it into the two matrices of the EAGLE paper:
`members` (groups × documents, Y¹ transposed) and `labels` (groups × labels, Y²). Under *list* merge a label counts as
often as members have it, under *set* merge once. Where all members of every group have the very same labels, these
evidently are the group's labels written to each member, and count once.

Groups come from the data (a column, a bag, a module), or are made from an ordinary split in order to study what
aggregation costs: at random, or by hierarchical balanced 2-means, where noise in the features makes the clusters less
homogeneous. A document whose group is empty text is a group of its own; test data are never grouped.

Reference: Shen et al., Extreme multi-label classification from aggregated labels, ICML 2020, sections 3 and 7.2.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

from xcwork.core.held_out import number_groups
from xcwork.core.split import Split
from xcwork.errors import ConfigError, DataError
from xcwork.progress import track
from xcwork.sparse import fill_with_ones, normalise_rows, sort_entries, to_rows

MERGES = ("list", "set")
LEVELS = ("class", "module", "package")
NOISE_COLUMNS = 32
MAX_ROUNDS = 20  # of 2-means
MIN_COSINE_GAIN = 1e-4  # in mean cosine, for another round


@dataclass(frozen=True, eq=False)
class Groups:
    """Who belongs together, and what is known about each group."""

    names: list[str]
    members: sparse.csr_array  # (n_groups, n_documents), ones; members ascend
    labels: sparse.csr_array  # (n_groups, n_labels), how often each label was merged in
    repeated: bool = False  # all members of every group have the same labels: nothing tells whose they really are

    def __len__(self) -> int:
        return len(self.names)

    def take(self, rows: np.ndarray) -> Groups:
        """Return some of the groups; documents keep their numbers."""
        names = [self.names[row] for row in rows]
        return Groups(names, self.members[rows], self.labels[rows], self.repeated)

    def share_labels(self) -> sparse.csr_array:
        """Return every label of a group for every member, (n_documents, n_labels): the baseline min(1, Y¹Y²)."""
        return sort_entries(fill_with_ones(sparse.csr_array(self.members.T @ self.labels)))


def collect_groups(split: Split, merge: str = "list") -> Groups:
    """Return the groups of a split in the order in which they first occur; without groups, each document is its own."""
    if merge not in MERGES:
        raise ConfigError(f"merge must be one of {', '.join(MERGES)}, got {merge!r}")
    ids = [""] * len(split) if split.groups is None else split.groups
    group_of = number_groups(ids)
    names = [ids[row] or f"document {row}" for row in np.unique(group_of, return_index=True)[1]]
    entries = (np.ones(len(split), np.float32), (group_of, np.arange(len(split))))
    members = sparse.csr_array(entries, shape=(len(names), len(split)))
    labels = sort_entries(sparse.csr_array(members @ split.Y))
    sizes = np.diff(members.indptr)
    repeated = np.array_equal(labels.data, np.repeat(sizes, np.diff(labels.indptr)))
    return Groups(names, members, fill_with_ones(labels) if merge == "set" or repeated else labels, repeated)


def find_groups_sharing_labels(split: Split) -> np.ndarray | None:
    """Return the number of each document's group, (n_documents,), where all its members have the labels of the group.

    None where documents have labels of their own: then nothing is given away by separating the members of a group.
    """
    return number_groups(split.groups) if split.groups is not None and collect_groups(split).repeated else None


def assign_groups(split: Split, ids: Iterable[Any]) -> Split:
    """Return the split with the given groups of its documents: texts or numbers, None or NaN for no group."""
    missing = (None, "")
    names = ["" if one in missing or (isinstance(one, float) and math.isnan(one)) else str(one) for one in ids]
    return replace(split, groups=names)


def assign_group_labels(split: Split, labels: Mapping[str, Sequence[int | str]]) -> Split:
    """Return the split with labels that are known for its groups only: id, name or uid of each label by group.

    A group that `labels` does not mention has no labels.
    """
    groups = collect_groups(split)
    row = {name: number for number, name in enumerate(groups.names)}
    if unknown := [name for name in labels if name not in row]:
        raise DataError(
            f"{len(unknown)} groups have labels but no members, the first is {unknown[0]!r}",
            remedy="add their documents, or leave these groups out",
        )
    pairs = [(row[name], split.labels.find_id(label)) for name, known in labels.items() for label in known]
    at, label = np.array(pairs, np.int64).reshape(-1, 2).T
    known = sparse.csr_array((np.ones(len(at), np.float32), (at, label)), shape=(len(groups), split.n_labels))
    return replace(split, Y=replace(groups, labels=known).share_labels())


def aggregate_labels(split: Split) -> Split:
    """Return the split in which every member has all labels of its group, so that nothing says which are its own."""
    return replace(split, Y=collect_groups(split).share_labels())


def draw_random_groups(split: Split, size: int, *, seed: int = 0) -> Split:
    """Return the split in random groups of `size` documents; the last one may be smaller. The paper's R-4 and R-10."""
    if size < 1:
        raise ConfigError(f"a group has at least 1 member, got {size}")
    place = np.empty(len(split), np.int64)
    place[np.random.default_rng(seed).permutation(len(split))] = np.arange(len(split)) // size
    return replace(split, groups=[f"group {number}" for number in place.tolist()])


def cluster_into_groups(split: Split, depth: int, *, noise: float = 0.0, balanced: bool = True, seed: int = 0) -> Split:
    """Return the split in 2^depth groups by recursive 2-means on the cosine of documents. The paper's C-8 and C-16.

    `noise` adds a Gaussian vector of about that length to each unit-length document for the clustering only: 0 gives
    the tightest groups, much more than 1 random ones. It has columns of its own, because noise in every column would
    make the matrix dense, and two vectors drawn independently in many columns are orthogonal anyway. `balanced` cuts
    every cluster in the middle; otherwise a document goes to the nearer mean.
    """
    if depth < 0 or noise < 0:
        raise ConfigError(f"depth and noise must not be negative, got {depth} and {noise}")
    from xcwork.kernels.tree_training import cluster_rows

    rng = np.random.default_rng(seed)
    X = normalise_rows(split.X)
    if noise:
        added = rng.normal(scale=noise / math.sqrt(NOISE_COLUMNS), size=(len(split), NOISE_COLUMNS))
        X = normalise_rows(sparse.csr_array(sparse.hstack([X, sparse.csr_array(added)])))
    rows = to_rows(X)
    clusters = [np.arange(len(split), dtype=np.int32)]
    for _ in track(range(depth), "clustering documents"):
        halves = []
        for members in clusters:
            side = np.zeros(len(members), np.int32)
            if len(members) > 1:
                starts = rng.choice(len(members), 2, replace=False)
                side = cluster_rows(rows, X.shape[1], members, starts, balanced, MIN_COSINE_GAIN, MAX_ROUNDS)
            halves += [part for part in (members[side == 0], members[side == 1]) if len(part)]
        clusters = halves
    names = [""] * len(split)
    for number, members in enumerate(clusters):
        for row in members.tolist():
            names[row] = f"cluster {number}"
    return replace(split, groups=names)


def group_by_name(split: Split, level: str = "class") -> Split:
    """Return pyseealso grouped by the class, the module or the package that a documented object lives in."""
    if level not in LEVELS:
        raise ConfigError(f"level must be one of {', '.join(LEVELS)}, got {level!r}")
    if split.uids is None or not all("." in uid for uid in split.uids):
        raise DataError(
            "these documents have no dotted names to group them by",
            remedy="use pyseealso, or say to which group each document belongs with `assign_groups`",
        )
    around = [uid.rpartition(".")[0] for uid in split.uids]
    if level == "module":
        around = [_find_module(name) for name in around]
    elif level == "package":
        around = [name.partition(".")[0] for name in around]
    return replace(split, groups=around)


@cache
def _find_module(name: str) -> str:
    """Return the module around a name: `numpy.linalg` of itself and `pandas` of `pandas.Series.dt`."""
    outer = name.rpartition(".")[0]
    if not outer:
        return name
    try:
        found = importlib.util.find_spec(name)
    except ModuleNotFoundError:  # what contains it is a class
        found = None
    return name if found is not None else _find_module(outer)
