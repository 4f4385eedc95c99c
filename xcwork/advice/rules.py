"""Three methods by a rule, without any training: one to begin with, one to understand, one for the best list.

The rule looks at label texts, documents per label, the number of labels and groups. Where two cards would name the same
method, which happens without label texts, the next best one takes the second place. What a method cannot do on a
dataset is an obstacle, in a sentence.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from xcwork.advice.guide import get_note
from xcwork.advice.traits import DatasetTraits
from xcwork.export.text import count_noun

TO_BEGIN = "To begin with"
TO_UNDERSTAND = "To understand"
FOR_THE_BEST = "For the best list"
MAX_FEW_DOCUMENTS = 10.0  # per label, below which the texts of labels say more than their documents
MAX_ONE_VS_ALL_LABELS = 100_000
MAX_DEEP_MIML_LABELS = 1_000  # its cost grows with labels times sub-concepts


@dataclass(frozen=True)
class RolePick:
    """A method with the role it is recommended for, and why."""

    role: str
    method: str
    reason: str


def find_obstacle(method: str, traits: DatasetTraits) -> str:
    """Return why a method cannot be trained on the dataset, in a sentence, or an empty text."""
    if get_note(method).needs_label_text and not traits.has_label_texts:
        return "It needs label texts, and this dataset has none."
    return ""


def choose_by_rule(traits: DatasetTraits, methods: Collection[str]) -> list[RolePick]:
    """Return three of the given methods for a dataset, best list first; fewer where there are not three."""
    chosen: list[RolePick] = []
    for ranked in (_rank_for_the_best(traits), _rank_to_understand(traits), _rank_to_begin(traits)):
        taken = {place.method for place in chosen}
        fitting = (
            place
            for place in ranked
            if place.method in methods and place.method not in taken and not find_obstacle(place.method, traits)
        )
        chosen.extend(place for place in [next(fitting, None)] if place is not None)
    return chosen


def _rank_to_begin(traits: DatasetTraits) -> list[RolePick]:
    return [
        RolePick(TO_BEGIN, "bm25", "Reads the label texts, nothing to train: a yardstick to beat."),
        RolePick(TO_BEGIN, "nearest_documents", "Labels of similar documents: a yardstick to beat."),
        RolePick(TO_BEGIN, "popularity", "The most frequent labels: what a blind guess reaches."),
    ]


def _rank_to_understand(traits: DatasetTraits) -> list[RolePick]:
    grouped = [RolePick(TO_UNDERSTAND, "eagle", "Labels of groups: it finds the members they belong to.")]
    unseen = (
        f"finds {count_noun(traits.n_unseen_labels, 'unseen label')}" if traits.n_unseen_labels else "takes new labels"
    )
    return [
        *(grouped if traits.has_group_labels else []),
        RolePick(TO_UNDERSTAND, "zestxml", f"Exact reasons, word by word; {unseen}."),
        RolePick(TO_UNDERSTAND, "one_vs_all", "Exact reasons: every score is a sum over words."),
        RolePick(TO_UNDERSTAND, "label_tree", "Exact reasons: a path through a tree of labels."),
    ]


def _rank_for_the_best(traits: DatasetTraits) -> list[RolePick]:
    per_label = f"About {count_noun(max(1, round(traits.documents_per_label)), 'document')} per label"
    labels = count_noun(traits.n_labels, "label")
    is_few_shot = traits.documents_per_label < MAX_FEW_DOCUMENTS and traits.has_label_texts
    has_few_labels = traits.n_labels <= MAX_DEEP_MIML_LABELS and not traits.has_label_texts
    first = [RolePick(FOR_THE_BEST, "siamesexml", f"{per_label}: label texts help rare ones.")]
    small = [RolePick(FOR_THE_BEST, "deep_miml", f"Only {labels}, without texts: it compares them all.")]
    linear = [RolePick(FOR_THE_BEST, "one_vs_all", f"{per_label}: enough for a classifier each.")]
    return [
        *(first if is_few_shot else []),
        *(small if has_few_labels else []),
        *(linear if traits.n_labels <= MAX_ONE_VS_ALL_LABELS else []),
        RolePick(FOR_THE_BEST, "label_tree", f"{labels}: a tree visits few of them per document."),
    ]
