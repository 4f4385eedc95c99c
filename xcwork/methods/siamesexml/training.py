"""The training of all members, module after module, and the choice of the weights.

Documents without known tokens or without labels teach nothing; labels without text or without documents do not take
part in module I. They keep their ids, and the log says how many they are.

A share of the documents validates: it stops the modules in time and chooses the weights of the scores. A dataset too
small to spare any trains on everything. In the end the validation documents join centroids and searches, and
classifiers over words, which are trained fast, are trained once more on all documents.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy import sparse

from xcwork.compute.device import resolve_device
from xcwork.core.held_out import keep_groups_whole
from xcwork.core.propensity import Propensity
from xcwork.core.split import Split
from xcwork.core.topk import MISSING
from xcwork.data.groups import find_groups_sharing_labels
from xcwork.methods.common.checkpoints import TrainingProgress
from xcwork.methods.common.epochs import Curve, EpochTrainer, train_epochs
from xcwork.methods.model import Params
from xcwork.methods.siamesexml.classifier_training import ClassifierTraining, LabelClassifiers
from xcwork.methods.siamesexml.encoded_texts import EncodedTexts
from xcwork.methods.siamesexml.encoder import Encoder, FrozenEncoder
from xcwork.methods.siamesexml.encoder_training import EncoderTraining, LabelSampler
from xcwork.methods.siamesexml.fusion import Fusion, learn_weights
from xcwork.methods.siamesexml.initial_embeddings import fill_missing_rows, make_initial_table, read_table
from xcwork.methods.siamesexml.loss import Likelihood, LogisticLikelihood
from xcwork.methods.siamesexml.neighbourhood import Neighbourhood, correlate_labels, embed_labels, read_graphs
from xcwork.methods.siamesexml.scores import Member, drop_pairs, score_candidates
from xcwork.methods.siamesexml.token_map import TokenMap, split_columns
from xcwork.methods.siamesexml.word_classifiers import WordClassifiers, train_word_classifiers
from xcwork.metrics.ranking import evaluate_topk
from xcwork.progress import report, track, track_batches
from xcwork.search import make_index, top_k_rows

log = logging.getLogger(__name__)

MIN_VALIDATION_DOCUMENTS = 30
MAX_VALIDATION_DOCUMENTS = 2000
MAX_MEASURED_SCORES = 20_000_000  # computed for one point of a curve
DOCUMENTS_PER_BATCH = 2048  # whose hard negatives are found together


@dataclass(frozen=True, eq=False)
class TokenCorpus:
    """What one training sees: rows over tokens, and who belongs to whom."""

    X: sparse.csr_array  # (n_documents, n_tokens)
    Y: sparse.csr_array  # (n_documents, n_labels)
    filtered: sparse.csr_array  # (n_documents, n_labels): pairs that are never predicted and must not be judged
    Z: sparse.csr_array  # (n_labels, n_tokens)
    n_tokens: int  # further columns of X and Z are the embeddings of texts by a sentence encoder
    sentence_encoder: str | None = None  # its identity
    group_of: np.ndarray | None = None  # (n_documents,): the group whose labels a document has, if not its own

    @classmethod
    def from_split(cls, train: Split, texts: EncodedTexts, n_tokens: int) -> TokenCorpus:
        """Return the documents of a split, whose rows over tokens are given."""
        pairs = np.empty((0, 2), np.int64) if train.filter_pairs is None else np.unique(train.filter_pairs, axis=0)
        filtered = sparse.csr_array((np.ones(len(pairs), np.float32), (pairs[:, 0], pairs[:, 1])), train.Y.shape)
        groups = find_groups_sharing_labels(train)
        return cls(texts.X, train.Y, filtered, texts.Z, n_tokens, texts.encoder, groups)

    def take(self, rows: np.ndarray) -> TokenCorpus:
        """Return some of the documents."""
        group_of = None if self.group_of is None else self.group_of[rows]
        return replace(self, X=self.X[rows], Y=self.Y[rows], filtered=self.filtered[rows], group_of=group_of)

    @property
    def is_useful(self) -> np.ndarray:
        """Which documents have both tokens and labels."""
        return (np.diff(self.X.indptr) > 0) & (np.diff(self.Y.indptr) > 0)

    @property
    def trainable(self) -> np.ndarray:
        """Ids of the labels that have both text and a useful document."""
        frequencies = np.bincount(self.Y[np.flatnonzero(self.is_useful)].indices, minlength=self.Y.shape[1])
        return np.flatnonzero((frequencies > 0) & (np.diff(self.Z.indptr) > 0))


@dataclass(frozen=True, eq=False)
class TrainedMembers:
    """The result of a training."""

    members: list[Member]
    words: WordClassifiers
    fusion: Fusion
    curves: dict[str, Curve]


def train_members(
    params: Params,
    tokens: TokenMap,
    train: Split,
    texts: EncodedTexts,
    progress: TrainingProgress,
) -> TrainedMembers:
    """Train every member and choose the weights of their scores."""
    whole = TokenCorpus.from_split(train, texts, tokens.size)
    if texts.encoder is not None:
        params = params | {"plus": False}  # there are no tokens to be learned
    log_what_is_left_out(whole)
    rows, validation_rows = split_validation(whole, params)
    fitted = whole.take(rows)
    validation = whole.take(validation_rows)
    names = None
    if params.vectors and train.features.names is not None:
        names = [tokens.name_token(token, train.features, train.labels.features) for token in range(tokens.size)]
    members: list[Member] = []
    curves: dict[str, Curve] = {}
    for number in range(params.members):
        training = MemberTraining(params, fitted, validation, progress, number)
        members.append(training.run(names))
        curves |= training.curves
    words = WordClassifiers.make_empty(whole.Z.shape[0], whole.n_tokens)
    with_words = params.terms and params.alpha is None and bool(fitted.is_useful.any())
    if with_words:
        rivals = find_near_labels(members[0].around, fitted, params.shortlist, params.search, "finding rivals")
        words = train_words(rivals, fitted, params, progress, "terms")
    fusion = learn_fusion(members, words, params, fitted, validation)
    for number, member in enumerate(track(members, "placing documents")):
        member.around = place_corpus(member.encoder, whole, params, params.seed + number)
        member.around.build()
    if with_words and len(validation_rows):
        # Of the labels that validation documents have, classifiers are trained once more.
        phase = "finding rivals of validation documents"
        added = find_near_labels(members[0].around, whole, params.shortlist, params.search, phase, validation_rows)
        every = np.full((len(rivals) + len(added), max(rivals.shape[1], added.shape[1])), MISSING, np.int32)
        every[rows, : rivals.shape[1]] = rivals
        every[validation_rows, : added.shape[1]] = added
        concerned = np.unique(validation.Y.indices)
        again = train_words(every, whole, params, progress, "terms of all documents", concerned)
        words = words.replace_labels(concerned, again)
    return TrainedMembers(members, words, fusion, curves)


def train_words(
    rivals: np.ndarray,
    corpus: TokenCorpus,
    params: Params,
    progress: TrainingProgress,
    name: str,
    labels: np.ndarray | None = None,
) -> WordClassifiers:
    """Return classifiers over words of `labels`, or of all; `progress` remembers what is done under `name`."""
    X, _ = split_columns(corpus.X, corpus.n_tokens)
    return train_word_classifiers(X, corpus.Y, rivals, params, progress, name, labels)


def learn_fusion(
    members: list[Member], words: WordClassifiers, params: Params, fitted: TokenCorpus, validation: TokenCorpus
) -> Fusion:
    """Return the weights of the scores, learned on the validation documents where there are some."""
    frequencies = np.bincount(fitted.Y.indices, minlength=fitted.Y.shape[1])
    scored = None
    for _ in track(range(1), "choosing weights"):
        if validation.X.shape[0]:
            scored = score_candidates(
                members, validation.X, fitted.Z, words, size=params.shortlist, neighbours=params.neighbours
            )
            scored = replace(scored, ids=drop_pairs(scored.ids, validation.filtered))
        chosen = learn_weights(scored, validation.Y, frequencies, params, validation.group_of)
    report("choosing weights", **chosen.summarise())
    return chosen


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


def split_validation(whole: TokenCorpus, params: Params) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to train on and the rows to validate on, perhaps none."""
    useful = np.flatnonzero(whole.is_useful)
    n_wanted = min(MAX_VALIDATION_DOCUMENTS, round(params.validation * len(useful)))
    if n_wanted < MIN_VALIDATION_DOCUMENTS:
        return np.arange(whole.X.shape[0]), np.empty(0, np.int64)
    drawn = np.random.default_rng((params.seed, 0)).choice(useful, n_wanted, replace=False)
    validation = np.sort(keep_groups_whole(drawn, whole.group_of))
    return np.setdiff1d(np.arange(whole.X.shape[0]), validation), validation


