"""Deep-MIML and EAGLE's co-attention: a neural network that learns from bags of instances with common labels.

The network (`network`) gives every instance a score for every label, the largest over K sub-concepts, and a bag the
pool of its instances: the largest score, or their mean. The co-attention mask adds what GRLR
(`xcwork.methods.common.grlr`) knows: an instance close to the embedding of a label counts more for it. τ controls how
much; τ = 0 is Deep-MIML, `steps=0` is EAGLE-0. A document outside of any bag is a bag of one, for which the mask
changes nothing: it shapes training only. A bag may be asked for as well: `predict_bags` gives a label the largest score
that any of its members has, and `evaluate_bags` measures that.

Where every instance has one label and bags tell how often each occurs, the default compares the mean probability of a
label with its share of the bag, which needs neither a maximum nor a mask. Elsewhere it takes the largest logit.

The score of a label for a document is its logit v, before the ReLU if there is one. Around a given document the network
is linear (the same hidden units are active and the same sub-concepts win), so the parts of an explanation, value times
slope plus a constant, add up exactly.

Cost: O(terms * width + width * labels * K) per instance, so thousands of labels at most; this is the method for bags
of images and sentences rather than for extreme label spaces. Images have the mean image subtracted, as in the paper.

The preset `paper` is the paper's network: its mask multiplies logits, of all labels, and a ReLU keeps them positive.

Reference: Feng and Zhou, Deep MIML network, AAAI 2017; Shen et al., Extreme multi-label classification from aggregated
labels, ICML 2020, section 6.
"""

from __future__ import annotations

from dataclasses import dataclass

from xcwork.core.data_sizes import DataSizes
from xcwork.core.split import Split
from xcwork.core.topk import TopK
from xcwork.data.groups import MERGES, collect_groups
from xcwork.methods.base import Capabilities, Method, Preset, device_param, param
from xcwork.methods.common.checkpoints import Checkpoint, TrainingProgress
from xcwork.methods.common.epochs import PATIENCE_HELP
from xcwork.methods.deep_miml.model import DeepMIMLModel
from xcwork.methods.deep_miml.network import POOLED, POOLINGS, TARGETS
from xcwork.methods.deep_miml.training import train_on_bags
from xcwork.methods.model import Params
from xcwork.methods.params import precision_param
from xcwork.metrics.ranking import compute_curves, place_labels
from xcwork.sparse import fill_with_ones


