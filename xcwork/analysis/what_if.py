"""What if: a label that does not exist yet, a text that reads a little differently.

A zero-shot method scores a label from its text alone, so a label that somebody types can be ranked immediately: the
model is copied without its arrays (`Method.add_labels` replaces what it extends and changes nothing in place), the
label is added to the copy, and the copy predicts. The stored model never learns of it.

Cost: a prediction, and for a new label the extension of the label arrays, O(label terms of the model).
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from xcwork.core.explanation import Explanation
from xcwork.core.split import Split
from xcwork.core.topk import TopK
from xcwork.errors import ConfigError, DataError
from xcwork.methods import registry

if TYPE_CHECKING:
    import pandas as pd

    from xcwork.methods.base import Documents, Method

MAX_RANKS = 1000  # looked through for a new label
CHANGE_WORDS = {"new": "came in", "up": "moved up", "down": "moved down", "out": "dropped out"}
N_LISTED = 100  # ranks of an edited text that are looked through for labels that left the first k


@dataclass(frozen=True, eq=False)
class NewLabel:
    """How a label that was typed fares on one document."""

    name: str
    label_id: int  # in the extended label space
    rank: int | None  # None: not among the first `depth`
    score: float | None  # None: the method does not list it at all
    explanation: Explanation
    changes: pd.DataFrame  # the first k before and after, see `compare_ranks`
    displaced: list[str]  # names of the labels that it pushes out of the first k
    depth: int
    k: int
    note: str = ""
    probability: float | None = None  # None where the run is not calibrated, or does not list it

    @property
    def sentence(self) -> str:
        """The outcome in words."""
        if self.note:
            return self.note
        if self.rank is None:
            return f"{self.name} is not among the first {self.depth:,} labels of this document."
        gone = f" and pushes out {', '.join(self.displaced)}" if self.displaced else ""
        share = f"a score of {self.score:.4f}" if self.probability is None else f"{100 * self.probability:.0f} %"
        return f"{self.name} comes {_format_ordinal(self.rank)} with {share}{gone}."


@dataclass(frozen=True, eq=False)
class EditedText:
    """The predictions for a text before and after it was changed, N_LISTED labels where there are as many."""

    before: TopK
    after: TopK
    changes: pd.DataFrame  # the first k of either list, see `compare_ranks`

    @property
    def sentence(self) -> str:
        """What changed, in words."""
        counts = self.changes["state"].value_counts()
        said = [f"{counts[state]} {words}" for state, words in CHANGE_WORDS.items() if counts.get(state, 0)]
        return f"Of the first labels {', '.join(said)}." if said else "No rank changed."

    def find_probabilities(self, label: str) -> tuple[float | None, float | None]:
        """Return the probability of a label before and after; None where it is not listed, or there are none."""
        found: list[float | None] = []
        for topk in (self.before, self.after):
            shares = {topk.get_name(each): share for each, (_, _, share) in _read_ranks(topk).items()}
            share = shares.get(label, np.nan)
            found.append(None if np.isnan(share) else share)
        return found[0], found[1]


def explain_no_new_labels(method: Method) -> str | None:
    """Return why labels cannot be typed for this model, as a sentence; None when they can."""
    if not method.capabilities.zero_shot:
        able = [n for n in registry.list_usable_methods() if registry.find_method_class(n).capabilities.zero_shot]
        return (
            f"{method.title or type(method).__name__} knows a label only from documents that have it, so it cannot "
            f"score a new one; {', '.join(able)} can."
        )
    if method.labels_.Z is None:
        return "The labels of this dataset have no text, so a new one cannot be described by text."
    if (method.labels_.features or method.features_).vectorizer is None:
        return "This dataset was loaded as ready-made features, so the text of a label cannot be turned into them."
    return None


def try_label(method: Method, document: Documents, text: str, *, name: str = "", k: int = 5) -> NewLabel:
    """Return rank, score and reasons of a label with this `text` for one document, and whom it displaces."""
    reason = explain_no_new_labels(method)
    if reason is not None:
        raise ConfigError(reason)
    if not text.strip():
        raise ConfigError("a new label needs a text")
    x, name = _check_one_document(method, document), name.strip() or " ".join(text.split())
    trial = copy.copy(method)
    label = int(trial.add_labels([text], [name])[0])
    depth = min(MAX_RANKS, label + 1)
    is_calibrated = trial.calibration_ is not None
    before = method.predict(x, min(depth, label), proba=is_calibrated)
    after = trial.predict(x, depth, proba=is_calibrated)
    place = np.flatnonzero(after.ids[0] == label)
    rank = int(place[0]) + 1 if len(place) else None
    score = float(after.scores[0, place[0]]) if len(place) else _score_label(trial, x, label)
    note = ""
    Z = trial.labels_.Z
    assert Z is not None  # see `explain_no_new_labels`
    if Z[[label]].nnz == 0:
        note = f"The model knows none of the words of {name}."
    changes = compare_ranks(before, after, k=k)
    gone = changes[changes["state"] == "out"]
    displaced = gone["label"].tolist()
    shares = after.probabilities
    probability = None if shares is None or not len(place) else float(shares[0, place[0]])
    reasons = trial.explain(x, label)
    return NewLabel(name, label, rank, score, reasons, changes, displaced, depth, k, note, probability)


def compare_edit(method: Method, before: Documents, after: str, *, k: int = 5) -> EditedText:
    """Compare the first k labels of one document with those of its edited text `after`.

    A test document (a split of one) keeps its filter pairs, so both lists follow the rule of every other ranking of it.
    """
    _check_one_document(method, before)
    edited = before.replace_texts([after]) if isinstance(before, Split) else after
    depth = min(max(k, N_LISTED), len(method.labels_))
    is_calibrated = method.calibration_ is not None
    first, second = (method.predict(each, depth, proba=is_calibrated) for each in (before, edited))
    return EditedText(first, second, compare_ranks(first, second, k=k))


def compare_ranks(before: TopK, after: TopK, *, k: int = 5) -> pd.DataFrame:
    """Return the labels among the first k of either list of one document, in the order of the second list.

    `state` is new, up, down, same or out; `change` counts the ranks won. A rank is missing where the label is not
    in the list (which may be longer than k), and a probability also where the lists have none.
    """
    import pandas as pd

    old, new = _read_ranks(before), _read_ranks(after)
    first = [label for label, (rank, *_) in new.items() if rank <= k]
    lost = [label for label, (rank, *_) in old.items() if rank <= k and label not in set(first)]
    labels, nothing = first + lost, (np.nan, np.nan, np.nan)
    ranks = [(old.get(label, nothing), new.get(label, nothing)) for label in labels]
    columns = {
        "label_id": labels,
        "label": [after.get_name(label) for label in labels],
        "rank_before": pd.array([a[0] for a, _ in ranks], dtype="Int64"),
        "rank_after": pd.array([b[0] for _, b in ranks], dtype="Int64"),
        "change": pd.array([a[0] - b[0] for a, b in ranks], dtype="Int64"),
        "score_before": [a[1] for a, _ in ranks],
        "score_after": [b[1] for _, b in ranks],
        "probability_before": [a[2] for a, _ in ranks],
        "probability_after": [b[2] for _, b in ranks],
        "state": [_classify_change(a[0], b[0], k) for a, b in ranks],
    }
    return pd.DataFrame(columns)


def _read_ranks(topk: TopK) -> dict[int, tuple[float, float, float]]:
    """Return rank, score and probability (NaN where there is none) of each label in the list of one document."""
    row = topk.get_row(0)
    shares = [np.nan] * len(row) if topk.probabilities is None else topk.probabilities[0].astype(float).tolist()
    return {label: (slot + 1, score, shares[slot]) for slot, (label, score) in enumerate(row)}


def _classify_change(before: float, after: float, k: int) -> str:
    if not after <= k:
        return "out"
    if not before <= k:
        return "new"
    return "same" if before == after else "up" if after < before else "down"


def _check_one_document(method: Method, document: Documents) -> Documents:
    X = method.read_matrix(document)
    if X.shape[0] != 1:
        raise DataError(f"this works on one document, got {X.shape[0]}")
    # Rows are enough, and made once; a method that reads the text itself gets it.
    return document if isinstance(document, Split) or method.capabilities.reads_text else X


def _score_label(model: Method, document: Documents, label: int) -> float | None:
    alone = model.predict(document, 1, among=[label]).get_row(0)
    return alone[0][1] if alone else None


def _format_ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"
