"""Label trees: a document finds its labels by going down a tree of ever smaller sets of labels.

Similar labels share a branch. At every node linear classifiers decide which branches a document follows, and at the
leaves which labels it gets:

    P(label | x) = Π over the way down of exp(-max(0, 1 - w·x/‖x‖ - b)ᵖ),   score = mean of P over the trees

with (w, b) support vector machines of squared hinge loss and p = `power`. A classifier is trained on
the documents at its node alone, and a search follows the `beam` best nodes of a level, so both cost far less than a
classifier per label over everything.

- kind="parabel": balanced halves by spherical 2-means of the label centroids, until a node has at most `leaf_size`
  labels. `branching` above 2 takes several halvings together, which makes a flatter tree.
- kind="bonsai": k-means with many clusters of any size, and at most `max_depth` such splits.
- kind="given": the hierarchy that the dataset gives its labels.

Two settings are chosen from the data unless they are given: `C` = (24 / n)^¾ between 1/4 and 8, where n is the
geometric mean of the documents of a label, and `power`, 3 or, where a document has ten labels or more on average, 2.
Parabel has C = 1 and power 2 everywhere (`preset="paper"`).

Cost: O(log n_labels) classifiers per document and tree in training and prediction, about `beam` * `leaf_size` labels at
the leaves. Nodes train side by side on all cores; one seed gives one result whatever their number.

Differences from the papers: documents without labels are negatives at the root; the bias is not pruned; entries of a
centroid below 0.01 do not take part in clustering; at most ten passes of descent at a node with few branches. A label
without training documents is in no tree and is never predicted; a tree that does not reach a label counts as zero.

References: Prabhu et al., Parabel, WWW 2018; Khandagale, Xiao and Babbar, Bonsai, Machine Learning 2020.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xcwork.core.data_sizes import DataSizes
from xcwork.core.split import Split
from xcwork.errors import ConfigError
from xcwork.kernels.machine_sizes import estimate_shared_bytes
from xcwork.methods.base import Capabilities, Method, Preset, device_param, param
from xcwork.methods.common.checkpoints import Checkpoint
from xcwork.methods.label_tree.choices import choose_settings
from xcwork.methods.label_tree.model import MAX_POWER, LabelTreeModel
from xcwork.methods.label_tree.node_table import tabulate_nodes
from xcwork.methods.label_tree.training import train_forest
from xcwork.methods.model import Params

if TYPE_CHECKING:
    import pandas as pd


@dataclass(kw_only=True, eq=False)
class LabelTree(Method):
    """Labels found by going down trees of similar labels, with linear classifiers at every node."""

    kind: str = param(
        "parabel",
        "kind of tree: balanced halves, wide clusters, or the dataset's own hierarchy",
        choices=("parabel", "bonsai", "given"),
    )
    trees: int = param(3, "number of trees whose probabilities are averaged (kind=given has one)", low=1, high=100)
    leaf_size: int = param(100, "maximum number of labels that are not split any further", low=1)
    branching: int | None = param(
        None, "number of parts of a split; 2 for parabel and 100 for bonsai if not given", low=2
    )
    max_depth: int | None = param(
        None, "maximum number of splits on the way to a label; 2 for bonsai if not given", low=0
    )
    beam: int = param(10, "number of nodes of a level that a search follows", low=1, at_prediction=True)
    power: int | None = param(
        None,
        "power of the hinge in the probability of a step; if not given 3, or 2 where documents have many labels",
        low=1,
        high=MAX_POWER,
    )
    C: float | None = param(
        None,
        "weight of the errors against the size of the weights; if not given, the fewer documents a label has the more",
        low=1e-4,
        high=1e4,
    )
    prune: float = param(0.1, "size below which weights are dropped", low=0.0)
    tolerance: float = param(0.1, "largest violation of optimality that may remain", low=1e-5, high=1.0)
    max_passes: int = param(
        10, "maximum number of passes over the documents of a node with few branches", low=1, advanced=True
    )
    device: str = device_param()

    title = "Label tree"
    paper = "Prabhu et al., Parabel, WWW 2018; Khandagale et al., Bonsai, Machine Learning 2020"
    capabilities = Capabilities(
        exact_explanations=True,
        gpu=True,
        gpu_training="clusters and classifiers",
        gpu_prediction="search",
        resumable=True,
    )
    model_type = LabelTreeModel
    presets = (
        Preset("quick", {"trees": 1}),
        Preset(
            "paper",
            {"branching": 2, "power": 2, "C": 1.0, "max_passes": 20},
            ours_adds="C and power chosen from the data; at most ten passes of descent at nodes with few branches",
            not_yet="a pruned bias; documents without labels are negatives at the root",
        ),
    )

    def validate(self) -> None:
        super().validate()
        if self.kind == "parabel" and self.branching is not None and self.branching & (self.branching - 1):
            raise ConfigError(f"branching must be a power of two for kind=parabel, got {self.branching}")

    def estimate_device_bytes(self, sizes: DataSizes) -> int:
        return estimate_shared_bytes(sizes.n_documents, sizes.n_features, sizes.n_entries, sizes.n_labels)

    def _fit(self, train: Split, checkpoint: Checkpoint | None) -> LabelTreeModel:
        settings = choose_settings(train, Params(self.get_params()))
        forest = train_forest(train, settings, checkpoint)
        return LabelTreeModel(**self._collect_facts(train), forest=forest, power=settings.power)

    def tabulate_tree(self, tree: int = 0, *, terms: int = 5, labels: int = 3) -> pd.DataFrame:
        """Return the nodes of one tree: parent, level, sizes, terms that lead there and some of the labels below."""
        model = self._get_current_model()
        assert isinstance(model, LabelTreeModel)  # made by `_fit` or checked by `from_state`
        n_trees = model.forest.n_trees
        if not 0 <= tree < n_trees:
            raise ConfigError(f"there is no tree {tree}; they go from 0 to {n_trees - 1}")
        return tabulate_nodes(model, tree, n_terms=terms, n_names=labels)
