"""What a run says about one document: its labels with percentages and decisions, and why, kept for the next rerun."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from xcwork_app import caches

from xcwork.core.split import Split
from xcwork.decisions.choice import LEAVE, SUGGEST, Decisions
from xcwork.runs import Run

if TYPE_CHECKING:
    from xcwork.analysis.explanation_words import TextWord
    from xcwork.core.explanation import Explanation
    from xcwork.core.explanation_groups import GroupedParts
    from xcwork.core.topk import TopK
    from xcwork.methods.base import Documents, Method

DEPTH = 100  # labels ranked, so that a missed one can be given its rank
N_UNDECIDED = 5  # labels listed where none is likely enough to be suggested
N_MORE = 20
MAX_LOOKED_AT = 300  # test documents, until one shows what a run can do
MIN_FOUND = 2  # labels among the first N_TELLING, and the first of all is one of them; else that alone
N_TELLING = 5


@dataclass(frozen=True, eq=False)
class ChosenDocument:
    """A document to predict: what methods take, its text, and what is known about it."""

    document: Documents
    text: str
    row: int | None = None  # in the test split
    original: Split | None = None  # the test document that the text was made from, alone
    original_row: int | None = None
    truth: frozenset[int] | None = None  # its annotated labels; None where they are not known

    @property
    def is_edited(self) -> bool:
        return self.original is not None and self.original.texts != [self.text]

    @property
    def key(self) -> str:
        """A short text that tells documents apart."""
        place = f"{self.row}:{self.original_row}:{self.text}"
        return hashlib.sha256(place.encode("utf-8", "surrogatepass")).hexdigest()[:20]


@dataclass(frozen=True)
class ListedLabel:
    """One label of the list."""

    label: int
    name: str
    rank: int | None  # None: annotated, but not among the first DEPTH
    score: float | None
    probability: float | None
    decision: str  # ASSIGN, SUGGEST, LEAVE
    is_annotated: bool | None  # None where that is not known
    frequency: int  # training documents with it

    @property
    def sign(self) -> str:
        """How it is marked: ✓ annotated, ✗ not annotated, ○ annotated and neither assigned nor suggested."""
        if self.is_annotated is None:
            return ""
        if self.is_annotated:
            return "missed" if self.decision == LEAVE else "right"
        return "wrong"


@dataclass(frozen=True, eq=False)
class DocumentPrediction:
    """What was predicted for a document, and the labels that are shown of it."""

    topk: TopK
    labels: list[ListedLabel]
    n_listed: int  # first labels of the ranking that are shown
    n_ranked: int

    def count_found(self) -> tuple[int, int]:
        """Return how many of the annotated labels are assigned or suggested, and how many there are."""
        annotated = [each for each in self.labels if each.is_annotated]
        return sum(each.decision != LEAVE for each in annotated), len(annotated)


def find_usual_document(run: Run, test: Split) -> int:
    """Return the test document that Predict opens on: one that shows what the run can do, else the first one."""
    topk, usual = caches.get_topk(run), None
    for row in range(min(len(test), len(topk), MAX_LOOKED_AT)):
        listed, truth = topk.ids[row, :N_TELLING].tolist(), set(test.Y[[row]].indices.tolist())
        if listed and listed[0] in truth:
            if len(truth.intersection(listed)) >= MIN_FOUND:
                return row
            usual = row if usual is None else usual
    return usual or 0


def predict_document(run: Run, model: Method, chosen: ChosenDocument) -> TopK:
    """Return the first labels of a document, with percentages where the run is calibrated."""
    return _predict(str(run.folder), caches.get_stamp(run.folder / "model"), chosen.key, model, chosen)


@st.cache_resource(max_entries=200, show_spinner=False)
def _predict(folder: str, stamp: int, key: str, _model: Method, _chosen: ChosenDocument) -> TopK:
    k = min(DEPTH, len(_model.labels_))
    return _model.predict(_chosen.document, k, proba=_model.calibration_ is not None)


def list_labels(
    topk: TopK, chosen: ChosenDocument, model: Method, decisions: Decisions, *, k: int, more: int
) -> DocumentPrediction:
    """Return the labels to show: those that are assigned or suggested and `more`, and the annotated ones below.

    Without percentages the first `k` count as suggested.
    """
    row = topk.get_row(0)
    ids = [label for label, _ in row]
    shares = None if topk.probabilities is None else topk.probabilities[0].astype(float).tolist()
    if shares is None:
        words = [SUGGEST if at < k else LEAVE for at in range(len(row))]
    else:
        words = decisions.decide(topk, model.label_frequencies_)[0].tolist()[: len(row)]
    n_decided = max((at + 1 for at, word in enumerate(words) if word != LEAVE), default=0)
    n_listed = min((n_decided or N_UNDECIDED) + more, len(row))
    truth = chosen.truth
    wanted = [*range(n_listed), *(at for at in range(n_listed, len(row)) if truth is not None and ids[at] in truth)]
    frequencies = model.label_frequencies_
    listed = [
        ListedLabel(
            ids[at],
            topk.get_name(ids[at]),
            at + 1,
            row[at][1],
            None if shares is None else shares[at],
            words[at],
            None if truth is None else ids[at] in truth,
            int(frequencies[ids[at]]),
        )
        for at in wanted
    ]
    for label in sorted((truth or frozenset()) - set(ids)):
        name = model.labels_.names[label]
        listed.append(ListedLabel(label, name, None, None, None, LEAVE, True, int(frequencies[label])))
    return DocumentPrediction(topk, listed, n_listed, len(row))


@dataclass(frozen=True, eq=False)
class DocumentReasons:
    """Why one label has its score for a document."""

    explanation: Explanation
    grouped: GroupedParts
    words: list[TextWord]  # of the text


def explain_document(run: Run, model: Method, chosen: ChosenDocument, label: str) -> DocumentReasons:
    """Return the reasons of a label by family and word, in the words of the text."""
    return _explain(str(run.folder), caches.get_stamp(run.folder / "model"), chosen.key, label, model, chosen)


@st.cache_resource(max_entries=100, show_spinner=False)
def _explain(folder: str, stamp: int, key: str, label: str, _model: Method, _chosen: ChosenDocument) -> DocumentReasons:
    return group_reasons(_model, _chosen.text, _model.explain(_chosen.document, label))


def group_reasons(model: Method, text: str, explanation: Explanation) -> DocumentReasons:
    """Return an explanation by family and word, in the words of the text."""
    from xcwork.analysis.explanation_words import make_term_splitter, read_words

    grouped = explanation.group(make_term_splitter(text, model.features_))
    return DocumentReasons(explanation, grouped, read_words(text, model.features_))


def weigh_words(reasons: DocumentReasons, family: str) -> dict[str, float]:
    """Return what each word of the text adds, in one family or over all."""
    bar = reasons.grouped.find(family) if family else None
    if bar is None:
        return reasons.grouped.sum_words()
    return {word.word: word.value for word in bar.words}


def find_largest(values: dict[str, float]) -> float:
    """Return the size of the strongest word."""
    return float(np.max(np.abs(list(values.values())))) if values else 0.0
