"""The four modules of one member, on some documents: of a fold, or of all in the end."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import numpy as np
import torch
from scipy import sparse

from xcwork.compute.device import resolve_device
from xcwork.core.propensity import Propensity
from xcwork.core.topk import MISSING
from xcwork.methods.common.checkpoints import TrainingProgress
from xcwork.methods.common.epochs import Curve, EpochTrainer, train_epochs
from xcwork.methods.model import Params
from xcwork.methods.siamesexml.classifier_training import ClassifierTraining, LabelClassifiers
from xcwork.methods.siamesexml.corpus import TokenCorpus
from xcwork.methods.siamesexml.encoder import Encoder, FrozenEncoder
from xcwork.methods.siamesexml.encoder_training import EncoderTraining, LabelSampler
from xcwork.methods.siamesexml.initial_embeddings import fill_missing_rows, make_initial_table, read_table
from xcwork.methods.siamesexml.loss import Likelihood, LogisticLikelihood
from xcwork.methods.siamesexml.neighbourhood import Neighbourhood, correlate_labels, embed_labels, read_graphs
from xcwork.methods.siamesexml.scores import Member, drop_pairs
from xcwork.metrics.ranking import evaluate_topk
from xcwork.progress import track, track_batches
from xcwork.search import make_index, top_k_rows

log = logging.getLogger(__name__)

MEASURE = "nDCG@5"  # on validation documents, that stops a module
MAX_MEASURED_SCORES = 20_000_000  # computed for one point of a curve
DOCUMENTS_PER_BATCH = 2048  # whose hard negatives are found together


def place_corpus(encoder: Encoder, corpus: TokenCorpus, params: Params, seed: int) -> Neighbourhood:
    """Return what module II makes of the documents of `corpus`."""
    f = encoder.encode(corpus.X)
    correlation = correlate_labels(corpus.Y, params.correlated, seed, params.own_weight)
    text, centroids = embed_labels(encoder.encode(corpus.Z), f, corpus.Y, correlation)
    graphs = read_graphs(params.graphs)
    return Neighbourhood(text, centroids, f, corpus.Y, correlation, graphs, params.search, seed, params.device)


def find_near_labels(
    around: Neighbourhood, corpus: TokenCorpus, size: int, search: str, phase: str, rows: np.ndarray | None = None
) -> np.ndarray:
    """Return labels near each document, or each of `rows`, that are not its own, (n_documents, ≤ size), -1 for none."""
    # cos(f, z̃) + cos(f, v) = f · (z̃ + v): one search ranks by both.
    index = make_index(around.text + around.centroids, search, space="ip", seed=around.seed, device=around.device)
    # A label that is nobody's positive would only be pushed away; it stays where its text puts it.
    is_seen = np.bincount(corpus.Y.indices, minlength=corpus.Y.shape[1]) > 0
    found = []
    for batch in track_batches(np.arange(corpus.Y.shape[0]) if rows is None else rows, DOCUMENTS_PER_BATCH, phase):
        near = drop_pairs(index.query(around.documents[batch], size).ids, corpus.Y[batch] + corpus.filtered[batch])
        found.append(np.where(is_seen[near], near, MISSING))
    return np.vstack(found)


class MemberTraining:
    """The four modules of one member."""

    def __init__(
        self,
        params: Params,
        corpus: TokenCorpus,
        validation: TokenCorpus,
        progress: TrainingProgress,
        number: int,
        *,
        suffix: str = "",
        counts_epochs: bool = False,
        earlier: Sequence[MemberTraining] = (),
    ) -> None:
        self.params = params
        self.corpus = corpus
        self.progress = progress
        self.seed = params.seed + number
        self.suffix = ("" if params.members == 1 else f" {number + 1}") + suffix  # of the names of phases
        self.device = resolve_device(params.device)
        max_documents = max(1, MAX_MEASURED_SCORES // corpus.Z.shape[0])
        self.validation = validation.take(np.arange(min(validation.X.shape[0], max_documents)))
        self.curves: dict[str, Curve] = {}
        self.counts_epochs = counts_epochs  # because the same will be trained again on more documents
        self.best_epochs: dict[str, int] = {}
        self.earlier = earlier  # the same on parts of the documents: how many epochs are best is known from them

    def run(self, names: list[str] | None) -> Member:
        """Train all modules; `names` of the tokens are needed for word vectors from a file."""
        encoder = self._make_encoder(names)
        self._train_encoder(encoder)
        around = place_corpus(encoder, self.corpus, self.params, self.seed)
        classifiers = LabelClassifiers(encoder.finish(around.text), self.params.nu, self.device)
        if self.params.classifier_epochs:
            self._train_classifiers(encoder, around, classifiers)
            if self.params.plus:
                around = place_corpus(encoder, self.corpus, self.params, self.seed)
        return Member(
            encoder,
            around,
            self._complete_classifiers(encoder, classifiers),
            classifiers.measure_eta(),
            has_final_sum=self.params.alpha is not None,
        )

    def _make_encoder(self, names: list[str] | None) -> Encoder:
        """Return an encoder with the first token embeddings."""
        params = self.params
        if self.corpus.sentence_encoder is not None:
            no_tokens = torch.zeros((0, self.corpus.Z.shape[1] - self.corpus.n_tokens), device=self.device)
            return FrozenEncoder(no_tokens, params.activation, params.nu, self.corpus.sentence_encoder)
        for _ in track(range(1), f"first embeddings{self.suffix}"):
            if params.vectors:
                table = fill_missing_rows(read_table(params.vectors, names, self.corpus.Z.shape[1]), self.seed)
            else:
                texts = sparse.csr_array(sparse.vstack([self.corpus.X, self.corpus.Z]))
                table = make_initial_table(texts, params.start, params.dimension, self.seed)
        return Encoder(torch.from_numpy(table).to(self.device), params.activation, params.nu)

    def _train_encoder(self, encoder: Encoder) -> None:
        """Train the encoder: module I, which a frozen one does without."""
        if isinstance(encoder, FrozenEncoder):
            return
        labels = self.corpus.trainable
        if len(labels) == 0:
            log.warning("no label has both text and documents, so the encoder stays as it starts")
            return
        corpus = self.corpus.take(np.flatnonzero(self.corpus.is_useful))
        sampler = LabelSampler(corpus.Y, corpus.filtered, labels, self.params.frequency_power)
        measure = self._make_measure(lambda: self._score_by_text_and_centroids(encoder, corpus))
        trainer = EncoderTraining(encoder, corpus.X, corpus.Z, sampler, self.params, self.seed, measure)
        self._train(trainer, "training the encoder", self.params.epochs)

    def _train_classifiers(self, encoder: Encoder, around: Neighbourhood, classifiers: LabelClassifiers) -> None:
        """Train the classifiers: module IV."""
        params = self.params
        phase = f"finding hard negatives{self.suffix}"
        negatives = find_near_labels(around, self.corpus, params.negatives, params.search, phase)
        likelihood: Likelihood | LogisticLikelihood = Likelihood(params.c, params.d, params.margin)
        if params.likelihood == "logistic":
            likelihood = LogisticLikelihood()
        trainer = ClassifierTraining(
            encoder,
            classifiers,
            self.corpus.X,
            self.corpus.Y,
            negatives,
            likelihood,
            params,
            self.seed,
            self._make_measure(lambda: encoder.finish(encoder.encode(self.validation.X)) @ classifiers.compute_all().T),
        )
        self._train(trainer, "training the classifiers", params.classifier_epochs)

    def _train(self, trainer: EpochTrainer, name: str, epochs: int) -> None:
        """Train until validation gets no better, and keep the curve."""
        if self.earlier:
            epochs = round(np.mean([training.best_epochs[name] for training in self.earlier]))
        start = trainer.measure() if self.counts_epochs else {}
        curve = train_epochs(trainer, name + self.suffix, self.progress, epochs=epochs, patience=self.params.patience)
        if self.counts_epochs:
            self.best_epochs[name] = int(np.argmax([point[MEASURE] for point in (start, *curve)]))
        self.curves[name + self.suffix] = curve

    def _score_by_text_and_centroids(self, encoder: Encoder, corpus: TokenCorpus) -> np.ndarray:
        """Return cos(f, z) + cos(f, v) of validation documents and all labels; of E where module I learns it."""
        identity = sparse.eye_array(corpus.Y.shape[1], format="csr", dtype=np.float32)
        labels, documents, asked = (encoder.encode(rows) for rows in (corpus.Z, corpus.X, self.validation.X))
        if self.params.encoder_residual:
            labels, documents, asked = (encoder.finish(f) for f in (labels, documents, asked))
        text, centroids = embed_labels(labels, documents, corpus.Y, identity)
        return asked @ (text + centroids).T

    def _make_measure(self, scores: Callable[[], np.ndarray]) -> Callable[[], dict[str, float]]:
        """Return a function that measures a ranking of the validation documents."""
        if self.validation.X.shape[0] == 0:
            return dict
        frequencies = np.bincount(self.corpus.Y.indices, minlength=self.corpus.Y.shape[1])
        filtered = self.validation.filtered.nonzero()

        def measure() -> dict[str, float]:
            ranked = scores()
            ranked[filtered] = -np.inf
            values = evaluate_topk(
                top_k_rows(ranked, 5),
                self.validation.Y,
                frequencies=frequencies,
                n_train=self.corpus.Y.shape[0],
                propensity=Propensity(),
            )
            return {name: values[name] for name in (MEASURE, "P@1", "PSP@1")}

        return measure

    def _complete_classifiers(self, encoder: Encoder, classifiers: LabelClassifiers) -> np.ndarray:
        """Return all classifiers; one that never learned is the final embedding of its text, as of added labels."""
        w = classifiers.compute_all()
        never = ~classifiers.eta.any(dim=1).cpu().numpy() & (np.diff(self.corpus.Z.indptr) > 0)
        w[never] = encoder.finish(encoder.encode(self.corpus.Z[np.flatnonzero(never)]))
        return w
