"""Modules III and IV: every label gets a classifier of its own, starting from its text embedding.

    w_l = N(z̃_l + η_l),  η_l = 0 at the start,      score(x, l) = cos(E(x), w_l)

Module IV moves η, the residual block of the encoder and, with `plus` (SiameseXML++), the token table as well. A batch
is some documents; each meets its labels (at most 20, at random) and its hardest negatives: the labels that the searches
of module II put nearest to it without being its own. The loss (`loss.compute_classifier_loss`) is summed over labels
and averaged over documents. With the paper's likelihood it is divided by d, and a negative whose share is below 0.05,
that is with a cosine below 0.4388, is far enough and counts nothing. The step size falls in a line, and with `plus`
some tokens of a document are left out at random, so that no classifier depends on a single one.

Of five hundred negatives fewer than ten count, as a rule. Before epochs 0, 1, 2, 4, 8, … all of them are compared with
their document, and until the next of these epochs only those take part that are at most `slack` below that cosine. A
batch then needs a tenth of the labels, and what it learns is the same but for negatives that come nearer by more than
that.

All labels that a batch needs are gathered once and multiplied with all its documents: more products than needed, but
one dense matrix product is faster than many small gathers. A batch costs O(B D² + B D * labels of the batch).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from scipy import sparse

from xcwork.compute.device_memory import FittingBatch, is_out_of_memory
from xcwork.compute.precision import MixedPrecision, widen
from xcwork.compute.transfer import fetch_arrays, send_arrays
from xcwork.core.topk import MISSING
from xcwork.kernels import use_cores_for
from xcwork.kernels.pair_scores import compute_pair_dots
from xcwork.methods.common.row_adam import RowAdam
from xcwork.methods.common.token_bags import TokenBags
from xcwork.methods.model import Params
from xcwork.methods.siamesexml.encoder import Encoder, normalise
from xcwork.methods.siamesexml.loss import Likelihood, LogisticLikelihood, compute_classifier_loss
from xcwork.methods.siamesexml.near_negatives import (
    StoredNegatives,
    estimate_stored_bytes,
    gather_marked,
    unpack_negatives,
)
from xcwork.methods.siamesexml.scores import drop_pairs
from xcwork.sparse import replace_values

MAX_POSITIVES_PER_DOCUMENT = 20  # in one batch
DOCUMENTS_PER_BLOCK = 4096  # compared with all their negatives at a time


log = logging.getLogger(__name__)


def is_choice_due(epoch: int) -> bool:
    """Return whether an epoch begins with a choice of negatives: 0, 1, 2, 4, 8, …"""
    return epoch & (epoch - 1) == 0


class LabelClassifiers:
    """w = N(base + η) for every label, on one device."""

    def __init__(self, base: np.ndarray, nu: float, device: torch.device) -> None:
        self.base = torch.from_numpy(base).to(device)  # (n_labels, dimension)
        self.eta = torch.zeros_like(self.base)
        self.nu = nu

    def compute(self, labels: torch.Tensor, eta: torch.Tensor) -> torch.Tensor:
        """Return the classifiers of `labels`, given their rows of η."""
        w = self.base[labels] + eta
        return normalise(w, self.nu)[:, : w.shape[1]]  # the last coordinate of N_ν meets a zero of the document

    @torch.no_grad()
    def compute_all(self) -> np.ndarray:
        """Return every classifier, (n_labels, dimension) float32."""
        return np.ascontiguousarray(self.compute_on_device().cpu().numpy())  # what kernels are compiled for

    @torch.no_grad()
    def compute_on_device(self) -> torch.Tensor:
        """Return every classifier where they are learned."""
        every = torch.arange(len(self.base), device=self.base.device)
        return self.compute(every, self.eta)

    def measure_eta(self) -> np.ndarray:
        """Return ‖η‖₁,₁ and ‖η‖₁,∞: the sum and the greatest of the rows' 1-norms, (2,)."""
        sizes = self.eta.abs().sum(1)
        return np.array([float(sizes.sum()), float(sizes.max())])


