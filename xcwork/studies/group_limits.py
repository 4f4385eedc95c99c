"""Can the labels of these groups be found? Definition 2 of EAGLE for the groups of any split.

M_k are the groups that have label k. Assignment tells k from another label by the groups that only one of the two has:

    q_k = max over other labels k'  |M_k ∩ M_k'| / min(|M_k|, |M_k'|)          q of definition 2 is the largest of all

Where q_k = 1 some label has all groups of k, or the other way round. Two cases are hopeless. A label of a single group
has one place to look at: any of its members fits as well as another. And two labels with the very same groups, twins,
cannot be told apart by anything that looks at groups alone. Both are facts about the groups: no truth is needed, so
they can be computed before anything is trained.

Where documents have labels of their own, the other two numbers of definition 2 are measured as well: the separation
δ_k, the distance of the true embedding to the nearest other one, and the noise f_k, the largest distance of a document
from its label's embedding. Theorem 3 promises

    <e*, e> ≥ 1 - r f - (√2 r + 2) f²,      r = 1 / (1 - q - 2 f / δ) - 1

which says something only where it is above zero.

Reference: Shen et al., Extreme multi-label classification from aggregated labels, ICML 2020, definition 2, theorem 3.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from xcwork.core.split import Split
from xcwork.data.groups import collect_groups, draw_random_groups
from xcwork.data.synthetic import make_synthetic
from xcwork.sparse import normalise_rows
from xcwork.studies.study_outcome import StudyOutcome

if TYPE_CHECKING:
    import pandas as pd

LABELS_PER_BLOCK = 1024  # compared with all others at once


@dataclass(frozen=True)
class GroupLimits:
    """What can be told from groups, summed up."""

    n_groups: int
    n_labels: int  # that any group has
    q: float  # the largest overlap of two labels
    n_twins: int  # labels with the same groups as another one
    n_single: int  # labels of one group with several members
    lost_pairs: float  # percent of the (document, label) pairs that belong to such labels


def compute_overlaps(members: sparse.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Return q_k and the label it is reached with, for labels with the groups `members` (n_labels, n_groups).

    A label without groups has no overlap: 0, and -1 for the other label.
    """
    sets = sparse.csr_array(members.astype(bool).astype(np.float32))
    sizes = np.diff(sets.indptr)
    overlaps, rivals = np.zeros(len(sizes)), np.full(len(sizes), -1)
    for start in range(0, len(sizes), LABELS_PER_BLOCK):
        shared = sparse.csr_array(sets[start : start + LABELS_PER_BLOCK] @ sets.T)
        row = np.repeat(np.arange(shared.shape[0]) + start, np.diff(shared.indptr))
        value = shared.data / np.minimum(sizes[row], sizes[shared.indices])
        value[row == shared.indices] = 0.0
        order = np.lexsort((-shared.indices, value))  # the last one of a row is its largest
        overlaps[row[order]] = value[order]
        is_other = value[order] > 0
        rivals[row[order][is_other]] = shared.indices[order][is_other]
    return overlaps, rivals


def tabulate_group_limits(split: Split, merge: str = "list") -> pd.DataFrame:
    """Return a row per label that any group has: its groups, members per group, q, the label it is confused with.

    With labels of their own for the documents, also separation, noise and what theorem 3 promises.
    """
    import pandas as pd

    groups = collect_groups(split, merge)
    of_label = sparse.csr_array(groups.labels.T)
    overlaps, rivals = compute_overlaps(of_label)
    n_groups = np.diff(of_label.indptr)
    labels = np.flatnonzero(n_groups)
    sizes = np.diff(groups.members.indptr)
    n_members = (of_label.astype(bool) @ sizes)[labels]
    names = split.labels.names
    alone = n_members == n_groups[labels]  # all of its groups have one member
    twins = find_twins(of_label)[labels] & ~alone
    single = (n_groups[labels] == 1) & ~alone
    frame = pd.DataFrame(
        {
            "label": [names[label] for label in labels],
            "groups": n_groups[labels],
            "members per group": n_members / n_groups[labels],
            "pairs": np.asarray(of_label.sum(axis=1)).ravel()[labels],
            "q": overlaps[labels],
            "confused with": [names[rival] if rival >= 0 else "" for rival in rivals[labels]],
            "single group": single,
            "twin": twins,
            "can be found": ~single & ~twins,
        },
        index=labels,
    )
    if groups.repeated:
        return frame
    separation, noise = measure_embeddings(split, labels)
    promised = [compute_promised_cosine(q, delta, f) for q, delta, f in zip(frame["q"], separation, noise, strict=True)]
    return frame.assign(**{"δ": separation, "f": noise, "theorem 3": promised})


