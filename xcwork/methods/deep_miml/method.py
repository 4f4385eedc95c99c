"""Deep-MIML and EAGLE's co-attention: a neural network that learns from bags of instances with common labels.

The network (`network`) gives every instance a score for every label, the largest over K sub-concepts, and a bag the
largest score of its instances. The co-attention mask adds what GRLR (`xcwork.methods.common.grlr`) knows: an instance
close to the embedding of a label counts more for it. τ controls how much; τ = 0 is Deep-MIML, `steps=0` is EAGLE-0.
A document outside of any bag is a bag of one, for which the mask changes nothing: it shapes training only.

The score of a label for a document is its logit v. Around a given document the network is linear (the same hidden units
are active and the same sub-concepts win), so the parts of an explanation, value times slope plus a constant, add up
exactly.

Cost: O(terms * width + width * labels * K) per instance, so thousands of labels at most; this is the method for bags
of images and sentences rather than for extreme label spaces. Images have the mean image subtracted, as in the paper.

Differences from the paper: the mask multiplies probabilities instead of logits, and only those of labels that the bag
has; the last layer has no ReLU, which would make every logit positive. `network` says why.

Reference: Feng and Zhou, Deep MIML network, AAAI 2017; Shen et al., Extreme multi-label classification from aggregated
labels, ICML 2020, section 6.
"""

from __future__ import annotations

from dataclasses import dataclass

from xcwork.compute.device import DEVICES
from xcwork.core.split import Split
from xcwork.data.groups import MERGES
from xcwork.errors import DataError
from xcwork.methods.base import Capabilities, Method, param
from xcwork.methods.common.checkpoints import Checkpoint, TrainingProgress
from xcwork.methods.deep_miml.model import DeepMIMLModel
from xcwork.methods.deep_miml.training import train_on_bags
from xcwork.methods.model import Params


@dataclass(kw_only=True, eq=False)
class DeepMIML(Method):
    """A neural network for bags of documents or images, with label embeddings as attention."""

    tau: float = param(
        5.0, "strength with which label embeddings guide the instances; 0 is Deep-MIML", low=0.0, high=1000.0
    )
    steps: int = param(20, "number of steps that refine the label embeddings; 0 is EAGLE-0", low=0, high=1000)
    width: int = param(512, "number of units of the hidden layer", low=1, high=100_000, formerly="hidden")
    concepts: int = param(5, "number of sub-concepts of a label", low=1, high=1000)
    dropout: float = param(0.5, "share of hidden units left out of a training step", low=0.0, high=0.95)
    epochs: int = param(10, "number of passes over the bags", low=1)
    batch_size: int = param(32, "number of bags per training step", low=1)
    learning_rate: float = param(1e-3, "step size of Adam", low=1e-6, high=1.0)
    merge: str = param("list", "how often a label counts: as often as members have it, or once", choices=MERGES)
    instances: str = param(
        "auto",
        "number of labels of an instance: exactly one, as of an image of a digit, or any number; auto counts them",
        choices=("auto", "one", "any"),
    )
    device: str = param("auto", "device of the network", choices=DEVICES, advanced=True, at_prediction=True)

    title = "Deep-MIML with co-attention"
    paper = "Feng and Zhou, AAAI 2017; Shen et al., ICML 2020"
    capabilities = Capabilities(exact_explanations=True, aggregated_labels=True, gpu=True, resumable=True)
    model_type = DeepMIMLModel

    def _fit(self, train: Split, checkpoint: Checkpoint | None) -> DeepMIMLModel:
        if train.Y.nnz == 0:
            raise DataError("no training document has a label", remedy="check the label column or the label file")
        progress = TrainingProgress(checkpoint, train, self.get_params())
        curve, weights = train_on_bags(train, Params(self.get_params()), progress)
        return DeepMIMLModel(
            **self._facts(train),
            curve=curve,
            hidden=weights["hidden"],
            hidden_bias=weights["hidden_bias"],
            concepts=weights["concepts"],
            concepts_bias=weights["concepts_bias"],
        )
