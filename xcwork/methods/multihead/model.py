"""What the multi-head methods learn: the weights of a network, and the facts that say how it is built.

A model builds its network from its fields alone. So the network of a training, of a loaded model and of the check of a
stored one have the same layers.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from scipy import sparse

from xcwork.compute import ranks
from xcwork.compute.device import resolve_device
from xcwork.core.explanation import Explanation
from xcwork.core.split import Split
from xcwork.core.topk import TopK
from xcwork.errors import ConfigError, DataError
from xcwork.methods.inputs import Documents
from xcwork.methods.model import (
    FittedModel,
    Misfit,
    check_array,
    check_arrays,
    check_history,
    check_text,
    check_whole,
    for_display,
)
from xcwork.methods.multihead.backbones import make_backbone
from xcwork.methods.multihead.cascade import CascadeHeads
from xcwork.methods.multihead.codes import BitSlices, MixedRadix
from xcwork.methods.multihead.encoders import read_sentences
from xcwork.methods.multihead.explanation import explain_code
from xcwork.methods.multihead.flat import FlatHeads, SampledHeads
from xcwork.methods.multihead.heads import Heads, find_slots
from xcwork.methods.multihead.network import Network
from xcwork.methods.multihead.prediction import find_allowed_codes, iterate_features, rank_labels
from xcwork.methods.multihead.product import PowersetHeads, ProductHeads
from xcwork.methods.multihead.product_sum import ProductSumHeads
from xcwork.methods.multihead.sharded import ShardedCascadeHeads, ShardedHeads, ShardedPowersetHeads


@dataclass(frozen=True, kw_only=True, eq=False)
class MultiHeadModel(FittedModel):
    """A backbone with heads, and which label each code stands for."""

    head_lengths: list[int]
    label_of_code: np.ndarray  # (n_labels,): a permutation
    backbone: str  # the one that was chosen for the data
    n_inputs: int  # columns of what the backbone reads
    curve: list[dict[str, float]] = for_display()  # one entry per epoch
    weights: dict[str, np.ndarray]  # of the network, by name

    @abstractmethod
    def make_heads(self) -> Heads:
        """Return heads with room for the weights."""

    def make_network(self) -> Network:
        """Return the network without meaningful weights."""
        params = self.params
        backbone = make_backbone(
            self.backbone,
            self.features,
            self.n_inputs,
            width=params.width,
            layers=params.layers,
            dropout=params.dropout,
            has_unit_rows=params.unit_rows,
        )
        return Network(backbone, self.make_heads())

    def check(self) -> None:
        if not isinstance(self.head_lengths, list):
            raise Misfit("head_lengths is not a list of the right length")
        for length in self.head_lengths:
            check_whole("head_lengths", length)
        check_array("label_of_code", self.label_of_code, (self.n_labels,), kind="i", below=self.n_labels)
        if len(np.unique(self.label_of_code)) != self.n_labels:
            raise Misfit("label_of_code names a label twice")
        check_text("backbone", self.backbone)
        check_whole("n_inputs", self.n_inputs)
        check_history("curve", self.curve)
        check_arrays("weights", self.weights)
        self.check_facts()
        try:
            with ranks.work_alone(), torch.device("meta"):  # shapes without memory
                expected = self.make_network().state_dict()
        except (ValueError, RuntimeError, TypeError, LookupError, OverflowError) as problem:
            raise Misfit(f"its network cannot be built ({problem})") from None
        wanted = {name: (tuple(part.shape), str(part.dtype)) for name, part in expected.items()}
        if wanted != {name: (part.shape, f"torch.{part.dtype}") for name, part in self.weights.items()}:
            raise Misfit("weights are not those of its network")

    def check_facts(self) -> None:
        """Raise `Misfit` where a field that only some of the methods have is wrong."""

    @cached_property
    def network(self) -> Network:
        """The trained network, ready to answer."""
        network = self.make_network()
        network.set_weights(self.weights)
        network.to(resolve_device(self.params.device)).eval()
        return network.make_precise()

    def predict(self, X: sparse.csr_array, k: int, among: np.ndarray | None = None) -> TopK:
        is_allowed = find_allowed_codes(self.label_frequencies, self.label_of_code, among)
        return rank_labels(self.network, X, k, self.label_of_code, is_allowed)

    def explain(self, x: sparse.csr_array, label: int) -> Explanation:
        code = int(np.flatnonzero(self.label_of_code == label)[0])
        # The dimensions of a sentence encoder have no meaning of their own.
        return explain_code(self.network, x, code, None if self.backbone == "sentence" else self.features)

    def label_embeddings(self) -> np.ndarray | None:
        """Return the weights of each label's classifier, where the heads have such."""
        rows = self.network.heads.read_embeddings()
        if rows is None:
            return None
        embeddings = np.empty(rows.shape, np.float32)
        embeddings[self.label_of_code] = rows.cpu().numpy()
        return embeddings

    @property
    def n_head_parameters(self) -> int:
        """How many numbers were learned, in the heads alone."""
        return sum(value.size for name, value in self.weights.items() if name.startswith("heads."))

    def read_texts(self, documents: Documents) -> sparse.csr_array:
        """Return the sentence embeddings of documents, or rows that are such already."""
        X = read_sentences(documents, self.params.encoder, resolve_device(self.params.device).type)
        if X.shape[1] != self.n_inputs:
            raise DataError(f"backbone sentence reads text or rows of {self.n_inputs} numbers, got {X.shape[1]}")
        return X

    def read_split(self, split: Split) -> sparse.csr_array:
        """Return the documents of a split as rows that the backbone reads."""
        if self.backbone == "sentence":
            return self.read_texts(split)
        if split.X.shape[1] != self.n_inputs:
            raise DataError(
                f"the documents have {split.X.shape[1]} features, but the model was trained on {self.n_inputs}"
            )
        return split.X


