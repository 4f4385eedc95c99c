"""What EAGLE keeps: the learner that was trained on the assigned labels, and what decided the assignment."""

from __future__ import annotations

import re
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse

from xcwork.core.explanation import Explanation
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.core.topk import TopK
from xcwork.methods.base import Method
from xcwork.methods.model import FittedModel, Misfit, check_csr, check_number


@dataclass(frozen=True, kw_only=True, eq=False)
class EagleModel(FittedModel):
    """A trained method, and the embeddings of the labels it was trained with."""

    learner: Method
    embeddings: sparse.csr_array | None  # (n_labels of the training, n_features); None where nothing was embedded
    precision: float | None  # share of assigned labels that are true; None where the true labels are not known

    def check(self) -> None:
        learner: Any = self.learner
        if not isinstance(learner, Method) or not hasattr(learner, "model_"):
            raise Misfit("learner is not a trained model")
        model = learner.model_
        if (model.n_labels, model.n_features) != (self.n_labels, self.n_features):
            raise Misfit("learner is not a model of the same labels and features")
        if self.embeddings is not None:
            check_csr("embeddings", self.embeddings, (None, self.n_features))
            if self.embeddings.shape[0] > self.n_labels:
                raise Misfit("embeddings has more rows than there are labels")
        if self.precision is not None:
            check_number("precision", self.precision)

    def predict(self, X: sparse.csr_array, k: int, among: np.ndarray | None = None) -> TopK:
        return self.predictor.predict(X, k, among)

    def explain(self, x: sparse.csr_array, label: int) -> Explanation:
        return self.predictor.explain(x, label)

    @cached_property
    def predictor(self) -> FittedModel:
        """What the learner has learned, on the device of these parameters unless the learner has one of its own."""
        model = self.learner.model_
        is_own = re.search(r"\bdevice\s*=", self.params.learner_params) is not None
        if is_own or model.params.get("device", self.params.device) == self.params.device:
            return model
        return replace(model, params=model.params | {"device": self.params.device})

    def add_labels(self, labels: LabelSpace, Z: sparse.csr_array) -> Self:
        """Return a model whose learner knows the new labels too."""
        learner = copy(self.learner)
        learner.model_ = self.learner.model_.add_labels(labels, Z)
        return replace(super().add_labels(labels, Z), learner=learner)

    def label_embeddings(self) -> np.ndarray | sparse.csr_array | None:
        """Return the largest entries of the embeddings that decided the assignment, or what the learner has."""
        if self.embeddings is None or self.embeddings.shape[0] < self.n_labels:  # labels that were added have none
            return self.learner.label_embeddings()
        return self.embeddings

    def diagnose(self, split: Split) -> dict[str, float]:
        """Return the share of assigned labels that are true, where that is known, and what the learner says."""
        own = {} if self.precision is None else {"assignment_precision": self.precision}
        return own | self.learner.diagnose(split)
