"""EAGLE: learning from labels that are known for groups of documents only.

A label of a group belongs to at least one member, but which? The embedding of a label should be close to at least one
member of every group that carries it,

    e_k = argmax over ‖e‖ = 1 of  Σ_{groups j with label k}  max_{i in j} <e, x_i>,

which GRLR approximates by T steps that alternate between picking the nearest member of each group and moving the
embedding towards those picked. Then each group gives each of its labels to the member nearest to the label's
embedding, or to the c nearest where c members brought it in, and any method of the workbench learns from the result as
if it were ordinary data. Without steps (T = 0) this is EAGLE-0; `assign="all"` gives every label to every member, the
baseline; `assign="truth"` takes the documents' own labels, where they are known, as the oracle. On ordinary data every
document is its own group and nothing changes.

A rule of thumb from the paper's theorem 1 and table 2: mixed groups gain from assignment, in tight groups (all members
nearly alike) the labels of the group may as well stay with all of them. That is so where each label goes to one member;
given to as many as brought it in, assignment has been better in clusters too (README).

Training looks at the labels of groups alone. Where the documents carry labels of their own, these serve to report how
many assigned pairs are true.

Differences from the paper: documents are centred before cosines are taken, and steps are careful then: they take off
what wins in groups at large, which assigns far more labels right (`centre=False` is the paper's way for text); the
undefined Proj(0) and steps that change nothing are handled (`xcwork.kernels.grlr`); a label that a group carries c
times goes to its c nearest members, where algorithm 2 marks one (`assign="one"`): in large groups one member out of
many that carry a label leaves little to learn from.

Reference: Shen, Yu, Sanghavi and Dhillon, Extreme multi-label classification from aggregated labels, ICML 2020.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from xcwork.compute.device import CHOICES as DEVICES
from xcwork.core.split import Split
from xcwork.data.groups import MERGES, cluster_into_groups, collect_groups, draw_random_groups
from xcwork.errors import ConfigError, DataError
from xcwork.methods.base import Capabilities, Documents, Explanation, Method, TopK, param
from xcwork.methods.common.grlr import ASSIGNMENTS, assign_labels, assignment_precision
from xcwork.methods.layout import Misfit, matrix, model, number, optional, stored
from xcwork.methods.registry import METHODS, create, method_class
from xcwork.options import parse_pairs
from xcwork.progress import report

LEARNERS = tuple(name for name in METHODS if name not in ("deep_miml", "eagle"))


class _LearnersCapabilities:
    """What EAGLE can do is what its learner can, aggregated labels, and label embeddings on an accelerator."""

    def __get__(self, method: Eagle | None, owner: type[Eagle]) -> Capabilities:
        learner = owner.parameters()["learner"].default if method is None else method.learner
        return replace(method_class(learner).capabilities, aggregated_labels=True, gpu=True)


@dataclass(kw_only=True, eq=False)
class Eagle(Method):
    """Labels of groups are given to their most likely members, then any method learns from them."""

    learner: str = param("label_tree", "the method that learns from the assigned labels", choices=LEARNERS)
    learner_params: str = param("", "its parameters, such as trees=1,C=0.5")
    steps: int = param(20, "steps that refine the label embeddings; 0 is EAGLE-0", low=0, high=1000)
    rate: float = param(0.1, "length of a step", low=0.0, high=100.0, advanced=True)
    careful: bool = param(
        True,
        "with centred documents: what wins in any group is taken off, and no group has a say about "
        "itself; the paper's steps are not careful",
        advanced=True,
    )
    assign: str = param(
        "top_c",
        "who gets a label of a group: one, the nearest member, as in the paper; the c nearest where c members "
        "brought it in; all; or those who carry it in truth",
        choices=(*ASSIGNMENTS, "all", "truth"),
    )
    centre: bool = param(True, "subtract the mean document before cosines are taken; the paper does not for text")
    merge: str = param("list", "a label counts as often as members carry it, or once", choices=MERGES)
    grouping: str = param(
        "given", "groups as the data have them, or made to study the loss", choices=("given", "random", "clusters")
    )
    group_size: int = param(4, "members of a random group", low=1)
    depth: int = param(8, "halvings of the training documents by clustering", low=0, high=30)
    noise: float = param(0.0, "noise that makes clusters less homogeneous", low=0.0, advanced=True)
    device: str = param("auto", "where labels are embedded", choices=DEVICES, advanced=True)

    title = "EAGLE"
    paper = "Shen et al., Extreme multi-label classification from aggregated labels, ICML 2020"
    capabilities = _LearnersCapabilities()
    layout = stored(embeddings_=optional(matrix("embedded", "features")), precision_=optional(number), learner_=model)

    def validate(self) -> None:
        super().validate()
        self.new_learner()

    def _check_learned(self) -> None:
        if self.embeddings_ is not None and self.embeddings_.shape[0] > len(self.labels_):
            raise Misfit("embeddings_ has more rows than there are labels")

    def new_learner(self) -> Method:
        """The learner with its parameters, not yet trained."""
        known = method_class(self.learner).parameters()
        given: dict[str, Any] = {}
        # A value may hold commas itself, so only a comma before the next name ends it.
        items = filter(None, re.split(r",(?=\s*\w+\s*=)", self.learner_params.strip(" ,")))
        for name, value in parse_pairs(items, "learner_params", example="seed=1, epochs=5").items():
            if name not in known:
                raise ConfigError(f"the learner {self.learner} has no parameter {name!r}; it has {', '.join(known)}")
            given[name] = known[name].parse(value.strip(" ,"))
        return create(self.learner, **{"seed": self.seed} | given)

    def _fit(self, train: Split) -> None:
        if train.Y.nnz == 0:
            raise DataError("no training document carries a label, so there is nothing to learn")
        assigned = self.assigned(self.grouped(train))
        self.label_frequencies_ = assigned.label_frequencies
        self.learner_ = self.new_learner().fit(assigned, checkpoint=self._checkpoint)

    def grouped(self, train: Split) -> Split:
        """The training documents in the groups that the parameters ask for."""
        if self.grouping == "random":
            return draw_random_groups(train, self.group_size, seed=self.seed)
        if self.grouping == "clusters":
            return cluster_into_groups(train, self.depth, noise=self.noise, seed=self.seed)
        return train

    def assigned(self, train: Split) -> Split:
        """The documents with the labels that each is to be trained with."""
        self.embeddings_, self.precision_ = None, None
        if self.assign == "truth":
            return train
        groups = collect_groups(train, self.merge)
        if self.assign == "all":
            Y = groups.shared()
        else:
            found = assign_labels(
                train.X,
                groups,
                steps=self.steps,
                rate=self.rate,
                careful=self.careful,
                assign=self.assign,
                centre=self.centre,
                seed=self.seed,
                device=self.device,
            )
            Y, self.embeddings_ = found.Y, found.embeddings
        if not groups.repeated:
            self.precision_ = assignment_precision(Y, train.Y)
            report("embedding labels", groups=len(groups), assignment_precision=self.precision_)
        return replace(train, Y=Y)

    def matrix_of(self, documents: Documents) -> sparse.csr_array:
        """Documents as the learner reads them, which need not be as rows of the features."""
        return self.learner_.matrix_of(documents)

    def _predict(self, X: sparse.csr_array, k: int, among: np.ndarray | None = None) -> TopK:
        return self.learner_._predict(X, k, among)

    def _explain(self, x: sparse.csr_array, label: int) -> Explanation:
        return self.learner_._explain(x, label)

    def _add_labels(self, Z: sparse.csr_array) -> None:
        self.learner_.labels_, self.learner_.label_frequencies_ = self.labels_, self.label_frequencies_
        self.learner_._add_labels(Z)

    def label_embeddings(self) -> np.ndarray | sparse.csr_array | None:
        """The largest entries of the embeddings that decided the assignment, or what the learner has."""
        embeddings = self.embeddings_
        if embeddings is None or embeddings.shape[0] < len(self.labels_):  # labels that were added have none
            return self.learner_.label_embeddings()
        return embeddings

    def diagnostics(self, split: Split) -> dict[str, float]:
        """The share of assigned labels that are true, where the documents' own labels were there to compare."""
        own = {} if self.precision_ is None else {"assignment_precision": self.precision_}
        return own | self.learner_.diagnostics(split)
