"""SiameseXML's two trainings as one would first write them in torch: dense gradients, Adam over every parameter.

Both sides take the same batches from the same trainer and compute the same loss; only the way differs. Here the token
table and the classifiers are `torch.nn` layers whose gradients have their full size, and module IV gathers one row of
weights for each (document, label) pair.
"""

from __future__ import annotations

import numpy as np
import torch
from scipy import sparse
from torch import nn
from torch.nn import functional as F

from xcwork.core.split import Split
from xcwork.methods.model import Params
from xcwork.methods.siamesexml.classifier_training import ClassifierTraining, LabelClassifiers
from xcwork.methods.siamesexml.encoder import Encoder
from xcwork.methods.siamesexml.encoder_training import TEXT_LOSS_SHARE, EncoderTraining, LabelSampler
from xcwork.methods.siamesexml.initial_embeddings import make_initial_table
from xcwork.methods.siamesexml.loss import (
    ENCODER_LIKELIHOOD,
    Likelihood,
    compute_classifier_loss,
    compute_encoder_loss,
)
from xcwork.methods.siamesexml.scores import drop_pairs
from xcwork.methods.siamesexml.token_map import TokenMap


def trainers(params: Params, train: Split) -> tuple[EncoderTraining, ClassifierTraining]:
    """The trainers of modules I and IV, started at random: how long a step takes does not depend on the values."""
    tokens = TokenMap.from_features(train.features, train.labels.features, train.labels.Z.shape[1])
    X, Z, Y = tokens.map_documents(train.X), tokens.map_labels(train.labels.Z), train.Y
    encoder = Encoder(torch.from_numpy(make_initial_table(X, "random", params.dimension, 0)), params.activation)
    labels = np.flatnonzero((np.bincount(Y.indices, minlength=Y.shape[1]) > 0) & (np.diff(Z.indptr) > 0))
    nothing = sparse.csr_array(Y.shape, dtype=np.float32)
    first = EncoderTraining(encoder, X, Z, LabelSampler(Y, nothing, labels, params.frequency_power), params, 0, dict)
    rng, n_negatives = np.random.default_rng(0), min(params.negatives, Y.shape[1])
    near = np.argsort(rng.random((X.shape[0], Y.shape[1]), np.float32), axis=1)[:, :n_negatives].astype(np.int32)
    classifiers = LabelClassifiers(encoder.finish(encoder.encode(Z)), 0.0, torch.device("cpu"))
    likelihood = Likelihood(params.c, params.d)
    second = ClassifierTraining(encoder, classifiers, X, Y, drop_pairs(near, Y), likelihood, params, 0, dict)
    return first, second


def bags(X: sparse.csr_array) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(tokens, offsets, values) for an `EmbeddingBag`."""
    return (
        torch.from_numpy(X.indices.astype(np.int64)),
        torch.from_numpy(X.indptr[:-1].astype(np.int64)),
        torch.from_numpy(X.data),
    )


class PlainEncoder:
    """Module I with an `EmbeddingBag` and Adam over the whole table."""

    def __init__(self, trainer: EncoderTraining) -> None:
        self.trainer = trainer
        self.bag = nn.EmbeddingBag.from_pretrained(trainer.encoder.table.clone(), freeze=False, mode="sum")
        self.optimiser = torch.optim.Adam(self.bag.parameters(), lr=trainer.params.learning_rate)

    def embed(self, X: sparse.csr_array) -> torch.Tensor:
        tokens, offsets, values = bags(X)
        return F.normalize(F.gelu(self.bag(tokens, offsets, per_sample_weights=values)), dim=1)

    def step(self, number: int) -> float:
        t, size = self.trainer, self.trainer.params.batch_size
        batch = t.sampler.make_batch(t.drawn[number * size : (number + 1) * size])
        z, first, second = (self.embed(M) for M in (t.Z[batch.labels], t.X[batch.first], t.X[batch.second]))
        masks, hardest = (torch.from_numpy(batch.targets), torch.from_numpy(batch.ignored)), t.params.hard_negatives
        loss = TEXT_LOSS_SHARE * compute_encoder_loss(z @ first.T, *masks, hardest, ENCODER_LIKELIHOOD)
        centroids = F.normalize(first + second, dim=1)
        loss = loss + (1 - TEXT_LOSS_SHARE) * compute_encoder_loss(
            centroids @ first.T, *masks, hardest, ENCODER_LIKELIHOOD
        )
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        return loss.item()


class PlainClassifiers:
    """Module IV with layers of `torch.nn`, one gathered weight vector for each pair, and Adam over everything."""

    def __init__(self, trainer: ClassifierTraining) -> None:
        self.trainer = trainer
        base = trainer.classifiers.base
        self.bag = nn.EmbeddingBag.from_pretrained(trainer.encoder.table.clone(), freeze=False, mode="sum")
        self.eta = nn.Embedding.from_pretrained(torch.zeros_like(base), freeze=False)
        self.R = nn.utils.parametrizations.spectral_norm(nn.Linear(base.shape[1], base.shape[1]))
        self.radius = nn.Parameter(torch.zeros(1))
        layers = [*self.eta.parameters(), *self.R.parameters(), self.radius]
        if trainer.params.plus:
            layers += self.bag.parameters()
        self.optimiser = torch.optim.Adam(layers, lr=trainer.params.classifier_learning_rate)

    def step(self, number: int) -> float:
        t, size = self.trainer, self.trainer.params.classifier_batch_size
        documents = t.order[number * size : (number + 1) * size]
        labels, place, is_positive = t._collect_pairs(documents)
        tokens, offsets, values = bags(t.X[documents])
        f = F.normalize(F.gelu(self.bag(tokens, offsets, per_sample_weights=values)), dim=1)
        x = F.normalize(f + F.dropout(self.radius * F.gelu(self.R(f)), t.params.dropout), dim=1)
        ids = torch.from_numpy(labels[np.maximum(place, 0)])  # (n_documents, n_pairs)
        w = F.normalize(t.classifiers.base[ids] + self.eta(ids), dim=2)
        v = torch.bmm(w, x[:, :, None]).squeeze(2)
        loss = compute_classifier_loss(v, torch.from_numpy(is_positive), torch.from_numpy(place) >= 0, t.likelihood)
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        return loss.item()