@dataclass(kw_only=True, eq=False)
class DeepMIML(Method):
    """A neural network for bags of documents or images, with label embeddings as attention."""

    tau: float = param(
        5.0, "strength with which label embeddings guide the instances; 0 is Deep-MIML", low=0.0, high=1000.0
    )
    steps: int = param(20, "number of steps that refine the label embeddings; 0 is EAGLE-0", low=0, high=1000)
    pooled: str = param(
        "auto",
        "values that are pooled over the instances; auto: probabilities if counts tell shares of labels, else logits",
        choices=("auto", *POOLED),
    )
    pooling: str = param(
        "auto",
        "pooling of the instances of a bag; auto: their mean if counts tell shares of labels, else the largest",
        choices=("auto", *POOLINGS),
    )
    targets: str = param(
        "auto",
        "target of a bag: its labels, or the share of its instances that have each; auto: the share if "
        "every instance has one label and counts are known",
        choices=("auto", *TARGETS),
    )
    mask: str = param(
        "present",
        "reach of the mask: the labels of the bag, or all as in the paper",
        choices=("present", "all"),
    )
    output: str = param(
        "linear", "last layer of the network; relu as in the paper makes no logit negative", choices=("linear", "relu")
    )
    instances: str = param(
        "auto",
        "number of labels of an instance: exactly one, as of an image of a digit, or any number; auto counts them",
        choices=("auto", "one", "any"),
    )
    merge: str = param("list", "number of times a label counts: as often as members have it, or once", choices=MERGES)
    width: int = param(512, "number of units of the hidden layer", low=1, high=100_000, formerly="hidden")
    concepts: int = param(5, "number of sub-concepts of a label", low=1, high=1000)
    dropout: float = param(0.5, "share of hidden units left out of a training step", low=0.0, high=0.95)
    epochs: int = param(10, "number of passes over the bags", low=1)
    min_steps: int = param(
        1000, "minimum number of steps of training: few bags get more epochs", low=0, formerly="least_steps"
    )
    batch_size: int = param(32, "number of bags per training step", low=1)
    learning_rate: float = param(1e-3, "step size of Adam", low=1e-6, high=1.0)
    validation: float = param(0.0, "share of bags held out to find the best epoch; 0: none", low=0.0, high=0.5)
    patience: int = param(4, PATIENCE_HELP, low=1)
    prior: bool = param(
        True, "whether a label starts at its share of bags, which spares learning that most are absent", advanced=True
    )
    careful: bool = param(
        True, "whether the steps of the label embeddings are careful, see EAGLE; the paper's are not", advanced=True
    )
    centre: bool = param(True, "whether the mean instance is subtracted before cosines are taken", advanced=True)
    embedding_learning_rate: float = param(
        0.1, "length of a step of the label embeddings", low=0.0, high=100.0, advanced=True
    )
    device: str = device_param()
    precision: str = precision_param()

    title = "Deep-MIML with co-attention"
    paper = "Feng and Zhou, AAAI 2017; Shen et al., ICML 2020"
    capabilities = Capabilities(
        exact_explanations=True,
        aggregated_labels=True,
        gpu=True,
        gpu_training="network and label embeddings",
        gpu_prediction="scores of sub-concepts",
        resumable=True,
    )
    model_type = DeepMIMLModel
    presets = (
        Preset("quick", {"epochs": 2}),
        Preset(
            "paper",
            {
                "pooled": "logits",
                "pooling": "max",
                "targets": "labels",
                "mask": "all",
                "output": "relu",
                "prior": False,
                "careful": False,
                "centre": False,
                "concepts": 20,
                "batch_size": 64,
                "learning_rate": 1e-4,
                "min_steps": 0,
                "validation": 0.1,
            },
            ours_adds="shares of labels as targets where counts are known, a mask on the labels of the bag alone, "
            "careful and centred label embeddings, a linear output, a prior, more steps for few bags",
            not_yet="the paper does not report tau; its validation instances are single ones, ours whole bags",
        ),
    )

    def estimate_device_bytes(self, sizes: DataSizes) -> int:
        n_documents = min(self.batch_size, sizes.n_documents)
        entries = round(n_documents * sizes.terms_per_document)
        outputs = self.concepts * sizes.n_labels
        batch = n_documents * (6 * self.width + 3 * outputs + 8 * sizes.n_labels)
        words = 5 * min(sizes.n_features, entries) * self.width + entries * (self.width + 8)
        return 4 * (3 * sizes.n_features * self.width + 5 * outputs * self.width + batch + words)

    def predict_bags(self, split: Split, k: int = 5) -> TopK:
        """Return the k best labels of every bag of a split, in the order in which its bags first occur."""
        model = self._get_current_model()
        assert isinstance(model, DeepMIMLModel)
        return model.predict_bags(split.X, collect_groups(split).members, min(k, model.n_labels))

    def evaluate_bags(self, split: Split, k: int = 5) -> dict[str, float]:
        """Return P@1 to P@k in percent of the labels of whole bags; a bag has the labels of its members."""
        truth = fill_with_ones(collect_groups(split).labels)
        values = compute_curves(place_labels(self.predict_bags(split, k), truth))["P"]
        return {f"P@{rank}": value for rank, value in enumerate(values, start=1)}

    def _fit(self, train: Split, checkpoint: Checkpoint | None) -> DeepMIMLModel:
        progress = TrainingProgress(checkpoint, train, self.get_params())
        curve, weights = train_on_bags(train, Params(self.get_params()), progress)
        return DeepMIMLModel(
            **self._collect_facts(train),
            curve=curve,
            hidden=weights["hidden"],
            hidden_bias=weights["hidden_bias"],
            concepts=weights["concepts"],
            concepts_bias=weights["concepts_bias"],
        )
