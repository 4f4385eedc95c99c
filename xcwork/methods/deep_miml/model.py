"""What DeepMIML learns, and how it scores and explains a document outside of any bag."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse

from xcwork.compute.device import has_float64, resolve_device
from xcwork.compute.transfer import send_arrays
from xcwork.core.explanation import ANY_DOCUMENT, LABEL_RARITY, Explanation, Family, Part
from xcwork.core.topk import TopK
from xcwork.methods.deep_miml.network import MIMLWeights, compute_instance_logits
from xcwork.methods.model import FittedModel, check_array, check_history, for_display
from xcwork.progress import track_batches
from xcwork.search import top_k_rows

BATCH_BYTES = 2**26  # of the scores of all sub-concepts of a batch


@dataclass(frozen=True, kw_only=True, eq=False)
class DeepMIMLModel(FittedModel):
    """The weights of two layers; the second has K sub-concepts per label."""

    hidden: np.ndarray  # (n_features, width)
    hidden_bias: np.ndarray  # (width,)
    concepts: np.ndarray  # (width, n_labels * K)
    concepts_bias: np.ndarray  # (n_labels * K,)
    curve: list[dict[str, float]] = for_display()  # one entry per epoch

    def check(self) -> None:
        width = self.params.width
        n_concepts = self.n_labels * self.params.concepts
        check_array("hidden", self.hidden, (self.n_features, width))
        check_array("hidden_bias", self.hidden_bias, (width,))
        check_array("concepts", self.concepts, (width, n_concepts))
        check_array("concepts_bias", self.concepts_bias, (n_concepts,))
        check_history("curve", self.curve)

    def predict(self, X: sparse.csr_array, k: int, among: np.ndarray | None = None) -> TopK:
        device = resolve_device(self.params.device)
        # In double precision a document gets the same score alone and in a batch.
        dtype = torch.float64 if has_float64(device) else torch.float32
        parts = (self.hidden_bias, self.concepts, self.concepts_bias)
        weights = MIMLWeights(torch.empty(0), *(part.to(dtype) for part in send_arrays(device, *parts)))
        is_excluded = self.label_frequencies == 0  # without a training document nothing is known
        if among is not None:
            is_excluded |= ~np.isin(np.arange(self.n_labels), among)
        found = []
        for block in track_batches(X, max(1, BATCH_BYTES // (8 * self.concepts.shape[1])), "scoring"):
            inputs = send_arrays(device, block.astype(np.float32) @ self.hidden)[0].to(dtype)
            with torch.no_grad():
                scores = compute_instance_logits(weights, inputs, self.params.concepts).cpu().numpy().astype(np.float32)
            scores[:, is_excluded] = -np.inf
            found.append(top_k_rows(scores, k))
        return TopK.concatenate(found)

    def predict_bags(self, X: sparse.csr_array, members: sparse.csr_array, k: int) -> TopK:
        """Return the k best labels of every bag, by its largest score; `members` (n_bags, n_rows) says whose it is."""
        order = members.indices
        starts = members.indptr[:-1].astype(np.int64)
        scores = self.predict(X, self.n_labels).to_csr(self.n_labels).toarray()
        scores[:, self.label_frequencies == 0] = -np.inf
        return top_k_rows(np.maximum.reduceat(scores[order], starts, axis=0), k)

    def explain(self, x: sparse.csr_array, label: int) -> Explanation:
        inputs = (x.astype(np.float32) @ self.hidden).ravel() + self.hidden_bias
        is_active = inputs > 0
        own = slice(label * self.params.concepts, (label + 1) * self.params.concepts)
        concepts = self.concepts[:, own].astype(np.float64)  # (width, K)
        scores = inputs[is_active].astype(np.float64) @ concepts[is_active] + self.concepts_bias[own]
        concept = int(np.argmax(scores))
        slope = np.where(is_active, concepts[:, concept], 0.0)  # (width,)
        name = f"{self.labels.names[label]}, concept {concept + 1}"
        weights = self.hidden[x.indices].astype(np.float64) @ slope
        parts = [
            Part(self.features.get_name(term), name, value * weight, {"weight": weight}, Family.memorised)
            for term, value, weight in zip(x.indices.tolist(), x.data.tolist(), weights.tolist(), strict=True)
        ]
        constant = float(self.hidden_bias @ slope + self.concepts_bias[own][concept])
        return Explanation.from_parts([*parts, Part(ANY_DOCUMENT, LABEL_RARITY, constant)])

    def label_embeddings(self) -> np.ndarray:
        """Return the mean over its sub-concepts of each label's weights in the hidden layer."""
        return self.concepts.reshape(self.concepts.shape[0], -1, self.params.concepts).mean(axis=2).T
