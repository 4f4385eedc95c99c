"""The training of all members, module after module, and the choice of the weights.

Documents without known tokens or without labels teach nothing; labels without text or without documents take no part
in module I. They keep their ids, and the log says how many they are.

A share of the documents is held out to stop the modules in time and to choose the weights of the scores. A dataset too
small to spare any trains on everything. In the end the held-out documents join centroids and searches, and classifiers
over words, which are quickly learned, are learned once more from all documents.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy import sparse

from xcwork.compute.device import resolve
from xcwork.core.held_out import keep_groups_whole
from xcwork.core.propensity import Propensity
from xcwork.core.split import Split
from xcwork.core.topk import MISSING
from xcwork.data.groups import find_groups_sharing_labels
from xcwork.methods.common.checkpoints import TrainingProgress
from xcwork.methods.common.epochs import Curve, train_epochs
from xcwork.methods.siamesexml import fusion
from xcwork.methods.siamesexml.classifiers import Classifiers, ClassifierTraining
from xcwork.methods.siamesexml.encoder import Encoder
from xcwork.methods.siamesexml.graphs import Neighbourhood, graphs_of, label_correlation, label_vectors
from xcwork.methods.siamesexml.initial import initial_table, recognisable, table_from_file
from xcwork.methods.siamesexml.likelihood import Likelihood, Logistic
from xcwork.methods.siamesexml.module_one import EncoderTraining, Sampler
from xcwork.methods.siamesexml.scores import Member, score, without
from xcwork.methods.siamesexml.terms import Terms, learn_terms
from xcwork.methods.siamesexml.tokens import Tokens
from xcwork.metrics.ranking import evaluate_topk
from xcwork.progress import batches, report, track
from xcwork.search import make_index, top_k_rows

log = logging.getLogger(__name__)

FEWEST, MOST = 30, 2000  # validation documents
MEASURED_SCORES = 20_000_000  # computed for one point of a curve
DOCUMENTS = 2048  # whose hard negatives are found at once


@dataclass(frozen=True, eq=False)
class Corpus:
    """What one training sees: rows over tokens, and who belongs to whom."""

    X: sparse.csr_array  # (n_documents, n_tokens)
    Y: sparse.csr_array  # (n_documents, n_labels)
    filtered: sparse.csr_array  # (n_documents, n_labels): pairs that are never predicted and must not be judged
    Z: sparse.csr_array  # (n_labels, n_tokens)
    group_of: np.ndarray | None = None  # (n_documents,): the group whose labels a document has, if not its own

    @classmethod
    def of(cls, train: Split, tokens: Tokens, Z: sparse.csr_array) -> Corpus:
        pairs = np.empty((0, 2), np.int64) if train.filter_pairs is None else np.unique(train.filter_pairs, axis=0)
        filtered = sparse.csr_array((np.ones(len(pairs), np.float32), (pairs[:, 0], pairs[:, 1])), train.Y.shape)
        return cls(tokens.of_documents(train.X), train.Y, filtered, Z, find_groups_sharing_labels(train))

    def take(self, rows: np.ndarray) -> Corpus:
        group_of = None if self.group_of is None else self.group_of[rows]
        return Corpus(self.X[rows], self.Y[rows], self.filtered[rows], self.Z, group_of)

    @property
    def is_useful(self) -> np.ndarray:
        """Which documents have both tokens and labels."""
        return (np.diff(self.X.indptr) > 0) & (np.diff(self.Y.indptr) > 0)

    @property
    def trainable(self) -> np.ndarray:
        """Ids of the labels that have both text and a useful document."""
        carried = np.bincount(self.Y[np.flatnonzero(self.is_useful)].indices, minlength=self.Y.shape[1])
        return np.flatnonzero((carried > 0) & (np.diff(self.Z.indptr) > 0))


@dataclass(frozen=True, eq=False)
class Trained:
    """The result of a training."""

    members: list[Member]
    terms: Terms
    fusion: fusion.Fusion
    curves: dict[str, Curve]


def train_members(
    settings: Any, tokens: Tokens, train: Split, Z: sparse.csr_array, progress: TrainingProgress
) -> Trained:
    """Train every member and choose the weights of their scores."""
    whole = Corpus.of(train, tokens, Z)
    _log_what_is_left_out(whole)
    rows, held = _parts(whole, settings)
    fitted, validation = whole.take(rows), whole.take(held)
    names = _token_names(tokens, train) if settings.vectors else None
    members, curves = [], {}
    for number in range(settings.members):
        training = _MemberTraining(settings, fitted, validation, progress, number)
        members.append(training.run(names))
        curves |= training.curves
    terms = _terms(members[0], fitted, settings, progress, "")
    chosen = _chosen_weights(members, terms, settings, fitted, validation)
    for number, member in enumerate(track(members, "placing documents")):
        member.around = _neighbourhood(member.encoder, whole, settings, settings.seed + number)
        member.around.build()
    if len(held):
        terms = _terms(members[0], whole, settings, progress, " of all documents")
    return Trained(members, terms, chosen, curves)


def _terms(member: Member, corpus: Corpus, settings: Any, progress: TrainingProgress, whose: str) -> Terms:
    """Classifiers over words from the documents of `corpus`, which `member` has placed; none if nothing uses them."""
    if not settings.terms or settings.alpha is not None or not corpus.is_useful.any():
        return Terms.none(*corpus.Z.shape)
    near = _near(member.around, corpus, settings.shortlist, settings, f"finding rivals{whose}")
    return learn_terms(corpus.X, corpus.Y, near, settings, progress, f"terms{whose}")


def _chosen_weights(
    members: list[Member], terms: Terms, settings: Any, fitted: Corpus, validation: Corpus
) -> fusion.Fusion:
    frequencies, scored = np.bincount(fitted.Y.indices, minlength=fitted.Y.shape[1]), None
    for _ in track(range(1), "choosing weights"):
        if validation.X.shape[0]:
            scored = score(
                members, validation.X, fitted.Z, terms, size=settings.shortlist, neighbours=settings.neighbours
            )
            scored = replace(scored, ids=without(scored.ids, validation.filtered))
        chosen = fusion.learned(scored, validation.Y, frequencies, settings, validation.group_of)
    report("choosing weights", **chosen.summary())
    return chosen


def _near(around: Neighbourhood, corpus: Corpus, size: int, settings: Any, phase: str) -> np.ndarray:
    """Labels near each document that are not its own, (n_documents, ≤ size), -1 for none."""
    # cos(f, z̃) + cos(f, v) = f · (z̃ + v): one search ranks by both.
    index = make_index(around.text + around.centroids, settings.search, space="ip", seed=around.seed)
    found = [index.query(f, size).ids for f in batches(around.documents, DOCUMENTS, phase)]
    near = without(np.vstack(found), corpus.Y + corpus.filtered)
    # A label that is nobody's positive would only be pushed away; it stays where its text puts it.
    near[np.bincount(corpus.Y.indices, minlength=corpus.Y.shape[1])[near] == 0] = MISSING
    return near


def _parts(whole: Corpus, settings: Any) -> tuple[np.ndarray, np.ndarray]:
    """(rows to train on, rows to validate on, perhaps none)."""
    useful = np.flatnonzero(whole.is_useful)
    n_held = min(MOST, round(settings.held_out * len(useful)))
    if n_held < FEWEST:
        return np.arange(whole.X.shape[0]), np.empty(0, np.int64)
    drawn = np.random.default_rng((settings.seed, 0)).choice(useful, n_held, replace=False)
    held = np.sort(keep_groups_whole(drawn, whole.group_of))
    return np.setdiff1d(np.arange(whole.X.shape[0]), held), held


def _log_what_is_left_out(corpus: Corpus) -> None:
    n_useless = np.count_nonzero(~corpus.is_useful)
    frequencies, lengths = np.bincount(corpus.Y.indices, minlength=corpus.Y.shape[1]), np.diff(corpus.Z.indptr)
    n_mute, n_unseen = np.count_nonzero((lengths == 0) & (frequencies > 0)), np.count_nonzero(frequencies == 0)
    n_unknown = np.count_nonzero((lengths == 0) & (frequencies == 0))
    for count, what in (
        (n_useless, "documents have no known token or no label and are left out of training"),
        (n_mute, "labels have no known token and are known by their documents alone"),
        (n_unseen, "labels have no training document and are known by their text alone"),
        (n_unknown, "of them have no known token either, so nothing speaks for them"),
    ):
        if count:
            log.warning("%d %s", count, what)


def _token_names(tokens: Tokens, train: Split) -> list[str] | None:
    if train.features.names is None:
        return None
    return [tokens.name(token, train.features, train.labels.features) for token in range(tokens.size)]


def _neighbourhood(encoder: Encoder, corpus: Corpus, settings: Any, seed: int) -> Neighbourhood:
    """Module II for the documents of `corpus`."""
    f = encoder.encode(corpus.X)
    correlation = label_correlation(corpus.Y, settings.correlated, seed)
    text, centroids = label_vectors(encoder.encode(corpus.Z), f, corpus.Y, correlation)
    return Neighbourhood(text, centroids, f, corpus.Y, correlation, graphs_of(settings), settings.search, seed)


class _MemberTraining:
    """The four modules of one member."""

    def __init__(
        self, settings: Any, corpus: Corpus, validation: Corpus, progress: TrainingProgress, number: int
    ) -> None:
        self.settings, self.corpus, self.progress = settings, corpus, progress
        self.seed = settings.seed + number
        self.suffix = "" if settings.members == 1 else f" {number + 1}"
        self.device = resolve(settings.device)
        most = max(1, MEASURED_SCORES // corpus.Z.shape[0])
        self.validation = validation.take(np.arange(min(validation.X.shape[0], most)))
        self.curves: dict[str, Curve] = {}

    def run(self, names: list[str] | None) -> Member:
        encoder = self._start(names)
        self._train_encoder(encoder)
        around = _neighbourhood(encoder, self.corpus, self.settings, self.seed)
        classifiers = Classifiers(encoder.finish(around.text), self.settings.nu, self.device)
        if self.settings.classifier_epochs:
            self._train_classifiers(encoder, around, classifiers)
            if self.settings.plus:
                around = _neighbourhood(encoder, self.corpus, self.settings, self.seed)
        return Member(encoder, around, self._completed(encoder, classifiers), classifiers.eta_norms())

    def _start(self, names: list[str] | None) -> Encoder:
        s = self.settings
        for _ in track(range(1), f"first embeddings{self.suffix}"):
            if s.vectors:
                table = recognisable(table_from_file(s.vectors, names, self.corpus.Z.shape[1]), self.seed)
            else:
                texts = sparse.csr_array(sparse.vstack([self.corpus.X, self.corpus.Z]))
                table = initial_table(texts, s.start, s.dimension, self.seed)
        return Encoder(torch.from_numpy(table).to(self.device), s.activation, s.nu)

    def _train_encoder(self, encoder: Encoder) -> None:
        labels = self.corpus.trainable
        if len(labels) == 0:
            log.warning("no label has both text and documents, so the encoder stays as it starts")
            return
        corpus = self.corpus.take(np.flatnonzero(self.corpus.is_useful))
        sampler = Sampler(corpus.Y, corpus.filtered, labels, self.settings.frequency_power)
        measure = self._measure(lambda: self._by_text_and_centroids(encoder, corpus))
        trainer = EncoderTraining(encoder, corpus.X, corpus.Z, sampler, self.settings, self.seed, measure)
        self._train(trainer, "training the encoder", self.settings.epochs)

    def _train_classifiers(self, encoder: Encoder, around: Neighbourhood, classifiers: Classifiers) -> None:
        s = self.settings
        negatives = _near(around, self.corpus, s.negatives, s, f"finding hard negatives{self.suffix}")
        likelihood = Logistic() if s.likelihood == "logistic" else Likelihood(s.c, s.d, s.margin)
        trainer = ClassifierTraining(
            encoder,
            classifiers,
            self.corpus.X,
            self.corpus.Y,
            negatives,
            likelihood,
            s,
            self.seed,
            self._measure(lambda: encoder.finish(encoder.encode(self.validation.X)) @ classifiers.all().T),
        )
        self._train(trainer, "training the classifiers", s.classifier_epochs)

    def _train(self, trainer: Any, name: str, epochs: int) -> None:
        name += self.suffix
        self.curves[name] = train_epochs(trainer, name, self.progress, epochs=epochs, patience=self.settings.patience)

    def _by_text_and_centroids(self, encoder: Encoder, corpus: Corpus) -> np.ndarray:
        identity = sparse.eye_array(corpus.Y.shape[1], format="csr", dtype=np.float32)
        text, centroids = label_vectors(encoder.encode(corpus.Z), encoder.encode(corpus.X), corpus.Y, identity)
        return encoder.encode(self.validation.X) @ (text + centroids).T

    def _measure(self, scores: Callable[[], np.ndarray]) -> Callable[[], dict[str, float]]:
        """nDCG@5 and P@1 of a ranking of the validation documents."""
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
            return {name: values[name] for name in ("nDCG@5", "P@1", "PSP@1")}

        return measure

    def _completed(self, encoder: Encoder, classifiers: Classifiers) -> np.ndarray:
        """All classifiers; one that never learned is the final embedding of its text, as for labels added later."""
        w = classifiers.all()
        never = ~classifiers.eta.any(dim=1).cpu().numpy() & (np.diff(self.corpus.Z.indptr) > 0)
        w[never] = encoder.finish(encoder.encode(self.corpus.Z[np.flatnonzero(never)]))
        return w
