"""What MHP, MHC, MHS and the flat classifier share: a backbone, a label order, training, ranking and explaining.

A method differs from the others in its heads only, which `_heads` builds. So a comparison of two of them compares their
classifiers, with the same backbone, the same batches and the same seed.

The score of a label is a probability, a product over heads. `explain` takes its logarithm apart: every head adds its
log-probability, log p = z - (what normalises it), and the logit z = w·F(x) + b is a sum over the words, features or
pixels of the document (see `backbones`), so all parts add up exactly.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from scipy import sparse

from xcwork.compute.device import CHOICES as DEVICES
from xcwork.compute.device import resolve
from xcwork.compute.ranks import alone
from xcwork.core.held_out import keep_groups_whole
from xcwork.core.split import Split
from xcwork.data.groups import find_groups_sharing_labels
from xcwork.errors import DataError
from xcwork.methods.base import Capabilities, Explanation, Method, Part, TopK, param
from xcwork.methods.common.checkpoints import TrainingProgress
from xcwork.methods.common.epochs import PATIENCE_HELP, train_epochs
from xcwork.methods.inputs import Documents, read_documents
from xcwork.methods.layout import Check, Misfit, array, arrays, history, listing, text, whole
from xcwork.methods.multihead.backbones import BACKBONES, choose_backbone, contributions, make_backbone
from xcwork.methods.multihead.encoders import encode
from xcwork.methods.multihead.heads import Heads
from xcwork.methods.multihead.network import FEWEST_ROWS, Network, NetworkTraining, Schedule
from xcwork.methods.multihead.order import ORDERS, label_order
from xcwork.metrics.ranking import curves, place
from xcwork.progress import batches

FLOATS_AT_ONCE = 2**25  # of ranking a batch
MOST_DOCUMENTS = 1024  # ranked at once
SMALLEST_BATCH = 8
ANY, WHOLE = "(any document)", "(the whole text)"


@dataclass(kw_only=True, eq=False)
class MultiHead(Method):
    """A backbone with one of four kinds of heads."""

    backbone: str = param("auto", "what reads a document", choices=BACKBONES)
    width: int = param(256, "features between the backbone and the heads", low=1, high=8192)
    layers: int = param(0, "further hidden layers of the backbone", low=0, high=8)
    dropout: float = param(0.2, "share of features left out in a step of training", low=0.0, high=0.9)
    epochs: int = param(10, "passes over the documents", low=1)
    label_order: str = param("random", "which labels share a head's codes", choices=ORDERS)
    validation: float = param(0.0, "share of documents held out to find the best epoch; 0: none", low=0.0, high=0.5)
    patience: int = param(4, PATIENCE_HELP, low=1)
    swa: int = param(0, "last epochs whose weights are averaged (stochastic weight averaging); 0: none", low=0)
    batch: int = param(128, "documents of a step", low=1, advanced=True)
    least_steps: int = param(100, "steps of training at least: small data gets more epochs", low=0, advanced=True)
    rate: float = param(0.001, "learning rate of dense layers", low=1e-6, high=1.0, advanced=True)
    word_rate: float = param(0.1, "learning rate of word embeddings", low=1e-6, high=10.0, advanced=True)
    label_rate: float = param(0.01, "learning rate of label embeddings", low=1e-6, high=10.0, advanced=True)
    weight_decay: float = param(0.01, "weight decay of dense layers", low=0.0, high=1.0, advanced=True)
    encoder: str | None = param(
        None, "folder of a sentence encoder, for backbone sentence; empty: the installed one", advanced=True
    )
    device: str = param("auto", "where the network runs", choices=DEVICES, advanced=True, at_prediction=True)

    paper: ClassVar[str] = "Liang et al., Multi-head encoding, TPAMI 2025"
    capabilities: ClassVar[Capabilities] = Capabilities(exact_explanations=True, gpu=True, resumable=True)
    layout: ClassVar[Mapping[str, Check]] = {
        "heads_": listing(whole),
        "order_": array("labels", kind="i", below="labels"),
        "backbone_": text,
        "n_inputs_": whole,
        "curve_": history,
        "weights_": arrays,
    }

    _ready: ClassVar[tuple[Any, ...]] = (None, None, None)  # of an instance: weights, device, and their network

    @abstractmethod
    def _choose_heads(self, train: Split) -> list[int]:
        """The lengths of the heads for this data, or a sentence that says why it cannot be."""

    @abstractmethod
    def _heads(self) -> Heads:
        """Heads with room for the weights; everything chosen at the beginning of `_fit` is known."""

    def _group(self) -> int:
        """How many labels in a row share a head, which is what clusters of labels are made for."""
        return self.heads_[-1]

    def _fit(self, train: Split) -> None:
        if train.Y.nnz == 0:
            raise DataError("no training document carries a label, so there is nothing to learn")
        self.heads_ = self._choose_heads(train)
        kind = "given" if len(self.heads_) == 1 else self.label_order  # one head for all: nothing to arrange
        self.order_ = label_order(train, kind, group=self._group(), seed=self.seed)
        X = self.matrix_of(train)
        self.backbone_, self.n_inputs_ = choose_backbone(self.backbone, X, train.features), X.shape[1]
        kept, held = (np.arange(len(train)), np.arange(0)) if self.validation == 0 else self._held_out(train)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            network = self._skeleton()
            Y = train.Y if len(held) == 0 else train.Y[kept]
            if not np.array_equal(self.order_, np.arange(len(self.order_))):
                Y = sparse.csr_array(Y[:, self.order_])
            network.initialise(Y)
        network.to(resolve(self.device))
        training = NetworkTraining(
            network,
            X if len(held) == 0 else X[kept],
            Y,
            self._schedule(len(kept)),
            lambda: self._measured(network, X[held], train.Y[held]),
        )
        progress = TrainingProgress(self._checkpoint, train, self.get_params())
        epochs = training.schedule.epochs
        self.curve_ = train_epochs(training, "training", progress, epochs=epochs, patience=self.patience)
        self.weights_ = training.weights()  # the average, if there is one; with ranks, all of it on the first

    def _held_out(self, train: Split) -> tuple[np.ndarray, np.ndarray]:
        """(rows to learn from, rows to choose the best epoch with)."""
        order = np.random.default_rng((self.seed, 5)).permutation(len(train))
        n_held = min(max(1, round(self.validation * len(train))), len(train) - 1)
        held = keep_groups_whole(order[:n_held], find_groups_sharing_labels(train))
        return np.setdiff1d(order, held), np.sort(held)

    def _schedule(self, n_documents: int) -> Schedule:
        batch = min(self.batch, max(SMALLEST_BATCH, n_documents // 4))  # a small split still gives several steps
        epochs = max(self.epochs, -(-self.least_steps // -(-n_documents // batch)))
        return Schedule(
            epochs=epochs,
            batch=batch,
            rate=self.rate,
            word_rate=self.word_rate,
            label_rate=self.label_rate,
            weight_decay=self.weight_decay,
            swa=min(self.swa, epochs),
            seed=self.seed,
        )

    def _skeleton(self) -> Network:
        """The network without meaningful weights."""
        backbone = make_backbone(
            self.backbone_, self.features_, self.n_inputs_, width=self.width, layers=self.layers, dropout=self.dropout
        )
        return Network(backbone, self._heads())

    def _check_learned(self) -> None:
        """The weights must be those of the network that the other attributes describe."""
        if len(np.unique(self.order_)) != len(self.order_):
            raise Misfit("order_ names a label twice")
        try:
            with alone(), torch.device("meta"):  # shapes without memory
                skeleton = self._skeleton().state_dict()
        except (ValueError, RuntimeError, TypeError, LookupError, OverflowError) as problem:
            raise Misfit(f"its network cannot be built ({problem})") from None
        wanted = {name: (tuple(part.shape), str(part.dtype)) for name, part in skeleton.items()}
        if wanted != {name: (part.shape, f"torch.{part.dtype}") for name, part in self.weights_.items()}:
            raise Misfit("weights_ are not those of its network")

    def _network(self) -> Network:
        """The trained network, ready to answer; made once for these weights."""
        weights, device, network = self._ready
        if weights is not self.weights_ or device != self.device:
            network = self._skeleton()
            network.set_weights(self.weights_)
            network.to(resolve(self.device)).eval().precise()
            self._ready = (self.weights_, self.device, network)
        return network

    def _measured(self, network: Network, X: sparse.csr_array, Y: sparse.csr_array) -> dict[str, float]:
        """On held-out documents the mean of P@1 to P@5, and P@1."""
        if X.shape[0] == 0:
            return {}
        network.eval()
        found = self._ranked(network, X, min(5, Y.shape[1]), self._allowed(None))
        precision = curves(place(found, Y))["P"]
        network.train()
        return {"validation P": float(np.mean(precision)), "validation P@1": precision[0]}

    def _allowed(self, among: np.ndarray | None) -> np.ndarray:
        """Which codes may be predicted, (n_labels,): those with training documents, and in `among` if given."""
        allowed = self.label_frequencies_ > 0
        if among is not None:
            allowed &= np.isin(np.arange(len(allowed)), among)
        return allowed[self.order_]

    def _predict(self, X: sparse.csr_array, k: int, among: np.ndarray | None = None) -> TopK:
        return self._ranked(self._network(), X, k, self._allowed(among))

    @torch.no_grad()
    def _ranked(self, network: Network, X: sparse.csr_array, k: int, allowed: np.ndarray) -> TopK:
        if not allowed.any():
            return TopK.empty(X.shape[0], k)
        label_of = self.order_.astype(np.int64)
        parts = [network.heads.best(features, k, allowed, label_of).head(k) for features in self._features(network, X)]
        found = TopK.concatenate(parts)
        return TopK(found.ids[: X.shape[0]], found.scores[: X.shape[0]])

    def _features(self, network: Network, X: sparse.csr_array) -> Iterator[torch.Tensor]:
        """The features of the rows of `X`, as many at a time as the heads can take; some empty rows may follow."""
        size = int(np.clip(FLOATS_AT_ONCE // network.heads.floats_per_document(), FEWEST_ROWS, MOST_DOCUMENTS))
        for x in batches(X, size, "ranking labels"):
            yield network.features(x)

    def _explain(self, x: sparse.csr_array, label: int) -> Explanation:
        network = self._network()
        code = int(np.flatnonzero(self.order_ == label)[0])
        with torch.no_grad():
            readings = network.heads.readings(network.features(x)[:1], code)
        shares, biases = contributions(network.backbone, x, torch.stack([reading.direction for reading in readings]))
        parts = []
        for reading, terms, bias in zip(readings, shares.T, biases, strict=True):
            bias += reading.bias
            parts += self._term_parts(x, terms, reading.head)
            parts.append(Part(ANY, f"{reading.head}: bias", float(bias)))
            rest = reading.log_probability - terms.sum() - bias
            parts.append(Part(ANY, f"{reading.head}: normalisation", float(rest)))
        score = sum(reading.log_probability for reading in readings)
        return Explanation.of(
            parts,
            score=score,
            predicted=float(np.exp(score)),
            link="the probability is exp(score); the heads' log-probabilities add up to the score",
        )

    def _term_parts(self, x: sparse.csr_array, terms: np.ndarray, head: str) -> list[Part]:
        if self.backbone_ == "sentence":  # the dimensions of an encoder have no meaning of their own
            return [Part(WHOLE, head, float(terms.sum()))]
        columns = zip(x.indices.tolist(), terms.tolist(), strict=True)
        return [Part(self.features_.name(term), head, value) for term, value in columns if value]

    def matrix_of(self, documents: Documents) -> sparse.csr_array:
        """As for every method; for the sentence backbone texts become embeddings instead."""
        if self.backbone != "sentence":
            return super().matrix_of(documents)
        given = documents.texts if isinstance(documents, Split) else read_documents(documents)
        if given is None:
            raise DataError(
                "backbone sentence reads text, and these documents have none", remedy="use backbone text or dense"
            )
        if isinstance(given, list):
            return encode(given, self.encoder, resolve(self.device).type)
        # Rows that are embeddings already, such as those of an earlier `matrix_of`.
        if given.shape[1] != self.n_inputs_:
            raise DataError(f"backbone sentence reads text or rows of {self.n_inputs_} numbers, got {given.shape[1]}")
        return given

    def label_embeddings(self) -> np.ndarray | None:
        """The weights of each label's classifier, where the heads have such."""
        rows = self._network().heads.embeddings()
        if rows is None:
            return None
        embeddings = np.empty(rows.shape, np.float32)
        embeddings[self.order_] = rows.cpu().numpy()
        return embeddings

    def n_parameters(self) -> int:
        """Numbers that were learned, in the heads alone."""
        return sum(value.size for name, value in self.weights_.items() if name.startswith("heads."))