def log_what_is_left_out(corpus: TokenCorpus) -> None:
    """Warn about documents and labels of which training knows less than it could."""
    is_unseen = np.bincount(corpus.Y.indices, minlength=corpus.Y.shape[1]) == 0
    has_text = np.diff(corpus.Z.indptr) > 0
    for is_concerned, what in (
        (~corpus.is_useful, "documents have no known token or no label and are left out of training"),
        (~has_text & ~is_unseen, "labels have no known token and are known by their documents alone"),
        (is_unseen, "labels have no training document and are known by their text alone"),
        (~has_text & is_unseen, "of them have no known token either, so there is no evidence for them"),
    ):
        if count := np.count_nonzero(is_concerned):
            log.warning("%d %s", count, what)


def place_corpus(encoder: Encoder, corpus: TokenCorpus, params: Params, seed: int) -> Neighbourhood:
    """Return what module II makes of the documents of `corpus`."""
    f = encoder.encode(corpus.X)
    correlation = correlate_labels(corpus.Y, params.correlated, seed, params.own_weight)
    text, centroids = embed_labels(encoder.encode(corpus.Z), f, corpus.Y, correlation)
    graphs = read_graphs(params.graphs)
    return Neighbourhood(text, centroids, f, corpus.Y, correlation, graphs, params.search, seed, params.device)


