"""What a label tree learns: a forest of trees with a classifier per slot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from xcwork.core.explanation import Explanation
from xcwork.core.topk import TopK
from xcwork.methods.label_tree.explanation import explain_label
from xcwork.methods.label_tree.forest import Forest
from xcwork.methods.label_tree.prediction import BeamSearch
from xcwork.methods.model import FittedModel, Misfit

MAX_POWER = 4  # of the hinge


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelTreeModel(FittedModel):
    """Trees over the labels that have training documents."""

    forest: Forest  # kind=given has one tree, whatever the parameter `trees` says
    power: int  # of the hinge: as given, or as chosen from the training documents

    @cached_property
    def search(self) -> BeamSearch:
        """The search through the trees."""
        return BeamSearch(self.forest, self.n_labels, self.params.beam, self.power, self.params.device)

    def check(self) -> None:
        if type(self.power) is not int or not 1 <= self.power <= MAX_POWER:
            raise Misfit(f"its power is no whole number from 1 to {MAX_POWER}")
        self.forest.check(self.n_features, self.n_labels)

    def predict(self, X: sparse.csr_array, k: int, among: np.ndarray | None = None) -> TopK:
        return self.search.find_labels(X, k, among)

    def explain(self, x: sparse.csr_array, label: int) -> Explanation:
        return explain_label(self.search, x, label, self.features)

    def label_embeddings(self) -> sparse.csr_array:
        """Return the mean over the trees of each label's own classifier."""
        return self.forest.average_label_weights(self.n_labels)

    def to_state(self) -> dict[str, Any]:
        return super().to_state() | {"forest": self.forest.to_state()}

    @classmethod
    def restore_fields(cls, state: Mapping[str, Any]) -> dict[str, Any]:
        return {**state, "forest": Forest.from_state(state["forest"])}
