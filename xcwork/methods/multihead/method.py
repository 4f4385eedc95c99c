"""Multi-head encoding: a few short heads instead of one enormous output layer.

| method | module | for | parameters of the heads | logits per document |
| --- | --- | --- | --- | --- |
| `flat` | `flat` | comparison: one-hot encoding, one logit per label | d L | L |
| `mhp` | `product` | one label per document; label sets as a powerset | d Σ h | Σ h |
| `mhc` | `cascade` | several labels per document | d (h_1 + c) + c L | h_1 + beam Σ h_t |
| `mhs` | `flat` | cheap training on very many labels | d L | L; in training S heads |

L labels, d features, heads of length h, label embeddings of size c. All four share backbones, label order, training and
explanations, and differ only in the classifier. So a comparison of two of them compares their classifiers, with the
same backbone, batches and seed.

A random label order costs accuracy when the network underfits, as figure 9 of the paper shows and theorem 3 denies; the
studies in `xcwork.studies.multihead` measure it.

Reference: Liang, Zhang, Yuan, Zhang, Multi-head encoding for extreme label classification, TPAMI 2025.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from xcwork.compute.device import resolve_device
from xcwork.core.data_sizes import DataSizes
from xcwork.core.split import Split
from xcwork.errors import ConfigError, DataError
from xcwork.methods.base import Capabilities, Method, Preset, device_param, param
from xcwork.methods.common.checkpoints import Checkpoint, TrainingProgress
from xcwork.methods.common.epochs import PATIENCE_HELP
from xcwork.methods.inputs import Documents
from xcwork.methods.multihead.backbones import BACKBONES, choose_backbone
from xcwork.methods.multihead.codes import (
    BitSlices,
    Lengths,
    check_heads,
    choose_cascade_heads,
    choose_even_heads,
    choose_groups,
    parse_heads,
)
from xcwork.methods.multihead.encoders import read_sentences
from xcwork.methods.multihead.heads import LOSSES
from xcwork.methods.multihead.label_order import ORDERS, order_labels
from xcwork.methods.multihead.model import FlatModel, MHCModel, MHPModel, MHSModel, MultiHeadModel
from xcwork.methods.multihead.training import train_network
from xcwork.methods.params import precision_param

HEADS_HELP = "lengths of the heads, such as 172,23; empty: chosen for the number of labels"
PAPER_TRAINING = {"dropout": 0.5, "label_order": "given"}
NO_TRANSFORMER = "a transformer as backbone with its step sizes (ours is a bag of word embeddings)"
LOSS_HELP = "loss of the training; bce: labels are independent; ce: exactly one is right"


class HeadChoice(NamedTuple):
    """The heads that fit some data."""

    lengths: Lengths
    group_size: int  # labels in a row that share a head, which is what clusters of labels are made for
    facts: dict[str, Any]  # further fields of the model


@dataclass(kw_only=True, eq=False)
class MultiHeadMethod(Method):
    """A backbone with one of four kinds of heads."""

    backbone: str = param("auto", "part of the network that reads a document", choices=BACKBONES)
    unit_rows: bool = param(True, "whether backbone text reads rows of length 1, as linear methods do", advanced=True)
    width: int = param(256, "number of features between the backbone and the heads", low=1, high=8192)
    layers: int = param(0, "number of further hidden layers of the backbone", low=0, high=8)
    dropout: float = param(0.2, "share of features left out in a step of training", low=0.0, high=0.9)
    epochs: int = param(10, "number of passes over the documents", low=1)
    label_order: str = param("random", "order of the labels, which decides what shares a head's codes", choices=ORDERS)
    validation: float = param(0.0, "share of documents held out to find the best epoch; 0: none", low=0.0, high=0.5)
    patience: int = param(4, PATIENCE_HELP, low=1)
    swa: int = param(
        0, "number of last epochs whose weights are averaged (stochastic weight averaging); 0: none", low=0
    )
    batch_size: int = param(128, "number of documents per step", low=1, advanced=True, formerly="batch")
    min_steps: int = param(
        100,
        "minimum number of steps of training: small data gets more epochs",
        low=0,
        advanced=True,
        formerly="least_steps",
    )
    learning_rate: float = param(
        0.001, "learning rate of dense layers", low=1e-6, high=1.0, advanced=True, formerly="rate"
    )
    word_learning_rate: float = param(
        0.1, "learning rate of word embeddings", low=1e-6, high=10.0, advanced=True, formerly="word_rate"
    )
    label_learning_rate: float = param(
        0.01, "learning rate of label embeddings", low=1e-6, high=10.0, advanced=True, formerly="label_rate"
    )
    weight_decay: float = param(0.01, "weight decay of dense layers", low=0.0, high=1.0, advanced=True)
    encoder: str | None = param(
        None, "folder of a sentence encoder, for backbone sentence; empty: the installed one", advanced=True
    )
    device: str = device_param()
    precision: str = precision_param()

    paper: ClassVar[str] = "Liang et al., Multi-head encoding, TPAMI 2025"
    capabilities: ClassVar[Capabilities] = Capabilities(
        exact_explanations=True, gpu=True, gpu_training="all", gpu_prediction="features and logits", resumable=True
    )
    model_type: ClassVar[type[MultiHeadModel]]
    presets: ClassVar[tuple[Preset, ...]] = (Preset("quick", {"epochs": 2}),)

    @abstractmethod
    def choose_heads(self, train: Split) -> HeadChoice:
        """Return the heads for this data, or say why there can be none."""

    def estimate_device_bytes(self, sizes: DataSizes) -> int:
        n_documents = min(self.batch_size, sizes.n_documents)
        entries = round(n_documents * sizes.terms_per_document)
        learned = sizes.n_features * (self.width + 1) + 4 * self.layers * self.width**2
        batch = n_documents * self.width * (6 + 4 * self.layers) + entries * (3 * self.width + 8)
        return 4 * (learned + batch + self._count_head_numbers(sizes, n_documents))

    @abstractmethod
    def _count_head_numbers(self, sizes: DataSizes, n_documents: int) -> int:
        """Return about how many numbers the heads take on a device, with all that a step makes of them."""

    def _count_flat_numbers(self, sizes: DataSizes, n_rows: int, n_scored: int) -> int:
        """Return those of one logit per label, of which a step has `n_scored`."""
        return sizes.n_labels * (self.width + 2) + 4 * n_rows * n_scored + 3 * n_scored * (self.width + 1)

    def _fit(self, train: Split, checkpoint: Checkpoint | None) -> MultiHeadModel:
        chosen = self.choose_heads(train)
        order = "given" if len(chosen.lengths) == 1 else self.label_order  # with one head there is nothing to arrange
        X = train.X
        if self.backbone == "sentence":
            X = read_sentences(train, self.encoder, resolve_device(self.device).type)
        untrained = self.model_type(
            **self._collect_facts(train),
            **chosen.facts,
            head_lengths=list(chosen.lengths),
            label_of_code=order_labels(train, order, group_size=chosen.group_size, seed=self.seed),
            backbone=choose_backbone(self.backbone, X, train.features),
            n_inputs=X.shape[1],
            curve=[],
            weights={},
        )
        curve, weights = train_network(
            untrained.make_network,
            X,
            train,
            untrained.label_of_code,
            untrained.params,
            resolve_device(self.device),
            TrainingProgress(checkpoint, train, self.get_params()),
        )
        return replace(untrained, curve=curve, weights=weights)

    def read_matrix(self, documents: Documents) -> sparse.csr_array:
        """Return documents as for every method; for the sentence backbone texts become embeddings instead."""
        model = self._get_current_model()
        if isinstance(model, MultiHeadModel) and model.backbone == "sentence":
            return model.read_texts(documents)
        return super().read_matrix(documents)


def count_most_labels(Y: sparse.csr_array) -> int:
    """Return how many labels the document with most labels has."""
    return int(np.diff(Y.indptr).max(initial=0))


def choose_loss(loss: str, train: Split) -> str:
    """Return what `auto` means: cross-entropy where documents have one label, binary cross-entropy otherwise."""
    most = count_most_labels(train.Y)
    if loss == "ce" and most > 1:
        raise DataError(f"documents have up to {most} labels, but loss ce expects one", remedy="use loss bce")
    if loss == "auto":
        return "bce" if most > 1 else "ce"
    return loss


@dataclass(kw_only=True, eq=False)
class Flat(MultiHeadMethod):
    """One logit per label over a neural backbone: what multi-head encoding is measured against."""

    bottleneck: int | None = param(
        None,
        "units of a linear layer before the classifier, which bound the rank of its weights (equation 17); none: no "
        "such layer",
        low=1,
        high=8192,
        advanced=True,
    )
    loss: str = param("auto", LOSS_HELP, choices=LOSSES)

    title = "Flat neural classifier"
    capabilities = replace(MultiHeadMethod.capabilities, ranks=True)
    model_type = FlatModel

    def _count_head_numbers(self, sizes: DataSizes, n_documents: int) -> int:
        return self._count_flat_numbers(sizes, n_documents, sizes.n_labels)

    def choose_heads(self, train: Split) -> HeadChoice:
        return HeadChoice((train.n_labels,), train.n_labels, {"loss": choose_loss(self.loss, train)})


@dataclass(kw_only=True, eq=False)
class MHC(MultiHeadMethod):
    """Multi-head cascade: groups of labels first, then only the labels of promising groups."""

    heads: str | None = param(None, HEADS_HELP)
    n_heads: int = param(2, "number of heads, where their lengths are chosen", low=2, high=8)
    label_dimension: int = param(256, "size of the label embeddings", low=1, high=8192, formerly="hidden")
    training_beam: int = param(10, "number of groups a head hands on in training", low=1, formerly="kept")
    beam: int = param(20, "number of groups a head hands on in prediction", low=1, at_prediction=True)
    loss: str = param("auto", LOSS_HELP, choices=LOSSES)

    title = "Multi-head cascade (MHC)"
    capabilities = replace(MultiHeadMethod.capabilities, ranks=True)
    model_type = MHCModel
    presets = (
        *MultiHeadMethod.presets,
        Preset(
            "paper",
            PAPER_TRAINING | {"epochs": 20, "swa": 10, "batch_size": 16, "label_dimension": 300, "beam": 10},
            ours_adds="a wider beam in prediction, labels in random order",
            not_yet=f"{NO_TRANSFORMER}; the ensemble of three is a study, compare_ensemble of xcwork.studies.multihead",
        ),
    )

    def validate(self) -> None:
        super().validate()
        if self.heads is not None:
            parse_heads(self.heads)

    def _count_head_numbers(self, sizes: DataSizes, n_documents: int) -> int:
        first, *later = choose_cascade_heads(sizes.n_labels, self.n_heads, self.training_beam)
        per_document = 4 * first + self.training_beam * max(later) * (6 + self.label_dimension)
        return sizes.n_labels * (self.label_dimension + 2) + n_documents * per_document

    def choose_heads(self, train: Split) -> HeadChoice:
        if self.heads is not None:
            lengths = check_heads(parse_heads(self.heads), train.n_labels)
        else:
            lengths = choose_cascade_heads(train.n_labels, self.n_heads, self.training_beam)
        return HeadChoice(lengths, lengths[-1], {"loss": choose_loss(self.loss, train)})


@dataclass(kw_only=True, eq=False)
class MHS(MultiHeadMethod):
    """Multi-head sampling: the flat classifier, trained on a few heads of labels per step."""

    heads: str | None = param(None, "number of heads and labels per head, such as 1994,43; empty: chosen")
    sampled: int = param(2, "number of heads a label is trained with: its own and random others", low=1)
    sampling: str = param("batch", "choice of heads: one per batch, or one per document", choices=("batch", "document"))
    margin: float = param(0.0, "angle between a label and its rivals (ArcFace), in radians; 0: none", low=0.0, high=1.5)
    loss: str = param("auto", LOSS_HELP, choices=LOSSES)

    title = "Multi-head sampling (MHS)"
    capabilities = replace(MultiHeadMethod.capabilities, ranks=True)
    model_type = MHSModel
    presets = (
        *MultiHeadMethod.presets,
        Preset(
            "paper",
            PAPER_TRAINING | {"epochs": 25, "sampled": 1},
            ours_adds="a random head beside those of the batch, labels in random order",
            not_yet=f"{NO_TRANSFORMER}; what its features are worth for labels it never saw is a study, "
            "xcwork.studies.pair_verification",
        ),
    )

    def validate(self) -> None:
        super().validate()
        if self.heads is not None and len(parse_heads(self.heads)) != 2:
            raise ConfigError(f"heads of MHS are two numbers, heads and labels per head, got {self.heads!r}")

    def _count_head_numbers(self, sizes: DataSizes, n_documents: int) -> int:
        n_heads = choose_cascade_heads(sizes.n_labels, 2, MHC.training_beam)[0]
        pairs = round(n_documents * sizes.labels_per_document)
        by_pair = self.sampling == "document"
        heads = pairs * (self.sampled if by_pair else 1) + self.sampled - 1
        n_scored = min(sizes.n_labels, heads * -(-sizes.n_labels // n_heads))
        return self._count_flat_numbers(sizes, pairs if by_pair else n_documents, n_scored)

    def choose_heads(self, train: Split) -> HeadChoice:
        loss = choose_loss(self.loss, train)
        if self.margin > 0 and loss != "ce":
            raise DataError("margin needs one label per document and loss ce", remedy="set margin to 0")
        if self.heads is not None:
            lengths = check_heads(parse_heads(self.heads), train.n_labels)
        else:
            lengths = choose_groups(train.n_labels, choose_cascade_heads(train.n_labels, 2, MHC.training_beam)[0])
        if self.sampled > lengths[0]:
            raise ConfigError(
                f"sampled is {self.sampled}, but there are only {lengths[0]} heads; "
                f"use at most {lengths[0]}, or more and shorter heads"
            )
        return HeadChoice(lengths, lengths[-1], {"loss": loss})


@dataclass(kw_only=True, eq=False)
class MHP(MultiHeadMethod):
    """Multi-head product: a label is one digit per head; label sets are coded as a powerset."""

    heads: str | None = param(None, HEADS_HELP)
    n_heads: int = param(2, "number of heads, where their lengths are chosen", low=2, high=32)
    coding: str = param(
        "auto",
        "meaning of a code; label: one label per document; powerset: its whole label set; auto: what the data needs",
        choices=("auto", "label", "powerset"),
    )
    rank: int = param(
        1,
        "number of products that are added up for a label (equation 16); label sets have one",
        low=1,
        high=64,
        advanced=True,
    )
    bits: int = param(4, "number of labels that share a head of the powerset", low=1, high=12)
    loss: str = param(
        "auto", "loss of the training; ce: one softmax per head; bce: one sigmoid per code", choices=LOSSES
    )

    title = "Multi-head product (MHP)"
    capabilities = replace(MultiHeadMethod.capabilities, ranks=True)
    model_type = MHPModel
    presets = (
        *MultiHeadMethod.presets,
        Preset(
            "paper",
            PAPER_TRAINING | {"loss": "bce"},
            ours_adds="a softmax per head, labels in random order",
            not_yet=NO_TRANSFORMER,
        ),
    )

    def validate(self) -> None:
        super().validate()
        if self.heads is not None:
            parse_heads(self.heads)

    def _count_head_numbers(self, sizes: DataSizes, n_documents: int) -> int:
        outputs = -(-sizes.n_labels // self.bits) * 2**self.bits  # of the powerset, the larger of both codings
        outputs = max(outputs, self.rank * sum(choose_even_heads(sizes.n_labels, self.n_heads)))
        return 4 * outputs * self.width + 6 * n_documents * outputs

    def choose_heads(self, train: Split) -> HeadChoice:
        most = count_most_labels(train.Y)
        if self.coding == "label" and most > 1:
            raise DataError(
                f"documents have up to {most} labels, and a product of heads predicts one",
                remedy="use coding powerset, or the methods mhc or flat",
            )
        loss = "ce" if self.loss == "auto" else self.loss
        is_powerset = self.coding == "powerset" or (self.coding == "auto" and most > 1)
        if is_powerset:
            slices = BitSlices(train.n_labels, self.bits)
            facts = {"loss": loss, "coding": "powerset"}
            return HeadChoice((slices.length,) * slices.n_heads, self.bits, facts)
        if self.rank > 1 and loss == "bce":
            raise ConfigError("a sum of products is trained by its likelihood; set loss to ce, or rank to 1")
        if self.heads is not None:
            lengths = check_heads(parse_heads(self.heads), train.n_labels)
        else:
            lengths = choose_even_heads(train.n_labels, self.n_heads)
        return HeadChoice(lengths, lengths[-1], {"loss": loss, "coding": "label"})

    def predict_sets(self, documents: Documents) -> sparse.csr_array:
        """Return the most likely label set of every document, (n_documents, n_labels).

        With coding label it is the best label alone.
        """
        model = self._get_current_model()
        assert isinstance(model, MHPModel)
        return model.predict_sets(self.read_matrix(documents))