class MemberTraining:
    """The four modules of one member."""

    def __init__(
        self, params: Params, corpus: TokenCorpus, validation: TokenCorpus, progress: TrainingProgress, number: int
    ) -> None:
        self.params = params
        self.corpus = corpus
        self.progress = progress
        self.seed = params.seed + number
        self.suffix = "" if params.members == 1 else f" {number + 1}"
        self.device = resolve_device(params.device)
        max_documents = max(1, MAX_MEASURED_SCORES // corpus.Z.shape[0])
        self.validation = validation.take(np.arange(min(validation.X.shape[0], max_documents)))
        self.curves: dict[str, Curve] = {}

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
        name += self.suffix
        self.curves[name] = train_epochs(trainer, name, self.progress, epochs=epochs, patience=self.params.patience)

    def _score_by_text_and_centroids(self, encoder: Encoder, corpus: TokenCorpus) -> np.ndarray:
        """Return cos(f, z) + cos(f, v) of validation documents and all labels."""
        identity = sparse.eye_array(corpus.Y.shape[1], format="csr", dtype=np.float32)
        text, centroids = embed_labels(encoder.encode(corpus.Z), encoder.encode(corpus.X), corpus.Y, identity)
        return encoder.encode(self.validation.X) @ (text + centroids).T

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
            return {name: values[name] for name in ("nDCG@5", "P@1", "PSP@1")}

        return measure

    def _complete_classifiers(self, encoder: Encoder, classifiers: LabelClassifiers) -> np.ndarray:
        """Return all classifiers; one that never learned is the final embedding of its text, as of added labels."""
        w = classifiers.compute_all()
        never = ~classifiers.eta.any(dim=1).cpu().numpy() & (np.diff(self.corpus.Z.indptr) > 0)
        w[never] = encoder.finish(encoder.encode(self.corpus.Z[np.flatnonzero(never)]))
        return w
