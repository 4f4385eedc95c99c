"""Multi-head encoding: a few short heads in the place of one enormous output layer.

| method | module | for | parameters of the heads | logits a document |
| --- | --- | --- | --- | --- |
| `flat` | `flat` | comparison: one-hot encoding, one logit a label | d L | L |
| `mhp` | `product` | one label a document; label sets as a powerset | d Σ h | Σ h |
| `mhc` | `cascade` | several labels a document | d (h_1 + c) + c L | h_1 + kept Σ h_t |
| `mhs` | `flat` | cheap training on very many labels | d L | L; in training S heads |

L labels, d features, heads of length h, label embeddings of size c. All four share backbones, label order, training and
explanations (`base`), so they differ in nothing but the classifier.

What the paper claims and what holds: random label order does cost accuracy when the network underfits (its figure 9
says so, theorem 3 does not); the studies in `xcwork.studies.multihead` measure it. MHC does not shrink parameters
geometrically, because every label keeps an embedding. The theorems about products need non-negative outputs.

Reference: Liang, Zhang, Yuan, Zhang, Multi-head encoding for extreme label classification, TPAMI 2025.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy import sparse

from xcwork.compute import ranks
from xcwork.core.split import Split
from xcwork.errors import ConfigError, DataError
from xcwork.methods.base import Documents, param
from xcwork.methods.layout import text
from xcwork.methods.multihead.base import MultiHead
from xcwork.methods.multihead.cascade import CascadeHeads
from xcwork.methods.multihead.codes import (
    BitSlices,
    MixedRadix,
    cascade_heads,
    check_heads,
    even_heads,
    groups_of,
    parse_heads,
)
from xcwork.methods.multihead.flat import FlatHeads, SampledHeads
from xcwork.methods.multihead.heads import LOSSES, Heads, slot_of
from xcwork.methods.multihead.product import PowersetHeads, ProductHeads
from xcwork.methods.multihead.sharded import ShardedHeads

HEADS_HELP = "lengths of the heads, such as 172,23; empty: chosen for the number of labels"


def most_labels(Y: sparse.csr_array) -> int:
    """The labels of the document that has most."""
    return int(np.diff(Y.indptr).max(initial=0))


def chosen_loss(loss: str, train: Split) -> str:
    """`auto` is cross-entropy where documents have one label, binary cross-entropy where some have more."""
    most = most_labels(train.Y)
    if loss == "ce" and most > 1:
        raise DataError(f"documents carry up to {most} labels, but loss ce expects one", remedy="use loss bce")
    return loss if loss != "auto" else "bce" if most > 1 else "ce"


@dataclass(kw_only=True, eq=False)
class Flat(MultiHead):
    """One logit a label over a neural backbone: what multi-head encoding is measured against."""

    loss: str = param("auto", "bce: labels are independent; ce: exactly one is right", choices=LOSSES)

    title = "Flat neural classifier"
    capabilities = replace(MultiHead.capabilities, ranks=True)
    layout = MultiHead.layout | {"loss_": text}

    def _choose_heads(self, train: Split) -> list[int]:
        self.loss_ = chosen_loss(self.loss, train)
        return [train.n_labels]

    def _heads(self) -> Heads:
        shard = ranks.shard(len(self.labels_))
        if shard is not None:
            return ShardedHeads(self.width, len(self.labels_), self.loss_, shard)
        return FlatHeads(self.width, len(self.labels_), self.loss_)


@dataclass(kw_only=True, eq=False)
class MHS(MultiHead):
    """Multi-head sampling: the flat classifier, of which a step trains a few heads of labels only."""

    heads: str | None = param(None, "number of heads and labels of a head, such as 1994,43; empty: chosen")
    sampled: int = param(2, "heads a label is trained with: its own and random others", low=1)
    sampling: str = param("batch", "one choice of heads a batch, or one a document", choices=("batch", "document"))
    margin: float = param(0.0, "ArcFace: angle between a label and its rivals; 0: none", low=0.0, high=1.5)
    loss: str = param("auto", "bce: labels are independent; ce: exactly one is right", choices=LOSSES)

    title = "Multi-head sampling (MHS)"
    capabilities = replace(MultiHead.capabilities, ranks=True)
    layout = MultiHead.layout | {"loss_": text}

    def validate(self) -> None:
        super().validate()
        if self.heads is not None and len(parse_heads(self.heads)) != 2:
            raise ConfigError(f"heads of MHS are two numbers, heads and labels of a head, got {self.heads!r}")

    def _choose_heads(self, train: Split) -> list[int]:
        self.loss_ = chosen_loss(self.loss, train)
        if self.margin > 0 and self.loss_ != "ce":
            raise DataError("margin needs one label a document and loss ce", remedy="set margin to 0")
        lengths = self._lengths(train.n_labels)
        if self.sampled > lengths[0]:
            raise ConfigError(
                f"sampled is {self.sampled}, but there are only {lengths[0]} heads; "
                f"use at most {lengths[0]}, or more and shorter heads"
            )
        return list(lengths)

    def _lengths(self, n_labels: int) -> tuple[int, ...]:
        if self.heads is not None:
            return check_heads(parse_heads(self.heads), n_labels)
        return groups_of(n_labels, cascade_heads(n_labels, 2, MHC.kept)[0])

    def _heads(self) -> Heads:
        shard = ranks.shard(len(self.labels_))
        if shard is not None:
            if self.margin > 0 or self.sampling != "batch":
                raise ConfigError("ranks share the labels of mhs with sampling batch and margin 0 only")
            sampled = (self.heads_[0], self.heads_[1], self.sampled)
            return ShardedHeads(self.width, len(self.labels_), self.loss_, shard, sampled)
        return SampledHeads(
            self.width,
            len(self.labels_),
            self.loss_,
            lengths=tuple(self.heads_),
            sampled=self.sampled,
            sampling=self.sampling,
            margin=self.margin,
        )


@dataclass(kw_only=True, eq=False)
class MHC(MultiHead):
    """Multi-head cascade: groups of labels first, then only the labels of promising groups."""

    heads: str | None = param(None, HEADS_HELP)
    n_heads: int = param(2, "number of heads, where their lengths are chosen", low=2, high=8)
    hidden: int = param(256, "size of the label embeddings", low=1, high=8192)
    kept: int = param(10, "groups a head hands on in training", low=1)
    beam: int = param(20, "groups a head hands on in prediction", low=1, at_prediction=True)

    title = "Multi-head cascade (MHC)"

    def validate(self) -> None:
        super().validate()
        if self.heads is not None:
            parse_heads(self.heads)

    def _choose_heads(self, train: Split) -> list[int]:
        if self.heads is not None:
            return list(check_heads(parse_heads(self.heads), train.n_labels))
        return list(cascade_heads(train.n_labels, self.n_heads, self.kept))

    def _heads(self) -> Heads:
        radix = MixedRadix(tuple(self.heads_), len(self.labels_))
        return CascadeHeads(self.width, radix, hidden=self.hidden, kept=self.kept, beam=self.beam)

    @torch.no_grad()
    def diagnostics(self, split: Split) -> dict[str, float]:
        """Per cent of the true labels whose group is among the `beam` first: the best recall that is possible."""
        network = self._network()
        groups = [network.heads.best_groups(features) for features in self._features(network, self.matrix_of(split))]
        if not groups or split.Y.nnz == 0:
            return {}
        documents = np.repeat(np.arange(len(split)), np.diff(split.Y.indptr))
        wanted = np.argsort(self.order_)[split.Y.indices] // network.heads.radix.places[0]
        return {"group recall": 100 * float((slot_of(np.vstack(groups), documents, wanted) >= 0).mean())}


@dataclass(kw_only=True, eq=False)
class MHP(MultiHead):
    """Multi-head product: a label is one digit a head; label sets are coded as a powerset."""

    heads: str | None = param(None, HEADS_HELP)
    n_heads: int = param(2, "number of heads, where their lengths are chosen", low=2, high=32)
    coding: str = param(
        "auto",
        "label: one label a document; powerset: its whole label set; auto: what the data needs",
        choices=("auto", "label", "powerset"),
    )
    bits: int = param(4, "labels that share a head of the powerset", low=1, high=12)
    loss: str = param("auto", "ce: one softmax a head; bce: one sigmoid a code", choices=LOSSES)

    title = "Multi-head product (MHP)"
    layout = MultiHead.layout | {"loss_": text, "coding_": text}

    def validate(self) -> None:
        super().validate()
        if self.heads is not None:
            parse_heads(self.heads)

    def _choose_heads(self, train: Split) -> list[int]:
        most = most_labels(train.Y)
        if self.coding == "label" and most > 1:
            raise DataError(
                f"documents carry up to {most} labels, and a product of heads predicts one",
                remedy="use coding powerset, or the methods mhc or flat",
            )
        self.loss_ = "ce" if self.loss == "auto" else self.loss
        self.coding_ = self.coding if self.coding != "auto" else "powerset" if most > 1 else "label"
        if self.coding_ == "powerset":
            slices = BitSlices(train.n_labels, self.bits)
            return [slices.length] * slices.n_heads
        if self.heads is not None:
            return list(check_heads(parse_heads(self.heads), train.n_labels))
        return list(even_heads(train.n_labels, self.n_heads))

    def _group(self) -> int:
        return self.bits if self.coding_ == "powerset" else super()._group()

    def _heads(self) -> Heads:
        if self.coding_ == "powerset":
            return PowersetHeads(self.width, self.loss_, BitSlices(len(self.labels_), self.bits))
        return ProductHeads(self.width, self.loss_, MixedRadix(tuple(self.heads_), len(self.labels_)))

    @torch.no_grad()
    def predict_sets(self, documents: Documents) -> sparse.csr_array:
        """The most likely label set of every document, (n_documents, n_labels); with coding label, its best label."""
        self._check_fitted()
        X = self.matrix_of(documents)
        if self.coding_ == "label":
            return self._predict(X, 1).to_csr(len(self.labels_)).sign()
        network = self._network()
        sets = sparse.vstack([network.heads.sets(features) for features in self._features(network, X)])
        return sparse.csr_array(sparse.csr_array(sets)[: X.shape[0], np.argsort(self.order_)])

    @torch.no_grad()
    def diagnostics(self, split: Split) -> dict[str, float]:
        """Per cent of documents that each head gets right, and that all of them do (exact match)."""
        network, X, Y = self._network(), self.matrix_of(split), sparse.csr_array(split.Y[:, self.order_])
        if self.coding_ == "label":  # a document without a label has no code
            has_label = np.diff(Y.indptr) > 0
            X, Y = X[has_label], Y[has_label]
        if X.shape[0] == 0:
            return {}
        features = torch.cat(list(self._features(network, X)))[: X.shape[0]]
        *heads, together = (100 * network.heads.head_accuracy(features, Y)).tolist()
        return {f"head {h}": share for h, share in enumerate(heads, start=1)} | {"exact match": together}