def summarise_group_limits(split: Split, merge: str = "list") -> GroupLimits:
    """Return how many labels, and how large a share of the pairs, no assignment can place for certain."""
    frame = tabulate_group_limits(split, merge)
    lost = frame.loc[~frame["can be found"], "pairs"].sum()
    return GroupLimits(
        n_groups=len(collect_groups(split, merge)),
        n_labels=len(frame),
        q=float(frame["q"].max()) if len(frame) else 0.0,
        n_twins=int(frame["twin"].sum()),
        n_single=int(frame["single group"].sum()),
        lost_pairs=100 * float(lost / frame["pairs"].sum()) if len(frame) else 0.0,
    )


def find_twins(of_label: sparse.csr_array) -> np.ndarray:
    """Return which labels have the same groups, at least one, as another label, (n_labels,)."""
    keys = [of_label.indices[slice(*bounds)].tobytes() for bounds in pairwise(of_label.indptr.tolist())]
    counts = Counter(keys)
    return np.array([key != b"" and counts[key] > 1 for key in keys])


def measure_embeddings(split: Split, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return δ_k and f_k of `labels`, by the true labels of the documents; the embedding is the mean document."""
    X = normalise_rows(split.X)
    true = normalise_rows(sparse.csr_array(split.Y[:, labels].T @ X))
    Y = sparse.csr_array(split.Y[:, labels])
    document = np.repeat(np.arange(len(split)), np.diff(Y.indptr))
    cosine = np.asarray(X[document].multiply(true[Y.indices]).sum(axis=1)).ravel()
    noise = np.zeros(len(labels))
    np.maximum.at(noise, Y.indices, np.sqrt(np.maximum(2 - 2 * cosine, 0)))
    separation = np.full(len(labels), math.sqrt(2))
    for start in range(0, len(labels), LABELS_PER_BLOCK):
        cosines = (true[start : start + LABELS_PER_BLOCK] @ true.T).toarray()
        cosines[np.arange(len(cosines)), np.arange(len(cosines)) + start] = -1.0
        separation[start : start + LABELS_PER_BLOCK] = np.sqrt(np.maximum(2 - 2 * cosines.max(axis=1), 0))
    return separation, noise


def compute_promised_cosine(q: float, separation: float, noise: float) -> float:
    """Return the bound of theorem 3 on <e*, e>; -1, which every cosine keeps, where it says nothing."""
    left = 1 - q - 2 * noise / separation if separation > 0 else 0.0
    if left <= 0:
        return -1.0
    r = 1 / left - 1
    return max(-1.0, 1 - r * noise - (math.sqrt(2) * r + 2) * noise**2)


def check_definition_2(seed: int = 0) -> StudyOutcome:
    """Compute q, and where theorem 3 says anything, for random groups of made-up documents of growing size."""
    data = make_synthetic(n_documents=600, n_labels=40, n_topics=5, unseen_share=0.0, seed=seed)
    rows = []
    for size in (2, 4, 8, 16, 32):
        frame = tabulate_group_limits(draw_random_groups(data.train, size, seed=seed))
        lost = frame.loc[~frame["can be found"], "pairs"].sum() / frame["pairs"].sum()
        rows.append(
            {
                "members": size,
                "mean q": float(frame["q"].mean()),
                "labels with q = 1": int((frame["q"] >= 1).sum()),
                "labels that cannot be found": int((~frame["can be found"]).sum()),
                "pairs that cannot be placed, %": 100 * float(lost),
                "labels with a promise": int((frame["theorem 3"] > 0).sum()),
            }
        )
    first, last = rows[0], rows[-1]
    return StudyOutcome(
        first["mean q"] < last["mean q"],
        f"The mean overlap q grows from {first['mean q']:.2f} in groups of 2 to {last['mean q']:.2f} in groups of 32, "
        f"where {last['labels with q = 1']} labels have q = 1. Theorem 3 promises something for "
        f"{first['labels with a promise']} labels at best: documents are too far from their labels' embeddings.",
        rows,
    )