class ClassifierTraining:
    """Trains classifiers and residual block, with `plus` the tokens too; a `common.epochs.EpochTrainer`."""

    def __init__(
        self,
        encoder: Encoder,
        classifiers: LabelClassifiers,
        X: sparse.csr_array,
        Y: sparse.csr_array,
        negatives: np.ndarray,
        likelihood: Likelihood | LogisticLikelihood,
        params: Params,
        seed: int,
        measure: Callable[[], dict[str, float]],
    ) -> None:
        self.encoder = encoder
        self.classifiers = classifiers
        self.likelihood = likelihood
        self.X = X
        self.Y = Y
        self.negatives = negatives  # (n_documents, ≤ params.negatives), -1 for none
        self.compared: np.ndarray | None = None  # (n_documents, fewer): those near enough to count, -1 for none
        self.chosen_for = -1  # the epoch for which they were chosen ahead, while losses were read
        self.params = params
        self.seed = seed
        self.measure = measure
        self.seen = np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1]))
        self.documents = np.flatnonzero((np.diff(X.indptr) > 0) & (np.diff(Y.indptr) > 0))
        self.steps = max(1, -(-len(self.documents) // params.classifier_batch_size))
        self.f = None if params.plus else encoder.encode(X)  # frozen tokens: embedded once
        self.lowest = self._find_lowest_cosine()
        trained = {"eta": classifiers.eta, **encoder.residual.parameters()}
        if params.plus:
            trained["table"] = encoder.table
        self.optimisers = {name: RowAdam(tensor) for name, tensor in trained.items()}
        n_rows, width = params.classifier_batch_size, classifiers.eta.shape[1]
        self.precision = MixedPrecision(params.precision, encoder.device, (n_rows, width, self._count_labels(n_rows)))
        self.batch = FittingBatch(params.classifier_batch_size, self._estimate_bytes, encoder.device)
        self.stored = self._store_negatives()

    def begin(self, epoch: int) -> None:
        self.rng = np.random.default_rng((self.seed, 4, epoch))
        self.order = self.rng.permutation(self.documents)
        self.steps_before = epoch * self.steps
        is_due = self.compared is None or is_choice_due(epoch)
        if is_due and self.chosen_for != epoch:
            if asked := self.ask(epoch):
                self.take_answers(epoch, fetch_arrays(*asked))
            else:
                self.compared = self._choose_negatives()

    def ask(self, epoch: int) -> list[torch.Tensor]:
        """Return which negatives are near, where a device knows and the epoch begins with a choice; else nothing."""
        if not is_choice_due(epoch) or self.lowest is None or self.stored is None:
            return []
        return [self.stored.find_near(self.classifiers.compute_on_device(), self.lowest)]

    def take_answers(self, epoch: int, answers: Sequence[np.ndarray]) -> None:
        """Take over what `ask` returned."""
        self.compared = unpack_negatives(answers[0], self.negatives)
        self.chosen_for = epoch

    def _find_lowest_cosine(self) -> float | None:
        """Return the cosine above which a negative counts now, or soon may; None where all of them do."""
        slack, likelihood = self.params.slack, self.likelihood
        if isinstance(likelihood, LogisticLikelihood) or not likelihood.negligible:
            return None
        if slack is None or not self.negatives.size:
            return None
        return likelihood.find_cosine(likelihood.negligible) - slack

    def _store_negatives(self) -> StoredNegatives | None:
        """Return documents and negatives on the device; None on the CPU, and where there is no room for them."""
        if self.lowest is None or self.encoder.device.type == "cpu":
            return None
        try:
            return StoredNegatives.from_documents(self.encoder, self.X, self.f, self.negatives)
        except RuntimeError as failure:
            if not is_out_of_memory(failure):
                raise
        log.info("the device has no room for all negatives; they are chosen on the CPU")
        return None

    def _choose_negatives(self) -> np.ndarray:
        """Return the negatives of each document that count now, or soon may, compared on the CPU."""
        if self.lowest is None:
            return self.negatives
        w = self.classifiers.compute_all()
        near: list[np.ndarray] = []
        counts: list[np.ndarray] = []
        for start in range(0, len(self.negatives), DOCUMENTS_PER_BLOCK):
            ids = self.negatives[start : start + DOCUMENTS_PER_BLOCK]
            x = self.encoder.finish(self.encoder.encode(self.X[start : start + DOCUMENTS_PER_BLOCK]))
            cosines = np.empty(ids.shape, np.float32)
            with use_cores_for(ids.size * w.shape[1]):
                compute_pair_dots(x, w, ids, cosines)
            is_near = (ids != MISSING) & (cosines > self.lowest)
            near.append(ids[is_near])
            counts.append(is_near.sum(axis=1))
        return gather_marked(np.concatenate(near), np.concatenate(counts))

    def step(self, number: int) -> float | torch.Tensor:
        size = self.params.classifier_batch_size
        documents = self.order[number * size : (number + 1) * size]
        learning_rate = self._decay_learning_rate(number)
        # There may be none with both words and labels.
        loss = self.batch.run(documents, partial(self._learn, learning_rate=learning_rate))
        if number == self.steps - 1:
            self.optimisers["eta"].catch_up(learning_rate)
        return loss

    def _learn(self, documents: np.ndarray, learning_rate: float) -> torch.Tensor:
        """Take a step on some documents; return its loss."""
        device = self.encoder.device
        labels, place, is_positive = send_arrays(device, *self._collect_pairs(documents))
        self.optimisers["eta"].catch_up(learning_rate, labels)
        eta = self.classifiers.eta[labels].requires_grad_()
        residual = {name: p.clone().requires_grad_() for name, p in self.encoder.residual.parameters().items()}
        f, bags, sums = self._embed_documents(documents)
        self.encoder.residual.improve_spectrum()
        x = self.encoder.residual(f, residual, self._draw_dropout(f))
        with self.precision.lower():
            v = widen(x @ self.classifiers.compute(labels, eta).T).gather(1, place.clamp_min(0))
        loss = compute_classifier_loss(v, is_positive, place >= 0, self.likelihood, self.params.hardest)
        self.precision.scale(loss).backward()
        leaves = [eta, *residual.values(), *([] if sums is None else [sums])]
        if not self.precision.unscale([leaf.grad for leaf in leaves]):
            return loss.detach()
        assert eta.grad is not None  # a leaf
        self.optimisers["eta"].step(eta.grad, learning_rate, labels)
        for name, parameter in residual.items():
            assert parameter.grad is not None  # a leaf
            self.optimisers[name].step(parameter.grad, learning_rate)
        if bags is not None:
            assert sums is not None
            assert sums.grad is not None  # a leaf
            self.optimisers["table"].step_bags(bags, sums.grad, learning_rate * self.params.token_learning_rate)
        return loss.detach()

    def _estimate_bytes(self, n_documents: int) -> int:
        """Return about how many bytes a step with so many documents takes on a device."""
        n_candidates = self._count_candidates()
        n_labels = self._count_labels(n_documents)
        width = self.classifiers.eta.shape[1]
        entries = n_documents * -(-self.X.nnz // max(1, self.X.shape[0])) if self.params.plus else 0
        learned = 4 * self.classifiers.eta.numel() + 4 * width**2 + 3 * self.encoder.table.numel()
        learned += (2 * len(self.classifiers.eta) + self.X.shape[0]) * width  # that exact searches look through
        batch = 8 * n_documents * width + 8 * n_labels * width + 2 * n_documents * n_labels + 3 * entries * width
        return 4 * (learned + batch + 10 * n_documents * n_candidates) + self._estimate_stored_bytes()

    def _estimate_stored_bytes(self) -> int:
        """Return about how many bytes negatives take that are chosen on the device."""
        if self.lowest is None:
            return 0
        n_entries = self.X.nnz if self.params.plus else 0
        width = self.classifiers.eta.shape[1]
        n_documents, n_listed = self.negatives.shape
        return estimate_stored_bytes(n_documents, n_listed, n_entries, width)

    def _count_candidates(self) -> int:
        """Return how many labels a document is compared with at most."""
        return MAX_POSITIVES_PER_DOCUMENT + self.negatives.shape[1] + self.params.random_negatives

    def _count_labels(self, n_documents: int) -> int:
        """Return how many labels so many documents are compared with at most."""
        return min(len(self.classifiers.eta), n_documents * self._count_candidates())

    def _decay_learning_rate(self, number: int) -> float:
        """Return the step size, which falls to zero in a straight line."""
        done = (self.steps_before + number) / (self.steps * max(1, self.params.classifier_epochs))
        return self.params.classifier_learning_rate * max(0.0, 1 - done)

    def _embed_documents(self, documents: np.ndarray) -> tuple[torch.Tensor, TokenBags | None, torch.Tensor | None]:
        """Return f of the documents; with `plus` also their bags and the sums of these, which receive a gradient."""
        if self.f is not None:
            return send_arrays(self.encoder.device, self.f[documents])[0], None, None
        X = self.X[documents]
        if self.params.token_dropout:
            X = replace_values(X, X.data * (self.rng.random(X.nnz, np.float32) >= self.params.token_dropout))
        bags, sums = self.encoder.sum_bags(X)
        return self.encoder.activate(sums), bags, sums

    def _collect_pairs(self, documents: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the labels of the batch, each document's places among them or -1, and which of those are its own."""
        Y = self.Y[documents]
        lengths = np.diff(Y.indptr)
        shuffled = np.lexsort((self.rng.random(Y.nnz), np.repeat(np.arange(len(documents)), lengths)))
        rank = np.arange(Y.nnz) - np.repeat(Y.indptr[:-1], lengths)
        keep = rank < MAX_POSITIVES_PER_DOCUMENT
        positives = np.full(
            (len(documents), min(MAX_POSITIVES_PER_DOCUMENT, int(lengths.max(initial=0)))), MISSING, np.int32
        )
        row = np.repeat(np.arange(len(documents)), lengths)
        positives[row[keep], rank[keep]] = Y.indices[shuffled][keep]
        assert self.compared is not None  # `begin` has chosen them
        ids = np.hstack([positives, self.compared[documents], self._draw_negatives(Y)])
        is_used = np.zeros(self.Y.shape[1], bool)
        is_used[ids[ids >= 0]] = True
        labels = np.flatnonzero(is_used)
        where = np.cumsum(is_used) - 1
        place = np.where(ids >= 0, where[ids], MISSING)
        is_positive = (np.arange(ids.shape[1]) < positives.shape[1]) & (ids >= 0)
        return labels, place, is_positive

    def _draw_negatives(self, Y: sparse.csr_array) -> np.ndarray:
        """Return random labels that documents with the labels `Y` do not have, (n, random_negatives), -1 for none.

        A label that is nobody's positive would only be pushed away; it stays where its text puts it.
        """
        places = self.rng.integers(len(self.seen), size=(Y.shape[0], self.params.random_negatives))
        drawn = self.seen[places].astype(np.int32)
        return drop_pairs(drawn, Y) if drawn.size else drawn

    def _draw_dropout(self, f: torch.Tensor) -> torch.Tensor | None:
        """Return the mask of dropout on the residual branch, scaled; None without dropout."""
        share = self.params.dropout
        if share == 0:
            return None
        kept = self.rng.random(tuple(f.shape), dtype=np.float32) >= share
        return send_arrays(f.device, kept)[0].to(f.dtype) / (1 - share)

    def get_weights(self) -> dict[str, Any]:
        learned = {"eta": self.classifiers.eta.cpu().numpy().copy(), "residual": self.encoder.residual.get_state()}
        return learned | ({"table": self.encoder.table.cpu().numpy().copy()} if self.params.plus else {})

    def set_weights(self, weights: Mapping[str, Any]) -> None:
        self.classifiers.eta.copy_(torch.from_numpy(np.asarray(weights["eta"])))
        self.encoder.residual.set_state(weights["residual"])
        if self.params.plus:
            self.encoder.table.copy_(torch.from_numpy(np.asarray(weights["table"])))

    def get_momentum(self) -> dict[str, Any]:
        moments = {name: optimiser.get_state() for name, optimiser in self.optimisers.items()}
        return moments | {"compared": self.compared}

    def set_momentum(self, momentum: Mapping[str, Any]) -> None:
        self.compared = momentum["compared"]
        for name, optimiser in self.optimisers.items():
            optimiser.set_state(momentum[name])