@dataclass(frozen=True, kw_only=True, eq=False)
class FlatModel(MultiHeadModel):
    """One logit per label."""

    loss: str  # bce or ce, chosen for the data

    def check_facts(self) -> None:
        check_text("loss", self.loss)

    def make_heads(self) -> Heads:
        shard = ranks.make_shard(self.n_labels)
        if shard is not None:
            if self.params.bottleneck is not None:
                raise ConfigError("ranks share the labels of flat without a bottleneck only")
            return ShardedHeads(self.params.width, self.n_labels, self.loss, shard)
        return FlatHeads(self.params.width, self.n_labels, self.loss, self.params.bottleneck)


@dataclass(frozen=True, kw_only=True, eq=False)
class MHSModel(MultiHeadModel):
    """One logit per label, trained with samples of heads."""

    loss: str  # bce or ce, chosen for the data

    def check_facts(self) -> None:
        check_text("loss", self.loss)

    def make_heads(self) -> Heads:
        params = self.params
        shard = ranks.make_shard(self.n_labels)
        if shard is not None:
            if params.margin > 0 or params.sampling != "batch":
                raise ConfigError("ranks share the labels of mhs with sampling batch and margin 0 only")
            n_heads, length = self.head_lengths
            return ShardedHeads(params.width, self.n_labels, self.loss, shard, (n_heads, length, params.sampled))
        return SampledHeads(
            params.width,
            self.n_labels,
            self.loss,
            lengths=tuple(self.head_lengths),
            sampled=params.sampled,
            sampling=params.sampling,
            margin=params.margin,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class MHCModel(MultiHeadModel):
    """Heads in a cascade."""

    loss: str  # bce or ce, chosen for the data

    def check_facts(self) -> None:
        check_text("loss", self.loss)

    def make_heads(self) -> CascadeHeads:
        params = self.params
        radix = MixedRadix(tuple(self.head_lengths), self.n_labels)
        settings = {name: params[name] for name in ("label_dimension", "training_beam", "beam")} | {"loss": self.loss}
        shard = ranks.make_shard(self.n_labels)
        if shard is not None:
            return ShardedCascadeHeads(params.width, radix, shard=shard, **settings)
        return CascadeHeads(params.width, radix, **settings)

    @torch.no_grad()
    def diagnose(self, split: Split) -> dict[str, float]:
        """Return the percentage of true labels whose group is among the `beam` first: the best possible recall."""
        heads = self.network.heads
        assert isinstance(heads, CascadeHeads)
        blocks = [heads.choose_groups(block) for block in iterate_features(self.network, self.read_split(split))]
        if not blocks or split.Y.nnz == 0:
            return {}
        documents = np.repeat(np.arange(len(split)), np.diff(split.Y.indptr))
        wanted = np.argsort(self.label_of_code)[split.Y.indices] // heads.radix.places[0]
        return {"group recall": 100 * float((find_slots(np.vstack(blocks), documents, wanted) >= 0).mean())}


@dataclass(frozen=True, kw_only=True, eq=False)
class MHPModel(MultiHeadModel):
    """Parallel heads, over the digits of one label or over slices of a label set."""

    loss: str  # bce or ce
    coding: str  # label or powerset, chosen for the data

    def check_facts(self) -> None:
        check_text("loss", self.loss)
        check_text("coding", self.coding)

    def make_heads(self) -> ProductHeads | ProductSumHeads | PowersetHeads:
        width = self.params.width
        group = ranks.get_group()
        if group is not None:
            if self.coding != "powerset":
                raise ConfigError(
                    "ranks share the label sets of mhp; with one label per document its heads are too short for that"
                )
            return ShardedPowersetHeads(width, self.loss, BitSlices(self.n_labels, self.params.bits), group)
        if self.coding == "powerset":
            return PowersetHeads(width, self.loss, BitSlices(self.n_labels, self.params.bits))
        radix = MixedRadix(tuple(self.head_lengths), self.n_labels)
        if self.params.rank > 1:
            return ProductSumHeads(width, radix, self.params.rank)
        return ProductHeads(width, self.loss, radix)

    @torch.no_grad()
    def predict_sets(self, X: sparse.csr_array) -> sparse.csr_array:
        """Return the most likely label set of every row, (n_rows, n_labels); with coding label, its best label."""
        heads = self.network.heads
        if not isinstance(heads, PowersetHeads):
            return self.predict(X, 1).to_csr(self.n_labels).sign()
        sets = sparse.vstack([heads.choose_sets(block) for block in iterate_features(self.network, X)])
        return sparse.csr_array(sparse.csr_array(sets)[: X.shape[0], np.argsort(self.label_of_code)])

    @torch.no_grad()
    def diagnose(self, split: Split) -> dict[str, float]:
        """Return the percentage of documents that each head gets right, and that all of them do (exact match)."""
        X = self.read_split(split)
        Y = sparse.csr_array(split.Y[:, self.label_of_code])
        if self.coding == "label":  # a document without a label has no code
            has_label = np.diff(Y.indptr) > 0
            X, Y = X[has_label], Y[has_label]
        if X.shape[0] == 0:
            return {}
        features = torch.cat(list(iterate_features(self.network, X)))[: X.shape[0]]
        heads: Any = self.network.heads
        *shares, together = (100 * heads.measure_accuracy(features, Y)).tolist()
        return {f"head {h}": share for h, share in enumerate(shares, start=1)} | {"exact match": together}
