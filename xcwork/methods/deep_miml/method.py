"""Deep-MIML and EAGLE's co-attention: a neural network that learns from bags of instances with common labels.

The network (`network`) gives every instance a score for every label, the largest over K sub-concepts, and a bag the
largest score of its instances. The co-attention mask adds what GRLR (`xcwork.methods.common.grlr`) knows: an instance
close to the embedding of a label has more say about it. τ controls how much; τ = 0 is Deep-MIML, `steps=0` is EAGLE-0.
A document outside of any bag is a bag of one, for which the mask changes nothing: it shapes training only.

The score of a label for a document is its logit v. Around a given document the network is linear (the same hidden units
are active and the same sub-concepts win), so the parts of an explanation, value times slope plus a constant, add up
exactly.

Cost: O(terms * hidden + hidden * labels * K) an instance, so thousands of labels at most; this is the method for bags
of images and sentences rather than for extreme label spaces. Images have the mean image subtracted, as in the paper.

Differences from the paper: the mask multiplies probabilities instead of logits, and only those of labels that the bag
carries; the last layer has no ReLU, which would make every logit positive. `network` says why.

Reference: Feng and Zhou, Deep MIML network, AAAI 2017; Shen et al., Extreme multi-label classification from aggregated
labels, ICML 2020, section 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from xcwork.compute.device import CHOICES as DEVICES
from xcwork.compute.device import resolve
from xcwork.core.split import Split
from xcwork.data.groups import MERGES, Groups, collect_groups
from xcwork.errors import DataError
from xcwork.methods.base import Capabilities, Explanation, Method, Part, TopK, param
from xcwork.methods.common.checkpoints import TrainingProgress
from xcwork.methods.common.epochs import train_epochs
from xcwork.methods.common.grlr import KEPT, Assigned, assign_labels
from xcwork.methods.layout import array, history, stored
from xcwork.progress import batches
from xcwork.search import top_k_rows

BATCH_BYTES = 2**26  # of the scores of all sub-concepts of a batch
EMBEDDING_BYTES = 2**28  # of the entries kept of all labels' embeddings


@dataclass(kw_only=True, eq=False)
class DeepMIML(Method):
    """A neural network for bags of documents or images, with label embeddings as attention."""

    tau: float = param(5.0, "how much label embeddings guide the instances; 0 is Deep-MIML", low=0.0, high=1000.0)
    steps: int = param(20, "steps that refine the label embeddings; 0 is EAGLE-0", low=0, high=1000)
    hidden: int = param(512, "units of the hidden layer", low=1, high=100_000)
    concepts: int = param(5, "sub-concepts of a label", low=1, high=1000)
    dropout: float = param(0.5, "share of hidden units left out of a training step", low=0.0, high=0.95)
    epochs: int = param(10, "passes over the bags", low=1)
    batch_size: int = param(32, "bags a training step", low=1)
    learning_rate: float = param(1e-3, "step size of Adam", low=1e-6, high=1.0)
    merge: str = param("list", "a label counts as often as members carry it, or once", choices=MERGES)
    instances: str = param(
        "auto",
        "labels of an instance: exactly one, as of an image of a digit, or any number; auto counts them",
        choices=("auto", "one", "any"),
    )
    device: str = param("auto", "where the network lives", choices=DEVICES, advanced=True, at_prediction=True)

    title = "Deep-MIML with co-attention"
    paper = "Feng and Zhou, AAAI 2017; Shen et al., ICML 2020"
    capabilities = Capabilities(exact_explanations=True, aggregated_labels=True, gpu=True, resumable=True)
    layout = stored(
        curve_=history,
        hidden_=array("features", "hidden"),
        hidden_bias_=array("hidden"),
        concepts_=array("hidden", "labels*concepts"),
        concepts_bias_=array("labels*concepts"),
    )

    def _fit(self, train: Split) -> None:
        import torch

        from xcwork.methods.deep_miml.network import Weights
        from xcwork.methods.deep_miml.training import BagTrainer, Settings

        if train.Y.nnz == 0:
            raise DataError("no training document carries a label, so there is nothing to learn")
        groups = collect_groups(train, self.merge)
        mean = None if train.features.image_shape is None else np.asarray(train.X.mean(axis=0)).ravel()
        exclusive = self.instances == "one" or (self.instances == "auto" and _one_label_each(groups))
        settings = Settings(
            self.tau, self.concepts, self.dropout, self.batch_size, self.learning_rate, exclusive, self.seed
        )
        prior = torch.zeros(train.n_labels)
        if not exclusive:  # most labels are absent from most bags, which need not be learned step by step
            share = torch.as_tensor((groups.labels > 0).sum(axis=0) + 1) / (len(groups) + 2)
            prior = torch.logit(share).float()
        start = Weights.random(train.X.shape[1], self.hidden, prior, self.concepts, self.seed)
        embedded = self._embedded(train, groups)
        trainer = BagTrainer(train.X, mean, groups, embedded, start, settings, resolve(self.device))
        progress = TrainingProgress(self._checkpoint, train, self.get_params())
        self.curve_ = train_epochs(trainer, "training", progress, epochs=self.epochs, patience=1)
        self._keep(trainer.weights(), mean)

    def _embedded(self, train: Split, groups: Groups) -> Assigned | None:
        """The embedding of every label, where a mask is made of them."""
        if self.tau == 0 or len(groups) == len(train):
            return None
        keep = max(KEPT, EMBEDDING_BYTES // (8 * train.n_labels))
        return assign_labels(train.X, groups, steps=self.steps, keep=keep, seed=self.seed, device=self.device)

    def _keep(self, weights: dict[str, Any], mean: np.ndarray | None) -> None:
        self.hidden_, self.hidden_bias_ = weights["hidden"], weights["hidden_bias"]
        if mean is not None:
            self.hidden_bias_ = (self.hidden_bias_ - mean @ self.hidden_).astype(np.float32)
        self.concepts_, self.concepts_bias_ = weights["concepts"], weights["concepts_bias"]

    def _predict(self, X: sparse.csr_array, k: int, among: np.ndarray | None = None) -> TopK:
        import torch

        from xcwork.methods.deep_miml.network import Weights, instance_logits

        place = resolve(self.device)
        # In double precision a document gets the same score alone and in a batch.
        kind = torch.float32 if place.type == "mps" else torch.float64
        parts = (self.hidden_bias_, self.concepts_, self.concepts_bias_)
        weights = Weights(torch.empty(0), *(torch.as_tensor(part).to(place, kind) for part in parts))
        silent = self.label_frequencies_ == 0  # without a training document nothing is known
        if among is not None:
            silent |= ~np.isin(np.arange(len(silent)), among)
        found = []
        for block in batches(X, max(1, BATCH_BYTES // (8 * self.concepts_.shape[1])), "scoring"):
            inputs = torch.as_tensor(block.astype(np.float32) @ self.hidden_).to(place, kind)
            with torch.no_grad():
                scores = instance_logits(weights, inputs, self.concepts).cpu().numpy().astype(np.float32)
            scores[:, silent] = -np.inf
            found.append(top_k_rows(scores, k))
        return TopK.concatenate(found)

    def _explain(self, x: sparse.csr_array, label: int) -> Explanation:
        inputs = (x.astype(np.float32) @ self.hidden_).ravel() + self.hidden_bias_
        active = inputs > 0
        own = slice(label * self.concepts, (label + 1) * self.concepts)
        concepts = self.concepts_[:, own].astype(np.float64)  # (n_hidden, K)
        scores = inputs[active].astype(np.float64) @ concepts[active] + self.concepts_bias_[own]
        concept = int(np.argmax(scores))
        slope = np.where(active, concepts[:, concept], 0.0)  # (n_hidden,)
        name = f"{self.labels_.names[label]}, concept {concept + 1}"
        weights = self.hidden_[x.indices].astype(np.float64) @ slope
        parts = [
            Part(self.features_.name(term), name, value * weight, {"weight": weight})
            for term, value, weight in zip(x.indices.tolist(), x.data.tolist(), weights.tolist(), strict=True)
        ]
        constant = float(self.hidden_bias_ @ slope + self.concepts_bias_[own][concept])
        return Explanation.of([*parts, Part("(any document)", "bias", constant)])

    def label_embeddings(self) -> np.ndarray:
        """The mean over its sub-concepts of each label's weights in the hidden layer."""
        return self.concepts_.reshape(self.concepts_.shape[0], -1, self.concepts).mean(axis=2).T


def _one_label_each(groups: Groups) -> bool:
    """Does every group have as many labels, counted, as members?"""
    return np.array_equal(groups.labels.sum(axis=1), np.diff(groups.members.indptr))
