"""EAGLE: learning from labels that are known for groups of documents only.

A label of a group belongs to at least one member, but which? The embedding of a label should be close to at least one
member of every group that has it,

    e_k = argmax over ‖e‖ = 1 of  Σ_{groups j with label k}  max_{i in j} <e, x_i>,

which GRLR approximates by T steps that alternate between picking the nearest member of each group and moving the
embedding towards those picked. Then each group gives each of its labels to the member nearest to the label's
embedding, or to the c nearest where c members have it, and any method of the workbench learns from the result as
if it were ordinary data. Without steps (T = 0) this is EAGLE-0; `assign="all"` gives every label to every member, the
baseline; `assign="truth"` takes the documents' own labels, where they are known, as the oracle. On ordinary data every
document is its own group and nothing changes.

A rule of thumb from the paper's theorem 1 and table 2: mixed groups gain from assignment, in tight groups (all members
nearly alike) the labels of the group may as well stay with all of them. That is so where each label goes to one member;
given to as many as have it, assignment has been better in clusters too. Where nobody counted them (`merge="set"`,
most real groups), `assign="outstanding"` estimates their number (see `xcwork.methods.common.grlr`).

Training looks at the labels of groups alone. Where the documents have labels of their own, these serve to report how
many assigned pairs are true.

Differences from the paper: documents are centred before cosines are taken, and steps are careful then: winners common
to all groups are subtracted, which assigns far more labels right (`centre=False` is the paper's way for text); the
undefined Proj(0) and steps that change nothing are handled (`xcwork.kernels.grlr`); a label that a group has c
times goes to its c nearest members, where algorithm 2 marks one (`assign="one"`): in large groups one member out of
many that have a label leaves little to learn from.

Reference: Shen, Yu, Sanghavi and Dhillon, Extreme multi-label classification from aggregated labels, ICML 2020.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from scipy import sparse

from xcwork.core.data_sizes import DataSizes
from xcwork.core.split import Split
from xcwork.data.groups import MERGES
from xcwork.methods.base import Capabilities, Method, Preset, device_param, param
from xcwork.methods.common.checkpoints import Checkpoint
from xcwork.methods.common.grlr import ASSIGNMENTS
from xcwork.methods.common.grlr_problem import estimate_assignment_bytes
from xcwork.methods.eagle.assignment import GroupAssignment, assign_group_labels, group_documents
from xcwork.methods.eagle.model import EagleModel
from xcwork.methods.inputs import Documents
from xcwork.methods.model import Params
from xcwork.methods.registry import METHODS, create, find_method_class
from xcwork.options import parse_pairs

LEARNERS = tuple(name for name in METHODS if name not in ("deep_miml", "eagle"))


class LearnerCapabilities:
    """What EAGLE can do is what its learner can, aggregated labels, and label embeddings on an accelerator."""

    def __get__(self, method: Eagle | None, owner: type[Eagle]) -> Capabilities:
        learner = owner.parameters()["learner"].default if method is None else method.learner
        inner = find_method_class(learner).capabilities
        training = "label embeddings" + (f"; with this learner {inner.gpu_training}" if inner.gpu_training else "")
        return replace(inner, aggregated_labels=True, gpu=True, gpu_training=training)


@dataclass(kw_only=True, eq=False)
class Eagle(Method):
    """Labels of groups are given to their most likely members, then any method learns from them."""

    learner: str = param("label_tree", "method that learns from the assigned labels", choices=LEARNERS)
    learner_params: str = param("", "parameters of the learner, such as trees=1,C=0.5")
    steps: int = param(20, "number of steps that refine the label embeddings; 0 is EAGLE-0", low=0, high=1000)
    learning_rate: float = param(0.1, "length of a step", low=0.0, high=100.0, advanced=True, formerly="rate")
    careful: bool = param(
        True,
        "whether, with centred documents, winners common to all groups are subtracted and no group counts towards "
        "itself; the paper's steps are not careful",
        advanced=True,
    )
    assign: str = param(
        "top_c",
        "members that get a label of a group: one, the nearest, as in the paper; the c nearest where c members "
        "have it; the nearest and all that stand out, where counts are not known; all; or those that truly have it",
        choices=(*ASSIGNMENTS, "all", "truth"),
    )
    centre: bool = param(
        True, "whether the mean document is subtracted before cosines are taken; the paper does not for text"
    )
    merge: str = param("list", "number of times a label counts: as often as members have it, or once", choices=MERGES)
    grouping: str = param(
        "given",
        "origin of the groups: given by the data, or made to study the loss",
        choices=("given", "random", "clusters"),
    )
    group_size: int = param(4, "number of members of a random group", low=1)
    depth: int = param(8, "number of times that clustering halves the training documents", low=0, high=30)
    noise: float = param(0.0, "noise that makes clusters less homogeneous", low=0.0, advanced=True)
    device: str = device_param()

    title = "EAGLE"
    paper = "Shen et al., Extreme multi-label classification from aggregated labels, ICML 2020"
    capabilities = LearnerCapabilities()
    model_type = EagleModel
    presets = (
        Preset(
            "paper",
            {"careful": False, "assign": "one", "centre": False},
            ours_adds="centred documents, careful steps, as many members per label as have it",
        ),
    )

    def validate(self) -> None:
        super().validate()
        self.make_learner()

    def make_learner(self) -> Method:
        """Return the learner with its parameters, not yet trained."""
        learner = find_method_class(self.learner)
        # A value may hold commas itself, so only a comma before the next name ends it.
        items = filter(None, re.split(r",(?=\s*\w+\s*=)", self.learner_params.strip(" ,")))
        given = learner.rename_params(parse_pairs(items, "learner_params", example="seed=1, epochs=5"))
        known = learner.parameters()
        params = {name: known[name].parse(value.strip(" ,")) for name, value in given.items()}
        shared = {name: getattr(self, name) for name in ("seed", "device") if name in known}
        return create(self.learner, **shared | params)

    def group_documents(self, train: Split) -> Split:
        """Return the training documents in the groups that the parameters ask for."""
        return group_documents(train, Params(self.get_params()))

    def assign_labels(self, train: Split) -> GroupAssignment:
        """Return the documents of groups with the labels that each is to be trained with."""
        return assign_group_labels(train, Params(self.get_params()))

    def estimate_device_bytes(self, sizes: DataSizes) -> int:
        members = {"random": self.group_size, "clusters": sizes.n_documents / 2**self.depth}.get(self.grouping, 1)
        own = estimate_assignment_bytes(sizes, max(1, members))
        return max(own, self.make_learner().estimate_device_bytes(sizes) or 0)

    def _fit(self, train: Split, checkpoint: Checkpoint | None) -> EagleModel:
        assignment = self.assign_labels(self.group_documents(train))
        learner = self.make_learner().fit(assignment.train, checkpoint=checkpoint)
        if "device" in learner.parameters():
            learner.set_params(device="auto")  # EAGLE's own counts, and this one may not be there where it is loaded
        return EagleModel(
            **self._collect_facts(assignment.train),
            learner=learner,
            embeddings=assignment.embeddings,
            precision=assignment.precision,
        )

    def read_matrix(self, documents: Documents) -> sparse.csr_array:
        """Return documents as the learner reads them, which need not be as rows of the features."""
        model = self._get_current_model()
        assert isinstance(model, EagleModel)
        return model.learner.read_matrix(documents)
