"""From labels of groups to labels of documents, as the parameters of EAGLE ask for."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scipy import sparse

from xcwork.core.split import Split
from xcwork.data.groups import cluster_into_groups, collect_groups, draw_random_groups
from xcwork.methods.common.grlr import assign_labels, measure_assignment_precision
from xcwork.methods.model import Params
from xcwork.progress import report


@dataclass(frozen=True, eq=False)
class GroupAssignment:
    """Documents with the labels that each is to be trained with."""

    train: Split
    embeddings: sparse.csr_array | None = None  # (n_labels, n_features); None where nothing was embedded
    precision: float | None = None  # share of assigned labels that are true; None where the true labels are not known


def group_documents(train: Split, params: Params) -> Split:
    """Return the training documents in the groups that the parameters ask for."""
    if params.grouping == "random":
        return draw_random_groups(train, params.group_size, seed=params.seed)
    if params.grouping == "clusters":
        return cluster_into_groups(train, params.depth, noise=params.noise, seed=params.seed)
    return train


def assign_group_labels(train: Split, params: Params) -> GroupAssignment:
    """Return the documents with the labels of their groups that fall to them."""
    if params.assign == "truth":
        return GroupAssignment(train)
    groups = collect_groups(train, params.merge)
    embeddings = precision = None
    if params.assign == "all":
        Y = groups.share_labels()
    else:
        found = assign_labels(
            train.X,
            groups,
            steps=params.steps,
            learning_rate=params.learning_rate,
            careful=params.careful,
            assign=params.assign,
            centre=params.centre,
            seed=params.seed,
            device=params.device,
        )
        Y = found.Y
        embeddings = found.embeddings
    if not groups.repeated:
        precision = measure_assignment_precision(Y, train.Y)
        report("embedding labels", groups=len(groups), assignment_precision=precision)
    return GroupAssignment(replace(train, Y=Y), embeddings, precision)
