"""The training of all members, and the choice of the weights of their scores.

Documents without known tokens or without labels teach nothing; labels without text or without documents do not take
part in module I. They keep their ids, and the log says how many they are.

A share of the documents validates: it stops the modules in time and chooses the weights of the scores. In the end the
validation documents join centroids and searches, and classifiers over words of their labels are trained once more.

A twentieth of few documents says little: with a hundred of them the weights, and with them the ranking, are luck. Below
`MIN_DOCUMENTS_TO_TRAIN_ONCE` two fifths therefore validate, in two folds, each judged by a training without it. Weights
are learned from both, and then all modules train again on all documents, for as many epochs as were best. That is three
trainings where one takes seconds. A dataset too small to spare any trains on everything, once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xcwork.core.held_out import keep_groups_whole
from xcwork.core.split import Split
from xcwork.core.topk import MISSING
from xcwork.methods.common.checkpoints import TrainingProgress
from xcwork.methods.common.epochs import Curve
from xcwork.methods.model import Params
from xcwork.methods.siamesexml.corpus import TokenCorpus, log_what_is_left_out
from xcwork.methods.siamesexml.encoded_texts import EncodedTexts
from xcwork.methods.siamesexml.fusion import Fusion, learn_weights
from xcwork.methods.siamesexml.judged import JudgedCandidates, join_judged
from xcwork.methods.siamesexml.member_training import MemberTraining, find_near_labels, place_corpus
from xcwork.methods.siamesexml.scores import Member
from xcwork.methods.siamesexml.token_map import TokenMap, split_columns
from xcwork.methods.siamesexml.word_classifiers import WordClassifiers, train_word_classifiers
from xcwork.progress import report, track

MIN_VALIDATION_DOCUMENTS = 30
ENOUGH_VALIDATION_DOCUMENTS = 500  # of a fold
MAX_VALIDATION_DOCUMENTS = 2000
MAX_FOLD_SHARE = 0.2  # of few documents
N_FOLDS = 2  # of few documents
MIN_DOCUMENTS_TO_TRAIN_ONCE = 10_000
FOLD_SUFFIXES = ("", ", other part")  # of the names of phases
WHOLE_SUFFIX = ", all documents"


@dataclass(frozen=True, eq=False)
class TrainedMembers:
    """The result of a training."""

    members: list[Member]
    words: WordClassifiers
    fusion: Fusion
    curves: dict[str, Curve]


@dataclass(frozen=True, eq=False)
class Fold:
    """Which documents train, and which validate."""

    rows: np.ndarray
    validation_rows: np.ndarray


@dataclass(frozen=True, eq=False)
class TrainedFold:
    """What the documents of one fold, or all of them, have taught."""

    trainings: list[MemberTraining]  # one per member
    members: list[Member]
    rivals: np.ndarray | None  # labels near the documents, from which classifiers over words learn
    words: WordClassifiers

    @property
    def curves(self) -> dict[str, Curve]:
        return {name: curve for training in self.trainings for name, curve in training.curves.items()}


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
    names = None
    if params.vectors and train.features.names is not None:
        names = [tokens.name_token(token, train.features, train.labels.features) for token in range(tokens.size)]
    run = _Run(params, whole, names, progress)
    folds = split_folds(whole, params)
    trained = [
        run.train(whole.take(fold.rows), whole.take(fold.validation_rows), suffix, counts_epochs=len(folds) > 1)
        for fold, suffix in zip(folds, FOLD_SUFFIXES, strict=False)
    ]
    curves = {name: curve for each in trained for name, curve in each.curves.items()}
    fusion = run.learn_fusion(folds, trained)
    if len(folds) == 1:
        words = run.complete(folds[0], trained[0])
        return TrainedMembers(trained[0].members, words, fusion, curves)
    nobody = whole.take(np.empty(0, np.int64))
    last = run.train(whole, nobody, WHOLE_SUFFIX, earlier=trained)
    for member in last.members:
        member.around.build()
    return TrainedMembers(last.members, last.words, fusion, curves | last.curves)


@dataclass(frozen=True, eq=False)
class _Run:
    """All that the trainings of one call have in common."""

    params: Params
    whole: TokenCorpus
    names: list[str] | None  # of the tokens, for word vectors from a file
    progress: TrainingProgress

    def train(
        self,
        corpus: TokenCorpus,
        validation: TokenCorpus,
        suffix: str,
        *,
        counts_epochs: bool = False,
        earlier: list[TrainedFold] | None = None,
    ) -> TrainedFold:
        """Train members and classifiers over words on some documents; `earlier` trainings know how many epochs."""
        trainings = [
            MemberTraining(
                self.params,
                corpus,
                validation,
                self.progress,
                number,
                suffix=suffix,
                counts_epochs=counts_epochs,
                earlier=[each.trainings[number] for each in earlier or ()],
            )
            for number in range(self.params.members)
        ]
        members = [training.run(self.names) for training in trainings]
        if not self.params.terms or self.params.alpha is not None or not corpus.is_useful.any():
            return TrainedFold(trainings, members, None, WordClassifiers.make_empty(corpus.Z.shape[0], corpus.n_tokens))
        rivals = self._find_rivals(members, corpus, f"finding rivals{suffix}")
        return TrainedFold(trainings, members, rivals, self._train_words(rivals, corpus, f"terms{suffix}"))

    def learn_fusion(self, folds: list[Fold], trained: list[TrainedFold]) -> Fusion:
        """Return the weights of the scores, learned on the validation documents where there are some."""
        for _ in track(range(1), "choosing weights"):
            judged = [
                JudgedCandidates.collect(
                    each.members, each.words, self.params, self.whole.take(fold.rows), self.whole.take(held)
                )
                for fold, each in zip(folds, trained, strict=True)
                if len(held := fold.validation_rows)
            ]
            chosen = learn_weights(join_judged(judged) if judged else None, self.params)
        report("choosing weights", **chosen.summarise())
        return chosen

    def complete(self, fold: Fold, trained: TrainedFold) -> WordClassifiers:
        """Let the validation documents of the only fold join searches and centroids; return classifiers over words."""
        params, whole = self.params, self.whole
        for number, member in enumerate(track(trained.members, "placing documents")):
            member.around = place_corpus(member.encoder, whole, params, params.seed + number)
            member.around.build()
        if trained.rivals is None or len(fold.validation_rows) == 0:
            return trained.words
        # Of the labels that validation documents have, classifiers are trained once more.
        phase = "finding rivals of validation documents"
        known, added = trained.rivals, self._find_rivals(trained.members, whole, phase, fold.validation_rows)
        every = np.full((len(known) + len(added), max(known.shape[1], added.shape[1])), MISSING, np.int32)
        every[fold.rows, : known.shape[1]] = known
        every[fold.validation_rows, : added.shape[1]] = added
        concerned = np.unique(whole.Y[fold.validation_rows].indices)
        again = self._train_words(every, whole, "terms of all documents", concerned)
        return trained.words.replace_labels(concerned, again)

    def _find_rivals(
        self, members: list[Member], corpus: TokenCorpus, phase: str, rows: np.ndarray | None = None
    ) -> np.ndarray:
        """Return labels near the documents, (n_documents, ≤ shortlist), -1 for none."""
        return find_near_labels(members[0].around, corpus, self.params.shortlist, self.params.search, phase, rows)

    def _train_words(
        self, rivals: np.ndarray, corpus: TokenCorpus, name: str, labels: np.ndarray | None = None
    ) -> WordClassifiers:
        """Return classifiers over words of `labels`, or of all; `progress` remembers what is done under `name`."""
        X, _ = split_columns(corpus.X, corpus.n_tokens)
        return train_word_classifiers(X, corpus.Y, rivals, self.params, self.progress, name, labels)


def split_folds(whole: TokenCorpus, params: Params) -> list[Fold]:
    """Return the documents that train and those that validate, perhaps none: once, or twice where they are few."""
    useful = np.flatnonzero(whole.is_useful)
    n_wanted, n_folds = min(MAX_VALIDATION_DOCUMENTS, round(params.validation * len(useful))), 1
    if params.validation and params.alpha is None and len(useful) < MIN_DOCUMENTS_TO_TRAIN_ONCE:
        n_wanted = max(n_wanted, min(ENOUGH_VALIDATION_DOCUMENTS, round(MAX_FOLD_SHARE * len(useful))))
        n_folds = N_FOLDS
        n_wanted = min(n_wanted, len(useful) // n_folds)
    every = np.arange(whole.X.shape[0])
    if n_wanted < MIN_VALIDATION_DOCUMENTS:
        return [Fold(every, np.empty(0, np.int64))]
    drawn = np.random.default_rng((params.seed, 0)).choice(useful, n_folds * n_wanted, replace=False)
    held = [np.sort(keep_groups_whole(part, whole.group_of)) for part in np.array_split(drawn, n_folds)]
    return [Fold(np.setdiff1d(every, rows), rows) for rows in held]
